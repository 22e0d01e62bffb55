# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts on the disks of lost brokers that an election makes out of date: the new leader may lack records that the former one had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionSource,
    TopicPartition,
    without_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict

ELECTED_SINCE = "partitions that it has were elected since: read its disk again"


class VerdictCluster(PartitionSource, Protocol):
    """The parts of a cluster that this file uses."""

    @property
    def cluster_id(self) -> str: ...
    def unfenced(self) -> set[int]: ...


def withdraw(cluster: VerdictCluster, workdir: Path, name: str, run_id: str, replicas: Mapping[TopicPartition, Sequence[int]]) -> list[str]:
    """Say that brokers are not safe to start which are lost replicas of partitions to elect, and were safe. Return warnings.

    name      of the cluster in the inventory
    replicas  by partition that is to be elected

    Raises FileError if a verdict cannot be written, ClusterError if the cluster does not answer.
    """
    warnings: list[str] = []
    safe: set[int] = set()
    for broker in sorted({broker for brokers in replicas.values() for broker in brokers}):
        try:
            verdict: dict[str, Any] = disk_verdict.read(workdir, disk_verdict.path_of(workdir, name, broker)) or {}
        except FileError as error:
            warnings.append(str(error))
            continue
        if verdict.get("safe_to_start") and verdict["cluster_id"] == cluster.cluster_id:
            safe.add(broker)
    if safe:
        unfenced = cluster.unfenced()
        offline = without_live_leader(cluster.partitions({*replicas}), unfenced)
        for broker in sorted(safe & {broker for state in offline for broker in state.replicas} - unfenced):
            disk_verdict.withdraw(workdir, name, cluster.cluster_id, run_id, broker, ELECTED_SINCE)
    return warnings
