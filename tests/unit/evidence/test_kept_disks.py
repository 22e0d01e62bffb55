# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kafka_disk_evidence keeps of a disk, and what it refuses. Results of another host are not trusted."""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.disk_run import keep_disk
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition

TOPIC_ID, CLUSTER_ID = "0wsEX7CPSmyXTcW-hn4sMw", "MkU3OEVBNTcwNTJENDM2Qk"
LOST, SURVIVOR = 3, 1
STATE = PartitionState("orders", 0, TOPIC_ID, -1, 7, (LOST, SURVIVOR), (LOST,), (), (), (LOST,))
ROW: dict[str, Any] = {
    "topic": "orders", "partition": 0, "error": None, "topic_id": TOPIC_ID, "log_start_offset": 0, "log_end_offset": 10, "kept_end_offset": 10,
    "kept_end_checked": True, "last_written_epoch": 4, "last_batch_transactional": False, "high_watermark": None,
    "epochs": [{"epoch": 4, "start_offset": 0}], "last_batch_base_offset": 5, "torn": None, "doubts": [],
}  # fmt: skip
DISK: dict[str, Any] = {"broker_id": LOST, "log_dirs": [{"cluster_id": CLUSTER_ID, "node_id": LOST}], "partitions": [ROW]}


@dataclass
class Brokers:
    """A cluster that has lost broker 3."""

    state: PartitionState = STATE
    broker_state: str = "fenced"
    cut_off: set[int] = field(default_factory=set)
    cluster_id: str = CLUSTER_ID

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
        return [{"broker_id": LOST, "broker_state": self.broker_state}]

    def partitions(self, keys: Collection[TopicPartition]) -> dict[TopicPartition, PartitionState]:
        return {self.state.key: self.state} if self.state.key in keys else {}

    def unfenced(self) -> set[int]:
        return {SURVIVOR}


@dataclass
class Task:
    workdir: Path
    params: dict[str, Any]
    check_mode: bool = False
    ansible: Any = None


def kept(workdir: Path, disk: Any = None, cluster: Brokers | None = None, check: bool = False, **params: Any) -> dict[str, Any]:
    options = {"cluster": "east", "disk": DISK if disk is None else disk, "broker_id": None, "state": "present", **params}
    return keep_disk(Task(workdir, options, check), cluster or Brokers())  # type: ignore[arg-type]


def test_it_is_written_once_and_removed_once(tmp_path: Path) -> None:
    dry_run = kept(tmp_path, check=True)
    assert dry_run["changed"] and dry_run["diff"]["after"] and not list(tmp_path.iterdir())
    first = kept(tmp_path)
    path = Path(first["path"])
    assert first["changed"] and path == tmp_path / "disks" / "east" / "3.jsonl" and path.stat().st_mode & 0o777 == 0o600
    assert not kept(tmp_path)["changed"]
    assert kept(tmp_path, state="absent", broker_id=LOST, check=True)["changed"] and path.exists()
    assert kept(tmp_path, state="absent", broker_id=LOST)["changed"] and not path.exists()
    assert not kept(tmp_path, state="absent", broker_id=LOST)["changed"]


@pytest.mark.parametrize(
    "disk",
    [
        {},
        {**DISK, "broker_id": "3"},
        {**DISK, "broker_id": True},
        {**DISK, "log_dirs": [{"cluster_id": "other", "node_id": LOST}]},
        {**DISK, "log_dirs": [{"cluster_id": CLUSTER_ID, "node_id": 4}]},
        {**DISK, "partitions": [7]},
        {**DISK, "partitions": [{"topic": "orders"}]},
        {**DISK, "partitions": [{"topic": ["orders"], "partition": 0}]},
        {**DISK, "partitions": [{**ROW, "log_end_offset": "10"}]},
        {**DISK, "partitions": [{**ROW, "epochs": [{"epoch": -1, "start_offset": 0}]}]},
    ],
)
def test_a_result_of_another_shape_or_broker_is_refused(tmp_path: Path, disk: Any) -> None:
    with pytest.raises(RecoveryError, match="disk: "):
        kept(tmp_path, disk)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cluster", [Brokers(broker_state="unfenced"), Brokers(broker_state="coming_back"), Brokers(cut_off={LOST})])
def test_the_disk_of_a_broker_that_runs_is_refused(tmp_path: Path, cluster: Brokers) -> None:
    with pytest.raises(RecoveryError, match="read the disk again"):
        kept(tmp_path, cluster=cluster)


def test_only_partitions_without_a_leader_are_kept_and_doubts_are_named(tmp_path: Path) -> None:
    assert kept(tmp_path, cluster=Brokers(replace(STATE, leader=SURVIVOR)))["counts"] == {"used": 0, "not_used": 0}
    assert kept(tmp_path, cluster=Brokers(replace(STATE, replicas=(SURVIVOR,))))["counts"] == {"used": 0, "not_used": 1}
    twice = {**DISK, "partitions": [ROW, copy.deepcopy(ROW)]}
    assert kept(tmp_path, twice)["counts"] == {"used": 0, "not_used": 2}
    torn = {**DISK, "partitions": [{**ROW, "torn": {"why": "cut"}}]}
    assert "torn" in kept(tmp_path, torn)["not_used"][0]["reason"]
