# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence for the decision before an election: what was collected again, with the present state of brokers and logs. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Decision, Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    COMING_BACK,
    UNFENCED,
    Log,
    PartitionEvidence,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog


class Decided(NamedTuple):
    """A decision, with the policy and what else it depends on in addition to its evidence (`elr` and `reorders`, as for `decide`)."""

    decision: Decision
    policy: Policy
    elr: bool | None
    reorders: bool = True


def decide_again(evidence: PartitionEvidence, policy: Policy, elr: bool | None, reorders: bool, known: Decided | None) -> Decision:
    """Return the decision on this evidence. `known`: an earlier decision, which is returned if all that it depends on is equal.

    `elr`, `reorders`: as for `decide`.
    """
    if known is not None and (known.policy, known.elr, known.reorders, known.decision.evidence) == (policy, elr, reorders, evidence):
        return known.decision
    return decide(evidence, policy, elr, reorders)


def with_present_state(
    evidence: PartitionEvidence,
    state: PartitionState,
    broker_states: Mapping[int, str],
    logs: Mapping[tuple[TopicPartition, int], ReplicaLog],
    reassigning: Collection[TopicPartition],
) -> PartitionEvidence | None:
    """Return the evidence with the present state of the partition, its brokers and logs.

    None if the partition or a log has changed since the evidence was collected, or if its document is damaged. Comparisons, proofs and history
    stay: they are valid as long as the logs are the same. `broker_states`: by id; `logs`: by partition and broker.
    """
    read = evidence.state
    if read is None or evidence.defects:
        return None
    if (read.topic_id, read.leader_epoch, sorted(read.replicas)) != (state.topic_id, state.leader_epoch, sorted(state.replicas)):
        return None
    found = []
    for log in evidence.logs:
        now = _log_now(log, broker_states.get(log.broker_id), logs.get((state.key, log.broker_id)))
        if now is None:
            return None
        found.append(now)
    return replace(
        evidence,
        logs=tuple(found),
        state=read._replace(
            leader=-1,
            isr=state.isr,
            eligible_leader_replicas=state.eligible_leader_replicas,
            last_known_elr=state.last_known_elr,
            reassigning=state.key in reassigning,
        ),
    )


def _log_now(log: Log, broker_state: str | None, read: ReplicaLog | None) -> Log | None:
    """Return the log with its present state, None if it has changed."""
    if broker_state is None:
        return None
    if broker_state == COMING_BACK and log.broker_state == UNFENCED and log.answered:
        # It has restarted since, and holds no more than it did.
        return log
    if broker_state != UNFENCED or read is None:
        return log._replace(broker_state=broker_state)
    if read.error is not None:
        return Log(log.broker_id, broker_state, read.error, None, None, None, None, None, None, None, read.failed_log_dirs or None)
    same = (read.log_end_offset, read.last_written_epoch, read.broker_epoch) == (
        log.log_end_offset,
        log.last_written_epoch,
        log.broker_epoch,
    )
    return log._replace(broker_state=broker_state) if same and log.error is None else None
