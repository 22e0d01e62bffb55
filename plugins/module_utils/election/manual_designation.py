# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaders that an operator named, without a plan: their evidence is collected live before anything is elected."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Decision, Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.designation import (
    as_led_by,
    fenced_with_more,
    proven_losses,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.entry import (
    best_first,
    fenced_truncated,
    loss_fields,
    truncated,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import NO_ANSWER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import bounds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import proof_text
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.live_evidence import LiveEvidence, collect_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.cluster_evidence import Sources
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.documents import Evidence
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import DESIGNATED_BY_HAND, Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    NOT_IN_CLUSTER,
    PartitionState,
    TopicPartition,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode

SHOWN = 5  # partitions that a warning names


class Designated(NamedTuple):
    """Designations of an operator: `entries` to elect, with live evidence, the results of those that `failed`, and `warnings`."""

    entries: list[Entry]
    failed: list[Result]
    warnings: list[str]


def designations(rows: Sequence[Mapping[str, Any]], source: str) -> dict[TopicPartition, int]:
    """Return the designated leader (broker id) by partition. Rows have `topic`, `partition`, `designated_leader` (or KIP-1275's `designatedLeader`).

    `source`: the name of the rows in errors. Raises RecoveryError if a partition is named twice, and for an empty list: one that a template made empty
    must not look like a recovery.
    """
    if not rows:
        raise RecoveryError(f"{source}: no partition is named; name some, each with the leader that it shall get")
    named: dict[TopicPartition, int] = {}
    for row in rows:
        key = row["topic"], row["partition"]
        if key in named:
            raise RecoveryError(f"{source}: {key[0]}-{key[1]} is named twice; name each partition once")
        named[key] = row["designatedLeader"] if "designatedLeader" in row else row["designated_leader"]
    return named


def collect(sources: Sources, named: Mapping[TopicPartition, int]) -> Designated:
    """Return entries for these partitions with live evidence, from the same sources as that of a plan. `named`: designated leaders.

    A designation that cannot be elected (no such partition, not a replica, a broker that is not alive or does not answer) becomes a failed result,
    and the others continue (KIP-1275: best effort). Doubts are warnings: the operator who names a leader decides. Raises ClusterError if no
    broker answers.
    """
    with sources.budget.state():
        known = sources.cluster.partitions(named.keys())
    live = collect_now(sources, [known[key] for key in sorted(named, key=in_recovery_order) if key in known], named.keys())
    evidence, documents = live.collected, live.documents
    broker_states = {row["broker_id"]: row["broker_state"] for row in evidence.brokers}
    problems = {key: Reason(ReasonCode.UNKNOWN_TOPIC_OR_PARTITION, NOT_IN_CLUSTER) for key in named if key not in known}
    problems |= {
        state.key: problem
        for state in evidence.states
        if (problem := _problem(state, named[state.key], evidence, broker_states)) is not None
    }
    states = [state for state in evidence.states if state.key not in problems]
    decisions = {state.key: decide(documents[state.key], Policy(), live.cluster.elr, live.cluster.reorders) for state in states}
    costs = {key: as_led_by(decision, named[key]) for key, decision in decisions.items()}
    entries = [_entry(state, named[state.key], live, costs[state.key]) for state in states]
    failed = [
        Result(*key, Outcome.FAILED, None, named[key], DESIGNATED_BY_HAND, problem.code, problem.sentence)
        for key, problem in problems.items()
    ]
    warnings = {
        "committed records are given up": [text for entry in entries for text in _proven(entry, costs[entry.key])],
        "fenced brokers hold more, start them or repair their connection to the controllers first": [
            text for entry in entries for text in _fenced(entry, costs[entry.key])
        ],
        "plans would decide otherwise": [text for entry in entries for text in _doubts(entry, decisions[entry.key])],
    }
    doubts = [text for what, sentences in warnings.items() for text in _warning(what, sentences)]
    return Designated(entries, failed, [*live.warnings, *doubts])


def _warning(what: str, sentences: Sequence[str]) -> Iterator[str]:
    if sentences:
        more = [f"and {len(sentences) - SHOWN} more"] if len(sentences) > SHOWN else []
        yield f"{what}: {'; '.join([*sentences[:SHOWN], *more])}"


def _doubts(entry: Entry, decision: Decision) -> Iterator[str]:
    """Yield a part of a sentence if the decision would not elect the designated leader."""
    if decision.action == Action.HOLD:
        yield f"{entry.topic}-{entry.partition} would be held ({decision.reason})"
    elif decision.action == Action.ELECT and entry.designated_leader not in decision.choices:
        yield f"{entry.topic}-{entry.partition} would get broker {decision.choices[0]}, not {entry.designated_leader}"


def _proven(entry: Entry, cost: Decision) -> Iterator[str]:
    """Yield a sentence for committed records that the designated leader lacks, as far as they are proven. `cost`: see `as_led_by`."""
    for point, common_offset in proven_losses(cost):
        yield (
            f"{entry.topic}-{entry.partition}: offsets {common_offset} to {point.offset - 1} in the log of broker {point.holder} are committed "
            f"({proof_text(point.source, point.name, point.holder)}), and leader {entry.designated_leader} does not have them"
        )


def _fenced(entry: Entry, cost: Decision) -> Iterator[str]:
    """Yield a sentence for each fenced broker that answers and holds records that the designated leader lacks."""
    for row in fenced_with_more(cost):
        broker, name = row.other.broker_id, f"{entry.topic}-{entry.partition}"
        who = f"the fenced broker {broker}" if row.other.read_from_disk_at is None else f"the disk of the lost broker {broker}"
        if row.beyond_common is None:
            yield (
                f"{name}: whether the log of {who} (to offset {row.other.end}) holds more than that of leader "
                f"{entry.designated_leader} is not known"
            )
        else:
            yield (
                f"{name}: {who} holds {row.beyond_common} records (offsets {row.common_offset} to {row.other.end - 1}) that "
                f"leader {entry.designated_leader} does not have"
            )


def _problem(state: PartitionState, designated: int, evidence: Evidence, broker_states: Mapping[int, str]) -> Reason | None:
    """Return why this leader cannot be elected, None if it can."""
    if designated not in state.replicas:
        text = f"broker {designated} is not among its replicas {list(state.replicas)}; designate one of them"
        return Reason(ReasonCode.NOT_A_REPLICA, text)
    if state.leader >= 0:
        return None
    if broker_states[designated] != UNFENCED:
        text = f"broker {designated} is {broker_states[designated]}; designate a broker that is alive"
        return Reason(ReasonCode.DESIGNATED_LEADER_LOST, text)
    log = evidence.replicas.get((state.key, designated))
    error = log.error if log else NO_ANSWER  # it has come back since logs were read
    if error is None:
        return None
    return Reason(
        ReasonCode.SURVIVOR_SILENT, f"broker {designated} does not answer for its replica ({error}); designate a broker that does"
    )


def _entry(state: PartitionState, designated: int, live: LiveEvidence, cost: Decision) -> Entry:
    evidence, document = live.collected, cost.evidence
    logs = {
        broker: log for broker in state.replicas if (log := evidence.replicas.get((state.key, broker))) is not None and log.error is None
    }
    return Entry(
        topic=state.topic,
        partition=state.partition,
        designated_leader=designated,
        best_first=tuple(best_first(cost.best_first, designated)),
        topic_id=state.topic_id,
        leader_epoch=state.leader_epoch,
        replicas=state.replicas,
        survivors={broker: (log.last_written_epoch, log.log_end_offset or 0) for broker, log in logs.items()},
        evidence_word=DESIGNATED_BY_HAND,
        strategy=Policy().strategy.value,
        designated_by_hand=True,
        live_evidence=document,
        truncated=list(_truncated(designated, logs, cost)),
        fenced_truncated=list(fenced_truncated(cost)),
        loss=None if document.defects else loss_fields(bounds(cost, live.cluster)),
        broker_epochs={broker: log.broker_epoch for broker, log in logs.items() if log.broker_epoch is not None},
        isr=state.isr,
        eligible_leader_replicas=state.eligible_leader_replicas,
        last_known_elr=state.last_known_elr,
        unclean_leader_election_enable=document.state.unclean_leader_election_enable if document.state else None,
    )


def _truncated(designated: int, logs: Collection[int], cost: Decision) -> Iterator[Mapping[str, Any]]:
    """Return rows of what other survivors truncate when they follow the designated leader; not known if their evidence is damaged."""
    if cost.evidence.defects:
        return ({"broker_id": broker, "offset": None, "records": None} for broker in logs if broker != designated)
    return truncated(cost)
