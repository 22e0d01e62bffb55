# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence that one run collects again for its elections."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import GROUP_TOPIC
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.time_budget import Budget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.live_evidence import LiveEvidence, collect_again
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.plan_entries import PlanEntries
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import Left
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.cluster_evidence import Sources
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import ONLINE
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, has_live_leader


class ElectionEvidence:
    """Collects evidence of partitions of one cluster. `warnings`: gets sentences for the operator. The other parameters are those of `Recovery`."""

    def __init__(
        self,
        cluster: NativeCluster,
        workdir: Path,
        name: str,
        duration: float,
        first_answer_seconds: float,
        max_evidence_rows: int,
        warnings: list[str],
    ) -> None:
        self._cluster, self._workdir, self._name = cluster, workdir, name
        self._duration, self._first_answer_seconds, self._max_evidence_rows = duration, first_answer_seconds, max_evidence_rows
        self._warnings = warnings

    def sources(self, connection: Connection, budget: Budget) -> Sources:
        """Return where evidence comes from. `connection`: names the controllers, whose metadata log is read."""
        return Sources(self._cluster, connection, self._workdir, self._name, budget, self._max_evidence_rows)

    def collect(
        self, connection: Connection, wanted: Collection[TopicPartition], left: Left, plan: PlanEntries, entries: Sequence[Entry]
    ) -> LiveEvidence:
        """Collect the evidence of `wanted` again. `entries`: those that are to be elected. Errors are those of `collect_again`."""
        sources = self.sources(connection, Budget(self._duration, self._first_answer_seconds))
        # The designated leaders of these answered for the plan, perhaps as late as now.
        awaited = {entry.key for entry in entries if entry.policy.strategy == Strategy.AGGRESSIVE}
        live = collect_again(sources, wanted, plan.named, plan.survivors, awaited, left)
        self._warnings += [warning for warning in live.warnings if warning not in self._warnings]
        return live


def offsets_came_within_reach(cluster: NativeCluster, planned: Sequence[Result], first: Sequence[Result]) -> bool:
    """Return whether committed offsets can be read now that could not be read for the plan.

    A partition of `__consumer_offsets` that the plan elects or holds had no leader then. Another run, or the controller, may have elected it since.

    planned  results of partitions that the plan does not elect
    first    results of internal topics that this run elects

    Raises ClusterError if the cluster does not answer.
    """
    if any(result.topic == GROUP_TOPIC and result.outcome in ONLINE for result in first):
        return True
    held = {(result.topic, result.partition) for result in planned if result.topic == GROUP_TOPIC and result.outcome not in ONLINE}
    if not held:
        return False
    states, alive = cluster.partitions(held), cluster.unfenced()
    return any(has_live_leader(state, alive) for state in states.values())
