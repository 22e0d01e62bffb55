# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends requests to Kafka nodes concurrently, each within its own time limit. Transport only: callers build the requests.

A node that does not answer is data (`unreachable`), never an exception and never a hang.
"""

from __future__ import annotations

import logging
import math
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import kafka_python
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.answer_memory import Memory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.kept_memory import KeptMemory, kept_bytes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError, ClusterError

CLIENT_IMPORT_ERROR: tuple[str, str] | None = None
try:
    from kafka import errors
    from kafka.future import Future
except ImportError:
    CLIENT_IMPORT_ERROR = ("kafka-python (kafka-python>=3.0.12,<3.1)", traceback.format_exc())

logging.getLogger("kafka").addHandler(logging.NullHandler())
logging.getLogger("kafka").propagate = False

__all__ = ("CLIENT_IMPORT_ERROR", "READ", "SECOND_READ", "WRITE", "Answers", "ClusterError", "NodeClient", "error_message")
Answers = dict[Any, list[Any]]
READ, SECOND_READ, WRITE = "read", "second read", "write"  # purposes of requests, each of which remembers the node that answered last
OUT_OF_TIME = "no time was left for a request to it; raise duration"
REQUEST_LIMIT = 1000  # partitions per request: KIP-1275's limit, used for all messages
TURNS = 5  # nodes that are tried within a deadline: one of so many answers, and more requests would repeat the same work
CUT_OFF = "it gave no answer within its share of duration"
TOO_LATE = "what was checked before the request is too old by the time at which it could be sent to it"


class NodeClient:
    """Connections to the nodes behind `servers` (each host:port), opened as a context manager. It may be used from several threads.

    `unreachable`: node id → why it did not answer its last request; `failures`: the same as the client's exceptions.
    """

    def __init__(self, connection: Connection, servers: Sequence[str]) -> None:
        self._connection = connection
        self._timeout_ms = int(connection.request_timeout * 1000)
        self._memory = Memory()
        self._net, self._manager = kafka_python.connections(connection, servers, self._memory)
        self._last_nodes: dict[str, Any] = {}  # purpose → node that answered last
        self._responsive: set[Any] = set()  # nodes that answered their last request
        self.unreachable: dict[Any, str] = {}
        self.failures: dict[Any, Exception] = {}
        self._throttled_until: dict[Any, float] = {}

    def __enter__(self) -> Self:
        self._net.start()
        try:
            self._opened()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _opened(self) -> None:
        """Prepare the client before its first request. For subclasses."""

    def close(self) -> None:
        """Close every connection."""
        self._manager.call_soon(self._manager.close)
        self._net.stop(timeout_ms=self._timeout_ms)
        # On a very busy machine the thread has not ended by then. It is a daemon thread: nothing waits for it.
        with suppress(RuntimeError):
            self._net.close()

    def _named(self) -> dict[Any, str]:
        """Return the bootstrap nodes: node id → host:port."""
        return {node.node_id: f"{node.host}:{node.port}" for node in self._manager.cluster.bootstrap_brokers()}

    def _ask_any(
        self, make: Callable[[], Any], nodes: Sequence[Any], hedge_after: float, purpose: str = READ, written_by: float = math.inf
    ) -> tuple[Any, Any]:
        """Send a request to the first of `nodes`, and to the next one when that fails or takes longer than `hedge_after` seconds, and so on.

        Return the first answer, after its node, which `_last_nodes` keeps by `purpose`. The caller's `deadline.until` ends all requests, and the first
        TURNS nodes each get a share of the time before it. KafkaError if no node answers. No node gets the request after this has returned, nor after
        `written_by` (of the monotonic clock).
        """
        end = deadline.end()
        if end is not None:
            hedge_after = min(hedge_after, max(0.0, end - time.monotonic()) / min(TURNS, len(nodes)))
        return self._net.run(self._first_answer, make, nodes, hedge_after, purpose, end, written_by)

    async def _first_answer(
        self, make: Callable[[], Any], nodes: Sequence[Any], hedge_after: float, purpose: str, end: float | None, written_by: float
    ) -> tuple[Any, Any]:
        first = Future()
        has_returned = False
        turns: list[Any] = []  # one for each node that got the request: done when the next node may get it, or no other node must
        failures: list[Exception] = []

        def launch(node: Any) -> None:
            turns.append(turn := Future())

            def succeeded(answer: Any) -> None:
                self._memory.read(node)
                if not first.is_done:
                    self._last_nodes[purpose] = node
                    self._responsive.add(node)
                    first.success((node, answer))
                over(turns[-1])

            def failed(error: Exception) -> None:
                failures.append(error)
                if len(failures) == len(nodes) and not first.is_done:
                    first.failure(error)
                over(turn)

            self._send(node, make(), end, seconds_left).add_callback(succeeded).add_errback(failed)

        def seconds_left() -> float:
            return 0.0 if has_returned else written_by - time.monotonic()

        def over(turn: Any) -> None:
            if not turn.is_done:
                turn.success(None)

        try:
            for node in nodes[:-1]:
                launch(node)
                with suppress(errors.KafkaTimeoutError):
                    await self._manager.wait_for(turns[-1], hedge_after * 1000)
                if first.is_done:
                    break
            else:
                launch(nodes[-1])
            answered: tuple[Any, Any] = await self._manager.wait_for(first, self._timeout_ms)
        finally:
            has_returned = True
        return answered

    def _send(self, node: Any, request: Any, end: float | None = None, seconds_left: Callable[[], float] | None = None) -> Any:
        return self._net.call_soon_with_future(self._exchange, node, request, end, seconds_left)

    async def _exchange(self, node: Any, request: Any, end: float | None, seconds_left: Callable[[], float] | None) -> Any:
        """Send a request and return the answer. KafkaError for any failure, within the time limit and before `end`.

        seconds_left  in which the node may get the request; with it the time limit is also that of a pause before the request
        """
        began, pause = time.monotonic(), max(0.0, self._throttled_until.get(node, 0.0) - time.monotonic())
        if seconds_left and seconds_left() <= pause:
            raise errors.KafkaTimeoutError(TOO_LATE)
        await self._pause(node, end)
        limit_ms = min(self._limit_ms(node), int(self._seconds(end) * 1000))
        if limit_ms <= 0:
            raise errors.KafkaTimeoutError(OUT_OF_TIME)
        ends = (began if seconds_left else time.monotonic()) + limit_ms / 1000

        def left_ms() -> int:
            return max(0, int((ends - time.monotonic()) * 1000))

        try:
            if seconds_left:
                await self._ready(node, left_ms(), seconds_left)
            # kafka-python has no time limit for a request that waits for a TLS handshake.
            answer = await self._manager.wait_for(self._manager.send(request, node_id=node, request_timeout_ms=left_ms()), left_ms())
        except errors.KafkaError as error:
            is_late = isinstance(error, (errors.KafkaTimeoutError, errors.RequestTimedOutError))
            if limit_ms < self._timeout_ms and is_late and TOO_LATE not in error.args:
                raise errors.KafkaTimeoutError(CUT_OFF) from error
            raise
        except Exception as error:  # of a login or an address, from a library that kafka-python uses
            raise errors.KafkaConnectionError(f"{type(error).__name__}: {error}") from error
        self._throttled_until[node] = time.monotonic() + getattr(answer, "throttle_time_ms", 0) / 1000
        return answer

    async def _ready(self, node: Any, limit_ms: int, seconds_left: Callable[[], float]) -> None:
        """Wait until a request to a node is written at once. KafkaTimeoutError after `limit_ms`, and if the node may not get it any more."""
        written_ms = max(0.0, seconds_left() * 1000)
        try:
            await self._manager.ready(node, min(limit_ms, written_ms))
        except errors.KafkaTimeoutError as error:
            if limit_ms < written_ms:
                raise
            raise errors.KafkaTimeoutError(TOO_LATE) from error
        if seconds_left() <= 0:
            raise errors.KafkaTimeoutError(TOO_LATE)

    def _limit_ms(self, _node: Any) -> int:
        """Return the time limit of one answer of a node, in milliseconds."""
        return self._timeout_ms

    def _seconds(self, end: float | None) -> float:
        """Return the seconds that an answer may take, at most until `end`."""
        limit = self._connection.request_timeout
        return limit if end is None else min(limit, end - time.monotonic())

    async def _pause(self, node: Any, end: float | None) -> None:
        """Wait until a node that throttles accepts requests again (KIP-219). KafkaTimeoutError if that takes longer than an answer may take."""
        seconds = self._throttled_until.get(node, 0.0) - time.monotonic()
        if seconds > self._connection.request_timeout:
            raise errors.KafkaTimeoutError(
                f"it throttles requests for {seconds:.0f} s (throttle_time_ms), longer than request_timeout; check its quotas (kafka-configs.sh)"
            )
        if seconds > self._seconds(end):
            raise errors.KafkaTimeoutError(f"it throttles requests for {seconds:.1f} s (throttle_time_ms). {OUT_OF_TIME}")
        if seconds > 0:
            await self._net.sleep(seconds)

    def _ask_each(
        self,
        work: Mapping[Any, Iterable[Any]],
        read: Callable[[Any], Any] | None = None,
        kept: KeptMemory | None = None,
        row_bytes: int | None = None,
    ) -> Answers:
        """Send every node its own requests, all nodes concurrently, at most two requests of one node in flight.

        Return the answers per node, in order, or the results of `read`, which is called as soon as an answer arrives. A node that fails, or whose
        answer `read` refuses (AnswerError), gets no further requests; `unreachable` has the reason. `kept`: the memory of rounds whose results are
        held together. ClusterError if they exceed it. The caller's `deadline.until` ends the round, too. `row_bytes`: as in `kept_bytes`.
        """
        return self._net.run(self._send_to_nodes, work, read, kept, row_bytes, deadline.end_of_round())

    async def _send_to_nodes(
        self,
        work: Mapping[Any, Iterable[Any]],
        read: Callable[[Any], Any] | None,
        kept: KeptMemory | None,
        row_bytes: int | None,
        end: float | None,
    ) -> Answers:
        kept = self._memory.begin_round(kept)
        pending = {
            node: self._net.call_soon_with_future(self._send_pipelined, node, iter(requests), read, kept, row_bytes, end)
            for node, requests in work.items()
        }
        return {node: await answers for node, answers in pending.items()}

    async def _send_pipelined(
        self,
        node: Any,
        requests: Iterator[Any],
        read: Callable[[Any], Any] | None,
        kept: KeptMemory,
        row_bytes: int | None,
        end: float | None,
    ) -> list[Any]:
        answers: list[Any] = []

        async def receive() -> None:
            answer = await in_flight.popleft()
            answers.append(read(answer) if read else answer)
            kept.add(node, kept_bytes(answers[-1], row_bytes) if read else self._memory.decoded(node))
            self._memory.read(node)

        in_flight: deque[Any] = deque()
        try:
            for request in requests:
                in_flight.append(self._send(node, request, end))
                if len(in_flight) == 2:
                    await receive()
            while in_flight:
                await receive()
            self.unreachable.pop(node, None)
            self.failures.pop(node, None)
            self._responsive.add(node)
        except (errors.KafkaError, AnswerError) as error:
            self.unreachable[node] = error_message(error)
            self.failures[node] = error
            self._responsive.discard(node)
        return answers


def error_message(error: Exception) -> str:
    """Return the text of an error, or its class if the text is empty."""
    return str(error) or type(error).__name__
