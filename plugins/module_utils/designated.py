# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaders that an operator named, without a plan: their evidence is collected live before anything is elected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.budget import Budget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Outcome, Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.document import PartitionEvidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import Electing
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import Evidence, gather
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence_collection import read_documents
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.guards import FAILED, NAMED, Entry, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leadership import Reason, keeps_elr
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import (
    NOT_IN_CLUSTER,
    PartitionError,
    PartitionState,
    TopicPartition,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.replica_logs import NO_ANSWER, ReplicaLog

SHOWN = 5  # partitions that a warning names


class Designated(NamedTuple):
    """What operators designated, with the evidence of now, what of it cannot be elected, and what they should know before the rest is."""

    entries: list[Entry]
    failed: list[Result]
    warnings: list[str]


def designations(rows: Sequence[Mapping[str, Any]], source: str) -> dict[TopicPartition, int]:
    """Return the designated leader by partition. Rows have `topic`, `partition`, `designated_leader`.

    PartitionError for one named twice, and where none is named: a list that a template made empty must not look like a recovery.
    """
    if not rows:
        raise PartitionError(f"{source}: no partition is named; name some, each with the leader that it shall get")
    named: dict[TopicPartition, int] = {}
    for row in rows:
        key = row["topic"], row["partition"]
        if key in named:
            raise PartitionError(f"{source}: {key[0]}-{key[1]} is named twice; name each partition once")
        named[key] = row["designated_leader"]
    return named


def collect(cluster: Electing, named: Mapping[TopicPartition, int], duration: float) -> Designated:
    """Collect live evidence for these partitions and return them as entries. All of it takes at most `duration` seconds, as `Budget` divides them.

    A designation that cannot be elected (no such partition, no replica, a broker that is not alive or does not answer) becomes a failed result, and the
    others go on (KIP-1275: best effort). Doubts are warnings: whoever names a leader decides.
    """
    budget = Budget(duration)
    with budget.state():
        known = cluster.partitions(named.keys())
    evidence = gather(cluster, [known[key] for key in sorted(named, key=in_recovery_order) if key in known], budget)
    broker_states = {row["broker_id"]: row["broker_state"] for row in evidence.brokers}
    problems = {key: Reason(ReasonCode.UNKNOWN_TOPIC_OR_PARTITION, NOT_IN_CLUSTER) for key in named if key not in known}
    problems |= {
        state.key: problem
        for state in evidence.states
        if (problem := _problem(state, named[state.key], evidence, broker_states)) is not None
    }
    logs: dict[TopicPartition, dict[int, ReplicaLog]] = {}
    for (key, broker), log in evidence.replicas.items():
        logs.setdefault(key, {})[broker] = log
    pairs: dict[TopicPartition, list[dict[str, Any]]] = {}
    for pair in evidence.pairs:
        pairs.setdefault((pair["topic"], pair["partition"]), []).append(pair)
    entries = [
        _entry(state, named[state.key], logs.get(state.key, {}), pairs.get(state.key, []))
        for state in evidence.states
        if state.key not in problems
    ]
    failed = [Result(*key, FAILED, None, named[key], NAMED, problem.code, problem.sentence) for key, problem in problems.items()]
    given_up = [sentence for entry in entries for sentence in _proven(entry, logs.get(entry.key, {}))]
    with budget.state():
        elr = keeps_elr(cluster, evidence.states)
    doubts = list(_doubts(entries, read_documents(evidence, named.keys(), ()), elr))
    return Designated(
        entries, failed, [*_warning("committed records are given up", given_up), *_warning("plans would decide otherwise", doubts)]
    )


def _warning(what: str, sentences: Sequence[str]) -> Iterator[str]:
    if sentences:
        more = [f"and {len(sentences) - SHOWN} more"] if len(sentences) > SHOWN else []
        yield f"{what}: {'; '.join([*sentences[:SHOWN], *more])}"


def _doubts(entries: Sequence[Entry], documents: Mapping[TopicPartition, PartitionEvidence], elr: bool | None) -> Iterator[str]:
    """Yield the partitions for which the decision would not elect the leader that was designated. `elr`: as in `decide`."""
    for entry in entries:
        decision = decide(documents[entry.key], Policy(), elr)
        if decision.outcome == Outcome.HELD:
            yield f"{entry.topic}-{entry.partition} would be held ({decision.reason})"
        elif decision.outcome == Outcome.ELECT and entry.designated_leader not in decision.choices:
            yield f"{entry.topic}-{entry.partition} would get broker {decision.choices[0]}, not {entry.designated_leader}"


def _proven(entry: Entry, logs: Mapping[int, ReplicaLog]) -> Iterator[str]:
    """The committed records that survivors truncate when they follow the designated leader, as far as their high watermarks prove them."""
    for row in entry.truncated:
        log = logs[row["broker_id"]]
        end = min(log.high_watermark or 0, log.log_end_offset or 0)
        if end > row["offset"]:
            yield (
                f"{entry.topic}-{entry.partition}: broker {row['broker_id']} proves offsets {row['offset']} to {end - 1} committed (its high "
                f"watermark), and leader {entry.designated_leader} does not have them"
            )


def _problem(state: PartitionState, designated: int, evidence: Evidence, broker_states: Mapping[int, str]) -> Reason | None:
    """Why this leader cannot be elected, None if it can."""
    if designated not in state.replicas:
        text = f"broker {designated} is not among its replicas {list(state.replicas)}; designate one of them"
        return Reason(ReasonCode.NOT_A_REPLICA, text)
    if state.leader >= 0:
        return None
    if broker_states[designated] != UNFENCED:
        text = f"broker {designated} is {broker_states[designated]}; designate a broker that is alive"
        return Reason(ReasonCode.DESIGNATED_LEADER_LOST, text)
    log = evidence.replicas.get((state.key, designated))
    error = log.error if log else NO_ANSWER  # it has come back since its log was asked for
    if error is None:
        return None
    return Reason(
        ReasonCode.SURVIVOR_SILENT, f"broker {designated} does not answer for its replica ({error}); designate a broker that does"
    )


def _entry(state: PartitionState, designated: int, logs: Mapping[int, ReplicaLog], pairs: Sequence[Mapping[str, Any]]) -> Entry:
    return Entry(
        topic=state.topic,
        partition=state.partition,
        designated_leader=designated,
        best_first=(designated, *(broker for broker in state.replicas if broker != designated)),
        topic_id=state.topic_id,
        leader_epoch=state.leader_epoch,
        replicas=state.replicas,
        survivors={broker: (log.last_written_epoch, log.log_end_offset or 0) for broker, log in logs.items() if log.error is None},
        evidence=NAMED,
        strategy="balanced",
        by_hand=True,
        truncated=list(_truncated(designated, pairs, logs)),
        broker_epochs={broker: log.broker_epoch for broker, log in logs.items() if log.error is None and log.broker_epoch is not None},
        isr=state.isr,
        eligible_leader_replicas=state.eligible_leader_replicas,
        last_known_elr=state.last_known_elr,
    )


def _truncated(designated: int, pairs: Sequence[Mapping[str, Any]], logs: Mapping[int, ReplicaLog]) -> Iterator[dict[str, Any]]:
    """What the other survivors lose when they follow the designated leader: everything from the end of the common part on."""
    for pair in pairs:
        if designated in (pair["broker_a"], pair["broker_b"]) and pair["common_offset"] is not None:
            other = pair["broker_b"] if pair["broker_a"] == designated else pair["broker_a"]
            records = (logs[other].log_end_offset or 0) - pair["common_offset"]
            if records > 0:
                yield {"broker_id": other, "offset": pair["common_offset"], "records": records}
