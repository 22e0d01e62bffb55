# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One broker alone cannot make the journal forget an order: what it states must be stated by a second one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import pytest
from fake_controller import Controller

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import replica_orders
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import ChangedOrder, Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)

KEY = "t", 0
ORIGINAL, CHANGED = (1, 3, 2), (2, 3, 1)
Answer = Callable[[PartitionState], PartitionState | None]
WRONG: dict[str, Answer] = {
    "left out": lambda _state: None,
    "the original order": lambda state: replace(state, replicas=ORIGINAL),
    "another topic": lambda state: replace(state, topic_id="another"),
    "other replicas": lambda state: replace(state, replicas=(7, 8, 9)),
}


class Brokers(Controller):
    """Broker 2 describes partitions, and then broker 3 states their replicas. `first`, `second`: how they change what is true."""

    first: Answer
    second: Answer

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        described = {key: self.first(state) for key, state in super().partitions(keys).items()}
        return {key: state for key, state in described.items() if state is not None}

    def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
        found = {}
        for key in super().second_replicas(states):
            state = self.second(self.states[key])
            found[key] = StatedReplicas(3, None) if state is None else StatedReplicas(3, state.replicas, state.topic_id)
        return found


def repaired(tmp_path: Path, first: Answer, second: Answer, alone: bool = False) -> tuple[Brokers, dict[TopicPartition, str], bool]:
    """Repair a journal that has the order of a killed election. Return the cluster, why the order is kept, and whether the journal still has it."""
    cluster = Brokers()
    cluster.first, cluster.second, cluster.alone = first, second, alone
    cluster.states[KEY] = replace(cluster.states[KEY], replicas=CHANGED)
    path = tmp_path / "journal.jsonl"
    with Journal(path, "abc") as journal:
        journal.intend([ChangedOrder(*KEY, cluster.states[KEY].topic_id, ORIGINAL, CHANGED)], [])
    with Journal(path, "abc") as journal:
        what = replica_orders.plan_repair(cluster, journal)
        replica_orders.execute_repair(cluster, journal, what)
    with Journal(path, "abc") as journal:
        return cluster, what.kept, KEY in journal.left_behind()


def true(state: PartitionState) -> PartitionState:
    return state


@pytest.mark.parametrize("wrong", WRONG)
def test_what_one_broker_alone_states_is_not_believed(tmp_path: Path, wrong: str) -> None:
    cluster, kept, is_there = repaired(tmp_path, WRONG[wrong], true)
    assert is_there and cluster.states[KEY].replicas == CHANGED
    assert "one of the two is behind or broken" in kept[KEY]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_a_second_broker_states_too_is_believed(tmp_path: Path, wrong: str) -> None:
    _cluster, kept, is_there = repaired(tmp_path, WRONG[wrong], WRONG[wrong])
    assert (kept, is_there) == ({}, False)


@pytest.mark.parametrize("wrong", WRONG)
def test_without_a_second_broker_the_journal_keeps_it(tmp_path: Path, wrong: str) -> None:
    _cluster, kept, is_there = repaired(tmp_path, WRONG[wrong], WRONG[wrong], alone=True)
    assert is_there and "no second" in kept[KEY]
