"""One request to one node, on a socket of its own, within a time limit of its own.

The rig asks nodes that are dying, stopped or starting. A client that bootstraps, discovers and retries would get in the way there, so
this borrows only kafka-python's messages and framing. It speaks to the brokers' replication listener, which is always plaintext.
"""

import socket
import time
from typing import Any

from kafka.protocol.parser import KafkaProtocol

from rig.errors import RigError


class Unanswered(RigError):
    """The node refused the connection, closed it, or took too long."""


def ask(address: tuple[str, int], request: Any, seconds: float, client_id: str = "rig") -> Any:
    """Send a request (of a versioned kafka-python class) and return the decoded answer. Raises Unanswered."""
    deadline = time.monotonic() + seconds
    protocol = KafkaProtocol(client_id=client_id)
    protocol.send_request(request)
    try:
        with socket.create_connection(address, timeout=seconds) as connection:
            connection.sendall(protocol.send_bytes())
            while True:
                connection.settimeout(max(0.001, deadline - time.monotonic()))
                received = connection.recv(1 << 18)
                if not received:
                    raise Unanswered(f"{address[0]}:{address[1]} closed the connection on {type(request).__name__}")
                for _correlation_id, answer in protocol.receive_bytes(received):
                    return answer
    except OSError as problem:  # TimeoutError is one
        raise Unanswered(f"{address[0]}:{address[1]} did not answer {type(request).__name__} within {seconds:g} s: {problem}") from problem
