# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Watermarks: how far every log of a cluster reaches and how much of it is committed, while there still is a leader to tell.

Snapshots of a cluster are sealed as landing files are: `<workdir>/healthy/<cluster>/<run_id>.jsonl`. Whose run id is a time can be thinned out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import timestamps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import safe_name, work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.document import NO_ANSWER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfig, TopicConfigs

FOLDER, SUFFIX = "healthy", ".jsonl"
NAMED_BY_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ)\.jsonl")
HOUR = 3600
# Whose log ends are asked for beside the leader's.
NOBODY, OUT_OF_SYNC, EVERYBODY = "none", "out_of_sync", "all"
FOLLOWERS = (NOBODY, OUT_OF_SYNC, EVERYBODY)
# The leader changed between the two questions that it is asked.
NEW_LEADER = "FENCED_LEADER_EPOCH"

Ends = Mapping[int, Mapping[TopicPartition, Any]]


class Asked(Protocol):
    """What is needed of a cluster."""

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]: ...
    def broker_states(self, mentioned: Collection[int] = ()) -> list[dict[str, Any]]: ...
    def topic_configs(self, topics: Collection[str]) -> TopicConfigs: ...
    def high_watermarks(self, work: Mapping[int, Collection[TopicPartition]]) -> Ends: ...
    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> Ends: ...


@dataclass(frozen=True)
class Watermarks:
    """What was gathered: rows of kind `broker` and `watermark`, and the configs (of which some may have been refused)."""

    brokers: list[dict[str, Any]]
    partitions: list[dict[str, Any]]
    configs: TopicConfigs

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of a snapshot."""
        yield from ({"kind": "broker", **row} for row in self.brokers)
        yield from self.partitions

    def counts(self) -> dict[str, int]:
        """Count partitions, those without a live leader, those whose ISR is smaller than min.insync.replicas, and those whose leader did not answer."""
        return {
            "partitions": len(self.partitions),
            "without_leader": sum(1 for row in self.partitions if row["leader"] < 0),
            "under_min_isr": sum(1 for row in self.partitions if len(row["isr"]) < (row["min_insync_replicas"] or 0)),
            "unanswered": sum(1 for row in self.partitions if row["error"]),
        }


def gather(cluster: Asked, followers: str) -> Watermarks:
    """Ask the leaders of all partitions for high watermark and log end, and `followers` (one of FOLLOWERS) for their log ends.

    A leader that does not answer leaves its partitions with an `error`, a partition without one has no offsets: neither is a failure.
    """
    states = list(cluster.partitions().values())
    brokers = cluster.broker_states({broker for state in states for broker in state.replicas})
    unfenced = {row["broker_id"] for row in brokers if row["broker_state"] == UNFENCED}
    configs = cluster.topic_configs({state.topic for state in states})
    led: dict[int, list[TopicPartition]] = {}
    asked: dict[int, list[TopicPartition]] = {}
    for state in states:
        leader = state.leader if has_live_leader(state, unfenced) else -1
        if leader >= 0:
            led.setdefault(leader, []).append(state.key)
            asked.setdefault(leader, []).append(state.key)
        for broker in _followers(state, followers):
            if broker != leader and broker in unfenced:
                asked.setdefault(broker, []).append(state.key)
    # In this order, so that no log ends below its high watermark.
    committed = cluster.high_watermarks(led)
    ends = cluster.log_ends(asked)
    rows = [_row(state, configs.of(state.topic), has_live_leader(state, unfenced), committed, ends) for state in states]
    return Watermarks(brokers, rows, configs)


def _followers(state: PartitionState, whose: str) -> Collection[int]:
    if whose == NOBODY:
        return ()
    return state.replicas if whose == EVERYBODY else [broker for broker in state.replicas if broker not in state.isr]


def _row(state: PartitionState, config: TopicConfig, led: bool, committed: Ends, ends: Ends) -> dict[str, Any]:
    told = [(broker, ends[broker][state.key]) for broker in state.replicas if state.key in ends.get(broker, ())]
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
        "min_insync_replicas": config.effective_min_isr(len(state.replicas)),
        "cleanup_policy": config.cleanup_policy,
        "log_start_offset": None,
        "log_end_offset": None,
        "high_watermark": None,
        "error": None,
        "replica_ends": [(broker, log.log_end_offset) for broker, log in told if log.error is None],
    }
    if led:
        mark, end = committed.get(state.leader, {}).get(state.key), ends.get(state.leader, {}).get(state.key)
        if mark is None or end is None:
            row["error"] = NO_ANSWER
        elif mark.error or end.error:
            row["error"] = mark.error or end.error
        elif mark.partition_leader_epoch != end.partition_leader_epoch:
            row["error"] = NEW_LEADER
        else:
            # The epoch in which all of this was so, should the cluster have described an earlier one.
            row |= {
                "leader_epoch": mark.partition_leader_epoch,
                "log_end_offset": end.log_end_offset,
                "high_watermark": mark.log_end_offset,
            }
    return row


def snapshot_file(workdir: Path, cluster: str, run_id: str, make: bool = True) -> Path:
    """The file of a snapshot, its directories made if `make`; see `files.work_file`."""
    safe_name("cluster", cluster)
    safe_name("run_id", run_id)
    return work_file(workdir, FOLDER, run_id, cluster, SUFFIX, make)


def time_of(name: str) -> datetime | None:
    """When the run began whose snapshot has this file name, None where the run was named otherwise."""
    found = NAMED_BY_TIME.fullmatch(name)
    if found:
        with suppress(ValueError):  # a thirteenth month
            return timestamps.read(found[1], timestamps.RUN_FORMAT)
    return None


def prune(newest: Path, keep_hours: float, keep_days: float) -> int:
    """Remove old snapshots of the cluster whose `newest` snapshot was just written; return how many.

    All are kept for `keep_hours` (0: for ever), of each hour before that the first one until it is `keep_days` old (0: for ever). Ages are counted
    from now. Only files that are named by time are removed, none of a time to come, and never `newest`.
    """
    if not keep_hours:
        return 0
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
            path.unlink(missing_ok=True)
            removed += 1
    return removed
