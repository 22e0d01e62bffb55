# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role moves shows: how far moves of replicas are, of a cluster, its brokers and the fleet, and what became of cancelled ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, in_bytes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import progress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.partition_lists import dry_run, summary
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun

BROKERS_SHOWN = 20
_THROTTLES = {
    "running": "A run moves replicas with a throttle at present",
    "left_over": "The throttle of a run that has ended is still set: when its moves have ended, the next run of the playbook reassign removes it, "
    "or cleanup, or kafka_replication_throttle with state: cleaned",
    "stands": "A standing throttle is set: kafka_replication_throttle changes its rate, and removes it with state: absent",
    "expired": "A standing throttle that has expired is still set: remove it with kafka_replication_throttle and state: cleaned",
}


def progress_lines(seen: Mapping[str, Any]) -> list[str]:
    """Return how far the moves of a cluster are, with a line for each broker that still copies. `seen`: of `kafka_partition_reassignment_info`."""
    brokers = seen["progress"]["brokers"]
    more = len(brokers) - BROKERS_SHOWN
    return [
        progress.line(seen["progress"]) if seen["progress"]["partitions"] else "no partition is moving",
        *map(_broker_line, brokers[:BROKERS_SHOWN]),
        *([f"and {count(more, 'broker')} more, which are expected to end earlier"] if more > 0 else []),
        *(_THROTTLES[row["state"]] for row in seen["throttles"] or ()),
        *(f"broker {row['broker_id']} does not answer: {row['reason']}" for row in seen["unreachable_brokers"]),
    ]


def _broker_line(row: Mapping[str, Any]) -> str:
    size, rate, seconds = row["bytes_behind"], row["bytes_per_second"], row["estimated_seconds"]
    parts = [
        f"broker {row['broker_id']}: {count(row['partitions'], 'partition')} to copy",
        "size unknown" if size is None else f"{in_bytes(size)} behind",
        *([] if rate is None else [f"{in_bytes(rate)}/s"]),
        "remaining time unknown" if seconds is None else f"about {progress.in_time(seconds)} left",
    ]
    return ", ".join(parts)


def fleet_lines(clusters: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the moves of all clusters in one line. `clusters`: results of `kafka_partition_reassignment_info`."""
    found = [seen["progress"] for seen in clusters]
    moving = [row for row in found if row["in_sync"] < row["partitions"]]
    left = [row["estimated_seconds"] for row in moving]
    total = {
        "partitions": sum(row["partitions"] for row in found),
        "in_sync": sum(row["in_sync"] for row in found),
        "bytes_behind": progress.known_sum(row["bytes_behind"] for row in moving),
        "messages_behind": progress.known_sum(row["messages_behind"] for row in moving),
        "bytes_per_second": progress.known_sum(row["bytes_per_second"] for row in moving),
        # Clusters copy side by side.
        "estimated_seconds": None if None in left else max(left, default=0.0),
    }
    return [f"{len(moving)} of {count(len(found), 'cluster')} with moves in progress" + (f": {progress.line(total)}" if moving else "")]


def cancellation_lines(ended: Mapping[str, Any], run: PresentRun, allowed: bool) -> list[str]:
    """Return what became of the moves, or would become. `ended`: of `kafka_partition_reassignment`; `allowed`: whether moves were cancelled."""
    counts, nothing = ended["summary"], "no partition is moving"
    lines = [(summary(counts) or nothing) if allowed else dry_run("cancelled", counts, nothing)]
    removed = ended["left_over_throttle"]
    if any(removed.values()):
        lines.append(
            f"The throttle of an earlier run {'was' if allowed else 'would be'} removed: {count(removed['brokers'], 'rate')} of brokers, "
            f"{count(removed['replicas'], 'entry', 'entries')} in lists of topics"
        )
    if not allowed and not run.check_mode and ended["summary"]["cancelled"]:
        lines += ["Next, to cancel them:", run.commands.line("cancel_moves", run.cluster, {"kafka_recovery_allow_cancellation": "true"})]
    return lines
