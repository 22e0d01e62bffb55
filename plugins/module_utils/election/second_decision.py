# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The decision about the partitions of a plan again, on evidence that was collected for the election. Pure.

An entry of a plan that a person reviewed is elected as it stands, or not at all (`with_evidence`, and the guards). The plan of the very run that elects may be
decided otherwise once `__consumer_offsets` has a leader: what groups have committed can prove another branch of a fork (`second_decision`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import GROUP_TOPIC
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.balance import Seats
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import (
    Decision,
    Outcome,
    Policy,
    Word,
    decide,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.document import UNFENCED, Cluster, PartitionEvidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.entry import (
    best_first,
    fields,
    loss_fields,
    truncated,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.explain import explanation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import bounds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.guards import Entry, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.live_decision import Decided
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import HELD
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import INTERNAL_TOPICS, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode

# Why a plan may hold a partition that is decided otherwise once offsets can be read. Proofs do not touch the other reasons.
UNDECIDED = (ReasonCode.FORKED, ReasonCode.FORKED_PROVEN, ReasonCode.CONTRADICTED, ReasonCode.INCOMPLETE)
# The guards have reasons of their own for these, from the state of the cluster in the batch that elects.
_FOR_GUARDS = (ReasonCode.WAIT_FOR_CLEAN_LEADER, ReasonCode.REASSIGNMENT_IN_PROGRESS)


@dataclass
class SecondDecision:
    """`entries`: as the plan elects them. `changed`: with another leader than the plan's. `added`: those that the plan holds. `held`: those that are held now,
    for a reason that the plan does not have."""

    entries: list[Entry] = field(default_factory=list)
    changed: list[Entry] = field(default_factory=list)
    added: list[Entry] = field(default_factory=list)
    held: list[Result] = field(default_factory=list)


def with_evidence(entry: Entry, found: PartitionEvidence | None, cluster: Cluster) -> Entry:
    """Return the entry of a plan with live evidence and, if that elects the same leader, its present loss. Else the guards refuse it."""
    if found is None:
        return replace(entry, live_evidence=None)
    decision = decide(found, entry.policy, cluster.elr)
    entry = replace(entry, live_evidence=found, decided=Decided(decision, entry.policy, cluster.elr))
    if entry.designated_leader not in decision.choices:
        return entry
    leader = entry.designated_leader
    return replace(
        entry,
        evidence_word=decision.word.value,
        best_first=tuple(best_first(decision.best_first, leader)),
        truncated=list(truncated(decision)),
        loss=loss_fields(bounds(decision, cluster)),
    )


def undecided(results: Sequence[Result]) -> dict[TopicPartition, Result]:
    """Return the results of partitions that the plan holds and that may be decided otherwise, by partition. The turn of internal topics is over."""
    held = (row for row in results if row.outcome == HELD and row.reason_code in UNDECIDED and row.topic not in INTERNAL_TOPICS)
    return {(row.topic, row.partition): row for row in held}


def may_change(entries: Sequence[Entry], results: Sequence[Result]) -> list[TopicPartition]:
    """Return the partitions of a plan that offsets may decide otherwise. A log of which all others are prefixes stays the best, whatever is proven."""
    return [*(entry.key for entry in entries if not entry.designated_by_hand and entry.evidence_word != Word.PREFIX), *undecided(results)]


def second_decision(
    entries: Sequence[Entry],
    held: Collection[Result],
    documents: Mapping[TopicPartition, PartitionEvidence],
    cluster: Cluster,
    policy: Policy,
) -> SecondDecision:
    """Decide about the partitions of a plan again, with the same policy.

    entries    what the plan elects. They keep the guards of the plan: if a log has changed since, the guards refuse the entry
    held       the results of partitions that the plan holds and that may be decided otherwise
    documents  evidence that was collected after the election of internal topics
    """
    planned = {(row.topic, row.partition): row for row in held}
    decisions = {entry.key: decide(documents[entry.key], entry.policy, cluster.elr) for entry in entries if entry.key in documents}
    decisions |= {key: decide(documents[key], policy, cluster.elr) for key in planned if key in documents}
    leaders = _leaders(decisions, {entry.key: entry.designated_leader for entry in entries})
    found = SecondDecision()
    for entry in entries:
        decision = decisions.get(entry.key)
        if decision is None or entry.designated_leader in decision.choices or not _as_planned(entry, decision):
            found.entries.append(with_evidence(entry, documents.get(entry.key), cluster))
        elif decision.outcome == Outcome.ELECT:
            found.changed.append(_changed(entry, decision, cluster, leaders[entry.key]))
        elif decision.outcome == Outcome.HELD and decision.reason not in _FOR_GUARDS:
            found.held.append(_held(decision, cluster, _before(entry.designated_leader, None)))
        else:
            found.entries.append(with_evidence(entry, documents.get(entry.key), cluster))
    for key, result in planned.items():
        decision = decisions.get(key)
        before = _before(None, result.reason_code)
        if decision is not None and decision.outcome == Outcome.ELECT:
            found.added.append(_added(decision, policy, cluster, leaders[key], before))
        elif decision is not None and decision.outcome == Outcome.HELD and decision.reason != result.reason_code:
            found.held.append(_held(decision, cluster, before))
    return found


def beyond_limits(entry: Entry, reasons: Sequence[str]) -> Result:
    """Return the result of a partition that the second decision elects and that limits hold."""
    reason = f"it was decided again once internal topics had leaders, and would get broker {entry.designated_leader}: {'; '.join(reasons)}"
    return Result.of(entry, HELD, ReasonCode.LIMIT_REACHED, reason)


def without_offsets(entries: Sequence[Entry]) -> list[Result]:
    """Return results that hold the forks among these entries of which committed offsets are still unread, whatever evidence their strategy accepts.

    The coordinators have a leader now, so what groups have committed can be read by another run.
    """
    reason = (
        f"{GROUP_TOPIC} has a leader, but committed offsets could not all be read in time, and they may prove another branch of this fork; plan again "
        "once every coordinator has a leader and has loaded its groups, or raise duration"
    )
    return [
        Result.of(entry, HELD, ReasonCode.INCOMPLETE, reason)
        for entry in entries
        if not entry.designated_by_hand
        and entry.topic not in INTERNAL_TOPICS
        and entry.live_evidence
        and entry.live_evidence.offsets_unread
    ]


def _leaders(decisions: Mapping[TopicPartition, Decision], planned: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Return the leaders of the partitions whose decision elects another one than planned. Among identical logs leadership is spread evenly."""
    choices = {
        key: decision.choices
        for key, decision in sorted(decisions.items())
        if decision.choices and planned.get(key) not in decision.choices
    }
    seats = Seats(Counter(brokers for brokers in choices.values() if len(brokers) > 1))
    return {key: seats.leader(brokers) for key, brokers in choices.items()}


def _as_planned(entry: Entry, decision: Decision) -> bool:
    """Whether the decision is about the logs that the plan knows. If it is not, the guards say what has changed."""
    state = decision.evidence.state
    if state is None or decision.evidence.defects:
        return False
    survivors = {
        log.broker_id: (log.last_written_epoch, log.log_end_offset)
        for log in decision.evidence.logs
        if log.broker_state == UNFENCED and log.answered
    }
    guards = entry.topic_id, entry.leader_epoch, sorted(entry.replicas), dict(entry.survivors)
    return (state.topic_id, state.leader_epoch, sorted(state.replicas), survivors) == guards


def _before(leader: int | None, reason_code: str | None) -> dict[str, Any]:
    """What the plan says of the partition."""
    return {"planned_leader": leader, "planned_reason_code": reason_code}


def _row(decision: Decision, cluster: Cluster) -> dict[str, Any]:
    """The entry that a plan with this evidence would have, without its leader."""
    loss = bounds(decision, cluster)
    return fields(decision, loss, printable(explanation(decision, loss, cluster)))


def _changed(entry: Entry, decision: Decision, cluster: Cluster, leader: int) -> Entry:
    row = _row(decision, cluster)
    return replace(
        entry,
        designated_leader=leader,
        best_first=tuple(best_first(decision.best_first, leader)),
        evidence_word=row["evidence"],
        truncated=row["truncated"],
        loss=row["loss"],
        live_evidence=decision.evidence,
        decided_again={**_before(entry.designated_leader, None), "explanation": row["explanation"]},
    )


def _added(decision: Decision, policy: Policy, cluster: Cluster, leader: int, before: Mapping[str, Any]) -> Entry:
    row = _row(decision, cluster)
    row |= {"designatedLeader": leader, "replicas_best_first": best_first(decision.best_first, leader)}
    strategy = policy.topic_strategies.get(decision.evidence.topic, policy.strategy)
    entry = Entry.from_plan(row, strategy, policy.ranking)
    return replace(entry, live_evidence=decision.evidence, decided_again={**before, "explanation": row["explanation"]})


def _held(decision: Decision, cluster: Cluster, before: Mapping[str, Any]) -> Result:
    winner = decision.winner.broker_id if decision.winner else None
    row = _row(decision, cluster)
    place = decision.evidence.topic, decision.evidence.partition
    again = {**before, "explanation": row["explanation"]}
    return Result(*place, HELD, None, winner, row["evidence"], decision.reason, row["explanation"], decided_again=again)
