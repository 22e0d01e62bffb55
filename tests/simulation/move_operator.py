# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control node that also moves replicas of a simulated cluster, throttles them, and removes what killed runs have left. It runs the code of the modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.leftover_cluster import LeftoverCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.topic_rows import topic_id
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.reassignment_admin import ReassignmentAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.run import check_options
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_partition_reassignment import partition_reassignment
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_partition_reassignment_info import partition_reassignment_info
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_recovery_leftovers import leftovers
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_replication_throttle import check, replication_throttle
from simulation.kraft import Key
from simulation.metadata_answers import topic_uuid
from simulation.operator import NAME, Operator, Task

STALLED_SECONDS = 12.0
WATCH_SECONDS = 3.0
Result = dict[str, Any]


class MoveOperator(Operator):
    """Moves replicas of a cluster, with a workdir. All results are those of the modules, with their warnings."""

    def move(self, run_id: str, targets: Mapping[Key, tuple[int, ...]], check_mode: bool = False, **given: Any) -> Result:
        """Move partitions to other replicas (`kafka_partition_reassignment`). Raises the product's errors."""
        rows = [{"topic": topic, "partition": number, "replicas": list(replicas)} for (topic, number), replicas in targets.items()]
        options = {
            "state": "present", "partitions": rows, "reassignment_file": None, "reassignment_file_sha256": None, "approved_moves": None,
            "allow_replication_factor_change": True,
            "concurrent_moves": 1000, "throttle": None, "wait": True, "on_interrupt": "auto", "max_disk_percent": 100, "duration": None,
            "stalled_after": STALLED_SECONDS, "preview": 20,
        }  # fmt: skip
        task = self._module(run_id, **{**options, **given})
        task.check_mode = check_mode
        return self._moved(task)

    def status(self, run_id: str, targets: Mapping[Key, tuple[int, ...]] | None, window: float, layout: bool) -> Result:
        """Return what is under way (`kafka_partition_reassignment_info`). Raises the product's errors."""
        rows = targets and [
            {"topic": topic, "partition": number, "replicas": list(replicas)} for (topic, number), replicas in targets.items()
        ]
        task: Any = self._module(
            run_id, partitions=rows, reassignment_file=None, reassignment_file_sha256=None, window=window, layout=layout, preview=20
        )
        with ReassignmentAdmin(task.connection) as cluster:
            return {**partition_reassignment_info(task, cluster), "warnings": task.warnings}

    def move_by_file(self, run_id: str, file: Path, content: str, **given: Any) -> Result:
        """Move what a file names, after writing it. Raises the product's errors."""
        file.write_text(content)
        return self.move(run_id, {}, partitions=None, reassignment_file=str(file), **given)

    def move_approved(self, run_id: str, content: bytes, **given: Any) -> Result:
        """Move what a file names that was approved, after writing it. Raises the product's errors."""
        file = self.workdir / "approved.moves.json"
        file.write_bytes(content)
        return self.move(run_id, {}, partitions=None, approved_moves=str(file), **given)

    def proposed(self, targets: Mapping[Key, tuple[int, ...]], throttle: int | None) -> dict[str, Any]:
        """Return a file of these moves, to be approved, as one of kafka_redundancy_plan becomes it (`formats/moves_file.py`)."""
        states, brokers = self._cluster.controller.partitions, sorted(self._cluster.brokers)
        rows = [
            {
                "topic": topic, "partition": number, "replicas": list(replicas), "bytes": None,
                "replicas_before": list(states[topic, number].assignment.original), "topic_id": topic_id(topic_uuid(states[topic, number].topic_id)),
            }
            for (topic, number), replicas in targets.items()
        ]  # fmt: skip
        return {
            "plan_id": "plan", "cluster": NAME, "cluster_id": self._cluster.cluster_id, "run_id": "proposal", "created_at": "2026-11-29T06:00:00Z",
            "partitions": rows, "held": [], "brokers": [{"broker_id": one, "broker_state": "unfenced", "rack": None} for one in brokers],
            "throttle": throttle,
        }  # fmt: skip

    def cancel(self, run_id: str, keys: Iterable[Key] | None) -> Result:
        """Cancel the moves of these partitions, of all without them ('state: cancelled'). Raises the product's errors."""
        rows = None if keys is None else [{"topic": topic, "partition": number, "replicas": None} for topic, number in keys]
        return self.move(run_id, {}, state="cancelled", partitions=rows)

    def _moved(self, task: Any) -> Result:
        check_options(task.params)
        with ReassignmentAdmin(task.connection) as cluster:
            return {**partition_reassignment(task, cluster), "warnings": task.warnings}

    def throttle(
        self, state: str, rate: int | None = None, expires_after: float | None = None, check_mode: bool = False, **given: Any
    ) -> Result:
        """Set the standing throttle, remove it, or clean (`kafka_replication_throttle`). Raises the product's errors."""
        options: dict[str, Any] = {
            "state": state, "rate": rate, "leader_rate": None, "follower_rate": None, "broker_rates": [], "throttled_replicas": None, "partitions": None,
            "partitions_file": None, "expires_after": expires_after, "measure_seconds": 0.5 if rate == 2_000 else 0.0, "preview": 20,
        }  # fmt: skip
        task = self._module("throttle", **{**options, **given})
        task.check_mode = check_mode
        check(task)
        with ReassignmentAdmin(task.connection) as cluster:
            return {**replication_throttle(task, cluster), "warnings": task.warnings}

    def clean(self, run_id: str, topics: list[str], check_mode: bool = False) -> Result:
        """Remove what killed runs have left, and cancel the moves of these topics (`kafka_recovery_leftovers`). Raises the product's errors."""
        cancel = [{"topic": topic, "partition": None} for topic in topics]
        task = self._module(run_id, foreign_throttles=[], cancel_moves=cancel, window=WATCH_SECONDS, preview=20)
        task.check_mode = check_mode
        with LeftoverCluster(task.connection) as cluster:
            return {**leftovers(task, cluster), "warnings": task.warnings}

    def _module(self, run_id: str, **given: Any) -> Any:
        params = {"cluster": NAME, "run_id": run_id, "workdir": str(self.workdir), **given}
        return Task(self.workdir, self._connection, params)
