# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role moves shows of a cluster, of brokers and of the fleet."""

from __future__ import annotations

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import progress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress import ReplicaProgress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import moves_in_progress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun


def seen(behind: list[int], rate: float | None = 100.0, partitions: int = 0, **more: Any) -> dict[str, Any]:
    """What the module returns where broker 4, 5, … has so many bytes left."""
    rows = [ReplicaProgress("t", place, 4 + place, progress.BEHIND, size, 1) for place, size in enumerate(behind)]
    rates = None if rate is None else {row.broker_id: rate for row in rows}
    found = progress.summary(rows, partitions or len(rows), 0, rates)
    return {"progress": found, "throttles": [], "unreachable_brokers": [], **more}


def test_a_cluster_has_a_line_for_each_broker_and_for_what_disturbs() -> None:
    lines = moves_in_progress.progress_lines(
        seen([1000, 60_000], throttles=[{"state": "left_over"}], unreachable_brokers=[{"broker_id": 9, "reason": "silent"}])
    )
    assert lines[:3] == [
        "0 of 2 partitions in sync, 61.0 kB and 2 messages behind, 200 B/s, about 5 min 5 s left",
        "broker 5: 1 partition to copy, 60.0 kB behind, 100 B/s, about 10 min 0 s left",
        "broker 4: 1 partition to copy, 1.0 kB behind, 100 B/s, about 10 s left",
    ]
    assert "kafka_replication_throttle" in lines[3] and lines[4] == "broker 9 does not answer: silent"
    assert moves_in_progress.progress_lines(seen([])) == ["no partition is moving"]
    many = moves_in_progress.progress_lines(seen([1000] * 30))
    assert len(many) == 22 and many[-1] == "and 10 brokers more, which are expected to end earlier"


def test_the_fleet_ends_with_its_slowest_cluster() -> None:
    assert moves_in_progress.fleet_lines([seen([]), seen([1000]), seen([500, 60_000])]) == [
        "2 of 3 clusters with moves in progress: 0 of 3 partitions in sync, 61.5 kB and 3 messages behind, 300 B/s, about 5 min 2 s left"
    ]
    assert moves_in_progress.fleet_lines([seen([]), seen([])]) == ["0 of 2 clusters with moves in progress"]
    (line,) = moves_in_progress.fleet_lines([seen([1000]), seen([1000], rate=None)])
    assert line.endswith("remaining time unknown")


def test_a_dry_run_names_the_command_that_cancels() -> None:
    ended = {"summary": {"cancelled": 2}, "left_over_throttle": {"brokers": 3, "topics": 1, "replicas": 1}}
    dry = moves_in_progress.cancellation_lines(ended, PresentRun("east"), allowed=False)
    assert dry[0] == "Dry run, nothing was cancelled. It would be: 2 cancelled"
    assert dry[1].startswith("The throttle of an earlier run would be removed: 3 rates")
    assert dry[-1].endswith("--limit east -e kafka_recovery_allow_cancellation=true streamops.kafka_recovery.cancel_moves")
    done = moves_in_progress.cancellation_lines(ended, PresentRun("east"), allowed=True)
    assert done == ["2 cancelled", "The throttle of an earlier run was removed: 3 rates of brokers, 1 entry in lists of topics"]


def test_a_dry_run_without_moves_says_that_there_are_none() -> None:
    ended = {"summary": {"cancelled": 0}, "left_over_throttle": {"brokers": 0, "topics": 0, "replicas": 0}}
    assert moves_in_progress.cancellation_lines(ended, PresentRun("east"), allowed=False) == [
        "Dry run, nothing was cancelled: no partition is moving"
    ]
