# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reassignments under way that copy nothing: which run has begun them, how far they are, and why they stand still."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.reassignment_admin import ReassignmentAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import timestamps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import in_bytes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    SAFE_NAME,
    check_inside,
    refresh,
    safe_name,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.model import (
    KEPT,
    KILLED_RUN,
    MOVE,
    UNKNOWN,
    Leftover,
    replicas_text,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import FOLDER, OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import progress, validate
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress_gauge import measure
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.run import SUFFIX

CANCEL_IT = "cancel it with cancel_moves (kafka_recovery_cancel_moves)"


class Begun(NamedTuple):
    """A run of this workdir that has moved a partition: when it began, and the replicas before it."""

    run_id: str
    since: str
    replicas: tuple[int, ...]


class Motion(NamedTuple):
    """What two measurements of a reassignment show. `copies`: None if no broker answered. `bytes_behind`: None if that is not known."""

    copies: bool | None
    bytes_behind: int | None


def begun_by_runs(workdir: Path, cluster: str, ongoing: Mapping[TopicPartition, OngoingReassignment]) -> dict[TopicPartition, Begun]:
    """Return the newest run of this workdir that has moved each of these partitions from the replicas that it has now. Unreadable files are skipped."""
    found: dict[TopicPartition, Begun] = {}
    folder = workdir / FOLDER
    refresh(folder)  # a run may have begun since this process did
    files = [path / f"{safe_name('cluster', cluster)}{SUFFIX}" for path in folder.glob("*") if SAFE_NAME.fullmatch(path.name)]
    for path in files if ongoing else ():
        try:
            check_inside(workdir, path)
            since = timestamps.written(datetime.fromtimestamp(path.lstat().st_mtime, UTC))
            before = validate.with_replicas(validate.wanted(None, str(path)))
        except (OSError, RecoveryError):
            continue
        for key, replicas in before.items():
            if key in ongoing and sorted(replicas) == sorted(ongoing[key].original) and (key not in found or found[key].since < since):
                found[key] = Begun(path.parent.name, since, replicas)
    return found


def watch(
    cluster: ReassignmentAdmin,
    ongoing: Mapping[TopicPartition, OngoingReassignment],
    states: Mapping[TopicPartition, PartitionState],
    window: float,
) -> dict[TopicPartition, Motion]:
    """Measure reassignments twice, `window` seconds apart. One that ends meanwhile is absent. Raises ClusterError if the cluster does not answer."""
    keys = ongoing.keys() & states.keys()
    replicas = {key: ongoing[key].target for key in keys}
    before = measure(cluster, replicas, states, cluster.unfenced()) if keys else progress.Measurements()
    time.sleep(window if keys else 0)
    remaining = cluster.reassignments() if keys else {}
    replicas = {key: one for key, one in replicas.items() if key in remaining and remaining[key].target == one}
    now = cluster.partitions(set(replicas)) if replicas else {}
    after = measure(cluster, replicas, now, cluster.unfenced())
    behind: dict[TopicPartition, list[int | None]] = {key: [] for key in replicas}
    for row in progress.statuses(replicas, now, set(), after):
        if row.status == progress.BEHIND:
            behind[row.topic, row.partition].append(row.bytes_behind)
    found = {}
    for key, brokers in replicas.items():
        joined = key in now and {*states[key].isr} & {*brokers} < {*now[key].isr} & {*brokers}
        grown = [_grown(before, after, broker, key) for broker in brokers if key in now and broker not in now[key].isr]
        known = [one for one in grown if one is not None]
        found[key] = Motion(True if joined or any(known) else False if known or not grown else None, progress.known_sum(behind[key]))
    return found


def _grown(before: progress.Measurements, after: progress.Measurements, broker: int, key: TopicPartition) -> bool | None:
    """Return whether a replica has more than before, None if its broker did not answer twice."""
    values = [
        (old.get(broker, {}).get(key), new.get(broker, {}).get(key))
        for old, new in ((before.sizes, after.sizes), (before.ends, after.ends))
    ]
    known = [new > old for old, new in values if old is not None and new is not None]
    return any(known) if known else None


def rows(
    ongoing: Mapping[TopicPartition, OngoingReassignment],
    states: Mapping[TopicPartition, PartitionState],
    motion: Mapping[TopicPartition, Motion],
    begun: Mapping[TopicPartition, Begun],
    live: set[int],
    window: float,
) -> list[Leftover]:
    """Return one row per reassignment that copies nothing, or of which that is not known. `live`: ids of unfenced brokers."""
    return [
        row(key, ongoing[key], begun.get(key), f"{_why(ongoing[key], states.get(key), one, live, window)} {CANCEL_IT}")
        for key, one in motion.items()
        if not one.copies
    ]


def row(key: TopicPartition, one: OngoingReassignment, begun: Begun | None, reason: str | None = None) -> Leftover:
    """Return the row of a reassignment that is kept."""
    return Leftover(
        MOVE,
        UNKNOWN if begun is None else KILLED_RUN,
        KEPT,
        reason,
        *key,
        present=replicas_text(one.target),
        original=replicas_text(begun.replicas if begun else one.original),
        run_id=begun.run_id if begun else None,
        since=begun.since if begun else None,
    )


def _why(one: OngoingReassignment, state: PartitionState | None, motion: Motion, live: set[int], window: float) -> str:
    left = "" if motion.bytes_behind is None else f", with {in_bytes(motion.bytes_behind)} left"
    if dead := [broker for broker in one.adding if broker not in live]:
        return f"broker {dead[0]}, which gets a replica, is not alive{left}; start it, or"
    if state is None or state.leader not in live:
        return "the partition has no live leader to copy from; recover it, or"
    if motion.copies is None:
        return f"no broker says how far it is{left}; run again, or"
    return f"nothing was copied in {window:g} s{left}; look at its throttle and its brokers, or"
