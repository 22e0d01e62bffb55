# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Healthy snapshots: log end offsets and high watermarks of a cluster, collected while its partitions have leaders.

A snapshot is a sealed file `<workdir>/healthy/<cluster>/<run_id>.jsonl`. `prune` removes old snapshots whose run id is a time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts, timestamps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import remove, safe_name, work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import NO_ANSWER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionSource,
    PartitionState,
    TopicPartition,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfig, TopicConfigs

FOLDER, SUFFIX = "healthy", ".jsonl"
NAMED_BY_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ)\.jsonl")
HOUR = 3600
# The followers whose log end offsets are collected in addition to the leader's.
NO_FOLLOWERS, OUT_OF_SYNC, ALL_FOLLOWERS = "none", "out_of_sync", "all"
FOLLOWERS = (NO_FOLLOWERS, OUT_OF_SYNC, ALL_FOLLOWERS)

Ends = Mapping[int, Mapping[TopicPartition, Any]]


class WatermarkSource(PartitionSource, Protocol):
    """The methods of `Cluster` that this file calls."""

    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]: ...
    def topic_configs(self, topics: Collection[str]) -> TopicConfigs: ...
    def high_watermarks(self, work: Mapping[int, Collection[TopicPartition]]) -> Ends: ...
    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> Ends: ...


@dataclass(frozen=True)
class Watermarks:
    """The collected snapshot: broker rows, rows of kind `watermark`, and topic configs (brokers may have refused some)."""

    brokers: list[dict[str, Any]]
    partitions: list[dict[str, Any]]
    configs: TopicConfigs

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of a snapshot."""
        yield from ({"kind": "broker", **row} for row in self.brokers)
        yield from self.partitions

    def counts(self) -> dict[str, int]:
        """Count all partitions, those without a live leader, those with an ISR below min.insync.replicas, and those whose leader did not answer."""
        return {
            "partitions": len(self.partitions),
            "without_leader": sum(1 for row in self.partitions if row["leader"] < 0),
            "under_min_isr": sum(1 for row in self.partitions if len(row["isr"]) < (row["min_insync_replicas"] or 0)),
            "unanswered": sum(1 for row in self.partitions if row["error"]),
        }


def collect_watermarks(cluster: WatermarkSource, followers: str) -> Watermarks:
    """Read high watermarks and log end offsets from the leaders of all partitions, and log end offsets from `followers` (one of FOLLOWERS).

    If a leader does not answer, the rows of its partitions have an `error`. The row of a partition without a leader has no offsets.
    """
    states = list(cluster.partitions().values())
    brokers = cluster.broker_states({broker for state in states for broker in state.replicas})
    unfenced = {row["broker_id"] for row in brokers if row["broker_state"] == UNFENCED}
    configs = cluster.topic_configs({state.topic for state in states})
    led: dict[int, list[TopicPartition]] = {}
    replicas: dict[int, list[TopicPartition]] = {}
    for state in states:
        leader = state.leader if has_live_leader(state, unfenced) else -1
        if leader >= 0:
            led.setdefault(leader, []).append(state.key)
            replicas.setdefault(leader, []).append(state.key)
        for broker in _followers(state, followers):
            if broker != leader and broker in unfenced:
                replicas.setdefault(broker, []).append(state.key)
    # In this order, so that no log end offset is below its high watermark.
    committed = cluster.high_watermarks(led)
    ends = cluster.log_ends(replicas)
    rows = [_row(state, configs.of(state.topic), has_live_leader(state, unfenced), committed, ends) for state in states]
    return Watermarks(brokers, rows, configs)


def _followers(state: PartitionState, whose: str) -> Collection[int]:
    if whose == NO_FOLLOWERS:
        return ()
    return state.replicas if whose == ALL_FOLLOWERS else [broker for broker in state.replicas if broker not in state.isr]


def _row(state: PartitionState, config: TopicConfig, led: bool, committed: Ends, ends: Ends) -> dict[str, Any]:
    answers = [(broker, ends[broker][state.key]) for broker in state.replicas if state.key in ends.get(broker, ())]
    row = {
        "kind": "watermark",
        "topic": state.topic,
        "partition": state.partition,
        "topic_id": state.topic_id,
        "leader": state.leader if led else -1,
        "leader_epoch": state.leader_epoch,
        "replicas": state.replicas,
        "isr": state.isr,
        "eligible_leader_replicas": state.eligible_leader_replicas,
        "last_known_elr": state.last_known_elr,
        "offline_replicas": state.offline_replicas,
        "min_insync_replicas": config.effective_min_isr(len(state.replicas)),
        "cleanup_policy": config.cleanup_policy,
        "log_start_offset": None,
        "log_end_offset": None,
        "high_watermark": None,
        "error": None,
        "replica_ends": [(broker, log.log_end_offset) for broker, log in answers if log.error is None],
    }
    if led:
        mark, end = committed.get(state.leader, {}).get(state.key), ends.get(state.leader, {}).get(state.key)
        if mark is None or end is None:
            row["error"] = NO_ANSWER
        elif mark.error or end.error:
            row["error"] = mark.error or end.error
        elif mark.partition_leader_epoch != end.partition_leader_epoch:
            # The leader changed between the two requests.
            row["error"] = kafka_errors.FENCED_LEADER_EPOCH
        else:
            # The epoch of these offsets. The described state may be of an earlier one.
            row |= {
                "leader_epoch": mark.partition_leader_epoch,
                "log_end_offset": end.log_end_offset,
                "high_watermark": mark.log_end_offset,
            }
    return row


def snapshot_file(workdir: Path, cluster: str, run_id: str, make: bool = True) -> Path:
    """Return the path of a snapshot, with its directories created if `make`. Raises FileError as `private_files.work_file` does."""
    safe_name("cluster", cluster)
    safe_name("run_id", run_id)
    return work_file(workdir, FOLDER, run_id, cluster, SUFFIX, make)


def time_of(name: str) -> datetime | None:
    """Return the time in the file name of a snapshot, or None if its run id is not a time."""
    found = NAMED_BY_TIME.fullmatch(name)
    if found:
        with suppress(ValueError):  # a thirteenth month
            return timestamps.read(found[1], timestamps.RUN_FORMAT)
    return None


def prune(newest: Path, keep_hours: float, keep_days: float) -> int:
    """Remove old snapshots beside `newest`, the one that was just written, and return how many.

    All snapshots are kept for `keep_hours` (0: without limit), and the first one of each earlier hour for `keep_days` (0: without limit). Ages are
    counted from now. Only files with a time in the past as name are removed, and never `newest`.
    """
    if not keep_hours:
        return 0
    mounts.list_folder(newest.parent)
    now = datetime.now(UTC)
    kept: set[datetime] = set()
    removed = 0
    timed = sorted((time, path) for path in newest.parent.iterdir() if (time := time_of(path.name)) is not None)
    for time, path in timed:
        hour = time.replace(minute=0, second=0)
        first = hour not in kept
        kept.add(hour)
        age = (now - time).total_seconds()
        fresh = age <= keep_hours * HOUR
        hourly = first and (not keep_days or age <= keep_days * 24 * HOUR)
        if path != newest and not fresh and not hourly:
            remove(path)
            removed += 1
    return removed
