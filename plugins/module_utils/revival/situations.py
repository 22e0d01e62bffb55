# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads from the cluster what is known of the partitions to revive."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.revival_cluster import RevivalCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TIERED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.journal import RevivalJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.rule import Situation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.targets import Target


def read(
    cluster: RevivalCluster, targets: Mapping[TopicPartition, Target], journal: RevivalJournal, unfenced: Collection[int]
) -> dict[TopicPartition, Situation]:
    """Return the situation of each partition in `targets`. `unfenced`: ids of live brokers. Raises ClusterError if the cluster does not answer."""
    states = {key: state for key, state in cluster.partitions(set(targets)).items() if key in targets}
    offline = [state for state in states.values() if not has_live_leader(state, unfenced)]
    second = cluster.second_replicas(offline)
    ongoing = cluster.reassignments() if offline else {}
    tiered = _tiered(cluster, {state.topic for state in offline})
    begun = {key: _begun(journal, key, states.get(key), target.replicas) for key, target in targets.items()}
    ends = _added_ends(cluster, {key: one.adding for key, one in ongoing.items() if begun.get(key) is not None}, unfenced)
    return {
        key: Situation(
            states.get(key),
            target.replicas,
            second.get(key),
            ongoing.get(key),
            begun[key],
            tiered.get(key[0]),
            ends.get(key, {}),
            target.why_none,
        )
        for key, target in targets.items()
    }


def _begun(journal: RevivalJournal, key: TopicPartition, state: PartitionState | None, replicas: tuple[int, ...]) -> tuple[int, ...] | None:
    begun = journal.open.get(key)
    ours = begun is not None and state is not None and begun.topic_id == state.topic_id and begun.target == replicas
    return begun.original if begun is not None and ours else None


def _added_ends(
    cluster: RevivalCluster, added: Mapping[TopicPartition, Collection[int]], unfenced: Collection[int]
) -> dict[TopicPartition, dict[int, int]]:
    """Return the log end offsets of added replicas, by partition and broker, of those that answer."""
    work = {broker: [key for key, brokers in added.items() if broker in brokers] for broker in {*chain(*added.values())} & {*unfenced}}
    ends: dict[TopicPartition, dict[int, int]] = {}
    for broker, logs in (cluster.log_ends(work) if work else {}).items():
        for key, log in logs.items():
            if log.error is None and log.log_end_offset >= 0:
                ends.setdefault(key, {})[broker] = log.log_end_offset
    return ends


def _tiered(cluster: RevivalCluster, topics: Collection[str]) -> dict[str, bool]:
    found = cluster.topic_configs_of(topics, [TIERED]) if topics else {}
    return {topic: TIERED in settings and settings[TIERED].value.lower() != "false" for topic, settings in found.items()}
