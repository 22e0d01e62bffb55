# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Own choices: the metadata log settles what brokers do not tell, and only where it was there. (Its reading on real controllers: test_kip966.)"""

from __future__ import annotations

import socket
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import controller_elections
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import isr_history
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.leader_eligibility import own_choice

BEFORE = PartitionState("t", 0, "id", -1, 3, (1, 2, 3), (), (1,), (1,), (1, 2))
NOW = PartitionState("t", 0, "id", 1, 4, (1, 2, 3), (1,), (), (), (2,))
WORTH = own_choice(1, BEFORE, NOW, {3}, True)
assert WORTH is not None
IN_DOUBT = Result("t", 0, "clean_leader", 1, 3, "prefix", *WORTH)
OTHERS = [
    Result("t", 1, "elected", 3, 3, "prefix", None, None),
    Result("t", 2, "clean_leader", 2, 3, "prefix", "elected_from_isr", "broker 2 came back"),
]


class Cluster:
    """Shows the partition in doubt, and another one of its topic."""

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        return {NOW.key: NOW, ("t", 9): replace(NOW, partition=9)}


def change(leader: int, unclean: bool = False) -> dict[str, Any]:
    return {"leader": leader, "unclean": unclean}


@pytest.mark.parametrize(
    ("doubt", "changes", "words", "code"),
    [
        (
            None,
            [change(1), change(-1), change(1, unclean=True), change(1)],
            "by itself: the last known leader, whose shutdown was unclean",
            "elected_as_last_known_leader",
        ),
        (
            None,
            [change(1, unclean=True), change(-1), change(1)],
            "by itself: from the ELR, without loss (as the metadata log says)",
            "elected_from_elr",
        ),
        (None, [change(1)], "if its shutdown was clean", "elected_from_elr_or_as_last_known_leader"),
        (None, [change(-1), change(1), change(2)], "if its shutdown was clean", "elected_from_elr_or_as_last_known_leader"),
        (None, [], "if its shutdown was clean", "elected_from_elr_or_as_last_known_leader"),
        ("cut off", [change(-1), change(1, unclean=True)], "if its shutdown was clean", "elected_from_elr_or_as_last_known_leader"),
    ],
)
def test_the_metadata_log_decides_if_it_has_the_election_of_this_leader(
    monkeypatch: pytest.MonkeyPatch, doubt: str | None, changes: list[dict[str, Any]], words: str, code: str
) -> None:
    rows = [{**isr_history.unreadable_history_row(("t", 0), doubt), "changes": changes}]
    monkeypatch.setattr(isr_history, "read_isr_history", lambda controllers, states, alive, seconds: (rows, {}))
    monkeypatch.setattr(controller_elections, "Controllers", lambda connection: nullcontext())
    first, *rest = controller_elections.settled([IN_DOUBT, *OTHERS], Cluster(), Connection(("localhost:9092",)), 1.0)
    assert words in (first.reason or "")
    assert (first.outcome, first.leader, first.reason_code) == ("clean_leader", 1, code)
    assert rest == OTHERS


@pytest.mark.parametrize("outcome", ["clean_leader", "already_online"])
@pytest.mark.parametrize(("unclean", "code"), [(True, "elected_by_others"), (False, "elected_from_elr")])
def test_the_log_also_settles_whether_an_election_was_unclean(
    monkeypatch: pytest.MonkeyPatch, unclean: bool, code: str, outcome: str
) -> None:
    choice = own_choice(1, replace(BEFORE, last_known_elr=(2,)), NOW, {3}, True)
    assert choice is not None and choice.code == "elected_from_elr_or_unclean"
    rows = [{**isr_history.unreadable_history_row(("t", 0), None), "changes": [change(-1), change(1, unclean=unclean)]}]
    monkeypatch.setattr(isr_history, "read_isr_history", lambda controllers, states, alive, seconds: (rows, {}))
    monkeypatch.setattr(controller_elections, "Controllers", lambda connection: nullcontext())
    doubted = Result("t", 0, outcome, 1, 3, "prefix", *choice)
    (result,) = controller_elections.settled([doubted], Cluster(), Connection(("localhost:9092",)), 1.0)
    assert (result.outcome, result.leader, result.reason_code) == (outcome, 1, code)
    assert (result.reason or "").startswith("broker 1 leads it: ") == (outcome == "already_online")


def test_where_no_controller_answers_the_results_stand_as_they_are() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = f"127.0.0.1:{server.getsockname()[1]}"
    connection = Connection(("localhost:9092",), (closed,), request_timeout=1.0)
    assert controller_elections.settled([IN_DOUBT, *OTHERS], Cluster(), connection, 1.0) == [IN_DOUBT, *OTHERS]


def test_only_who_may_have_been_either_is_in_doubt() -> None:
    assert controller_elections.doubtful([IN_DOUBT, *OTHERS]) == {("t", 0)}
