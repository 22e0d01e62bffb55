# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All evidence of one cluster: from its brokers, from healthy snapshots and logs of lost disks in the workdir, and from the metadata log.

Plans and elections collect it in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import EVIDENCE_ROWS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.time_budget import Budget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import ELR_FEATURE
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import (
    baseline_proofs,
    collect,
    disk_logs,
    healthy_baseline,
    log_comparison,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.documents import Evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition


@dataclass(frozen=True)
class Sources:
    """Sources of evidence. `name`: of the cluster in the inventory; `budget`: the time for all sources; `max_rows`: see `collect.check_size`."""

    cluster: NativeCluster
    connection: Connection
    workdir: Path
    name: str
    budget: Budget
    max_rows: int = EVIDENCE_ROWS

    def collect(
        self,
        states: Sequence[PartitionState],
        warnings: list[str],
        silent: Collection[tuple[TopicPartition, int]] = (),
        awaited: Collection[TopicPartition] = (),
    ) -> Evidence:
        """Return the evidence of these partitions without the history of their ISRs.

        warnings  gets messages for the operator
        silent    replicas, by partition and broker, that are queried only once
        awaited   partitions that are queried until their first answer, if none comes in time
        """
        collected = collect.collect_evidence(self.cluster, states, self.budget, silent, awaited, self.max_rows)
        if collected.missed:
            warnings.append(f"not all committed offsets of groups are known, and they may prove more: {'; '.join(collected.missed)}")
        collected.healthy, doubts = healthy_baseline.latest_healthy_rows(
            self.workdir, self.name, self.cluster.cluster_id, collected.offline
        )
        warnings += doubts
        with self.budget.part():
            collected.proofs += baseline_proofs.proofs(collected, log_comparison.Prober(self.cluster.batches))
        # After the proofs: the brokers of these logs answer nothing.
        with self.budget.part():
            warnings += disk_logs.add_disk_logs(self.cluster, self.workdir, self.name, collected)
        if refused := self.cluster.undescribed:
            broker = min(refused)
            warnings.append(
                f"log directories cannot be described ({len(refused)} brokers, first broker {broker}: {refused[broker]}), so it is not known which of them "
                "have failed; grant DESCRIBE on the cluster"
            )
        if problem := collected.configs.problem():
            warnings.append(problem)
        if collected.cut:
            warnings.append(
                f"{self.budget.duration:g} s (duration) were not enough for all evidence: {'; '.join(collected.cut)}; raise duration"
            )
        return collected

    def add_history(self, collected: Evidence) -> dict[str, Any] | None:
        """Add the ISR history of offline partitions if controllers are configured. Return the cost of reading it, or None if it was not read.

        Raises RecoveryError if no controller can be read.
        """
        if not self.connection.controller_bootstrap_servers or not collected.offline:
            return None
        # Most clusters are collected without their controllers.
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import controllers
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import isr_history

        with controllers.Controllers(self.connection) as nodes, self.budget.part(1) as seconds:
            collected.histories, cost = isr_history.read_isr_history(nodes, collected.offline, collected.alive, seconds)
        return cost

    def reassigning(self) -> set[TopicPartition]:
        """Return the partitions that have a reassignment under way."""
        with self.budget.state():
            return self.cluster.reassigning()

    def elr(self) -> int | None:
        """Return the level of the feature eligible.leader.replicas.version (KIP-966), or None."""
        with self.budget.state():
            return self.cluster.feature_level(ELR_FEATURE)
