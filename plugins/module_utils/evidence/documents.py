# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was collected of one cluster, before it is written to a landing file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import DISK_FAILED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import (
    Replicas,
    log_fields,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfigs


@dataclass
class Evidence:
    """The collected evidence of one cluster.

    brokers         rows of `Cluster.broker_states`
    replicas        logs of survivors, by partition and broker
    pairs, proofs   rows of `log_comparison` and of `committed_proofs` and `baseline_proofs`
    histories       rows of `isr_history`
    healthy         rows of `healthy_baseline`
    missed          why more committed offsets may exist than are known
    cut             what else there was no time for
    fenced          logs on fenced brokers that answer, or whose disks were read; the controller does not elect these replicas
    fenced_pairs    pairs with at least one of these logs
    unread          replicas on such brokers whose logs could not be read
    offsets_unread  partitions with logs that may fork, of which a group may have committed an offset that is not among the proofs; none of an internal topic
    """

    states: Sequence[PartitionState]
    brokers: list[dict[str, Any]]
    replicas: Replicas = field(default_factory=dict)
    pairs: list[dict[str, Any]] = field(default_factory=list)
    proofs: list[dict[str, Any]] = field(default_factory=list)
    histories: list[dict[str, Any]] = field(default_factory=list)
    healthy: list[dict[str, Any]] = field(default_factory=list)
    configs: TopicConfigs = field(default_factory=TopicConfigs)
    missed: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    fenced: Replicas = field(default_factory=dict)
    fenced_pairs: list[dict[str, Any]] = field(default_factory=list)
    unread: Replicas = field(default_factory=dict)
    offsets_unread: set[TopicPartition] = field(default_factory=set)

    @property
    def offline(self) -> list[PartitionState]:
        """Return the partitions without a live leader."""
        return [state for state in self.states if state.leader < 0]

    @property
    def alive(self) -> set[int]:
        """Return the brokers whose replicas the controller elects: those that are not fenced."""
        return {row["broker_id"] for row in self.brokers if row["broker_state"] == UNFENCED}

    def documents(self, named: Collection[TopicPartition], reassigning: Collection[TopicPartition]) -> Iterator[dict[str, Any]]:
        """Yield the documents of a landing file, one per partition: every replica (read or not), pairs, proofs, history and healthy snapshot.

        The state of a partition is older than that of its brokers. So `offline_replicas` names an unfenced broker only if its disk has failed, not because
        it was fenced before.

        `named`: partitions that the operator named; `reassigning`: partitions with a reassignment under way.
        """
        broker_states = {row["broker_id"]: row["broker_state"] for row in self.brokers}
        pairs, proofs = _by_partition([*self.pairs, *self.fenced_pairs]), _by_partition(self.proofs)
        replicas = {**self.replicas, **self.fenced, **self.unread}
        histories, healthy = ({key: rows[0] for key, rows in _by_partition(each).items()} for each in (self.histories, self.healthy))
        unread = ReplicaLog(error=None)
        for state in self.states:
            key, config = state.key, self.configs.of(state.topic)
            logs = [log_fields(broker, replicas.get((key, broker), unread)) for broker in state.replicas if state.leader < 0]
            for log in logs:
                log["broker_state"] = broker_states[log["broker_id"]]
            yield {
                **state.as_dict(),
                "offline_replicas": [
                    broker
                    for broker in state.offline_replicas
                    if broker_states.get(broker) != UNFENCED or replicas.get((key, broker), unread).error == DISK_FAILED
                ],
                "named": key in named,
                "reassigning": key in reassigning,
                "min_insync_replicas": config.effective_min_isr(len(state.replicas)),
                "unclean_leader_election_enable": config.unclean_leader_election_enable,
                "cleanup_policy": config.cleanup_policy,
                "logs": logs,
                "pairs": pairs.get(key, []),
                "proofs": proofs.get(key, []),
                "history": histories.get(key),
                "healthy": healthy.get(key),
                # Left out where false: most partitions have no fork, and no tiered topic, and a landing file has many partitions.
                **({"offsets_unread": True} if key in self.offsets_unread else {}),
                **({"remote_storage_enable": True} if config.remote_storage_enable else {}),
            }


def _by_partition(rows: Iterable[Mapping[str, Any]]) -> dict[TopicPartition, list[dict[str, Any]]]:
    """Return the rows by partition, without the fields `topic` and `partition`."""
    found: dict[TopicPartition, list[dict[str, Any]]] = {}
    for row in rows:
        rest = dict(row)
        found.setdefault((rest.pop("topic"), rest.pop("partition")), []).append(rest)
    return found
