# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reassignments: valid input, every error of KIP-179's table, and the verdict on each partition."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import validate
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import (
    CANCEL,
    MOVING,
    REFUSED,
    SUBMIT,
    UNCHANGED,
    Brokers,
    Move,
    Verdict,
    judge,
    judge_cancellations,
    restore_orders,
    wanted,
    with_replicas,
)

KEY = ("t", 0)
# Brokers 1 to 5 are registered, 5 is fenced.
BROKERS = Brokers(frozenset({1, 2, 3, 4, 5}), frozenset({1, 2, 3, 4}), True)
STATE = PartitionState("t", 0, "id", 1, 3, (1, 2, 3), (1, 2, 3), (), (), ())
STATES = {KEY: STATE}
UNDER_WAY = OngoingReassignment((4, 2, 3, 1), (4,), (1,))


def verdict(
    target: tuple[int, ...], states: Any = None, ongoing: Any = None, brokers: Brokers = BROKERS, may_change: bool = True
) -> Verdict:
    return judge({KEY: target}, STATES if states is None else states, ongoing or {}, brokers, may_change)[0]


def file_of(path: Path, document: Any) -> str:
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


# --- the requested replicas ---------------------------------------------------------------------------------------------


def test_the_option_and_the_file_of_kafkas_tool_mean_the_same_in_recovery_order(tmp_path: Path) -> None:
    rows = [
        {"topic": "t", "partition": 1, "replicas": [1, 2]},
        {"topic": "__consumer_offsets", "partition": 0, "replicas": [3], "log_dirs": ["any"], "why": "fields of others are let through"},
    ]
    expected = {("__consumer_offsets", 0): (3,), ("t", 1): (1, 2)}
    assert wanted(rows, None) == expected
    found = wanted(None, file_of(tmp_path / "r.json", {"version": 1, "partitions": rows}))
    assert found == expected and list(found or ()) == list(expected)
    assert with_replicas(found) == expected
    assert wanted(None, None) is None


def test_what_is_kept_of_before_is_a_file_that_undoes_it(tmp_path: Path) -> None:
    before = {("t", 1): (3, 1), ("t", 0): (1, 2, 3)}
    path = tmp_path / "before.json"
    path.write_bytes(validate.as_file(before))
    assert wanted(None, str(path)) == before
    assert json.loads(path.read_text())["version"] == 1


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("{", "is not valid JSON"),
        ([], "expected an object"),
        ({"partitions": []}, "version is missing"),
        ({"version": 1}, "partitions is missing"),
        ({"version": "1", "partitions": []}, "version: expected a whole number"),
        ({"version": True, "partitions": []}, "version: expected a whole number"),
        ({"version": 2, "partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]}, "has version 2, "),
        ({"version": 1, "partitions": []}, "names no partition"),
        ({"version": 1, "partitions": [7]}, "expected an object"),
        ({"version": 1, "partitions": [{"partition": 0, "replicas": [1]}]}, "entry 1: needs a topic"),
        ({"version": 1, "partitions": [{"topic": "t", "partition": -1, "replicas": [1]}]}, "entry 1: needs a topic"),
        ({"version": 1, "partitions": [{"topic": "t", "partition": True, "replicas": [1]}]}, "entry 1: needs a topic"),
        ({"version": 1, "partitions": [{"topic": "a/b", "partition": 0, "replicas": [1]}]}, "entry 1: needs a topic"),
        ({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": "1"}]}, "entry 1: the replicas of t-0"),
        ({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1.0]}]}, "entry 1: the replicas of t-0"),
        ({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [True]}]}, "entry 1: the replicas of t-0"),
        ({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [-1]}]}, "entry 1: the replicas of t-0"),
        ({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [2**31]}]}, "entry 1: the replicas of t-0"),
        ({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["/d"]}]}, "names log directories"),
        ({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1]}] * 2}, "INVALID_REQUEST: t-0 is named twice"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_name_and_the_place(document: Any, says: str, tmp_path: Path) -> None:
    path = file_of(tmp_path / "r.json", document)
    with pytest.raises(RecoveryError) as caught:
        wanted(None, path)
    assert says in str(caught.value) and path in str(caught.value)


def test_a_list_that_names_nothing_does_not_mean_everything_and_state_present_needs_replicas(tmp_path: Path) -> None:
    with pytest.raises(RecoveryError, match="option partitions names no partition"):
        wanted([], None)
    with pytest.raises(RecoveryError, match="cannot be read: No such file"):
        wanted(None, str(tmp_path / "missing.json"))
    bare = wanted([{"topic": "t", "partition": 0, "replicas": None}], None)
    assert bare == {KEY: None}
    with pytest.raises(RecoveryError, match="no replicas are named for t-0"):
        with_replicas(bare)
    with pytest.raises(RecoveryError, match="state present needs"):
        with_replicas(None)


# --- KIP-179's table -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "error", "says"),
    [
        (verdict((1, 2), {}), "UNKNOWN_TOPIC_OR_PARTITION", "there is no topic t"),
        (verdict((1, 2), {("t", 1): STATE}), "UNKNOWN_TOPIC_OR_PARTITION", "topic t has no partition 0"),
        (verdict(()), "INVALID_REPLICA_ASSIGNMENT", "empty"),
        (verdict((4, 2, 4)), "INVALID_REPLICA_ASSIGNMENT", "broker 4 is in [4, 2, 4] more than once"),
        (verdict((9, 2, 8)), "INVALID_REPLICA_ASSIGNMENT", "each of the brokers 9, 8 of [9, 2, 8] is not registered"),
        (verdict((5, 2, 3)), "BROKER_NOT_AVAILABLE", "broker 5 is not alive (fenced)"),
        (verdict((1, 2), may_change=False), "INVALID_REPLICATION_FACTOR", "3 replicas would become 2"),
        (verdict((1, 2, 3, 4), may_change=False), "INVALID_REPLICATION_FACTOR", "3 replicas would become 4"),
        (verdict((1, 2, 4), ongoing={KEY: UNDER_WAY}), "REASSIGNMENT_IN_PROGRESS", "already moving from [2, 3, 1] to [4, 2, 3]"),
        (verdict((4, 2, 3), {KEY: replace(STATE, leader=-1, isr=())}), "LEADER_NOT_AVAILABLE", "no live leader that broker 4"),
        (verdict((4, 2, 3), {KEY: replace(STATE, leader=5)}), "LEADER_NOT_AVAILABLE", "recover it first"),
    ],
)
def test_every_error_goes_by_the_name_that_kafka_has_for_it(found: Verdict, error: str, says: str) -> None:
    assert (found.action, found.error) == (REFUSED, error)
    assert says in (found.message or "")


def test_what_is_to_be_done() -> None:
    assert verdict((1, 2, 3)).action == UNCHANGED
    assert verdict((2, 1, 3)).action == SUBMIT, "another preferred leader"
    for target in ((4, 2, 3), (1, 2), (1, 2, 3, 4), (4,)):
        assert verdict(target).action == SUBMIT
    moving = verdict((4, 2, 3), {KEY: replace(STATE, replicas=(4, 2, 3, 1))}, {KEY: UNDER_WAY})
    assert moving.action == MOVING and moving.move == Move("t", 0, (2, 3, 1), (4, 2, 3))
    # On its way elsewhere, and asked to be as it was: that is a move of its own too.
    assert verdict((1, 2, 3), {KEY: replace(STATE, replicas=(4, 2, 3, 1))}, {KEY: UNDER_WAY}).error == "REASSIGNMENT_IN_PROGRESS"
    assert verdict((2, 1), {KEY: replace(STATE, leader=-1)}).action == SUBMIT, "there is nothing to copy"


def test_brokers_that_are_down_may_stay_but_not_be_added() -> None:
    down = {KEY: replace(STATE, replicas=(5, 2, 3), leader=2, isr=(2, 3))}
    assert verdict((5, 2, 4), down).action == SUBMIT, "broker 5 keeps its replica"
    assert verdict((4, 2, 3), down).action == SUBMIT, "broker 5 loses it"
    gone = {KEY: replace(STATE, replicas=(7, 2, 3), leader=2, isr=(2, 3))}
    assert verdict((7, 2, 4), gone).error == "INVALID_REPLICA_ASSIGNMENT", "the controller takes none that is not registered"
    assert verdict((7, 2, 3), gone).action == UNCHANGED
    # Before Kafka 4.0 fenced brokers are not listed: 7 may be one of them, 8 cannot be distinguished from it.
    old = Brokers(BROKERS.unfenced, BROKERS.unfenced, False)
    assert verdict((7, 2, 4), gone, brokers=old).action == SUBMIT
    assert verdict((8, 2, 3), gone, brokers=old).error == "INVALID_REPLICA_ASSIGNMENT"


def test_brokers_are_read_from_nodes() -> None:
    nodes = [Node(1, "h", 1, None, False), Node(2, "h", 2, None, True)]
    assert Brokers.of(nodes) == Brokers(frozenset({1, 2}), frozenset({1}), True)
    assert Brokers.of([Node(1, "h", 1, None, None)]) == Brokers(frozenset({1}), frozenset({1}), False)


# --- cancelling ----------------------------------------------------------------------------------------------------


def test_what_is_cancelled() -> None:
    states = {KEY: STATE, ("t", 1): replace(STATE, partition=1)}
    ongoing = {("t", 1): UNDER_WAY}
    keys = [KEY, ("t", 1), ("t", 7), ("u", 0)]
    assert [(row.action, row.error) for row in judge_cancellations(keys, states, ongoing)] == [
        (UNCHANGED, None),
        (CANCEL, None),
        (REFUSED, "UNKNOWN_TOPIC_OR_PARTITION"),
        (REFUSED, "UNKNOWN_TOPIC_OR_PARTITION"),
    ]
    (only,) = judge_cancellations(None, states, ongoing)
    assert only.move == Move("t", 1, (2, 3, 1), (4, 2, 3))
    # Kafka forgets in which order replicas were; who has kept it puts it back, for the same replicas only.
    assert restore_orders([only], {("t", 1): (1, 2, 3)})[0].move == Move("t", 1, (1, 2, 3), (4, 2, 3))
    assert restore_orders([only], {("t", 1): (1, 2, 5)}) == [only]
    assert restore_orders([only], {}) == [only]


def test_a_move_says_what_it_adds_and_removes() -> None:
    move = Move("t", 0, (1, 2, 3), (4, 3, 5))
    assert (move.adding, move.removing, move.key) == ((4, 5), (1, 2), KEY)
    assert (UNDER_WAY.target, UNDER_WAY.original) == ((4, 2, 3), (2, 3, 1))
