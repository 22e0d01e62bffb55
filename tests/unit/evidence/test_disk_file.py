# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which logs of a disk are evidence, and which files of disks are believed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import EpochEndAnswer
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import ContentError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import disk_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.disk_logs import add_disk_logs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.documents import Evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog

TOPIC_ID, CLUSTER_ID = "0wsEX7CPSmyXTcW-hn4sMw", "MkU3OEVBNTcwNTJENDM2Qk"
KEY = ("orders", 0)
LOST, SURVIVOR = 3, 1
STATE = PartitionState("orders", 0, TOPIC_ID, -1, 7, (LOST, SURVIVOR), (LOST,), (), (), (LOST,))
READ: dict[str, Any] = {
    "topic": "orders",
    "partition": 0,
    "error": None,
    "topic_id": TOPIC_ID,
    "log_start_offset": 0,
    "log_end_offset": 150,
    "kept_end_offset": 150,
    "kept_end_checked": True,
    "last_written_epoch": 4,
    "last_batch_transactional": False,
    "high_watermark": 140,
    "epochs": [{"epoch": 0, "start_offset": 0}, {"epoch": 4, "start_offset": 100}, {"epoch": 5, "start_offset": 150}],
    "last_batch_base_offset": 140,
    "torn": None,
    "doubts": [],
}


def usable(**changes: Any) -> disk_file.Row | str:
    return disk_file.usable_row({**copy.deepcopy(READ), **changes}, STATE)


def test_a_log_that_is_known_to_its_end_is_evidence() -> None:
    row = usable()
    assert isinstance(row, dict) and row["epochs"] == READ["epochs"][:2], "an epoch without records is left out"
    disk = disk_file.disk_log(row, LOST, 1000)
    assert (disk.end, disk.log.last_written_epoch, disk.log.read_from_disk_at) == (150, 4, 1000)


@pytest.mark.parametrize(
    "changes",
    [
        {"error": {"path": "x", "reason": "y"}},
        {"topic_id": None},
        {"topic_id": "other"},
        {"torn": {"why": "zeroed"}},
        {"doubts": ["committed records are missing"]},
        {"kept_end_checked": False},
        {"kept_end_offset": None},
        {"kept_end_offset": 100},
        {"last_batch_base_offset": None},
        {"last_batch_base_offset": 150},
        {"last_batch_base_offset": 99},
        {"last_written_epoch": -1},
        {"last_written_epoch": 5},
        {"epochs": []},
        {"epochs": [{"epoch": 0, "start_offset": 0}]},
        {"epochs": [{"epoch": 4, "start_offset": 0}, {"epoch": 4, "start_offset": 100}]},
        {"epochs": [{"epoch": 0, "start_offset": 100}, {"epoch": 4, "start_offset": 100}]},
        {"high_watermark": 151},
        {"log_start_offset": 150},
    ],
)
def test_a_log_in_doubt_is_no_evidence(changes: dict[str, Any]) -> None:
    assert isinstance(usable(**changes), str)


@pytest.mark.parametrize("name", [name for name in READ if name not in ("topic", "partition", "error", "torn")])
def test_a_row_of_another_shape_is_refused(name: str) -> None:
    with pytest.raises(ContentError, match=name):
        usable(**{name: object()})


class Survivor:
    """A cluster whose survivor answers where epoch 0 ends in its log."""

    cluster_id = CLUSTER_ID

    def __init__(self, cut_off: set[int] | None = None) -> None:
        self.cut_off = cut_off or set()

    def epoch_ends(self, work: Mapping[int, Mapping[tuple[str, int], int]]) -> dict[int, dict[tuple[str, int], Any]]:
        return {broker: {key: EpochEndAnswer(None, 0, 100) for key in asked} for broker, asked in work.items()}


def evidence(broker_state: str = "fenced", leader_epoch: int = 7) -> Evidence:
    log = ReplicaLog(None, 0, 120, 100, 7, LastBatch(110, 119, 2, 5, 0))
    states = [replace(STATE, leader_epoch=leader_epoch)]
    return Evidence(states, [{"broker_id": LOST, "broker_state": broker_state}], {(KEY, SURVIVOR): log})


def written(workdir: Path, cluster_id: str = CLUSTER_ID, broker: int = LOST) -> Path:
    row = usable()
    assert isinstance(row, dict)
    path = disk_file.disk_file(workdir, "east", LOST)
    header = {"cluster": "east", "cluster_id": cluster_id, "collected_at": "2026-11-21T10:00:00Z"}
    disk_file.write(path, header, broker, [row])
    return path


def test_the_log_of_a_disk_is_that_of_a_fenced_broker(tmp_path: Path) -> None:
    written(tmp_path)
    found = evidence()
    assert add_disk_logs(Survivor(), tmp_path, "east", found) == []
    assert found.fenced[KEY, LOST].read_from_disk_at == 1795255200000
    (pair,) = found.fenced_pairs
    assert (pair["broker_a"], pair["broker_b"], pair["relation"], pair["common_offset"]) == (SURVIVOR, LOST, "forked", 100)


@pytest.mark.parametrize("broker_state", ["unfenced", "coming_back"])
def test_the_disk_of_a_broker_that_is_not_lost_does_not_count(tmp_path: Path, broker_state: str) -> None:
    written(tmp_path)
    found = evidence(broker_state)
    assert add_disk_logs(Survivor(), tmp_path, "east", found) == [] and not found.fenced


def test_the_disk_of_a_broker_that_runs_does_not_count(tmp_path: Path) -> None:
    written(tmp_path)
    found = evidence()
    assert add_disk_logs(Survivor({LOST}), tmp_path, "east", found) == [] and not found.fenced


def test_a_log_of_a_partition_that_had_a_leader_since_does_not_count(tmp_path: Path) -> None:
    written(tmp_path)
    found = evidence(leader_epoch=8)
    (warning,) = add_disk_logs(Survivor(), tmp_path, "east", found)
    assert "read the disk again" in warning and not found.fenced


@pytest.mark.parametrize("options", [{"cluster_id": "other"}, {"broker": 4}])
def test_the_disk_of_another_cluster_or_broker_does_not_count(tmp_path: Path, options: dict[str, Any]) -> None:
    written(tmp_path, **options)
    found = evidence()
    (warning,) = add_disk_logs(Survivor(), tmp_path, "east", found)
    assert "is not of the disk of broker 3" in warning and not found.fenced


def test_a_file_that_was_changed_does_not_count(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"150", b"160"))
    found = evidence()
    (warning,) = add_disk_logs(Survivor(), tmp_path, "east", found)
    assert "seal" in warning and not found.fenced
    path.unlink()
    path.symlink_to(tmp_path)
    assert "symbolic link" in add_disk_logs(Survivor(), tmp_path, "east", found)[0]


def test_rows_that_cannot_be_are_refused(tmp_path: Path) -> None:
    row = usable()
    assert isinstance(row, dict)
    path = disk_file.disk_file(tmp_path, "east", LOST)
    header = {"cluster": "east", "cluster_id": CLUSTER_ID, "collected_at": "2026-11-21T10:00:00Z"}
    wrong: list[dict[str, Any]] = [{"high_watermark": 151}, {"epochs": []}, {"log_end_offset": -1}, {"topic": 3}]
    for changes in wrong:
        disk_file.write(path, header, LOST, [{**row, **changes}])
        with pytest.raises(RecoveryError, match="a row is not valid"):
            disk_file.read(path, CLUSTER_ID, LOST)
