# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Outcomes of KIP-460's elections: which partitions need one, which broker Kafka would elect, what its answers mean. Pure: no I/O, no Kafka client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import Registration, elected, may_lead
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.previews import one_of_each_kind_first
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode, of_kafka

PREFERRED, UNCLEAN = "preferred", "unclean"
# Kafka's error if the requested election has no candidate.
NO_CANDIDATE = {PREFERRED: kafka_errors.PREFERRED_LEADER_NOT_AVAILABLE, UNCLEAN: kafka_errors.ELIGIBLE_LEADERS_NOT_AVAILABLE}
# Verdicts of the cluster: the same request gets the same answer, so it is not sent again.
VERDICTS = (
    kafka_errors.ELECTION_NOT_NEEDED,
    kafka_errors.UNKNOWN_TOPIC_OR_PARTITION,
    kafka_errors.CLUSTER_AUTHORIZATION_FAILED,
    *NO_CANDIDATE.values(),
)
MOST_CAUSES = 5  # that the summary names
OUTCOMES = (Outcome.FAILED, Outcome.HELD, Outcome.ELECTED, Outcome.ALREADY_ONLINE)  # in the order in which operators read them


@dataclass(frozen=True)
class ElectionResult:
    """The result of one partition. `leader`: id of its present leader, None if there is none. `error`: Kafka's name. `message`: cause and remedy.

    `reason_code`: for machines, None if it was elected. `error_message`: Kafka's text with its error.
    """

    topic: str
    partition: int
    outcome: str
    leader: int | None = None
    preferred_leader: int | None = None
    error: str | None = None
    reason_code: str | None = None
    message: str | None = None
    error_message: str | None = None

    @property
    def key(self) -> TopicPartition:
        """Return the topic and the number of the partition."""
        return self.topic, self.partition

    @classmethod
    def of(
        cls,
        state: PartitionState,
        outcome: str,
        error: str | None = None,
        reason_code: ReasonCode | None = None,
        message: str | None = None,
    ) -> ElectionResult:
        """Return a result with the leader that `state` shows."""
        leader = state.leader if state.leader >= 0 else None
        return cls(state.topic, state.partition, outcome, leader, state.replicas[0], error, reason_code, message)


def needed(state: PartitionState, election_type: str) -> bool:
    """Return whether a partition needs this election by the controller's rule; otherwise Kafka answers ELECTION_NOT_NEEDED (KIP-460).

    `election_type`: PREFERRED or UNCLEAN.
    """
    return state.leader < 0 if election_type == UNCLEAN else state.leader != state.replicas[0]


def expected_leader(state: PartitionState, election_type: str, elr: bool | None = None) -> int | None:
    """Return the id of the broker that the controller elects, as far as `state` shows; None if it elects none.

    Preferred: the first replica, if it is alive and in the ISR, or in the ELR if the ISR is empty. Unclean: a replica that can lead without loss, then the
    last known leader (KIP-966), then the first replica that is alive.

    `elr`: whether the cluster keeps eligible leader replicas; None (not known) counts as true.
    """
    alive = [broker for broker in state.replicas if broker not in state.offline_replicas]
    registered = Registration(state.replicas, state.isr, state.eligible_leader_replicas, state.last_known_elr)
    if election_type == PREFERRED:
        first = state.replicas[0]
        return first if may_lead(registered, first, alive) else None
    election = elected(registered, alive, elr is not False, unclean=True)
    return election.broker if election else None


def outlook(
    keys: Iterable[TopicPartition], states: Mapping[TopicPartition, PartitionState], election_type: str, elr: bool | None = None
) -> dict[TopicPartition, ElectionResult]:
    """Return the predicted result of each of these partitions. `states`: of partitions that exist. `elr`: as for `expected_leader`. Pure."""
    return {key: _expected(key, states.get(key), election_type, elr) for key in keys}


def _expected(key: TopicPartition, state: PartitionState | None, election_type: str, elr: bool | None) -> ElectionResult:
    if state is None:
        code, message = remedy(kafka_errors.UNKNOWN_TOPIC_OR_PARTITION, None)
        return ElectionResult(
            key[0], key[1], Outcome.FAILED, error=kafka_errors.UNKNOWN_TOPIC_OR_PARTITION, reason_code=code, message=message
        )
    if not needed(state, election_type):
        return ElectionResult.of(state, Outcome.ALREADY_ONLINE, kafka_errors.ELECTION_NOT_NEEDED, ReasonCode.ELECTION_NOT_NEEDED)
    leader = expected_leader(state, election_type, elr)
    if leader is None:
        return ElectionResult.of(state, Outcome.FAILED, NO_CANDIDATE[election_type], *remedy(NO_CANDIDATE[election_type], state))
    return replace(ElectionResult.of(state, Outcome.ELECTED), leader=leader)


def remedy(error: str, state: PartitionState | None) -> Reason:
    """Return the reason code, and a sentence with cause and remedy, for an election that Kafka refused.

    `error`: Kafka's name. `state`: of the partition, None if it is not known.
    """
    if error == kafka_errors.UNKNOWN_TOPIC_OR_PARTITION:
        return Reason(
            of_kafka(error), "the cluster has no such partition, or hides its topic; correct the name, or grant DESCRIBE on the topic"
        )
    if error == kafka_errors.CLUSTER_AUTHORIZATION_FAILED:
        return Reason(of_kafka(error), "grant ALTER on the cluster (kafka_permission_info with elect shows the command)")
    if state is not None and error == NO_CANDIDATE[UNCLEAN]:
        return Reason(of_kafka(error), f"none of its replicas {list(state.replicas)} is on a live broker; start one of these brokers")
    if state is not None and error == NO_CANDIDATE[PREFERRED]:
        return _preferred_remedy(state)
    return Reason(of_kafka(error), "run again; should it stay, the controller's log says more")


def _preferred_remedy(state: PartitionState) -> Reason:
    who = f"its preferred leader, broker {state.replicas[0]},"
    if state.leader < 0:
        lost = (
            f"it has no leader at all, and {who} cannot lead it without loss; recover it (kafka_recovery_plan, kafka_designated_election)"
        )
        return Reason(ReasonCode.PARTITION_OFFLINE, lost)
    if state.replicas[0] in state.offline_replicas:
        return Reason(ReasonCode.PREFERRED_LEADER_OFFLINE, f"{who} is not alive; start it, or give the partition other replicas")
    behind = f"{who} is not in its ISR {list(state.isr)}; run again when it has caught up"
    return Reason(ReasonCode.PREFERRED_LEADER_NOT_IN_SYNC, behind)


def judge(before: PartitionState, now: PartitionState, election_type: str, refused: Refusal | None, doubtful: bool) -> ElectionResult:
    """Return the result of an election, from Kafka's answer and the present leader.

    `before`, `now`: the partition before and after. `refused`: Kafka's refusal, None if it was elected. `doubtful`: whether an earlier request was
    never answered: it may have elected a leader that Kafka now says is not needed.
    """
    error, said = refused or (None, None)
    if error not in (None, kafka_errors.ELECTION_NOT_NEEDED):
        return replace(ElectionResult.of(now, Outcome.FAILED, error, *remedy(error or "", now)), error_message=said)
    if needed(now, election_type):
        answered = f"Kafka answered {error or 'that it is elected'}, but no such leader has become visible; run again"
        return ElectionResult.of(now, Outcome.FAILED, error, ReasonCode.NO_LEADER_VISIBLE, answered)
    if error is None or (doubtful and now.leader != before.leader):
        return ElectionResult.of(now, Outcome.ELECTED)
    return ElectionResult.of(now, Outcome.ALREADY_ONLINE, kafka_errors.ELECTION_NOT_NEEDED, ReasonCode.ELECTION_NOT_NEEDED)


def changed(before: PartitionState, now: PartitionState) -> Reason | None:
    """Return why an election must not be requested again if it was checked `before`, None if the partition is as it was then. Pure."""
    again = "since its election was checked; run again"
    if now.topic_id != before.topic_id:
        return Reason(ReasonCode.TOPIC_RECREATED, f"its topic was created again {again}")
    if {*now.replicas} != {*before.replicas}:
        return Reason(ReasonCode.REPLICAS_CHANGED, f"it has got other replicas, {list(now.replicas)}, {again}")
    if now.replicas != before.replicas:
        return Reason(ReasonCode.OTHER_ORDER, f"its replicas have got another order, {list(now.replicas)}, {again}")
    if now.leader_epoch != before.leader_epoch:
        return Reason(ReasonCode.LEADER_EPOCH_CHANGED, f"it had a leader, which was lost, {again}")
    return None


def worst_first(results: Iterable[ElectionResult]) -> list[ElectionResult]:
    """Return the results sorted by OUTCOMES, then in recovery order, but the first of each outcome, error and reason code before all others."""
    ordered = sorted(results, key=lambda result: (OUTCOMES.index(result.outcome), *in_recovery_order(result.key)))
    return one_of_each_kind_first(ordered, lambda result: (result.outcome, result.error, result.reason_code))


def not_elected(result: ElectionResult) -> bool:
    """Return whether a partition has to be named in the error of a run: its election failed, or would destroy or hide records."""
    return result.outcome == Outcome.FAILED or result.reason_code in (ReasonCode.TAIL_NOT_SAVED, ReasonCode.TIERED_STORAGE)


def summed_up(results: Sequence[ElectionResult]) -> str:
    """Return one line: how many partitions could not be elected, and the MOST_CAUSES most frequent causes, each with its first partitions and the remedy."""
    failed = sorted(filter(not_elected, results), key=lambda result: in_recovery_order(result.key))
    by_cause: dict[tuple[str | None, str | None], list[ElectionResult]] = {}
    for result in failed:
        by_cause.setdefault((result.error, result.reason_code), []).append(result)
    causes = sorted(by_cause.values(), key=len, reverse=True)
    others = sum(map(len, causes[MOST_CAUSES:]))
    more = [f"and {others} more {'partition' if others == 1 else 'partitions'} for other reasons"] if others else []
    return "; ".join([f"{len(failed)} of {len(results)} partitions could not be elected", *map(_clause, causes[:MOST_CAUSES]), *more])


def _clause(same: Sequence[ElectionResult]) -> str:
    names = [f"{result.topic}-{result.partition}" for result in same]
    more = f" and {len(same) - 3} more" if len(same) > 3 else ""
    message = same[0].message
    if any(result.message != message for result in same):
        message = f"for {names[0]}, {message}"
    said = same[0].error_message
    parts = (same[0].error, message, f"Kafka says: {said}" if said else None)
    return f"{', '.join(names[:3])}{more}: {': '.join(text for text in parts if text)}"
