# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control node that also replays saved records to a simulated cluster. It runs the code of the module."""

from __future__ import annotations

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.group_offset_admin import GroupOffsetAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import RECORDS_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import (
    partition_arguments,
    record_selection_arguments,
)
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_consumer_impact_info import consumer_impact_info
from ansible_collections.streamops.kafka_recovery.plugins.modules.kafka_record_replay import record_replay
from simulation.operator import SAVED, Operator


class ReplayOperator(Operator):
    """Replays what runs have saved, with a workdir."""

    def saved_runs(self) -> list[str]:
        """Return the ids of the runs that have saved records."""
        return sorted({path.parents[1].name for path in (self.workdir / SAVED).glob("*/*/*.jsonl")})

    def elected_runs(self) -> list[str]:
        """Return the ids of the runs that have results."""
        return sorted(path.parent.name for path in (self.workdir / "results").glob("*/*.json"))

    def impact(self, run_id: str) -> dict[str, Any]:
        """Assess the impact of a run on groups (`kafka_consumer_impact_info`). Return its result, with its warnings. Raises the product's errors."""
        task: Any = self._task(run_id, {}, plan=None, canary_topic=None, preview=1000)
        with ConsumerAdmin(task.connection) as cluster:
            return {**consumer_impact_info(task, cluster), "warnings": task.warnings}

    def replay(self, run_id: str, check_mode: bool = False, **given: Any) -> dict[str, Any]:
        """Replay what a run has saved (`kafka_record_replay`). Return its result, with its warnings. Raises the product's errors.

        given  options. `propose`: writes what would be replayed, for review
        """
        options: dict[str, Any] = {
            "topics": None, "allow_replay": True, "target_topic": None, "include_aborted": False, "include_undecided": False, "include_compacted": False,
            "include_group_offsets": self._cluster.groups.log.exists, "groups": None, "replayed_bytes_per_second": None, "max_batch_bytes": RECORDS_BYTES,
            "propose": False, "approved_replays": None, "saved_run_id": None,
        }  # fmt: skip
        task: Any = self._task(run_id, {**partition_arguments(), **record_selection_arguments()}, **{**options, **given})
        task.check_mode = check_mode or task.params["propose"]
        task.ansible.check_mode = check_mode
        with GroupOffsetAdmin(task.connection) as cluster:
            return {**record_replay(task, cluster), "warnings": task.warnings}
