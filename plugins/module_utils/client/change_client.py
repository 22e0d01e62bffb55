# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends changes to brokers: to one that answers, and how often depends on what was checked before."""

from __future__ import annotations

import math
import time
from abc import ABC
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import unanswered_requests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.follower_client import FollowerClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import (
    CLIENT_IMPORT_ERROR,
    READ,
    TURNS,
    WRITE,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline

if CLIENT_IMPORT_ERROR is None:
    from kafka import errors

ONCE_SECONDS = 2.0  # after which a broker gets no change any more for which something was checked right before


def soon() -> float:
    """Return until when a broker may get a change for which something is checked now, of the monotonic clock."""
    return time.monotonic() + ONCE_SECONDS


class ChangeClient(FollowerClient, ABC):
    """A client that changes the cluster."""

    def __init__(self, connection: Connection, servers: Sequence[str]) -> None:
        super().__init__(connection, servers)
        self._mute_on_changes: set[int] = set()  # brokers that have not answered a change
        self._not_ready: set[int] = set()  # brokers to which a change could not be sent when it was their turn

    def _send_write(
        self,
        make: Callable[[], Any],
        not_answered: Callable[[set[int]], None] = lambda _brokers: None,
        once: bool = False,
        written_by: float | None = None,
    ) -> Any:
        """Return the answer to a change. See `_send_write_to`."""
        return self._send_write_to(make, not_answered, once, written_by)[1]

    def _send_write_to(
        self, make: Callable[[], Any], not_answered: Callable[[set[int]], None], once: bool = False, written_by: float | None = None
    ) -> tuple[int, Any]:
        """Send a change to one broker, not to the one that reads use: a broker finishes the requests of a connection one by one. Return its id and answer.

        A broker that has answered before is preferred: a request that is never answered may be executed long afterwards (`in_doubt`). Each broker has
        `request_timeout`, all of them together have TURNS times as long, so one change never waits for a hundred brokers.
        `not_answered`: gets the ids of the brokers that got the change and have not answered, if there are any.
        `once`: no other broker gets it then, and no one after `written_by`. What was checked before the change may not hold any more. None: `soon`.
        """
        reader, writer = self._last_nodes.get(READ), self._last_nodes.get(WRITE)
        nodes = sorted(
            self._current(),
            key=lambda node: (
                node in self._mute_on_changes,
                node in self._not_ready,
                node in self.unreachable,
                node not in self._responsive,
                node != writer,
                node == reader,
                node,
            ),
        )
        ask = partial(self._answered_by_one, written_by=written_by or soon()) if once else self._answered_by_any
        sent: list[tuple[int, Any]] = []
        answered_by = None
        try:
            with deadline.until(time.monotonic() + TURNS * self._connection.request_timeout):
                answered_by, answer = ask(make, nodes, sent)
            return answered_by, answer
        finally:
            if silent := unanswered_requests.unanswered(sent, answered_by):
                self._mute_on_changes |= silent
                not_answered(silent)

    def _answered_by_any(self, make: Callable[[], Any], nodes: Sequence[int], sent: list[tuple[int, Any]]) -> tuple[int, Any]:
        """Return the first answer to a change, after its broker. `sent` gets the request of each broker that was asked."""
        return self._recorded(self._answered_by, make, nodes, sent, math.inf)

    def _answered_by_one(
        self, make: Callable[[], Any], nodes: Sequence[int], sent: list[tuple[int, Any]], written_by: float
    ) -> tuple[int, Any]:
        """Return the answer of the first broker that gets a change, after its id. `sent`: as for `_answered_by_any`.

        A broker that hangs leaves time to others. Why one does not answer is found out after the last one, because that takes time, too.
        """
        for node in nodes[:-1]:
            turn = time.monotonic() + ONCE_SECONDS / min(TURNS, len(nodes))
            try:
                return self._recorded(self._ask_any, make, [node], sent, min(written_by, turn))
            except errors.KafkaError as error:
                if unanswered_requests.unanswered(sent, None):
                    raise self._no_answer(make, error) from error
                self._not_ready.add(node)
        return self._recorded(self._answered_by, make, nodes[-1:], sent, written_by)

    def _recorded(
        self,
        ask: Callable[..., tuple[int, Any]],
        make: Callable[[], Any],
        nodes: Sequence[int],
        sent: list[tuple[int, Any]],
        written_by: float,
    ) -> tuple[int, Any]:
        """Return what `ask` returns for a change, which is `_ask_any` or its like. `sent` gets the request of each broker that was asked."""
        made: list[Any] = []  # one for each of the first `nodes`: they are asked in this order

        def make_one() -> Any:
            made.append(make())
            return made[-1]

        try:
            return ask(make_one, nodes, self._connection.request_timeout, WRITE, written_by)
        finally:
            sent += zip(nodes, made, strict=False)
