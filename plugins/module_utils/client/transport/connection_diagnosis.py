# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why an address does not answer as Kafka: asked with plain sockets, so that the error can name the remedy."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Collection, Iterable, Sequence
from concurrent import futures

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import addresses
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection_probe import Refused, try_out
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import is_address
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node

KNOCK_SECONDS = 1.0
# For the resolver of names, before a door is knocked at.
NAME_SECONDS = 5.0
KNOCKS = 100  # at once: also the largest cluster with most of its brokers down is done in some seconds
HANDSHAKE_SECONDS = 5.0
ADDRESSES = 5  # whose trouble stands in one message


def fenced_that_answer(nodes: Iterable[Node]) -> set[int]:
    """Ids of the fenced brokers among `nodes` whose port accepts connections. Enough for a doubt: a broker that is silent may be coming back.

    It takes at most NAME_SECONDS, not beyond the caller's deadline, and KNOCK_SECONDS for each KNOCKS of them.
    """
    resolver = addresses.Resolver()
    down = [node for node in nodes if node.fenced and is_address(node.host, node.port)]
    lookups = [resolver.lookup(node.host, node.port) for node in down]
    futures.wait(lookups, deadline.at_most(NAME_SECONDS))
    with futures.ThreadPoolExecutor(max_workers=KNOCKS) as pool:
        answers = pool.map(_port_answers, down, lookups)
    return {node.broker_id for node, answered in zip(down, answers, strict=True) if answered}


def _port_answers(node: Node, lookup: futures.Future[list[addresses.Address]]) -> bool:
    try:
        with addresses.connect_to(addresses.taken(node.host, lookup), KNOCK_SECONDS):
            return True
    except OSError:
        return False


def explain(connection: Connection, error: Exception) -> str:
    """Return what is wrong with the bootstrap servers, address by address, and what to do about it."""
    why = reasons(connection, connection.bootstrap_servers, error)
    return f"no bootstrap server answered (request_timeout {connection.request_timeout:g} s): {why}"


def reasons(connection: Connection, servers: Collection[str], error: Exception) -> str:
    """What is wrong with the first ADDRESSES of these addresses, as far as another `request_timeout` is enough; at least of the first one.

    A login that one broker refuses is not tried on the next one: accounts get locked.
    """
    end = time.monotonic() + connection.request_timeout
    found: list[str] = []
    for place, server in enumerate(servers):
        if place == ADDRESSES or (found and time.monotonic() > end):
            found.append(f"{len(servers) - place} others were not looked at")
            break
        try:
            found.append(f"{server}: {_why(server, connection, error)}")
        except Refused as refused:
            found.append(f"{server}: {refused}")
            if refused.credentials:
                break
    return "; ".join(found)


def _why(server: str, connection: Connection, error: Exception) -> str:
    host, _colon, port = server.rpartition(":")
    host = host.strip("[]")
    if not is_address(host, int(port)):
        return "this is not a valid address; correct the broker's advertised.listeners"
    seconds = min(connection.request_timeout, HANDSHAKE_SECONDS)
    try:
        found = addresses.Resolver().resolve(host, int(port), seconds)
        with addresses.connect_to(found, KNOCK_SECONDS):
            pass
    except socket.gaierror as problem:
        return f"the name {host} cannot be resolved ({problem.strerror}); correct bootstrap_servers, or the brokers' advertised.listeners"
    except TimeoutError:
        return "no connection within the time limit; is the address right, and is a firewall in between?"
    except OSError as problem:
        return f"{problem.strerror or problem}; is a broker running there, and is it this port?"
    said = str(error) or type(error).__name__
    silent = f"the port accepts connections but gives no Kafka answer ({said}); check security_protocol, and whether the broker hangs"
    try:
        tls = _speaks_tls(host, found, seconds)
    except TimeoutError:
        return silent
    if tls and not connection.encrypted:
        return f"the port speaks TLS but security_protocol is {connection.security_protocol}; set SSL or SASL_SSL"
    if connection.encrypted and not tls:
        return f"the port does not speak TLS but security_protocol is {connection.security_protocol}; set PLAINTEXT or SASL_PLAINTEXT"
    try:
        try_out(connection, host, int(port), seconds)
    except OSError:
        return silent
    return f"connecting works, but the answer did not come ({said}); is the broker overloaded?"


def _speaks_tls(host: str, found: Sequence[addresses.Address], seconds: float) -> bool:
    """Whether a port answers a client's TLS greeting as TLS. TimeoutError where it says nothing at all."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with addresses.connect_to(found, seconds) as raw, context.wrap_socket(raw, server_hostname=host):
            return True
    except ssl.SSLError as error:
        # An alert (a client certificate is wanted, say) is TLS too; anything else that is not TLS is called so.
        return "ALERT" in str(error).upper()
    except TimeoutError:
        raise
    except OSError:
        return False
