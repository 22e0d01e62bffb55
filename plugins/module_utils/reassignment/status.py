# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Status of reassignments: which partitions have their target replicas, and how far the others are (KIP-179, --progress)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.reassignment_admin import ReassignmentAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format, layout_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.previews import one_of_each_kind_first
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import progress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress_gauge import measure
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import Brokers, Wanted

# Worst first.
UNKNOWN, ELSEWHERE, NOT_MOVING, MOVING, UNDER_REPLICATED, IN_PLACE = (
    "unknown",
    "moving_elsewhere",
    "not_moving",
    "moving",
    "under_replicated",
    "in_place",
)
STATES = (UNKNOWN, ELSEWHERE, NOT_MOVING, MOVING, UNDER_REPLICATED, IN_PLACE)


class PartitionStatus(NamedTuple):
    """Status of one partition. `target_replicas`: the requested ones, else the target of its reassignment, else its replicas."""

    topic: str
    partition: int
    state: str
    replicas: tuple[int, ...]
    target_replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


def partition_status(
    key: TopicPartition, target: tuple[int, ...] | None, state: PartitionState | None, under_way: OngoingReassignment | None
) -> PartitionStatus:
    """Return the status of one partition. Pure.

    `target`: the requested replicas, None for those of its reassignment, else its present ones. `state`: None if there is no such partition.
    """
    if state is None:
        return PartitionStatus(*key, UNKNOWN, (), target or (), (), ())
    wanted = target if target is not None else under_way.target if under_way else state.replicas
    adding, removing = (under_way.adding, under_way.removing) if under_way else ((), ())
    if under_way is not None:
        name = MOVING if under_way.target == wanted else ELSEWHERE
    elif state.replicas != wanted:
        name = NOT_MOVING
    else:
        name = IN_PLACE if {*wanted} <= {*state.isr} else UNDER_REPLICATED
    return PartitionStatus(*key, name, state.replicas, wanted, adding, removing)


class Status(NamedTuple):
    """Status of partitions and replicas of one cluster, in recovery order. `rates`: bytes per second that brokers copy, None if unknown."""

    partitions: list[PartitionStatus]
    replicas: list[progress.ReplicaProgress]
    rates: Mapping[int, float] | None

    def report(self, preview: int) -> dict[str, Any]:
        """Return `summary` (partitions by state), `progress` (as `progress.summary`), and the rows of `partitions` and `replicas`.

        Rows come worst first, but each state before the second row of another. `preview`: maximum of rows of each list.
        """
        counts = Counter(row.state for row in self.partitions)
        behind = {(row.topic, row.partition) for row in self.replicas if row.status != progress.IN_SYNC}
        in_sync = sum(1 for row in self.partitions if (row.topic, row.partition) not in behind and row.state != UNKNOWN)
        worst = sorted(self.partitions, key=lambda row: STATES.index(row.state))
        slowest = sorted(self.replicas, key=lambda row: (row.status == progress.IN_SYNC, -(row.bytes_behind or row.messages_behind or 0)))
        return {
            "summary": {state: counts[state] for state in STATES},
            "progress": progress.summary(self.replicas, len(self.partitions), in_sync, self.rates),
            "partitions": [_plain(row) for row in one_of_each_kind_first(worst, lambda row: row.state)[:preview]],
            "replicas": [row._asdict() for row in one_of_each_kind_first(slowest, lambda row: row.status)[:preview]],
        }


def _plain(row: PartitionStatus) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in row._asdict().items()}


def read_status(cluster: ReassignmentAdmin, wanted: Wanted | None, window: float = 0.0) -> Status:
    """Read the status of the partitions in `wanted` (None: of all that are moving).

    `window`: seconds between two measurements, for the copy rate; 0 for one measurement and no rate. Raises RecoveryError if no broker answers.
    """
    ongoing = cluster.reassignments()
    targets: Wanted = dict.fromkeys(sorted(ongoing, key=in_recovery_order)) if wanted is None else wanted
    states = cluster.partitions(set(targets))
    rows = [partition_status(key, target, states.get(key), ongoing.get(key)) for key, target in targets.items()]
    replicas = {(row.topic, row.partition): row.target_replicas for row in rows}
    brokers = Brokers.of(cluster.registered())
    meter = progress.Meter()

    def measured() -> progress.Measurements:
        found = measure(cluster, replicas, states, brokers.unfenced)
        meter.note(time.monotonic(), _followers(found, replicas, states))
        return found

    found = measured()
    if window and found.sizes:
        time.sleep(window)
        states |= cluster.partitions(set(targets))
        found = measured()
    registered = brokers.registered if brokers.complete else brokers.registered.union(*(state.replicas for state in states.values()))
    return Status(rows, progress.statuses(replicas, states, registered, found), meter.rates)


def _followers(
    found: progress.Measurements, replicas: Mapping[TopicPartition, tuple[int, ...]], states: Mapping[TopicPartition, PartitionState]
) -> dict[progress.Replica, int]:
    """Return the sizes of the replicas that are copied, without leaders: writes of producers are not progress."""
    return {
        (*key, broker): found.sizes[broker][key]
        for key, brokers in replicas.items()
        for broker in brokers
        if key in states and broker != states[key].leader and key in found.sizes.get(broker, {})
    }


def write_layout(cluster: ReassignmentAdmin, workdir: Path, name: str, run_id: str) -> tuple[Path, list[str]]:
    """Write the layout file of the whole cluster, see `formats.layout_file`. Returns its path, and warnings on sizes and configs that are unknown.

    `name`: of the cluster in the inventory. Raises RecoveryError if no broker answers, FileError if the file cannot be written.
    """
    path = work_file(workdir, layout_file.FOLDER, name, run_id, layout_file.SUFFIX)
    collected_at = utc_now()
    states = sorted(cluster.partitions().values(), key=lambda state: in_recovery_order(state.key))
    configs = cluster.topic_configs({state.topic for state in states})
    ongoing = cluster.reassignments()
    log_dirs = cluster.log_dirs(cluster.unfenced())
    sizes: dict[TopicPartition, dict[int, int]] = {}
    for broker, found in log_dirs.items():
        for key, size in found.sizes.items():
            sizes.setdefault(key, {})[broker] = size
    disks = {broker: layout_file.Disk(found.usable_bytes, found.total_bytes) for broker, found in log_dirs.items()}
    brokers = cluster.broker_states({broker for state in states for broker in state.replicas})
    rows = [*layout_file.broker_rows(brokers, disks), *layout_file.partition_rows(states, ongoing.keys(), configs, sizes)]
    landing_format.write(path, layout_file.header(name, cluster.cluster_id, run_id, collected_at), rows)
    problem = configs.problem()
    return path, [*_refusals(log_dirs), *([problem] if problem else [])]


def _refusals(log_dirs: Mapping[int, Any]) -> list[str]:
    refused = sorted(broker for broker, found in log_dirs.items() if found.error)
    if not refused:
        return []
    error = log_dirs[refused[0]].error
    return [f"log sizes of brokers {refused} are unknown: {error}; grant DESCRIBE on the cluster"]
