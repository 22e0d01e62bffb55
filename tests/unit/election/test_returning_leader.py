# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What live replicas truncate when a lost broker starts and leads again: all that its log lacks, and all of a log that cannot be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import EpochEndAnswer
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import returning_leader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_comparison import DiskLog

KEY = ("t", 0)
LOST, LIVE = 1, 2
STATE = PartitionState("t", 0, "id", -1, 9, (LOST, LIVE, 3), (LOST,), (), (), ())
# Leader epoch 0 up to offset 5, then leader epoch 2 up to offset 10.
DISK = DiskLog("t", 0, "id", 0, 10, 2, {0: 0, 2: 5}, last_base_offset=8)


def log(end: int, epoch: int, start: int = 0) -> ReplicaLog:
    """A log that ends with a batch of two records."""
    return ReplicaLog(None, start, end, 0, 9, LastBatch(end - 2, end - 1, epoch, 0, 0))


def tails_of(
    monkeypatch: pytest.MonkeyPatch, replica: ReplicaLog, disk: DiskLog = DISK, ends: Mapping[int, tuple[int, int]] | None = None
) -> Any:
    class Cluster:
        def unfenced(self) -> set[int]:
            return {LIVE}

        def epoch_ends(self, work: Mapping[int, Mapping[Any, int]]) -> Any:
            return {LIVE: {KEY: EpochEndAnswer(None, *(ends or {})[work[LIVE][KEY]])}}

    def read_logs(_cluster: Any, wanted: Any, _duration: float) -> Any:
        assert wanted == [(KEY, LIVE)]
        return {(KEY, LIVE): replica}

    monkeypatch.setattr(returning_leader, "read_logs", read_logs)
    found = returning_leader.find_live_tails(Cluster(), LOST, [disk], {KEY: STATE})  # type: ignore[arg-type]  # what it uses of it
    assert found.compared == {KEY: [LIVE]}
    return [(tail.broker_id, tail.start, tail.end) for tail in found.tails], found.unread


@pytest.mark.parametrize(
    ("replica", "ends", "tails"),
    [
        (log(10, 2), {}, []),
        (log(8, 2), {}, []),
        (log(14, 2), {}, [(LIVE, 10, 14)]),
        (log(9, 1), {0: (0, 5)}, [(LIVE, 5, 9)]),
        (log(9, 1), {0: (0, 3)}, [(LIVE, 3, 9)]),
        (ReplicaLog(None, 0, 0, 0, 9), {}, []),
        (ReplicaLog(None, 0, 9, 0, 9, None), {}, [(LIVE, None, 9)]),
        (log(30, 2, start=20), {}, [(LIVE, None, 30)]),
    ],
    ids=["same", "shorter", "longer", "fork", "fork before", "empty", "no last batch", "nothing in common"],
)
def test_what_the_disk_lacks_is_lost(
    monkeypatch: pytest.MonkeyPatch, replica: ReplicaLog, ends: Mapping[int, tuple[int, int]], tails: list[tuple[int, int | None, int]]
) -> None:
    assert tails_of(monkeypatch, replica, ends=ends) == (tails, {})


def test_a_log_of_the_disk_in_doubt_or_without_batches_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tails_of(monkeypatch, log(10, 2), DISK._replace(doubt="its checkpoint is old")) == ([(LIVE, None, 10)], {})
    empty = DiskLog("t", 0, "id", 0, 0, -1, {})
    (((broker, start, end),), unread) = tails_of(monkeypatch, log(10, 2), empty)
    assert (broker, start or 0, end, unread) == (LIVE, 0, 10, {})


def test_a_replica_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tails, unread = tails_of(monkeypatch, ReplicaLog("NO_ANSWER"))
    assert not tails and "NO_ANSWER" in unread[KEY, LIVE]
