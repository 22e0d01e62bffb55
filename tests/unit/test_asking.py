# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking: who is asked next, and when. Made-up nodes, because real ones fail at no chosen moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kafka import errors
from kafka.future import Future

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.asking import Asking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.connection import Connection

NEVER = 3600.0  # seconds: whoever waits for it fails by not ending


class Nodes(Asking):
    """Nodes answer with their own name, fail with an error, or say nothing at all."""

    def __init__(self, **nodes: Exception | str | None) -> None:
        super().__init__(Connection(("127.0.0.1:1",), request_timeout=5.0), ["127.0.0.1:1"])
        self.nodes = nodes
        self.asked: list[str] = []

    def _send(self, node: Any, request: Any) -> Any:
        self.asked.append(node)
        found = self.nodes[node]
        if isinstance(found, Exception):
            return Future().failure(found)
        return Future() if found is None else Future().success(found)

    def ask(self, hedge_after: float) -> Any:
        return self._ask_any(object, list(self.nodes), hedge_after)


@pytest.fixture
def opened() -> Iterator[list[Nodes]]:
    made: list[Nodes] = []
    yield made
    for nodes in made:
        nodes.close()


def nodes_of(opened: list[Nodes], **nodes: Exception | str | None) -> Nodes:
    opened.append(Nodes(**nodes))
    opened[-1]._net.start()
    return opened[-1]


GONE = errors.KafkaConnectionError("refused")


def test_the_first_is_asked_and_nobody_else(opened: list[Nodes]) -> None:
    nodes = nodes_of(opened, a="a", b="b")
    assert (nodes.ask(NEVER), nodes.asked) == ("a", ["a"])


def test_after_a_failure_the_next_is_asked_at_once(opened: list[Nodes]) -> None:
    nodes = nodes_of(opened, a=GONE, b=GONE, c="c", d="d")
    assert (nodes.ask(NEVER), nodes.asked) == ("c", ["a", "b", "c"])


def test_one_that_says_nothing_is_given_its_time_and_no_more(opened: list[Nodes]) -> None:
    nodes = nodes_of(opened, a=None, b="b")
    assert (nodes.ask(0.01), nodes.asked) == ("b", ["a", "b"])


def test_the_last_failure_is_told_where_all_fail(opened: list[Nodes]) -> None:
    nodes = nodes_of(opened, a=errors.KafkaConnectionError("first"), b=errors.KafkaConnectionError("last"))
    with pytest.raises(errors.KafkaConnectionError, match="last"):
        nodes.ask(NEVER)
    assert nodes.asked == ["a", "b"]
