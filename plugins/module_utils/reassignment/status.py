# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How reassignments stand: which partitions have the replicas that they are to have, and how far the others are (KIP-179, --progress)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.reassignment_admin import Replication
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import layout_file, sealed_jsonl
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.previews import one_of_each_kind_first
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import Ongoing
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


class Standing(NamedTuple):
    """How one partition stands. `target_replicas`: those that were asked for, else those that it is on its way to, else its own."""

    topic: str
    partition: int
    state: str
    replicas: tuple[int, ...]
    target_replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


def standing(key: TopicPartition, target: tuple[int, ...] | None, state: PartitionState | None, under_way: Ongoing | None) -> Standing:
    """Compare a partition with the replicas that it is to have (None: those that it is on its way to, or has). Pure."""
    if state is None:
        return Standing(*key, UNKNOWN, (), target or (), (), ())
    wanted = target if target is not None else under_way.target if under_way else state.replicas
    adding, removing = (under_way.adding, under_way.removing) if under_way else ((), ())
    if under_way is not None:
        word = MOVING if under_way.target == wanted else ELSEWHERE
    elif state.replicas != wanted:
        word = NOT_MOVING
    else:
        word = IN_PLACE if {*wanted} <= {*state.isr} else UNDER_REPLICATED
    return Standing(*key, word, state.replicas, wanted, adding, removing)


class Status(NamedTuple):
    """What a look at a cluster found, in recovery order."""

    partitions: list[Standing]
    replicas: list[progress.ReplicaProgress]
    rate: float | None

    def report(self, preview: int) -> dict[str, Any]:
        """What the module documents."""
        counts = Counter(row.state for row in self.partitions)
        behind = {(row.topic, row.partition) for row in self.replicas if row.status != progress.IN_SYNC}
        in_sync = sum(1 for row in self.partitions if (row.topic, row.partition) not in behind and row.state != UNKNOWN)
        worst = sorted(self.partitions, key=lambda row: STATES.index(row.state))
        slowest = sorted(self.replicas, key=lambda row: (row.status == progress.IN_SYNC, -(row.bytes_behind or row.messages_behind or 0)))
        return {
            "summary": {state: counts[state] for state in STATES},
            "progress": progress.summary(self.replicas, len(self.partitions), in_sync, self.rate),
            "partitions": [_plain(row) for row in one_of_each_kind_first(worst, lambda row: row.state)[:preview]],
            "replicas": [row._asdict() for row in one_of_each_kind_first(slowest, lambda row: row.status)[:preview]],
        }


def _plain(row: Standing) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in row._asdict().items()}


def look(cluster: Replication, wanted: Wanted | None, window: float = 0.0) -> Status:
    """Look at the partitions that are `wanted` (None: at all that are moving). `window`: seconds until a second look, for the rate; 0: none."""
    ongoing = cluster.reassignments()
    targets: Wanted = dict.fromkeys(sorted(ongoing, key=in_recovery_order)) if wanted is None else wanted
    states = cluster.partitions(set(targets))
    rows = [standing(key, target, states.get(key), ongoing.get(key)) for key, target in targets.items()]
    replicas = {(row.topic, row.partition): row.target_replicas for row in rows}
    brokers = Brokers.of(cluster.registered())
    meter = progress.Meter()

    def measured() -> progress.Measured:
        found = measure(cluster, replicas, states, brokers.unfenced)
        meter.note(time.monotonic(), _followers(found, replicas, states))
        return found

    found = measured()
    if window and found.sizes:
        time.sleep(window)
        states |= cluster.partitions(set(targets))
        found = measured()
    registered = brokers.registered if brokers.complete else brokers.registered.union(*(state.replicas for state in states.values()))
    return Status(rows, progress.statuses(replicas, states, registered, found), meter.rate)


def _followers(
    found: progress.Measured, replicas: Mapping[TopicPartition, tuple[int, ...]], states: Mapping[TopicPartition, PartitionState]
) -> dict[progress.Replica, int]:
    """Sizes of what is copied: what is written to leaders is no progress."""
    return {
        (*key, broker): found.sizes[broker][key]
        for key, brokers in replicas.items()
        for broker in brokers
        if key in states and broker != states[key].leader and key in found.sizes.get(broker, {})
    }


def write_layout(cluster: Replication, workdir: Path, name: str, run_id: str) -> tuple[Path, list[str]]:
    """Write the layout file of the whole cluster, see `layout`. Returns its path, and warnings."""
    path = work_file(workdir, layout_file.FOLDER, name, run_id, layout_file.SUFFIX)
    collected_at = utc_now()
    states = sorted(cluster.partitions().values(), key=lambda state: in_recovery_order(state.key))
    configs = cluster.topic_configs({state.topic for state in states})
    ongoing = cluster.reassignments()
    told = cluster.log_dirs(cluster.unfenced())
    sizes: dict[TopicPartition, dict[int, int]] = {}
    for broker, found in told.items():
        for key, size in found.sizes.items():
            sizes.setdefault(key, {})[broker] = size
    disks = {broker: layout_file.Disk(found.usable_bytes, found.total_bytes) for broker, found in told.items()}
    brokers = cluster.broker_states({broker for state in states for broker in state.replicas})
    rows = [*layout_file.broker_rows(brokers, disks), *layout_file.partition_rows(states, ongoing.keys(), configs, sizes)]
    sealed_jsonl.write(path, layout_file.header(name, cluster.cluster_id, run_id, collected_at), rows)
    problem = configs.problem()
    return path, [*_refusals(told), *([problem] if problem else [])]


def _refusals(told: Mapping[int, Any]) -> list[str]:
    refused = sorted(broker for broker, found in told.items() if found.error)
    if not refused:
        return []
    error = told[refused[0]].error
    return [f"how much replicas hold is not known of brokers {refused}: {error}; grant DESCRIBE on the cluster"]
