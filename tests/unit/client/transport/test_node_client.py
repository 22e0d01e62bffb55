# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NodeClient: who is asked next, and when. Made-up nodes, because real ones fail at no chosen moment."""

from __future__ import annotations

import threading
import time
import tracemalloc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from kafka import errors
from kafka.future import Future

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.kept_memory import KeptMemory, size_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import NodeClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline, limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError

NEVER = 3600.0  # seconds: a test that waits for it fails, because it does not end


class Nodes(NodeClient):
    """Nodes answer with their own name, fail with an error, or say nothing at all."""

    def __init__(self, **nodes: Exception | str | None) -> None:
        super().__init__(Connection(("127.0.0.1:1",), request_timeout=5.0), ["127.0.0.1:1"])
        self.nodes = nodes
        self.asked: list[str] = []
        self.ends: list[float | None] = []

    def _send(self, node: Any, request: Any, end: float | None = None, seconds_left: Any = None) -> Any:
        self.asked.append(node)
        self.ends.append(end)
        found = self.nodes[node]
        if isinstance(found, Exception):
            return Future().failure(found)
        return Future() if found is None else Future().success(found)

    def ask(self, hedge_after: float) -> Any:
        node, answer = self._ask_any(object, list(self.nodes), hedge_after)
        # Each node of these tests answers with its own name.
        assert node == answer
        return answer


@pytest.fixture
def opened() -> Iterator[list[NodeClient]]:
    made: list[NodeClient] = []
    yield made
    for nodes in made:
        nodes.close()


def nodes_of(opened: list[NodeClient], **nodes: Exception | str | None) -> Nodes:
    opened.append(made := Nodes(**nodes))
    made._net.start()
    return made


GONE = errors.KafkaConnectionError("refused")


def test_only_the_first_server_gets_a_request(opened: list[NodeClient]) -> None:
    nodes = nodes_of(opened, a="a", b="b")
    assert (nodes.ask(NEVER), nodes.asked) == ("a", ["a"])


def test_after_a_failure_the_next_is_asked_at_once(opened: list[NodeClient]) -> None:
    nodes = nodes_of(opened, a=GONE, b=GONE, c="c", d="d")
    assert (nodes.ask(NEVER), nodes.asked) == ("c", ["a", "b", "c"])


def test_one_that_says_nothing_is_given_its_time_and_no_more(opened: list[NodeClient]) -> None:
    nodes = nodes_of(opened, a=None, b="b")
    assert (nodes.ask(0.01), nodes.asked) == ("b", ["a", "b"])


def test_the_deadline_of_the_caller_ends_a_question_and_leaves_each_node_its_turn(opened: list[NodeClient]) -> None:
    nodes = nodes_of(opened, a=None, b=None, c="c")
    with deadline.until(end := time.monotonic() + 0.3):
        assert nodes.ask(NEVER) == "c"
    assert (nodes.asked, nodes.ends) == (["a", "b", "c"], [end, end, end])


def test_the_last_failure_is_raised_if_all_fail(opened: list[NodeClient]) -> None:
    nodes = nodes_of(opened, a=errors.KafkaConnectionError("first"), b=errors.KafkaConnectionError("last"))
    with pytest.raises(errors.KafkaConnectionError, match="last"):
        nodes.ask(NEVER)
    assert nodes.asked == ["a", "b"]


def test_a_client_is_closed_while_its_thread_still_works() -> None:
    """As on a machine that is so busy that the thread does not end within the time limit."""
    nodes = NodeClient(Connection(("127.0.0.1:1",), request_timeout=0.1), ["127.0.0.1:1"])
    nodes._net.start()
    working, released = threading.Event(), threading.Event()

    def work() -> None:
        working.set()
        assert released.wait(NEVER)

    nodes._net.call_soon_threadsafe(work)
    assert working.wait(NEVER)
    nodes.close()
    released.set()


class Throttling(NodeClient):
    """Every answer asks for a pause."""

    def __init__(self, throttle_time_ms: int) -> None:
        super().__init__(Connection(("127.0.0.1:1",), request_timeout=5.0), ["127.0.0.1:1"])
        self.slept: list[float] = []

        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        self._net.sleep = sleep
        self._manager.send = lambda *_arguments, **_options: Future().success(SimpleNamespace(throttle_time_ms=throttle_time_ms))

    def ask_each(self, requests: int) -> list[Any]:
        answers: list[Any] = self._ask_each({"a": [object()] * requests})["a"]
        return answers


@pytest.mark.parametrize(("throttle_time_ms", "slept"), [(4000, True), (5001, False), (2**31 - 1, False)])
def test_no_pause_is_longer_than_the_request_timeout(opened: list[NodeClient], throttle_time_ms: int, slept: bool) -> None:
    opened.append(nodes := Throttling(throttle_time_ms))
    nodes._net.start()
    answers = nodes.ask_each(9)
    assert (len(answers) == 9) == slept
    assert bool(nodes.slept) == slept
    assert max(nodes.slept, default=0.0) <= 5.0
    assert ("throttle_time_ms" in nodes.unreachable.get("a", "")) != slept


def test_a_negative_pause_is_none(opened: list[NodeClient]) -> None:
    opened.append(nodes := Throttling(-(2**31)))
    nodes._net.start()
    assert (len(nodes.ask_each(9)), nodes.slept, nodes.unreachable) == (9, [], {})


class Listing(NodeClient):
    """Every node gives the same answer to every request, and it takes this many bytes when it is decoded."""

    def __init__(self, answer: Any, decoded_bytes: int = 0) -> None:
        super().__init__(Connection(("127.0.0.1:1",), request_timeout=5.0), ["127.0.0.1:1"])
        self._answer, self._decoded_bytes = answer, decoded_bytes

    def _send(self, node: Any, request: Any, end: float | None = None, seconds_left: Any = None) -> Any:
        self._memory.decode(node, self._decoded_bytes)
        return Future().success(self._answer)


def listing(opened: list[NodeClient], answer: Any, decoded_bytes: int = 0) -> Listing:
    opened.append(nodes := Listing(answer, decoded_bytes))
    nodes._net.start()
    return nodes


def rows(answer: range) -> list[tuple[str, int]]:
    return [(f"group{number}", number) for number in answer]


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "KEPT_BYTES", 1 << 20, raising=False)


@pytest.mark.usefixtures("little")
def test_rows_that_are_read_count_and_rows_that_are_dropped_do_not(opened: list[NodeClient]) -> None:
    nodes = listing(opened, range(1000), decoded_bytes=1 << 19)
    with pytest.raises(ClusterError, match=r"more than 1 MiB, most of it from node a"):
        nodes._ask_each({"a": [object()] * 60}, rows)
    assert nodes._ask_each({"a": [object()] * 60}, lambda answer: rows(answer)[:5]) == {"a": [rows(range(5))] * 60}


@pytest.mark.usefixtures("little")
def test_each_row_of_numbers_counts_as_the_largest_one(opened: list[NodeClient]) -> None:
    nodes = listing(opened, range(1000))

    def numbers(answer: range) -> dict[int, int]:
        return dict.fromkeys(answer, 0)

    assert nodes._ask_each({"a": [object()] * 4}, numbers) == {"a": [numbers(range(1000))] * 4}
    with pytest.raises(ClusterError, match="more than 1 MiB"):
        nodes._ask_each({"a": [object()] * 4}, numbers, row_bytes=300)


@pytest.mark.usefixtures("little")
def test_a_node_with_many_ids_has_one_budget(opened: list[NodeClient]) -> None:
    nodes = listing(opened, range(1000))
    assert list(nodes._ask_each({"a": [object()] * 4}, rows)) == ["a"]
    with pytest.raises(ClusterError, match=r"answers of [0-9]+ nodes take more than 1 MiB"):
        nodes._ask_each({f"a{number}": [object()] * 4 for number in range(13)}, rows)


@pytest.mark.usefixtures("little")
def test_answers_that_are_kept_as_they_are_have_the_same_budget(opened: list[NodeClient]) -> None:
    nodes = listing(opened, range(1000), decoded_bytes=1 << 18)
    assert nodes._ask_each({"a": [object()] * 3}) == {"a": [range(1000)] * 3}
    with pytest.raises(ClusterError, match=r"answers of [0-9]+ nodes take more than 1 MiB"):
        nodes._ask_each({name: [object()] * 2 for name in "abc"})


@pytest.mark.usefixtures("little")
def test_rounds_that_belong_together_have_one_budget(opened: list[NodeClient]) -> None:
    nodes, kept = listing(opened, range(1000)), KeptMemory()
    nodes._ask_each({"a": [object()] * 4}, rows, kept)
    with pytest.raises(ClusterError, match="more than 1 MiB"):
        nodes._ask_each({"b": [object()] * 4}, rows, kept)


def test_the_size_of_rows_is_about_what_python_takes() -> None:
    tracemalloc.start()
    try:
        value = {"t": [(f"group{number}", (number + 1000, float(number))) for number in range(20_000)]}
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.7 * taken < size_of(value) < 1.3 * taken
    shared = "x" * 10_000
    assert size_of([shared] * 1000) < 20_000
