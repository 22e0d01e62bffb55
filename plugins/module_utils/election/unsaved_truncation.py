# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which unclean elections would destroy records of another replica, of partitions for which nothing was saved, or may hide those of remote storage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.time_budget import Budget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    DISK_FAILED,
    may_orphan_remote_records,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.collect import collect_evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.documents import Evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import LogSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import COMING_BACK
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition, chunks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode

# Partitions whose evidence is in memory at once.
PARTITIONS = 10_000


SAVE_OR_GIVE_UP = "elect it with kafka_designated_election, which saves them before, or give them up with hold_unsaved=false"
PROVE_OR_GIVE_UP = "elect it with a plan if that proves the contrary, or give them up with hold_unsaved=false"


def reasons_to_hold(cluster: LogSource, leaders: Mapping[TopicPartition, int], duration: float) -> dict[TopicPartition, Reason]:
    """Return why partitions are held: another replica truncates records, or may do so, or remote storage may have some that the leader lacks (KIP-405).

    leaders   the broker that is expected to lead, by partition
    duration  seconds for the evidence of PARTITIONS partitions

    A replica on a lost broker, and one on a failed disk, keeps what it has. Raises ClusterError if the cluster does not answer.
    """
    reasons: dict[TopicPartition, Reason] = {}
    for keys in chunks([*leaders], PARTITIONS):
        states = cluster.partitions(keys)
        evidence = collect_evidence(cluster, [states[key] for key in keys if key in states], Budget(duration))
        common = {
            (pair["topic"], pair["partition"], frozenset((pair["broker_a"], pair["broker_b"]))): pair["common_offset"]
            for pair in (*evidence.pairs, *evidence.fenced_pairs)
        }
        for state in evidence.offline:
            leader = leaders[state.key]
            tiered = may_orphan_remote_records(state.topic, evidence.configs.of(state.topic).remote_storage_enable)
            remote = (
                f"remote storage may have committed records that broker {leader} lacks, and no consumer finds them then; {PROVE_OR_GIVE_UP}"
            )
            if lost := "; ".join(_lost(state, leader, evidence, common)):
                # A designated leader of a tiered topic is elected without a proof. A plan saves these records, too.
                sentence = f"its election would destroy records that are not saved: {lost}; {remote if tiered else SAVE_OR_GIVE_UP}"
                reasons[state.key] = Reason(ReasonCode.TAIL_NOT_SAVED, sentence)
            elif tiered:
                reasons[state.key] = Reason(ReasonCode.TIERED_STORAGE, remote)
    return reasons


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
