# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bounds of the loss: how many committed records are gone when the best survivor leads (docs/loss.md). Pure.

The numbers are offsets. There are at most as many records, and `gaps` says why there may be fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Decision
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    FENCED_BROKER,
    HEALTHY_SNAPSHOT,
    ClusterHeader,
    Healthy,
    Log,
    PartitionEvidence,
    Proof,
    State,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.log_pairs import brokers_of

NONE, UNKNOWN = "none", "unknown"
# What an upper bound can rest on, best first.
ISR_HISTORY, ELR, ISR, ALL_REPLICAS = UPPER_SOURCES = ("isr_history", "elr", "isr", "all_replicas")
COMPACTION, TRANSACTION_MARKERS = "compaction", "transaction_markers"
# An estimate is not worth more digits.
_MOST_APPENDED = 1e15
# A plan holds offsets, and an offset of Kafka is an int64.
_MOST_OFFSET = 2**63 - 1


class Loss(NamedTuple):
    """The object `loss` of a plan. Its fields stand in the order of the alphabet, in which the digest of a plan is made.

    estimate     a guess between the bounds, by the rate of the last healthy snapshot; None without one
    gaps         why there may be fewer records than offsets
    lower_bound  so many committed offsets are proven to be lost; None if nothing speaks of committed offsets
    upper_bound  at most so many are lost; None if nothing bounds it
    """

    estimate: int | None
    estimate_from: str
    gaps: tuple[str, ...]
    lower_bound: int | None
    lower_bound_from: str
    upper_bound: int | None
    upper_bound_from: str


class _Lower(NamedTuple):
    """`lost` offsets below the committed `offset` are proven to be lost. The greatest counts."""

    lost: int
    offset: int
    source: str


class _Upper(NamedTuple):
    """At most `lost` offsets are lost. `source`: the place in UPPER_SOURCES. The smallest counts."""

    lost: int
    source: int


def bounds(decision: Decision, cluster: ClusterHeader) -> Loss:
    """Return lower bound, upper bound and estimate of the loss, in offsets, if the winner leads. None: not known. Without a survivor all are None."""
    winner, gaps = decision.winner, tuple(_gaps(decision))
    if winner is None:
        return Loss(None, NONE, gaps, None, NONE, None, UNKNOWN)
    lower = max(_lower_bounds(decision, winner), default=None)
    upper = min(_upper_bounds(decision, winner), default=None)
    proven = lower.lost if lower else 0
    if upper and upper.lost < proven:
        # One of the two is wrong. What is proven stays.
        upper = None
    guess = _estimate(decision, cluster, winner)
    if guess is not None:
        guess = max(guess, proven) if upper is None else min(max(guess, proven), upper.lost)
    return Loss(
        guess,
        NONE if guess is None else HEALTHY_SNAPSHOT,
        gaps,
        lower.lost if lower else None,
        lower.source if lower else NONE,
        upper.lost if upper else None,
        UPPER_SOURCES[upper.source] if upper else UNKNOWN,
    )


def is_current(healthy: Healthy, state: State) -> bool:
    """Whether a healthy snapshot is of this topic, not of an older one of its name, and not of a time after the evidence."""
    return healthy.topic_id == state.topic_id and healthy.leader_epoch <= state.leader_epoch


def is_given_up(healthy: Healthy, decision: Decision, winner: Log) -> bool:
    """Whether an unclean election since the healthy snapshot may have given up some of the offsets that it counts beyond the winner's log."""
    return healthy.high_watermark > winner.end and not _still_counts(healthy, decision.evidence)


def held_by(log: Log, evidence: PartitionEvidence) -> list[Proof]:
    """Return the proofs of commitment that this log is known to hold."""
    return [proof for proof in evidence.proofs if proof.held and proof.broker_id == log.broker_id]


def age(evidence: PartitionEvidence, cluster: ClusterHeader) -> int | None:
    """Return the milliseconds from the last healthy snapshot to the loss of the leader, else to the collection of the evidence.

    None without a snapshot, and if a clock went backwards.
    """
    if evidence.healthy is None or cluster.collected_at is None:
        return None
    offline_since = evidence.history.offline_since if evidence.history else None
    until = cluster.collected_at if offline_since is None else offline_since
    observed_at = evidence.healthy.observed_at
    return until - observed_at if observed_at <= min(cluster.collected_at, until) else None


def _lower_bounds(decision: Decision, winner: Log) -> Iterator[_Lower]:
    """Yield what each proof of commitment shows to be lost.

    Clients may commit any offset. So an offset of a group counts only if a batch confirms its leader epoch: that of a survivor (a point), or of a fenced
    broker that answered.
    """

    def lacking(offset: int, shared: int, source: str) -> _Lower:
        return _Lower(max(0, offset - shared), offset, source)

    common_offsets = {row.other.broker_id: row.common_offset for row in decision.relations}
    for point in decision.points:
        common = point.offset if point.holder == winner.broker_id else common_offsets.get(point.holder)
        yield lacking(point.offset, winner.end if common is None else common, point.source)
    # What a fenced broker holds is lost when it follows the winner.
    for row in decision.fenced:
        if row.common_offset is not None:
            yield lacking(row.other.high_watermark or 0, row.common_offset, FENCED_BROKER)
            for proof in held_by(row.other, decision.evidence):
                yield lacking(proof.offset, row.common_offset, proof.source)
    healthy = decision.evidence.healthy
    if healthy and is_current(healthy, decision.state) and not is_given_up(healthy, decision, winner):
        yield lacking(healthy.high_watermark, winner.end, HEALTHY_SNAPSHOT)


def _still_counts(healthy: Healthy, evidence: PartitionEvidence) -> bool:
    """Whether no log and no history speaks of a later epoch that may have begun below the high watermark of the healthy snapshot.

    A clean leader keeps what is committed. So such an epoch is one of an unclean election since the snapshot, which gave up some of these offsets before.
    """
    if evidence.history and any(change.unclean and change.leader_epoch > healthy.leader_epoch for change in evidence.history.changes):
        return False
    # The collection writes them only if no survivor has a batch of a later epoch below the high watermark.
    if any(proof.source == HEALTHY_SNAPSHOT and proof.offset == healthy.high_watermark for proof in evidence.proofs):
        return True
    epochs = [log.last_written_epoch for log in evidence.logs if log.answered]
    return all(epoch is not None and epoch <= healthy.leader_epoch for epoch in epochs)


def _upper_bounds(decision: Decision, winner: Log) -> Iterator[_Upper]:
    """Yield what the winner lacks of each log that holds every committed record.

    Such logs: the holders of the ISR history, and members of the ELR and the ISR (KIP-966). If every replica answered, the last leader's log
    is one of them; whichever it is, the winner lacks no more than the longest of the others' tails. Logs on fenced brokers that answered count, too.
    What the winner lacks of the logs of a hidden fork is not known.
    """
    if decision.contradicted:
        # Proof of commitment and the ISR history name different branches, so neither bounds anything.
        return
    state = decision.state
    complete = (decision.isr_proof.holders, state.eligible_leader_replicas, state.isr)
    lacking: dict[int, int | None] = {
        winner.broker_id: 0,
        **{row.other.broker_id: row.beyond_common for row in (*decision.relations, *decision.fenced)},
    }
    lacking |= dict.fromkeys(brokers_of(decision.hidden_forks))
    for broker, lost in lacking.items():
        if lost is None:
            continue
        for source, brokers in enumerate(complete):
            if broker in brokers:
                yield _Upper(lost, source)
                break
    known = [lost for lost in lacking.values() if lost is not None]
    if len(known) == len(lacking) and not decision.unread and not decision.unanswered:
        yield _Upper(max(known), UPPER_SOURCES.index(ALL_REPLICAS))


def _estimate(decision: Decision, cluster: ClusterHeader, winner: Log) -> int | None:
    """Return how many offsets the winner lacks by the rate of the last healthy snapshot."""
    healthy, milliseconds = decision.evidence.healthy, age(decision.evidence, cluster)
    if healthy is None or milliseconds is None or healthy.append_rate is None or not is_current(healthy, decision.state):
        return None
    if is_given_up(healthy, decision, winner):
        return None
    appended = int(min(float(healthy.append_rate) * milliseconds / 1000, _MOST_APPENDED))
    guess = healthy.log_end_offset - winner.end + appended
    return guess if guess <= _MOST_OFFSET else None


def _gaps(decision: Decision) -> Iterator[str]:
    policy = decision.state.cleanup_policy
    if policy is None or "compact" in policy:
        yield COMPACTION
    if any(log.last_batch_transactional for log in decision.survivors):
        yield TRANSACTION_MARKERS
