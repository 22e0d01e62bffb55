# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds the logs on disks of lost brokers to the evidence, as those of fenced brokers that answer: they cannot be elected, and what they hold is known."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline, timestamps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import check_inside
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import UNKNOWN
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import disk_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.disk_log_comparison import EvidenceLog, Relation, compare
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.documents import Evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.log_comparison import NOT_COMPARED, pair_row
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import Replicas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import FENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

Pair = tuple[TopicPartition, int]


class EpochSource(Protocol):
    """The method of `Cluster` that compares logs."""

    def epoch_ends(self, work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, Any]]: ...


class DiskCluster(EpochSource, Protocol):
    """The parts of `Cluster` that this file uses."""

    cluster_id: str
    cut_off: set[int]


def add_disk_logs(cluster: DiskCluster, workdir: Path, name: str, evidence: Evidence) -> list[str]:
    """Add logs on the disks of lost brokers, and their comparisons with those of survivors. Return warnings.

    name  of the cluster in the inventory
    Files that are damaged, or of another cluster, are left out with a warning. So are logs of partitions that have had a leader since.
    """
    warnings: list[str] = []
    for broker in sorted(row["broker_id"] for row in evidence.brokers if row["broker_state"] == FENCED):
        if broker in cluster.cut_off:
            continue  # it runs, so its disk may change
        path = workdir / disk_file.FOLDER / name / f"{broker}{disk_file.SUFFIX}"
        try:
            check_inside(workdir, path)
            if not path.exists():
                continue
            header, rows = disk_file.read(path, cluster.cluster_id, broker)
            read_at = int(_time(header).timestamp()) * 1000
        except RecoveryError as error:
            warnings.append(f"{path} is left out: {error}")
            continue
        current, outdated = _current(rows, broker, evidence)
        logs = {key: disk_file.disk_log(row, broker, read_at) for key, row in current.items()}
        evidence.fenced |= {(key, broker): log.log for key, log in logs.items()}
        evidence.fenced_pairs += pairs_with_disk(cluster, logs, evidence.replicas)
        if outdated:
            warnings.append(
                f"{count(outdated, 'log')} of the disk of broker {broker} are left out, because their partitions have changed since it was read at "
                f"{header['collected_at']}: read the disk again"
            )
    return warnings


def _time(header: Mapping[str, Any]) -> datetime:
    try:
        return timestamps.read(str(header["collected_at"]))
    except ValueError as error:
        raise RecoveryError("collected_at of the header is not a valid time") from error


def _current(rows: Collection[disk_file.Row], broker: int, evidence: Evidence) -> tuple[dict[TopicPartition, disk_file.Row], int]:
    """Return the rows of offline partitions that have not changed since, and the number of the others."""
    by_partition = {(row["topic"], row["partition"]): row for row in rows}
    current: dict[TopicPartition, disk_file.Row] = {}
    outdated = 0
    for state in evidence.offline:
        row = by_partition.get(state.key)
        if row is None or broker not in state.replicas or (state.key, broker) in evidence.fenced or (state.key, broker) in evidence.unread:
            continue
        if (row["topic_id"], row["leader_epoch"]) == (state.topic_id, state.leader_epoch):
            current[state.key] = row
        else:
            outdated += 1
    return current, outdated


def pairs_with_disk(cluster: EpochSource, logs: Mapping[TopicPartition, EvidenceLog], replicas: Replicas) -> Iterator[dict[str, Any]]:
    """Yield the rows of the comparisons of the logs of one disk with those of live replicas, as `log_comparison.pair_row` has them, `relation` set.

    replicas  logs of live replicas. Those with an error are left out
    """
    answers: dict[Pair, dict[int, Any]] = {
        (key, broker): {} for (key, broker), log in replicas.items() if key in logs and log.error is None
    }
    waiting = {*answers}
    while waiting:
        work: dict[int, dict[TopicPartition, int]] = {}
        for key, broker in sorted(waiting):
            found = compare(logs[key], broker, replicas[key, broker], answers[key, broker])
            if isinstance(found, int):
                work.setdefault(broker, {})[key] = found
                continue
            waiting.remove((key, broker))
            yield _row(key, logs[key].broker_id, broker, found)
        if work and deadline.has_passed():
            for key, broker in sorted(waiting):
                disk = logs[key].broker_id
                yield _row(key, disk, broker, Relation(UNKNOWN, reason=NOT_COMPARED.format(*sorted((disk, broker)))))
            return
        ends = cluster.epoch_ends(work) if work else {}
        for broker, epochs in work.items():
            for key, epoch in epochs.items():
                answers[key, broker][epoch] = ends.get(broker, {}).get(key)


def _row(key: TopicPartition, disk: int, broker: int, found: Relation) -> dict[str, Any]:
    return {**pair_row(key, *sorted((disk, broker))), **found._asdict()}
