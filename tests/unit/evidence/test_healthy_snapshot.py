# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Watermarks: what is made of answers that are missing or do not fit together, and which old snapshots go."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import LogEnd
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import timestamps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import healthy_snapshot
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfig, TopicConfigs


def state(partition: int, leader: int, isr: tuple[int, ...] = (1, 2)) -> PartitionState:
    return PartitionState("t", partition, "id", leader, 4, (1, 2, 3), isr, (3,), (), ())


class Answering:
    """Brokers 1 and 2 live, 3 does not. Partition 0 is well; 1 is led by the dead broker; 2 has an error; 3 gets a new leader between two questions;
    4 has no answer at all."""

    def __init__(self) -> None:
        self.asked: dict[int, list[TopicPartition]] = {}

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        states = [state(0, 1, (1,)), state(1, 3), state(2, 1), state(3, 1), state(4, 2)]
        return {one.key: one for one in states}

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]:
        states = {1: "unfenced", 2: "unfenced", 3: "fenced"}
        return [{"broker_id": broker, "broker_state": states[broker], "silent_seconds": None, "rack": None} for broker in mentioned]

    def topic_configs(self, topics: Collection[str]) -> TopicConfigs:
        return TopicConfigs({"t": TopicConfig(5, None, "compact")})

    def high_watermarks(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
        errors = {2: "NOT_LEADER_OR_FOLLOWER"}
        return {1: {key: LogEnd(errors.get(key[1]), 90, 5) for key in work[1]}}

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
        self.asked = {broker: sorted(keys) for broker, keys in work.items()}
        return {
            broker: {key: LogEnd(None, 100 - broker, 6 if key[1] == 3 else 5) for key in keys if key[1] != 4}
            for broker, keys in work.items()
        }


def test_what_is_not_known_is_null_and_says_why() -> None:
    found = healthy_snapshot.collect_watermarks(Answering(), healthy_snapshot.OUT_OF_SYNC)
    rows = {row["partition"]: row for row in found.rows() if row["kind"] == "watermark"}
    ends_by_partition = {
        number: (row["leader"], row["leader_epoch"], row["high_watermark"], row["log_end_offset"], row["error"])
        for number, row in rows.items()
    }
    assert ends_by_partition == {
        0: (1, 5, 90, 99, None),  # the epoch in which the leader answered
        1: (-1, 4, None, None, None),
        2: (1, 4, None, None, "NOT_LEADER_OR_FOLLOWER"),
        3: (1, 4, None, None, "FENCED_LEADER_EPOCH"),
        4: (2, 4, None, None, "NO_ANSWER"),
    }
    assert rows[0]["replica_ends"] == [(1, 99), (2, 98)]
    assert (rows[0]["min_insync_replicas"], rows[0]["cleanup_policy"]) == (3, "compact"), "never more than there are replicas"
    assert found.counts() == {"partitions": 5, "without_leader": 1, "under_min_isr": 5, "unanswered": 3}


@pytest.mark.parametrize(
    ("followers", "of_broker_2"),
    [("none", [4]), ("out_of_sync", [0, 4]), ("all", [0, 1, 2, 3, 4])],
)
def test_followers_are_asked_as_far_as_that_is_wanted(followers: str, of_broker_2: list[int]) -> None:
    cluster = Answering()
    healthy_snapshot.collect_watermarks(cluster, followers)
    assert cluster.asked[2] == [("t", number) for number in of_broker_2]
    assert 3 not in cluster.asked, "lost brokers are not queried"


def name(hours: float, minutes: int = 0) -> str:
    """The file of a run that began at so many minutes past an hour, so many hours ago."""
    hour = datetime.now(UTC).replace(minute=0, second=0)
    return (hour - timedelta(hours=hours) + timedelta(minutes=minutes)).strftime(timestamps.RUN_FORMAT) + ".jsonl"


def test_old_snapshots_are_thinned_out_and_nothing_else_is_touched(tmp_path: Path) -> None:
    kept = [name(-1), name(0, -10), name(0, -20), name(10, 5), name(30, 5), "by-hand.jsonl", "notes.txt", ".2026-01-01T00-00-00Z.jsonl.new"]
    kept += ["2020-13-01T00-00-00Z.jsonl"]
    gone = [name(10, 6), name(10, 59), name(30, 30), name(49), name(500)]
    for file in (*kept, *gone):
        (tmp_path / file).touch()
    assert healthy_snapshot.prune(tmp_path / name(-1), keep_hours=3, keep_days=2) == len(gone)
    assert {path.name for path in tmp_path.iterdir()} == set(kept)
    assert healthy_snapshot.prune(tmp_path / name(-1), keep_hours=3, keep_days=2) == 0


def test_the_newest_stays_whatever_its_name_and_without_hours_all_do(tmp_path: Path) -> None:
    old = [name(hours, minutes) for hours in (50, 900) for minutes in (1, 2)]
    for file in old:
        (tmp_path / file).touch()
    assert healthy_snapshot.prune(tmp_path / old[-1], keep_hours=0, keep_days=1) == 0
    assert healthy_snapshot.prune(tmp_path / old[-1], keep_hours=1, keep_days=0) == 1, "one of each hour is kept for ever"
    assert healthy_snapshot.prune(tmp_path / old[-1], keep_hours=1, keep_days=1) == 2
    assert [path.name for path in tmp_path.iterdir()] == [old[-1]]


@pytest.mark.parametrize(("cluster", "run_id", "option"), [("../east", "1", "cluster"), ("east", "a/b", "run_id")])
def test_names_that_are_no_file_names_are_refused_by_their_option(tmp_path: Path, cluster: str, run_id: str, option: str) -> None:
    with pytest.raises(FileError, match=f"^{option} "):
        healthy_snapshot.snapshot_file(tmp_path / "workdir", cluster, run_id)
    assert healthy_snapshot.snapshot_file(tmp_path / "workdir", "east", "1") == tmp_path / "workdir/healthy/east/1.jsonl"
