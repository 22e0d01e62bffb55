# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The survivors of one partition compared: who holds what is known to be committed, and which log is the best. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    CORRUPT,
    FORKED,
    PREFIX,
    SAME,
    UNFENCED,
    UNKNOWN,
    Log,
    Pair,
    PartitionEvidence,
    State,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.isr_proof import IsrProof, isr_proof, without_holders
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.log_pairs import LogPairs, brokers_of

NO_COMPARISON = "the snapshot has no comparison of them"


class Ranking(StrEnum):
    """What makes one log better than another."""

    LAST_WRITTEN_EPOCH = "last_written_epoch"
    KIP1275 = "kip1275"  # KIP-1275, "Proposed Changes": leader epoch, then log end offset


class Relation(NamedTuple):
    """How another replica's log relates to the winner's: below `common_offset` both hold the same records (None: not known)."""

    other: Log
    relation: str
    shorter: int | None
    common_offset: int | None
    reason: str | None

    @property
    def beyond_common(self) -> int | None:
        """How many offsets the other log holds that the winner's does not, None where that is not known."""
        return None if self.common_offset is None else self.other.end - self.common_offset


class Point(NamedTuple):
    """Below `offset` the log of the broker `holder` is known to be committed. `source`: high_watermark, or that of a proof."""

    holder: int
    offset: int
    source: str
    name: str


class Lack(NamedTuple):
    """Records that `point` proves committed and a log is known not to have: those from `common_offset` on."""

    point: Point
    common_offset: int


class Comparison:
    """The survivors of one partition, with what is known to be committed."""

    def __init__(self, evidence: PartitionEvidence, state: State) -> None:
        self.evidence = evidence
        answered = [] if evidence.defects else [log for log in evidence.logs if log.answered]
        answered.sort(key=lambda log: state.replicas.index(log.broker_id))
        self.survivors = tuple([log for log in answered if log.broker_state == UNFENCED])
        self.fenced = tuple([log for log in answered if log.broker_state != UNFENCED])
        self.pairs = LogPairs(evidence, self.survivors, self.fenced)
        self.forks = self.pairs.forks
        self.corrupt = self._corrupt()
        self.points = tuple(self._points()) if self.survivors else ()
        self._proven: dict[int, int] = {}
        self.members = {*state.isr, *state.eligible_leader_replicas}
        lost_members = self.pairs.lost_members(self.members)
        self.agreeing = self.pairs.agreeing_longest(lost_members)
        proof = isr_proof(state, evidence.history, [log.broker_id for log in self.survivors])
        if proof.undisturbed:
            proof = proof._replace(members=tuple([log.broker_id for log in lost_members]), agreeing=self.agreeing)
        self.isr_proof: IsrProof = without_holders(proof, {broker for broker in proof.holders if self.pairs.ends_before_a_fork(broker)})

    def _corrupt(self) -> tuple[Pair, ...]:
        """The comparisons of survivors that found different bytes at one offset from one leader epoch, also those without the winner."""
        pairs = [pair for pair in self.evidence.pairs.values() if pair.relation == CORRUPT]
        brokers = {log.broker_id for log in self.survivors} if pairs else set()
        return tuple([pair for pair in pairs if {pair.broker_a, pair.broker_b} <= brokers])

    def _points(self) -> Iterator[Point]:
        """High watermarks and committed offsets that a survivor is known to hold. A high watermark of 0 proves nothing."""
        for log in self.survivors:
            if log.high_watermark:
                yield Point(log.broker_id, log.high_watermark, "high_watermark", "")
        for proof in self.evidence.proofs:
            if proof.held and any(log.broker_id == proof.broker_id for log in self.survivors):
                yield Point(proof.broker_id, proof.offset, proof.source, proof.name or "")

    def relation(self, one: Log, other: Log) -> Relation:
        """Return how the log of `other` relates to that of `one`."""
        pair = self.pairs.pair(one.broker_id, other.broker_id)
        if pair is None:
            return Relation(other, UNKNOWN, None, None, NO_COMPARISON)
        return Relation(other, pair.relation, pair.shorter, pair.common_offset, pair.reason)

    def held(self, log: Log, point: Point) -> int:
        """Return the offset below which this log holds the records that `point` proves committed; 0 if the logs were not compared."""
        return self._held(log, point) or 0

    def _held(self, log: Log, point: Point) -> int | None:
        """Return the same as `held`, or None if the logs were not compared."""
        if point.holder == log.broker_id:
            return point.offset
        pair = self.pairs.pair(log.broker_id, point.holder)
        return None if pair is None or pair.common_offset is None else min(point.offset, pair.common_offset)

    def proven(self, log: Log) -> int:
        """Return the greatest offset below which this log holds every record that is proven committed."""
        if log.broker_id not in self._proven:
            self._proven[log.broker_id] = max((self.held(log, point) for point in self.points), default=0)
        return self._proven[log.broker_id]

    def holds_all_points(self, log: Log) -> bool:
        """Return whether this log holds every record that is proven committed."""
        return all(self.held(log, point) >= point.offset for point in self.points)

    def lacking(self, log: Log) -> tuple[Lack, ...]:
        """Return what is proven committed and this log is known to lack."""
        found = ((point, self._held(log, point)) for point in self.points)
        return tuple(Lack(point, held) for point, held in found if held is not None and held < point.offset)

    def resolved(self, log: Log) -> bool:
        """Return whether this log holds all committed records that any survivor holds: it is, or continues, a log that holds every committed record by the
        ISR history, or no survivor agrees longer with the logs of lost members.

        If such a log is party to a fork that is hidden in this one, whether this one continues it is not known.
        """
        proof = self.isr_proof
        if any(holder == log.broker_id or self._continues(log, holder) for holder in proof.holders):
            return True
        return log.broker_id in proof.agreeing and self._in_hidden_fork(log).isdisjoint(proof.members)

    def is_complete(self, log: Log) -> bool:
        """Return whether this log is known to hold every committed record, not only those that a survivor holds: by the ISR history, or because it is, or
        continues, the log of a lost member of the ISR or the ELR.

        An empty log shows nothing: its disk may be a new one.
        """
        lost_members = [other.broker_id for other in self.fenced if other.broker_id in self.members]
        filled = {other.broker_id for other in (*self.survivors, *self.fenced) if other.end}
        complete = filled & {*self.isr_proof.holders, *lost_members}
        return self.holds_all_points(log) and any(one == log.broker_id or self._continues(log, one) for one in complete)

    def _continues(self, log: Log, holder: int) -> bool:
        return self.pairs.is_known_start(holder, log.broker_id) and holder not in self._in_hidden_fork(log)

    def _in_hidden_fork(self, log: Log) -> set[int]:
        if not self.forks:
            return set()
        others = (other for other in (*self.survivors, *self.fenced) if other is not log)
        return brokers_of(self.hidden_forks(self.relation(log, other) for other in others))

    def hidden_forks(self, relations: Iterable[Relation]) -> tuple[Pair, ...]:
        """Return forks between two logs that both seem to be prefixes of the same log. Compaction can hide such a fork: it removed one branch's records.

        relations  how logs relate to that same log, also those on fenced brokers
        """
        if not self.forks:
            return ()
        brokers = {row.other.broker_id for row in relations if follows(row)}
        return tuple(pair for pair in self.forks if {pair.broker_a, pair.broker_b} <= brokers)

    def ranked(self, ranking: Ranking) -> tuple[Log, ...]:
        """Return the survivors, best first. Ties go to the log that starts first, then to the order of the assignment.

        If every log is a prefix of one, that one is also the maximum of (last-written epoch, log end offset), because it holds all that
        another proves. If logs fork, proof of commitment counts more than a later epoch. Logs that were not compared are taken for such that do not fork,
        as most are.
        """
        if ranking == Ranking.KIP1275:
            return tuple(sorted(self.survivors, key=lambda log: (-_known(log.partition_leader_epoch, -1), -log.end, _start(log))))
        return tuple(
            sorted(
                self.survivors,
                key=lambda log: (
                    -self._may_prove(log),
                    not self.resolved(log),
                    log.broker_id not in self.agreeing,
                    -_known(log.last_written_epoch, -2),
                    -log.end,
                    _start(log),
                ),
            )
        )

    def _may_prove(self, log: Log) -> int:
        """Return the same as `proven`, if a log that was not compared with this one forks from it only where other logs show it."""
        return max((self._may_hold(log, point) for point in self.points), default=0)

    def _may_hold(self, log: Log, point: Point) -> int:
        """Return the same as `held`, and for a log that was not compared the offset that it would hold if it forks only where other logs show it."""
        held = self._held(log, point)
        if held is not None:
            return held
        (holder,) = (other for other in self.survivors if other.broker_id == point.holder)
        if self.relation(log, holder).relation == CORRUPT or have_a_gap(log, holder):
            return 0
        fork = self.pairs.fork_shown_by_others(log.broker_id, holder.broker_id)
        return min(point.offset, log.end if fork is None else fork)

    def leaders(self, winner: Log, relations: Iterable[Relation], failed: Iterable[tuple[int, Relation]]) -> tuple[int, ...]:
        """Return the survivors any of which may lead: their logs are the winner's, and start first, and no comparison of them has `failed`.

        A follower deletes what lies before the start of its leader's log. `relations`: to the winner.
        """
        identical = [winner, *(row.other for row in relations if row.relation == SAME)]
        first, unsure = min(map(_start, identical)), {broker for broker, _ in failed}
        return tuple([log.broker_id for log in self.survivors if log in identical and _start(log) == first and log.broker_id not in unsure])

    def failed(self, winner: Log, relations: Iterable[Relation]) -> tuple[tuple[int, Relation], ...]:
        """Return the brokers whose logs seem to be the winner's, each with the logs of which it is not known how they relate to its log, but to the winner's.

        Such a log may lack records in between. `relations`: those of survivors and fenced brokers to the winner.
        """
        known = [row for row in relations if row.relation not in (UNKNOWN, CORRUPT)]
        identical = (row for row in known if row.relation == SAME and row.other.broker_state == UNFENCED)
        pairs = ((row.other, other.other) for row in identical for other in known if row is not other)
        compared = ((log.broker_id, self.relation(log, other)) for log, other in pairs)
        return tuple([(broker, row) for broker, row in compared if row.relation in (UNKNOWN, CORRUPT)])

    def has_only_gaps(self, winner: Log, relations: Iterable[Relation]) -> bool:
        """Return whether the evidence is incomplete only because logs have no offset in common with the winner's, which nothing changes."""
        unknown = [row.other for row in relations if row.relation == UNKNOWN]
        return (
            bool(unknown)
            and all(have_a_gap(winner, other) for other in unknown)
            and not any(log.may_hold_more for log in self.evidence.logs)
        )

    def contradicted(self) -> bool:
        """Return whether every log that the ISR history calls complete is known to lack something that is proven committed."""
        complete = [log for log in self.survivors if self.resolved(log)]
        return bool(complete) and all(map(self.lacking, complete))

    def singled_out(self, winner: Log, relations: tuple[Relation, ...]) -> bool:
        """Return whether proof of commitment leaves exactly one branch of a fork.

        Only the winner and its prefixes reach the greatest proven offset, a forked log does not, and the winner lacks nothing that is proven.
        """
        if all(row.relation != FORKED for row in relations):
            return False
        greatest = max((point.offset for point in self.points), default=0)
        if not greatest or self.proven(winner) < greatest or not self.holds_all_points(winner):
            return False
        left_out = any(row.relation == FORKED and self.proven(row.other) < greatest for row in relations)
        return left_out and all(follows(row) for row in relations if self.proven(row.other) >= greatest)


def _known(number: int | None, otherwise: int) -> int:
    return otherwise if number is None else number


def _start(log: Log) -> float:
    return math.inf if log.log_start_offset is None else log.log_start_offset


def follows(row: Relation) -> bool:
    """Return whether the other's log is the winner's, or a prefix of it."""
    return row.relation == SAME or (row.relation == PREFIX and row.shorter == row.other.broker_id)


def have_a_gap(one: Log, other: Log) -> bool:
    """Return whether two logs have no offset in common: what one had where the other ends was deleted, by retention or by DeleteRecords."""
    return max(one.log_start_offset or 0, other.log_start_offset or 0) >= min(one.end, other.end)


def is_beyond(row: Relation, winner: Log) -> bool:
    """Return whether the other's high watermark lies above what the winner shares with it."""
    return (row.other.high_watermark or 0) > (winner.end if row.common_offset is None else row.common_offset)
