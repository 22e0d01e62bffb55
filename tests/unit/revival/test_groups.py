# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transactions that no coordinator ends once __transaction_state is revived, and which of them must not be aborted."""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ActiveTransactions
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.analysis import COMMIT_SAVED, NOT_READ
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import Producer, Transaction
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.groups import (
    ABORT,
    MAY_BE_KNOWN,
    hanging_transactions,
)

KEY, STATE = ("payments", 0), ("__transaction_state", 0)


def state(key: TopicPartition, leader: int) -> PartitionState:
    return PartitionState(*key, "id", leader, 1, (1,), (1,), (), (), ())


def explanations(commits: Collection[tuple[TopicPartition, int]] | None = (), blind: tuple[str, ...] = ()) -> dict[int, str]:
    """What is said of the open transactions of producers 4 and 5 on a partition. A coordinator knows that of producer 6."""
    producers = [Producer(one, 0, -1, 10 * one) for one in (4, 5, 6)]
    known = Transaction("known", "Ongoing", 6, 0, 0, 0, frozenset({KEY}))
    given_up: list[Collection[TopicPartition]] = []

    def active(_leaders: object, given: Collection[TopicPartition]) -> ActiveTransactions:
        given_up.append(given)
        return ActiveTransactions({KEY: producers}, [known], [*blind], {})

    states = {KEY: state(KEY, 1), STATE: state(STATE, -1)}
    cluster: Any = SimpleNamespace(unfenced=lambda: {1}, partitions=lambda: states, active_transactions=active)
    rows = hanging_transactions(cluster, {STATE}, lambda wanted: None if commits is None else wanted & {*commits})
    assert given_up == [{STATE}]
    assert all((row["topic"], row["partition"], row["start_offset"]) == (*KEY, 10 * row["producer_id"]) for row in rows)
    return {row["producer_id"]: row["explanation"] for row in rows}


def test_one_that_saved_records_commit_is_not_to_be_aborted() -> None:
    assert explanations({(KEY, 5)}) == {4: ABORT, 5: COMMIT_SAVED}
    assert explanations(None) == {4: NOT_READ, 5: NOT_READ}


def test_one_that_a_silent_coordinator_may_know_is_not_to_be_aborted() -> None:
    """One that loads what it knows, for example: the partition that is given up had no leader, and has one now."""
    assert set(explanations(blind=("broker 3 does not list its transactions: COORDINATOR_LOAD_IN_PROGRESS",)).values()) == {MAY_BE_KNOWN}
