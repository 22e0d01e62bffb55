# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was collected of one cluster, before it is written to a landing file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
    """What was gathered: broker rows, replica logs by (partition, broker), pair rows, proof rows (see `documents`), history rows of `isr_history`,
    rows of `healthy_baseline`, configs. `missed`: why there may be more proofs. `cut`: what else there was no time for. `offsets_unread`: the partitions whose
    logs may fork, and of which a group may have committed an offset that is not among the proofs. None of an internal topic.

    `fenced`: logs on fenced brokers that answer, which the controller does not elect; `fenced_pairs`: how they relate to each other and to the others.
    `unread`: what such brokers gave no log of.
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
        """The partitions without a live leader."""
        return [state for state in self.states if state.leader < 0]

    @property
    def alive(self) -> set[int]:
        """The brokers whose replicas may be elected."""
        return {row["broker_id"] for row in self.brokers if row["broker_state"] == UNFENCED}

    def documents(self, named: Collection[TopicPartition], reassigning: Collection[TopicPartition]) -> Iterator[dict[str, Any]]:
        """Yield the documents of a landing file: each partition with every replica (measured or not), pairs, proofs, history, and what a healthy
        snapshot knew."""
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
                # Most partitions have no fork, and a landing file has many of them.
                **({"offsets_unread": True} if key in self.offsets_unread else {}),
            }


def _by_partition(rows: Iterable[Mapping[str, Any]]) -> dict[TopicPartition, list[dict[str, Any]]]:
    """Rows by the partition that they name, without its name."""
    found: dict[TopicPartition, list[dict[str, Any]]] = {}
    for row in rows:
        rest = dict(row)
        found.setdefault((rest.pop("topic"), rest.pop("partition")), []).append(rest)
    return found
