# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The four numbers of a run, from its files: before and after its records are saved and replayed, and what is not known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from record_batches import batch
from saved_folders import HEADER, save

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.lost_record_counts import LostRecordCounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact.recovered_partitions import RecoveredRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovered_partition import RecoveredPartition, Truncation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict, replayed_records
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.lost_records import sums
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replayed_records import ReplayedRun

KEY, TOPIC_ID = ("orders", 0), "id-of-orders"
CUT = Truncation(3, 100, 120)
# What the disk of broker 1 has beyond the log of the elected broker 2. Broker 3 had a part of it.
ONLY_THERE: dict[str, Any] = {
    "topic": "orders", "partition": 0, "topic_id": TOPIC_ID, "relation": "only_on_disk", "start_offset": 100, "end_offset": 150,
    "leader_epochs": [{"epoch": 4, "start_offset": 100}, {"epoch": 5, "start_offset": 120}], "damage": None,
}  # fmt: skip
IN_CLUSTER = {**ONLY_THERE, "relation": "in_cluster", "start_offset": None, "end_offset": None, "leader_epochs": []}


def counted(workdir: Path, truncated: tuple[Truncation, ...] | None = (CUT,), **changes: Any) -> tuple[list[int | None], list[int]]:
    """What was replayed, saved, is on a disk, is gone, and the total; then the brokers whose disks may have more."""
    values: dict[str, Any] = {
        "topic_id": TOPIC_ID,
        "leader_epoch": 6,
        "leader": 2,
        "truncated": truncated,
        "lost_replicas": (1,),
        **changes,
    }
    run = RecoveredRun({KEY: RecoveredPartition(*KEY, values.pop("outcome", "elected"), **values)}, cluster_id=HEADER["cluster_id"])
    (row,) = LostRecordCounts(workdir, "east", "1", run).rows()
    assert (row["reason"] is None) is (row["total"] is not None)
    return [row[name] for name in ("replayed", "saved", "on_disk", "gone", "total")], row["unread_brokers"]


def judge(workdir: Path, *rows: dict[str, Any], run_id: str = "1") -> None:
    result = {"broker_id": 1, "safe_to_start": False, "reasons": [], "counts": {}, "path": None, "partitions": list(rows)}
    disk_verdict.write(disk_verdict.path_of(workdir, "east", 1), HEADER["cluster_id"], run_id, result)


def save_log(workdir: Path, broker: int, *batches: bytes, leader_epoch: int = 5) -> None:
    save(workdir, {("orders", 0, broker, 100): b"".join(batches)}, leader_epoch)


def test_before_and_after_a_rescue_and_a_replay(tmp_path: Path) -> None:
    assert counted(tmp_path) == ([0, 0, 0, 20, 20], [1]), "nothing was saved, and the lost disk was not read"
    save_log(tmp_path, 3, batch(100, 20, epoch=4), leader_epoch=6)
    assert counted(tmp_path) == ([0, 20, 0, 0, 20], [1])
    judge(tmp_path, ONLY_THERE)
    assert counted(tmp_path) == ([0, 20, 30, 0, 50], []), "what both have counts once"
    save_log(tmp_path, 1, batch(100, 20, epoch=4), batch(120, 30, epoch=5))
    assert counted(tmp_path) == ([0, 50, 0, 0, 50], [])
    run = ReplayedRun(4, 100, 120, 200, 220)
    row = {"topic": "orders", "partition": 0, "topic_id": TOPIC_ID, "target_topic": "orders", "runs": [run._asdict()]}
    replayed_records.write(tmp_path, "east", "1", HEADER["cluster_id"], [row])
    assert counted(tmp_path) == ([20, 30, 0, 0, 50], [])


@pytest.mark.parametrize(
    "row",
    [
        {**ONLY_THERE, "relation": "no_leader"},
        {**ONLY_THERE, "leader_epochs": []},
        {**ONLY_THERE, "relation": "unknown"},
        {**IN_CLUSTER, "damage": "a byte is wrong"},
    ],
)
def test_a_disk_that_may_have_more_is_named(tmp_path: Path, row: dict[str, Any]) -> None:
    judge(tmp_path, row)
    assert counted(tmp_path, ()) == ([0, 0, 0, 0, 0], [1])


def test_a_disk_has_more_until_all_that_only_it_has_is_saved(tmp_path: Path) -> None:
    def brokers(lost: tuple[int, ...] = (1, 4)) -> list[int]:
        part = RecoveredPartition(*KEY, "elected", TOPIC_ID, 6, leader=2, truncated=(), lost_replicas=(1, 4))
        run = RecoveredRun({KEY: part}, cluster_id=HEADER["cluster_id"])
        return LostRecordCounts(tmp_path, "east", "1", run).unsaved_disks(KEY, lost)

    assert brokers() == [1, 4]
    save_log(tmp_path, 4, batch(100, 20, epoch=4), leader_epoch=6)
    assert brokers() == [1], "broker 4 was cut off, and what it had was saved before the election"
    judge(tmp_path, {**ONLY_THERE, "saved": False})
    assert brokers() == [1] and brokers(()) == [], "one that is back has truncated its log"
    judge(tmp_path, {**ONLY_THERE, "saved": True, "damage": "a byte is wrong"})
    assert brokers() == [1]
    judge(tmp_path, {**ONLY_THERE, "saved": True})
    assert brokers() == []
    disk_verdict.withdraw(tmp_path, "east", HEADER["cluster_id"], "2", 1, "elected since")
    assert brokers() == [1]


def test_a_verdict_from_before_an_election_says_nothing(tmp_path: Path) -> None:
    judge(tmp_path, ONLY_THERE)
    disk_verdict.withdraw(tmp_path, "east", HEADER["cluster_id"], "2", 1, "elected since")
    assert counted(tmp_path, ()) == ([0, 0, 0, 0, 0], [1])


@pytest.mark.parametrize("truncated", [None, (Truncation(3, None, None),)])
def test_what_is_not_known_has_no_numbers(tmp_path: Path, truncated: tuple[Truncation, ...] | None) -> None:
    assert counted(tmp_path, truncated)[0] == [None] * 5


def test_damaged_files_leave_no_number(tmp_path: Path) -> None:
    judge(tmp_path, {**ONLY_THERE, "leader_epochs": 1})
    assert counted(tmp_path)[0] == [None] * 5


def test_an_election_that_cost_nothing_is_left_out(tmp_path: Path) -> None:
    judge(tmp_path)
    part = RecoveredPartition(*KEY, "elected", TOPIC_ID, 6, leader=2, truncated=(), lost_replicas=(1,))
    assert LostRecordCounts(tmp_path, "east", "1", RecoveredRun({KEY: part}, cluster_id=HEADER["cluster_id"])).rows() == []


def test_sums_add_up_and_say_what_they_lack() -> None:
    known = {"replayed": 1, "saved": 2, "on_disk": 3, "gone": 4, "total": 10, "unread_brokers": []}
    unknown = {**dict.fromkeys(known), "unread_brokers": [1]}
    assert sums([known, known, unknown]) == {
        "partitions": 3, "replayed": 2, "saved": 4, "on_disk": 6, "gone": 8, "total": 20, "not_known": 1, "unread": 1,
    }  # fmt: skip
