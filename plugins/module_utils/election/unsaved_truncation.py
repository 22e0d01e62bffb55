# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which unclean elections would destroy records of another replica, of partitions for which nothing was saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.time_budget import Budget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import DISK_FAILED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.collect import collect_evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.documents import Evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import LogSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import COMING_BACK
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition, chunks

# Partitions whose evidence is in memory at once.
PARTITIONS = 10_000


def truncated_by(cluster: LogSource, leaders: Mapping[TopicPartition, int], duration: float) -> dict[TopicPartition, str]:
    """Return what other replicas truncate, as a part of a sentence, for the partitions of which one does, or may do.

    leaders   the broker that is expected to lead, by partition
    duration  seconds for the evidence of PARTITIONS partitions

    A replica on a lost broker, and one on a failed disk, keeps what it has. Raises ClusterError if the cluster does not answer.
    """
    destroyed: dict[TopicPartition, str] = {}
    for keys in chunks([*leaders], PARTITIONS):
        states = cluster.partitions(keys)
        evidence = collect_evidence(cluster, [states[key] for key in keys if key in states], Budget(duration))
        common = {
            (pair["topic"], pair["partition"], frozenset((pair["broker_a"], pair["broker_b"]))): pair["common_offset"]
            for pair in (*evidence.pairs, *evidence.fenced_pairs)
        }
        for state in evidence.offline:
            if lost := "; ".join(_lost(state, leaders[state.key], evidence, common)):
                destroyed[state.key] = lost
    return destroyed


def _lost(state: PartitionState, leader: int, evidence: Evidence, common: Mapping[Any, int | None]) -> Iterator[str]:
    coming_back = {row["broker_id"] for row in evidence.brokers if row["broker_state"] == COMING_BACK}
    for broker in state.replicas:
        if broker in coming_back:
            yield f"broker {broker} is coming back, and its log was not read"
            continue
        log = evidence.replicas.get((state.key, broker)) or evidence.fenced.get((state.key, broker))
        if log is None or log.error == DISK_FAILED:
            continue
        if log.error is not None:
            yield f"broker {broker} does not answer for its replica ({log.error})"
            continue
        if broker == leader:
            continue
        end, start = log.log_end_offset or 0, common.get((*state.key, frozenset((leader, broker))))
        if start is None and end:
            yield f"broker {broker} holds offsets up to {end - 1}, and its log was not compared with that of broker {leader}"
        elif start is not None and start < end:
            yield f"broker {broker} alone holds offsets {start} to {end - 1}"
