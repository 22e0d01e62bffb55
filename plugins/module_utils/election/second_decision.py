# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The second decision on the partitions of a plan, from evidence that was collected for the election. Pure.

An entry of a plan that a person reviewed is elected unchanged, or not at all (`with_evidence`, and the guards). If this run made the plan itself, a
partition may be decided otherwise once `__consumer_offsets` has a leader: committed offsets can prove another branch of a fork (`second_decision`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import GROUP_TOPIC
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import (
    Action,
    Decision,
    Policy,
    Word,
    decide,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.entry import (
    best_first,
    fenced_truncated,
    fields,
    loss_fields,
    truncated,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    UNFENCED,
    ClusterHeader,
    PartitionEvidence,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import bounds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Result, without
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.live_decision import Decided
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import INTERNAL_TOPICS, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode

# Reasons of held partitions that may be decided otherwise once offsets can be read. Proofs do not change the other reasons.
UNDECIDED = (ReasonCode.FORKED, ReasonCode.FORKED_PROVEN, ReasonCode.CONTRADICTED, ReasonCode.INCOMPLETE, ReasonCode.RETENTION_GAP)
# The guards have reasons of their own for these, from the state of the cluster in the batch that elects.
_FOR_GUARDS = (ReasonCode.WAIT_FOR_CLEAN_LEADER, ReasonCode.REASSIGNMENT_IN_PROGRESS)


@dataclass
class SecondDecision:
    """`entries`: elected as in the plan. `changed`: elected, with another leader than in the plan. `added`: elected, held by the plan.

    `held`: results of partitions that are held now, for a reason that the plan does not have.
    """

    entries: list[Entry] = field(default_factory=list)
    changed: list[Entry] = field(default_factory=list)
    added: list[Entry] = field(default_factory=list)
    held: list[Result] = field(default_factory=list)

    def leave_out(self, results: Collection[Result]) -> None:
        """Leave out the entries that have one of these results."""
        for entries in (self.entries, self.changed, self.added):
            entries[:] = without(entries, results)


def with_evidence(entry: Entry, found: PartitionEvidence | None, cluster: ClusterHeader) -> Entry:
    """Return the entry of a plan with live evidence and, if the decision allows the same leader, its present loss. Otherwise the guards refuse it.

    `found`: the evidence, None if there is none. `cluster`: as the decision needs it (`live_evidence.read_cluster`).
    """
    if found is None:
        return replace(entry, live_evidence=None)
    policy, leader = entry.policy, entry.designated_leader
    decision = decide(found, policy, cluster.elr, cluster.reorders)
    decided = Decided(decision, policy, cluster.elr, cluster.reorders)
    if leader not in decision.choices:
        return replace(entry, live_evidence=found, decided=decided)
    return replace(
        entry,
        live_evidence=found,
        decided=decided,
        evidence_word=decision.word.value,
        best_first=tuple(best_first(decision.best_first, leader)),
        truncated=list(truncated(decision)),
        fenced_truncated=list(fenced_truncated(decision)),
        loss=loss_fields(bounds(decision, cluster)),
    )


def undecided(results: Sequence[Result]) -> dict[TopicPartition, Result]:
    """Return the results, by partition, that the plan holds for a reason in UNDECIDED. Internal topics are left out: they were elected before."""
    held = (row for row in results if row.outcome == Outcome.HELD and row.reason_code in UNDECIDED and row.topic not in INTERNAL_TOPICS)
    return {(row.topic, row.partition): row for row in held}


def may_change(entries: Sequence[Entry], results: Sequence[Result]) -> list[TopicPartition]:
    """Return the partitions of a plan that may be decided otherwise once offsets can be read: `entries` to elect, and held `results`.

    The evidence `prefix` never changes: a log of which all others are prefixes stays the best, whatever is proven.
    """
    return [*(entry.key for entry in entries if not entry.designated_by_hand and entry.evidence_word != Word.PREFIX), *undecided(results)]


def second_decision(
    entries: Sequence[Entry],
    held: Collection[Result],
    documents: Mapping[TopicPartition, PartitionEvidence],
    cluster: ClusterHeader,
    policy: Policy,
) -> SecondDecision:
    """Decide again on the partitions of a plan, with the same policy. Among identical logs leadership is spread evenly.

    entries    entries of the plan. They keep its guards: if a log has changed since, the guards refuse the entry
    held       the results of partitions that the plan holds and that may be decided otherwise
    documents  evidence that was collected after the election of internal topics
    """
    planned = {(row.topic, row.partition): row for row in held}
    policies = {entry.key: entry.policy for entry in entries} | dict.fromkeys(planned, policy)
    decisions = {key: decide(documents[key], own, cluster.elr, cluster.reorders) for key, own in policies.items() if key in documents}
    leaders = _leaders(decisions, {entry.key: entry.designated_leader for entry in entries})
    found = SecondDecision()
    for entry in entries:
        decision = decisions.get(entry.key)
        if decision is None or entry.designated_leader in decision.choices or not _as_planned(entry, decision):
            found.entries.append(with_evidence(entry, documents.get(entry.key), cluster))
        elif decision.action == Action.ELECT:
            found.changed.append(_changed(entry, decision, cluster, leaders[entry.key]))
        elif decision.action == Action.HOLD and decision.reason not in _FOR_GUARDS:
            found.held.append(_held(decision, cluster, _before(entry.designated_leader, None)))
        else:
            found.entries.append(with_evidence(entry, documents.get(entry.key), cluster))
    for key, result in planned.items():
        decision = decisions.get(key)
        before = _before(None, result.reason_code)
        if decision is not None and decision.action == Action.ELECT:
            found.added.append(_added(decision, policy, cluster, leaders[key], before))
        elif decision is not None and decision.action == Action.HOLD and decision.reason != result.reason_code:
            found.held.append(_held(decision, cluster, before))
    return found


def beyond_limits(entry: Entry, reasons: Sequence[str]) -> Result:
    """Return the HELD result of a partition that the second decision would elect. `reasons`: sentences on the limits that it would exceed."""
    reason = f"it was decided again once internal topics had leaders, and would get broker {entry.designated_leader}: {'; '.join(reasons)}"
    return Result.of(entry, Outcome.HELD, ReasonCode.LIMIT_REACHED, reason)


def without_offsets(entries: Sequence[Entry]) -> list[Result]:
    """Return HELD results for the entries whose committed offsets are still unread (forks), whatever evidence their strategy accepts.

    The coordinators have a leader now, so another run can read these offsets.
    """
    reason = (
        f"{GROUP_TOPIC} has a leader, but committed offsets could not all be read in time, and they may prove another branch of this fork; plan again "
        "once every coordinator has a leader and has loaded its groups, or raise duration"
    )
    return [
        Result.of(entry, Outcome.HELD, ReasonCode.INCOMPLETE, reason)
        for entry in entries
        if not entry.designated_by_hand
        and entry.topic not in INTERNAL_TOPICS
        and entry.live_evidence
        and entry.live_evidence.offsets_unread
    ]


def _leaders(decisions: Mapping[TopicPartition, Decision], planned: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """Return the leaders of the partitions whose decision elects another one than planned. Among identical logs leadership is spread evenly."""
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.balance import Seats  # most elections decide once

    choices = {
        key: decision.choices
        for key, decision in sorted(decisions.items())
        if decision.choices and planned.get(key) not in decision.choices
    }
    seats = Seats(Counter(brokers for brokers in choices.values() if len(brokers) > 1))
    return {key: seats.leader(brokers) for key, brokers in choices.items()}


def _as_planned(entry: Entry, decision: Decision) -> bool:
    """Return whether the decision is based on the logs of the plan. If not, the guards report what has changed."""
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
    """Return the fields of the plan's decision for `decided_again`."""
    return {"planned_leader": leader, "planned_reason_code": reason_code}


def _row(decision: Decision, cluster: ClusterHeader) -> dict[str, Any]:
    """Return the entry that a plan with this evidence would have, without its leader."""
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.explain import explanation  # most elections decide once

    loss = bounds(decision, cluster)
    return fields(decision, loss, printable(explanation(decision, loss, cluster)), cluster.elr)


def _changed(entry: Entry, decision: Decision, cluster: ClusterHeader, leader: int) -> Entry:
    row = _row(decision, cluster)
    return replace(
        entry,
        designated_leader=leader,
        best_first=tuple(best_first(decision.best_first, leader)),
        evidence_word=row["evidence"],
        truncated=row["truncated"],
        fenced_truncated=list(fenced_truncated(decision)),
        loss=row["loss"],
        live_evidence=decision.evidence,
        decided_again={**_before(entry.designated_leader, None), "explanation": row["explanation"]},
    )


def _added(decision: Decision, policy: Policy, cluster: ClusterHeader, leader: int, before: Mapping[str, Any]) -> Entry:
    row = _row(decision, cluster)
    row |= {"designatedLeader": leader, "replicas_best_first": best_first(decision.best_first, leader)}
    strategy = policy.topic_strategies.get(decision.evidence.topic, policy.strategy)
    entry = Entry.from_plan(row, strategy, policy.ranking)
    lost = list(fenced_truncated(decision))
    return replace(
        entry, live_evidence=decision.evidence, fenced_truncated=lost, decided_again={**before, "explanation": row["explanation"]}
    )


def _held(decision: Decision, cluster: ClusterHeader, before: Mapping[str, Any]) -> Result:
    winner = decision.winner.broker_id if decision.winner else None
    row = _row(decision, cluster)
    place = decision.evidence.topic, decision.evidence.partition
    again = {**before, "explanation": row["explanation"]}
    return Result(*place, Outcome.HELD, None, winner, row["evidence"], decision.reason, row["explanation"], decided_again=again)
