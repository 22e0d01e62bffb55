# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds bounds to kafka-python's connections. The only file that uses its private parts.

A node's bytes either become a whole message, or end the connection with a KafkaError.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

with suppress(ImportError):  # optional_imports.py says why
    from kafka import errors
    from kafka.future import Future
    from kafka.net.inet import KafkaNetSocket
    from kafka.net.manager import KafkaConnectionManager
    from kafka.net.selector import NetworkSelector
    from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import wire_checks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import loopback_peers, scram  # noqa: F401  kafka-python uses scram from here on
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.addresses import Address, Resolver, lookup_result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.answer_memory import Memory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import FRAME_BYTES, RECEIVED_BYTES, SMALL_BYTES

API_VERSIONS = 18
READ_BYTES = 1 << 16
# The share of the time for a connection in which its name must be resolved, so that this error comes before that of the time limit.
NAME_TIME = 0.8
LOGIN_SECONDS = 0.01  # between two looks at a connection that logs in again


def connections(connection: Connection, servers: Sequence[str], memory: Memory) -> tuple[Any, Any]:
    """Return kafka-python's event loop and its connections to the nodes behind `servers`, bounded. `memory` counts the bytes of answers.

    The one place where connections are made: a test that simulates nodes replaces this function.
    """
    net = NetworkSelector()
    manager = KafkaConnectionManager(net, **{**connection.for_kafka_python(), "bootstrap_servers": list(servers)})
    bound_connections(manager, memory, connection.plaintext_refusal, connection.guarded_secret)
    return net, manager


def bound_connections(
    manager: Any, memory: Memory, refusal: Callable[[list[str]], str | None], guarded: loopback_peers.Secret | None = None
) -> None:
    """Bound every connection that this KafkaConnectionManager makes.

    `memory` counts the bytes of answers. `refusal` gets a list with a node's host:port before a connection is made, and returns why it must
    not be made, or None. `guarded` is sent only to processes of root and of this user.
    """
    manager.get_connection = partial(_get_connection, manager, manager.get_connection, memory, refusal)
    manager.ready = partial(_ready, manager)
    manager._build_transport = partial(_build_transport, manager, Resolver(), guarded)


def _get_connection(
    manager: Any,
    get_connection: Any,
    memory: Memory,
    refusal: Callable[[list[str]], str | None],
    node_id: Any,
    **options: Any,
) -> Any:
    node = manager.cluster.broker_metadata(node_id)
    if node is not None and (refused := refusal([f"{node.host}:{node.port}"])):
        raise errors.KafkaConnectionError(refused)
    # When a connection breaks, kafka-python would request Metadata from a bootstrap node in the background and then close that connection, even
    # if another answer is pending on it. One dead node would make live ones unreachable.
    connection = get_connection(node_id, **{**options, "refresh_metadata_on_err": False})
    if "connection_made" not in vars(connection):
        # kafka-python would use the versions of the bootstrap server that answered last for every node, and leave out fields that the node has.
        connection.broker_version_data = None
        connection.connection_made = partial(_connection_made, connection, memory, node_id)
    return connection


async def _ready(manager: Any, node_id: Any, timeout_ms: float) -> None:
    """Wait until a request to a node is written at once. KafkaTimeoutError after `timeout_ms`.

    kafka-python keeps one for a connection that is being made, or logs in again (KIP-368), and cannot take it back.
    """
    end = time.monotonic() + timeout_ms / 1000
    connection = manager.get_connection(node_id)
    if not connection.connected:
        await manager.wait_for(connection.init_future, timeout_ms)
    while connection._reauth.is_reauthenticating:
        if time.monotonic() >= end:
            raise errors.KafkaTimeoutError("it does not answer a new login")
        await manager._net.sleep(LOGIN_SECONDS)
    if not connection.connected:  # or kafka-python would keep the request for the next one
        raise errors.KafkaConnectionError("its connection ended before the request was written")


async def _build_transport(manager: Any, resolver: Resolver, guarded: loopback_peers.Secret | None, node: Any, timeout_at: float) -> Any:
    """Replace kafka-python's method: other connections do not wait for this one's name to be resolved."""
    addresses = await _resolved(manager, resolver, node)
    stream = await _connected(manager, addresses, timeout_at)
    if guarded:
        await _check_peer(manager, stream, f"{node.host}:{node.port}", guarded, timeout_at)
    if manager.ssl_enabled:
        options = {name: value for name, value in manager.config.items() if name.startswith("ssl_")}
        transport = KafkaSSLTransport(manager._net, stream, host=node.host, **options)
    else:
        transport = KafkaTCPTransport(manager._net, stream, host=node.host)
    try:
        await transport.handshake()
    except Exception as error:
        raise errors.KafkaConnectionError(f"Handshake failed: {error}") from error
    return transport


async def _resolved(manager: Any, resolver: Resolver, node: Any) -> list[Address]:
    lookup = resolver.lookup(node.host, node.port)
    arrived = Future()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop has ended
            manager._net.call_soon_threadsafe(lambda: arrived.success(None))

    lookup.add_done_callback(lambda _lookup: wake())
    with suppress(errors.KafkaTimeoutError):
        await manager.wait_for(arrived, NAME_TIME * manager.config["request_timeout_ms"])
    try:
        return lookup_result(node.host, lookup)
    except socket.gaierror as error:
        raise errors.KafkaConnectionError(f"the name {node.host} cannot be resolved ({error.strerror})") from error


async def _connected(manager: Any, addresses: list[Address], timeout_at: float) -> socket.socket:
    """Return a connection to the first of these addresses that accepts."""
    failed = errors.KafkaConnectionError("Connection timed out")
    for address in addresses:
        if time.monotonic() > timeout_at:
            break
        try:
            return await KafkaNetSocket().connect(manager._net, address, manager.config["socket_options"], timeout_at=timeout_at)
        except errors.KafkaTimeoutError as error:
            raise errors.KafkaConnectionError("Connection timed out") from error
        except errors.KafkaConnectionError as error:
            failed = error
        except OSError as error:
            failed = errors.KafkaConnectionError(f"unable to connect: {error}")
    raise failed


async def _check_peer(manager: Any, stream: socket.socket, server: str, guarded: loopback_peers.Secret, timeout_at: float) -> None:
    """Check as `loopback_peers.check` does, without blocking other connections."""
    deadline = min(timeout_at, time.monotonic() + loopback_peers.ACCEPT_SECONDS)
    try:
        while not loopback_peers.trusted(stream, server, guarded):
            if time.monotonic() > deadline:
                raise loopback_peers.unknown(server, guarded)
            await manager._net.sleep(loopback_peers.POLL_SECONDS)
    except (loopback_peers.PeerError, OSError) as error:
        stream.close()
        raise errors.KafkaConnectionError(str(error)) from error


def _connection_made(connection: Any, memory: Memory, node_id: Any, transport: Any) -> None:
    type(connection).connection_made(connection, transport)
    frames = Frames(connection.parser, memory, node_id, transport)
    connection.parser.receive_bytes = frames.receive_bytes
    connection.connection_lost = partial(_connection_lost, connection, frames)
    transport._sock_recv = partial(_received, transport, frames)


def _connection_lost(connection: Any, frames: Frames, error: Any) -> None:
    frames.end()
    type(connection).connection_lost(connection, error)


def _received(transport: Any, frames: Frames) -> tuple[bytearray, Exception | None]:
    """Return the received bytes, about as many as there is room for, and the error that ended the connection."""
    data = bytearray()
    try:
        while True:
            # Not less than SMALL_BYTES at a time: the rest of a TLS record would not wake the event loop.
            piece = transport._sock.recv(READ_BYTES if frames.room else SMALL_BYTES)
            if not piece:
                return data, errors.KafkaConnectionError("socket disconnected")
            data += piece
            if len(data) >= min(frames.room, RECEIVED_BYTES):
                break
    except (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
        pass
    except OSError as error:
        return data, errors.KafkaConnectionError(error)
    return data, None


class Frames:
    """Cuts the bytes of a KafkaProtocol into answers. It checks their size before they are read, and their layout before they are decoded.

    `memory` counts the answers as `node`'s. `transport` (kafka-python's, of the connection) is paused until there is room for them.
    """

    def __init__(self, parser: Any, memory: Memory | None = None, node: Any = None, transport: Any = None) -> None:
        self._in_flight = parser.in_flight_requests
        self._memory, self._node, self._transport = memory or Memory(), node, transport
        self._received = bytearray()
        self._announced = False  # an answer that has begun to arrive is larger than SMALL_BYTES
        self.room = 0  # bytes of it that may still be received

    def go_on(self) -> None:
        """Receive the answer that has begun to arrive."""
        self.room = 4 + self._size() - len(self._received)
        if self._transport and not self._transport.is_reading() and not self._transport.is_closing():
            self._transport.resume_reading()

    def give_up(self, reason: str) -> None:
        """End the connection, because there will be no room for its answer."""
        if self._transport:
            self._transport.abort(errors.KafkaProtocolError(reason))

    def end(self) -> None:
        """Stop counting: the connection has ended, or the answer is complete."""
        self._announced, self.room = False, 0
        self._memory.end(self)

    def _size(self) -> int:
        return int.from_bytes(self._received[:4], "big", signed=True)

    def receive_bytes(self, data: bytes | bytearray) -> list[tuple[int, Any]]:
        """Return the complete answers with their correlation ids. KafkaProtocolError for bytes that are not the answer to a request."""
        self._received += data
        answers = []
        while len(self._received) >= 4:
            size = self._size()
            if not 4 <= size <= FRAME_BYTES:
                raise errors.InvalidReceiveError(f"it begins an answer of {size} bytes")
            if not self._in_flight:
                raise errors.CorrelationIdError("it sends an answer without a request")
            if len(self._received) < 4 + size:
                self._wait(size)
                break
            self.end()
            frame, self._received = self._received, self._received[4 + size :]
            answers.append(_read(self._in_flight.popleft(), memoryview(frame)[4 : 4 + size], partial(self._memory.decode, self._node)))
        return answers

    def _wait(self, size: int) -> None:
        """Pause receiving an answer until there is room for it."""
        if self.room:
            self.room = 4 + size - len(self._received)
        elif size > SMALL_BYTES and not self._announced:
            self._announced = True
            if self._transport:
                self._transport.pause_reading()
            self._memory.arrive(self, size)


def _read(header: Any, frame: memoryview, account: Callable[[int], None]) -> tuple[int, Any]:
    """Return the correlation id and the decoded answer to the request with this header. `account` counts its bytes."""
    kind = header.get_response_class()
    if not hasattr(kind, "flexible_version_q"):
        raise errors.UnsupportedSaslMechanismError("it offers no SaslAuthenticate request (Kafka 1.0)")
    number = int.from_bytes(frame[:4], "big", signed=True)
    if number != header.correlation_id:
        raise errors.CorrelationIdError(f"it answers request {number} instead of {header.correlation_id}")
    version = header.request_api_version
    try:
        begin = 4
        if header.request_api_key == API_VERSIONS:
            # Its header is never flexible, and an answer with an error has the layout of v0.
            version = version if frame[4:6] == b"\0\0" else 0
        elif kind.flexible_version_q(version):
            begin = wire_checks.after_tags(frame, 4)
        account(wire_checks.check(kind, version, frame[begin:]))
        return number, kind.decode(frame[begin:])
    except wire_checks.UNREADABLE as error:
        name = kind.name.removesuffix("Response")
        raise errors.KafkaProtocolError(f"its answer to {name} v{version} cannot be read: {error or type(error).__name__}") from error
