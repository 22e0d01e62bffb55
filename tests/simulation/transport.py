# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The network between a control node and the simulated nodes of a cluster. It stands for kafka-python's connections, and for nothing above them.

Every request and answer is encoded and decoded as on a wire, and checked as answers of real brokers are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from kafka import errors
from kafka.cluster import ClusterMetadata
from kafka.future import Future
from kafka.net.selector import NetworkSelector
from kafka.protocol.broker_version_data import BrokerVersionData

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import wire_checks
from simulation.world import World

LATENCY = 0.0005, 0.004  # seconds of one way
HANG_SECONDS = 0.05  # after which it is seen whether a node still hangs


class Node(Protocol):
    """A simulated node.

    `running`: its process. `has_open_port`: it accepts connections. `hangs`: it accepts requests and answers none. `incarnation`: how often it was started.

    `unreachable`: nothing goes between it and control nodes, in either direction; with all others it talks.
    """

    node_id: int
    running: bool
    has_open_port: bool
    hangs: bool
    unreachable: bool
    incarnation: int

    @property
    def versions(self) -> BrokerVersionData:
        """Return the versions of the requests that it takes."""

    def answer(self, request: Any) -> Any:
        """Return the answer, decoded; None if it keeps the connection waiting for ever."""


class Nodes(Protocol):
    """The nodes of a cluster, by address."""

    def at(self, host: str, port: int) -> Node | None: ...
    def before_request(self, name: str, broker: int, /) -> bool: ...
    def falsified(self, node_id: int, request: Any, answer: Any, version: int, /) -> bytes | Exception | None: ...


class _Selector:
    """Stands for the selector of sockets in kafka-python's event loop: there are none, so only time passes here."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._woken = False

    def wake(self) -> None:
        self._woken = True

    def select(self, timeout: float | None = None) -> list[Any]:
        """Let virtual time pass until something is to be done."""
        if timeout is None or timeout > 0:
            self._world.wait(timeout, lambda: self._woken)
        self._woken = False
        return []

    def register(self, *_: Any) -> None: ...

    def unregister(self, *_: Any) -> None: ...

    def get_map(self) -> dict[Any, Any]:
        """Return something: an event loop without sockets would not wait."""
        return {self: None}

    def close(self) -> None: ...


class EventLoop(NetworkSelector):
    """kafka-python's event loop, driven by the thread that waits for a request. Timers of the same time go off in the order in which they were set."""

    def __init__(self, world: World) -> None:
        self.selector = _Selector(world)
        self._timers = 0
        super().__init__(selector=lambda: self.selector, slow_task_threshold_secs=0)

    def start(self) -> None:
        """Start no thread."""

    def wakeup(self) -> None:
        """Wake the thread that waits."""
        self.selector.wake()

    def call_at(self, when: float, task: Any) -> Any:
        """Set a timer."""
        self._timers += 1
        return super().call_at(when + self._timers * 1e-9, task)


class Connections:
    """Stands for kafka-python's KafkaConnectionManager: one connection per node, whose requests are answered one by one."""

    def __init__(self, world: World, nodes: Nodes, net: EventLoop, servers: Sequence[str]) -> None:
        self.cluster = ClusterMetadata(bootstrap_servers=list(servers))
        self._world, self._nodes, self._net = world, nodes, net
        self._connections: dict[Any, _Connection] = {}

    def call_soon(self, work: Any, *arguments: Any) -> Any:
        """Do something in the event loop."""
        return self._net.call_soon_with_future(work, *arguments)

    async def wait_for(self, future: Any, timeout_ms: float) -> Any:
        """Return the result of a future, or raise KafkaTimeoutError."""
        first = Future()

        def settle(act: Callable[[Any], Any], value: Any) -> None:
            if not first.is_done:
                act(value)

        future.add_callback(lambda value: settle(first.success, value))
        future.add_errback(lambda error: settle(first.failure, error))
        late = errors.KafkaTimeoutError(f"Timed out after {timeout_ms} ms")
        timer = self._net.call_later(timeout_ms / 1000, lambda: settle(first.failure, late))
        try:
            return await first
        finally:
            self._net.cancel(timer)

    async def ready(self, node_id: Any, timeout_ms: float) -> None:
        """Wait for nothing: a connection begins with its first request."""

    def send(self, request: Any, node_id: Any, request_timeout_ms: float) -> Any:
        """Send a request, and return the future of its answer."""
        self._world.step(f"{request.name} to {node_id}")
        named = self.cluster.broker_metadata(node_id)
        if named is None:
            return Future().failure(errors.UnknownBrokerIdError(node_id))
        connection = self._connections.get(node_id)
        if connection is None or connection.closed:
            node = self._nodes.at(named.host, named.port)
            connection = self._connections[node_id] = _Connection(self._world, self._nodes, self._net, node)
        is_cut = self._nodes.before_request(request.name, node_id)
        return connection.send(request, request_timeout_ms / 1000, is_cut)

    def close(self, node_id: Any = None) -> None:
        """Close one connection, or all."""
        for one in list(self._connections) if node_id is None else [node_id]:
            if (connection := self._connections.pop(one, None)) is not None:
                connection.close(errors.KafkaConnectionError("closed"))


class _Connection:
    """A connection to a node as it runs now. It breaks when that ends."""

    def __init__(self, world: World, nodes: Nodes, net: EventLoop, node: Node | None) -> None:
        self._world, self._nodes, self._net, self._node = world, nodes, net, node
        self._incarnation = node.incarnation if node else 0
        self._waiting: deque[tuple[Any, Any]] = deque()  # request, future; the first one is at the node
        self._requested_at: dict[int, float] = {}
        self._established = False  # it has exchanged versions: then requests are written at once, also to a node that hangs
        self._cut: Any = None
        self._muted_until = 0.0
        self.closed = False

    def send(self, request: Any, seconds: float, is_cut: bool = False) -> Any:
        """Send a request. `is_cut`: the connection is cut when the node has carried it out."""
        future = Future()
        self._cut = future if is_cut else self._cut
        self._waiting.append((request, future))
        self._requested_at[id(request)] = self._world.now
        if self._established and self._is_alive():
            self._write(request)
        if len(self._waiting) == 1:
            self._world.after(self._latency(), self._arrive)
        self._world.after(seconds, lambda: self._give_up(future))
        return future

    def close(self, error: Exception) -> None:
        self.closed = True
        left, self._waiting = self._waiting, deque()
        if self._established and self._is_alive() and self._node is not None and self._node.hangs and not self._node.unreachable:
            # The node has received them, and will execute them when it goes on: nobody waits for the answers.
            self._world.after(HANG_SECONDS, lambda: self._execute_late([(request, self._requested_at[id(request)]) for request, _ in left]))
        for _, future in left:
            if not future.is_done:
                future.failure(error)
        self._net.wakeup()

    def _write(self, request: Any) -> None:
        """Give a request its version, as kafka-python does when it writes one: from then on it may be carried out."""
        if self._node is not None:
            with suppress(errors.IncompatibleBrokerVersion):
                request.API_VERSION = self._node.versions.api_version(request)

    def _execute_late(self, requests: list[tuple[Any, float]]) -> None:
        if self._node is None or not self._is_alive():
            return
        if self._node.hangs:
            self._world.after(HANG_SECONDS, lambda: self._execute_late(requests))
            return
        for request, requested_at in requests:
            version = self._node.versions.api_version(request)
            with self._world.happening_late(requested_at):
                self._node.answer(type(request).decode(bytes(request.encode(version=version)), version=version))

    def _latency(self) -> float:
        return self._world.random.uniform(*LATENCY)

    def _is_alive(self) -> bool:
        return self._node is not None and self._node.running and self._node.has_open_port and self._node.incarnation == self._incarnation

    def _give_up(self, future: Any) -> None:
        """kafka-python closes a connection on which an answer is late."""
        if not future.is_done and not self.closed:
            self.close(errors.RequestTimedOutError("Request timed out"))

    def _arrive(self) -> None:
        """The first request that waits reaches the node."""
        if self.closed or not self._waiting:
            return
        if not self._is_alive() or self._node is None:
            self.close(errors.KafkaConnectionError("Connection refused"))
            return
        if self._node.hangs or self._node.unreachable:
            self._world.after(HANG_SECONDS, self._arrive)
            return
        if self._world.now < self._muted_until:
            self._world.after(self._muted_until - self._world.now, self._arrive)
            return
        request, future = self._waiting[0]
        self._established = True
        self._write(request)
        try:
            version = self._node.versions.api_version(request)
        except errors.IncompatibleBrokerVersion as error:
            self._waiting.popleft()
            future.failure(error)
            self._go_on()
            return
        received = type(request).decode(bytes(request.encode(version=version)), version=version)
        answer = self._node.answer(received)
        if future is self._cut:
            self.close(errors.KafkaConnectionError("socket disconnected"))
            return
        if answer is None:
            return  # it waits; the client gives up
        # A broker reads nothing from a client that it throttles (KIP-219).
        self._muted_until = self._world.now + getattr(answer, "throttle_time_ms", 0) / 1000
        data = self._nodes.falsified(self._node.node_id, received, answer, version)
        self._world.after(self._latency(), lambda: self._deliver(data or bytes(answer.encode(version=version)), type(answer), version))

    def _deliver(self, data: bytes | Exception, kind: Any, version: int) -> None:
        if self.closed:
            return
        if not self._is_alive():
            self.close(errors.KafkaConnectionError("socket disconnected"))
            return
        if self._node is not None and self._node.unreachable:
            self._world.after(HANG_SECONDS, lambda: self._deliver(data, kind, version))
            return
        try:
            answer = self._decoded(data, kind, version)
        except errors.KafkaProtocolError as error:
            self.close(error)
            return
        _, future = self._waiting.popleft()
        future.success(answer)
        self._go_on()

    def _decoded(self, data: bytes | Exception, kind: Any, version: int) -> Any:
        """Return an answer, as the product's connections do. KafkaProtocolError for one that cannot be read."""
        if isinstance(data, Exception):
            raise data
        try:
            wire_checks.check(kind, version, memoryview(data))
            return kind.decode(data, version=version)
        except wire_checks.UNREADABLE as error:
            raise errors.KafkaProtocolError(f"its answer cannot be read: {error}") from error

    def _go_on(self) -> None:
        self._net.wakeup()
        if self._waiting:
            self._world.after(self._latency(), self._arrive)
