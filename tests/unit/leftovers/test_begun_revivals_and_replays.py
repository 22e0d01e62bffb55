# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Revivals that have begun and not ended, and transactions of replays: shown, never removed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers import replays, revivals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import Transaction
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.journal import Begun, RevivalJournal

KEY = ("t", 0)
STATE = PartitionState("t", 0, "id", -1, 1, (1, 2, 3), (), (), (), (1,))


def test_a_revival_that_has_not_ended_is_shown_with_its_groups(tmp_path: Path) -> None:
    with RevivalJournal(tmp_path / "east.jsonl", "abc") as journal:
        journal.begin({KEY: Begun("id", (1,), (2, 3))})
        journal.reset({KEY: {"billing": 7, "audit": 9}})
        (row,) = revivals.rows(journal, {KEY: STATE})
        assert (row.outcome, row.present, row.original) == ("kept", "2,3", "1") and "reset 2 committed offsets" in str(row.reason)
        journal.end([KEY])
        assert revivals.rows(journal, {KEY: STATE}) == []


@pytest.mark.parametrize(
    "state", [None, replace(STATE, topic_id="new"), replace(STATE, replicas=(4, 5))], ids=["deleted", "recreated", "moved"]
)
def test_a_revival_of_what_is_gone_is_not_left_over(tmp_path: Path, state: PartitionState | None) -> None:
    with RevivalJournal(tmp_path / "east.jsonl", "abc") as journal:
        journal.begin({KEY: Begun("id", (1,), (2, 3))})
        assert revivals.rows(journal, {} if state is None else {KEY: state}) == []


def test_only_transactions_of_replays_are_shown() -> None:
    one = Transaction("kafka-recovery-replay.id.0.t", "Ongoing", 7, 0, 60_000, 1_000, frozenset([KEY]))
    rows = replays.rows([one, one._replace(transactional_id="billing"), one._replace(started_at=-1, partitions=frozenset())])
    assert [(row.topic, row.partition, row.since) for row in rows] == [("t", 0, "1970-01-01T00:00:01Z"), (None, None, None)]
    assert [row.place for row in rows] == ["t-0", "the cluster"]
    assert "60 s after it began" in str(rows[0].reason)


@pytest.mark.parametrize(("started_at", "since"), [(2**63 - 1, "+292278994-08-17T07:12:55Z"), (-(2**63), None)])
def test_a_time_that_no_clock_has_is_shown_all_the_same(started_at: int, since: str | None) -> None:
    """Coordinators may answer it, and the times of the metadata log are those of controllers."""
    one = Transaction("kafka-recovery-replay.id.0.t", "Ongoing", 7, 0, 60_000, started_at, frozenset([KEY]))
    assert [row.since for row in replays.rows([one])] == [since]
