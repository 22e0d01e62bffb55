# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control node that runs other modules than those of a recovery, with the same workdir: elections of KIP-460, saved records, exports, healthy snapshots."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import RECORDS_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.controller_listener import ElectingCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import (
    partition_arguments,
    record_selection_arguments,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.info import records_info
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_leader_election import leader_election
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_replica_records import replica_records
from simulation.kraft import Key
from simulation.operator import NAME, SAVED, Operator, defaults


class CommandOperator(Operator):
    """Runs other modules."""

    @property
    def knows_controllers(self) -> bool:
        """Whether it has the addresses of the controllers."""
        return bool(self._connection["controller_bootstrap_servers"])

    def elect_leaders(self, kind: str, keys: Sequence[Key] | None = None, check_mode: bool = False, **given: Any) -> dict[str, Any]:
        """Elect leaders as Kafka chooses them (`kafka_leader_election`). Return its result. Raises the product's errors."""
        named = None if keys is None else [{"topic": topic, "partition": partition} for topic, partition in keys]
        options = {
            "partitions": named, "partitions_file": None, "partitions_file_sha256": None, "election_type": kind, "allow_data_loss": True,
            "approved_moves": None, "hold_unsaved": True, "duration": self.duration, "election_attempts": 1, "preview": 1000,
            "max_offline_brokers": 1000,
        }  # fmt: skip
        task: Any = self._task("leaders", blast_radius.argument_spec(), **{**options, **given})
        task.check_mode = check_mode
        with ElectingCluster(task.connection) as cluster:
            return leader_election(task, cluster)

    def save(self, run_id: str, check_mode: bool = False, **given: Any) -> dict[str, Any]:
        """Save what the elections of a plan would destroy (`kafka_replica_records`). Return its result. Raises the product's errors."""
        options = {
            "plan": str(self.workdir / "plans" / run_id / f"{NAME}.json"), "max_saved_partition_bytes": None, "max_saved_bytes": None,
            "max_saved_run_bytes": None, "saved_bytes_per_second": None,
        }  # fmt: skip
        task: Any = self._task(run_id, {}, **{**options, **given})
        task.check_mode = check_mode
        with Cluster(task.connection) as cluster:
            return replica_records(task, cluster)

    def saved_runs(self) -> list[str]:
        """Return the ids of the runs that have a folder of saved records."""
        return sorted({path.parents[1].name for path in (self.workdir / SAVED).glob("*/*/*") if path.suffix in (".jsonl", ".batches")})

    def list_records(self, run_id: str, check_mode: bool = False, **given: Any) -> dict[str, Any]:
        """List or export saved records (`kafka_records_info`). Return its result, with its warnings. Raises the product's errors."""
        params = {
            **defaults({**partition_arguments(), **record_selection_arguments()}), "workdir": str(self.workdir), "run_id": run_id, "cluster": NAME,
            "cluster_id": None, "export": None, "format": "jsonl", "overwrite": False, "max_batch_bytes": RECORDS_BYTES, **given,
        }  # fmt: skip
        warnings: list[str] = []
        task: Any = SimpleNamespace(params=params, check_mode=check_mode, warn=warnings.append)
        return {**records_info(task), "warnings": warnings}

    def sync(self, path: Path) -> None:
        """Let a power loss leave a file that was written by others, or the names in a folder, as it is now, if it is there."""
        if path.exists():
            handle = os.open(path, os.O_RDONLY)
            self._cluster.after_sync(handle)
            os.close(handle)

    def files(self) -> list[Path]:
        """Return the files of the workdir."""
        return sorted(path for path in self.workdir.rglob("*") if path.is_file())
