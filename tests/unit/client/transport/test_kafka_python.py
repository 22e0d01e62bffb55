# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transport: what nodes that are none, or hostile ones, send in place of answers. Sockets of this test's own: real brokers cannot be made to do it."""

from __future__ import annotations

import resource
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import partition_states
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import connection_diagnosis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import NodeClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError

pytestmark = pytest.mark.slow

Handler = Callable[[socket.socket], None]
MOST_MEGABYTES = 300
MEBIBYTE = bytes(1 << 20)
BROKER = MetadataResponse.MetadataResponseBroker


@contextmanager
def node(handle: Handler) -> Iterator[str]:
    """A listener that does this with every connection. Its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve(connection: socket.socket) -> None:
            with connection, suppress(OSError, struct.error):  # the client has hung up
                handle(connection)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def correlation_id(connection: socket.socket) -> int:
    """Read a request."""
    (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
    frame = connection.recv(size, socket.MSG_WAITALL)
    (number,) = struct.unpack_from(">i", frame, 4)
    return int(number)


def api_versions(connection: socket.socket) -> None:
    """Answer the question with which every connection begins: Metadata v1 and nothing else is offered."""
    number = correlation_id(connection)
    kinds = [ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=4), ApiVersionsResponse.ApiVersion(3, 0, 1)]
    body = ApiVersionsResponse(error_code=0, api_keys=kinds, throttle_time_ms=0).encode(version=4)
    connection.sendall(struct.pack(">ii", 4 + len(body), number) + body)


def sends(data: bytes) -> Handler:
    """Sends this after the second request, and waits."""

    def handle(connection: socket.socket) -> None:
        api_versions(connection)
        connection.sendall(data.replace(b"####", struct.pack(">i", correlation_id(connection))))
        connection.recv(1)

    return handle


def frame(body: bytes, number: bytes = b"####") -> bytes:
    return struct.pack(">i", 4 + len(body)) + number + body


def endless(connection: socket.socket) -> None:
    """As much as the client takes."""
    api_versions(connection)
    correlation_id(connection)
    while True:
        connection.sendall(bytes(1 << 20))


def endless_answer(connection: socket.socket) -> None:
    """The same inside an answer of the largest size that there is."""
    api_versions(connection)
    correlation_id(connection)
    connection.sendall(struct.pack(">i", 2**31 - 1))
    while True:
        connection.sendall(bytes(1 << 20))


def dribbling(connection: socket.socket) -> None:
    """A byte, and after a while another one."""
    correlation_id(connection)
    while True:
        connection.sendall(b"\0")
        time.sleep(0.05)


def silent(connection: socket.socket) -> None:
    connection.recv(1 << 16)
    connection.recv(1)


def error_of(handle: Handler, security_protocol: str = "PLAINTEXT", request_timeout: float = 0.5) -> str:
    """What asking such a node ends with."""
    with node(handle) as address:
        connection = Connection((address,), security_protocol=security_protocol, request_timeout=request_timeout, validate_certs=False)
        with NodeClient(connection, [address]) as asking:
            (name,) = asking._named()
            assert asking._ask_each({name: [partition_states.metadata(())]}) == {name: []}
            return asking.unreachable[name]


BROKERS_V1 = struct.pack(">ii", 0, 1)


@pytest.mark.parametrize(
    ("handle", "reason"),
    [
        (sends(struct.pack(">i", 2**31 - 1)), "2147483647 bytes"),
        (sends(struct.pack(">i", -1)), "-1 bytes"),
        (sends(struct.pack(">i", 0)), "0 bytes"),
        (sends(frame(BROKERS_V1, b"\0\0\0\x63")), "request 99"),
        (sends(frame(struct.pack(">i", 2**31 - 1) + bytes(92))), "a list of 2147483647"),
        (sends(frame(b"\0\0")), "cannot be read"),
        (sends(frame(b"")), "cannot be read"),
        (sends(frame(struct.pack(">iih", 1, 1, 2) + b"\xff\xfe" + bytes(14))), "utf-8"),
        (endless, "0 bytes"),
        (endless_answer, "2147483647 bytes"),
    ],
)
def test_what_is_no_answer_ends_the_connection_with_its_reason(handle: Handler, reason: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert reason in error_of(handle, request_timeout=30.0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


@pytest.mark.parametrize("security_protocol", ["PLAINTEXT", "SSL"])
@pytest.mark.parametrize("handle", [dribbling, silent])
def test_a_node_that_takes_its_time_gets_no_more_than_the_time_limit(handle: Handler, security_protocol: str) -> None:
    assert error_of(handle, security_protocol)


@pytest.mark.parametrize("handle", [dribbling, silent, sends(frame(b"")), sends(struct.pack(">i", 2**31 - 1))])
def test_opening_a_cluster_names_the_address_and_what_it_sends(handle: Handler) -> None:
    with node(handle) as address:
        connection = Connection((address,), request_timeout=0.5)
        with pytest.raises(ClusterError, match=f"no bootstrap server answered .*kafka_bootstrap_servers.*{address}: "):
            Cluster(connection).__enter__()
        assert connection_diagnosis.diagnose(connection, [address], OSError("x")).startswith(address)


def half_an_answer(connection: socket.socket) -> None:
    """All but a mebibyte of an answer of 40 MiB."""
    api_versions(connection)
    number = correlation_id(connection)
    connection.sendall(struct.pack(">ii", 40 << 20, number))
    for _mebibyte in range(39):
        connection.sendall(MEBIBYTE)
    connection.recv(1)


def small_answer(connection: socket.socket) -> None:
    """It comes while others have sent theirs by half."""
    api_versions(connection)
    number = correlation_id(connection)
    time.sleep(1)
    body = MetadataResponse(brokers=[BROKER(1, "x" * 200, 9092, None)] * 300, controller_id=1, topics=[]).encode(version=1)
    connection.sendall(struct.pack(">ii", 4 + len(body), number) + body)


def test_half_received_answers_of_many_nodes_have_one_budget() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with ExitStack() as stack:
        greedy = [stack.enter_context(node(half_an_answer)) for _number in range(12)]
        modest = stack.enter_context(node(small_answer))
        connection = Connection((*greedy, modest), request_timeout=4.0)
        with NodeClient(connection, [*greedy, modest]) as asking:
            names = {address: name for name, address in asking._named().items()}
            answers = asking._ask_each({name: [partition_states.metadata(())] for name in names.values()})
            assert len(answers[names[modest]]) == 1, asking.unreachable
            assert asking.unreachable.keys() == {names[address] for address in greedy}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 220 << 10
