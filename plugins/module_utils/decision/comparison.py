# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The survivors of one partition compared: who holds what is known to be committed, and which log is the best. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
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
        self.forks = tuple([pair for pair in evidence.pairs.values() if pair.relation == FORKED])
        self.corrupt = self._corrupt()
        self.points = tuple(self._points()) if self.survivors else ()
        self._proven: dict[int, int] = {}
        proof = isr_proof(state, evidence.history, [log.broker_id for log in self.survivors])
        self.lost_members = tuple(self._lost_members({*state.isr, *state.eligible_leader_replicas}))
        if proof.undisturbed:
            proof = proof._replace(members=tuple([log.broker_id for log in self.lost_members]))
        self.isr_proof: IsrProof = without_holders(proof, {broker for broker in proof.holders if self._ends_before_a_fork(broker)})

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

    def _lost_members(self, members: Collection[int]) -> Iterator[Log]:
        """Yield logs of lost members of the ISR and the ELR that tell something about a fork. Each has every committed record, or has lost its end."""
        for log in self.fenced if self.forks else ():
            shared = [self._shared(one, log) for one in self.survivors]
            if log.broker_id in members and None not in shared and not self._ends_before_a_fork(log.broker_id):
                yield log

    def _shared(self, one: Log, other: Log) -> int | None:
        pair = self._pair(one.broker_id, other.broker_id)
        return pair and pair.common_offset

    def _pair(self, one: int, other: int) -> Pair | None:
        """How the logs of two brokers relate. A fork between logs identical to them counts: where one was compacted, no trace of it may be left."""
        pair = self.evidence.pair(one, other)
        if not self.forks or pair is None or pair.relation not in (SAME, PREFIX):
            return pair
        alike, others = self._identical(one), self._identical(other)
        return next(
            (
                fork
                for fork in self.forks
                if (fork.broker_a in alike and fork.broker_b in others) or (fork.broker_a in others and fork.broker_b in alike)
            ),
            pair,
        )

    def _identical(self, broker: int) -> set[int]:
        same = (pair for pair in self.evidence.pairs.values() if pair.relation == SAME and broker in (pair.broker_a, pair.broker_b))
        return {broker, *(one for pair in same for one in (pair.broker_a, pair.broker_b))}

    def relation(self, one: Log, other: Log) -> Relation:
        """Return how the log of `other` relates to that of `one`."""
        pair = self._pair(one.broker_id, other.broker_id)
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
        pair = self._pair(log.broker_id, point.holder)
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
        return bool(proof.members) and self.agrees_longest(log) and self._in_hidden_fork(log).isdisjoint(proof.members)

    def agrees_longest(self, log: Log) -> bool:
        """Return whether no survivor's log agrees longer than this one with the log of any lost member. False if none is known."""
        return bool(self.lost_members) and all(
            (self._shared(log, member) or 0) >= (self._shared(other, member) or 0)
            for member in self.lost_members
            for other in self.survivors
        )

    def _continues(self, log: Log, holder: int) -> bool:
        return self._is_known_start(holder, log.broker_id) and holder not in self._in_hidden_fork(log)

    def _is_known_start(self, broker: int, other: int) -> bool:
        """Return whether the log of `broker` is the start of that of `other`: by their comparison or, without one, because it is the start of a third log
        which is the start of it. Retention may leave two such logs without a common offset."""
        pair = self._pair(broker, other)
        if pair is not None and pair.relation != UNKNOWN:
            return self._is_start(broker, other)
        return any(self._is_start(broker, log.broker_id) and self._is_start(log.broker_id, other) for log in self.survivors)

    def _is_start(self, broker: int, other: int) -> bool:
        """Return whether the log of `broker` is the same as that of `other`, or a prefix of it."""
        pair = self._pair(broker, other)
        return pair is not None and (pair.relation == SAME or (pair.relation == PREFIX and pair.shorter == broker))

    def _ends_before_a_fork(self, broker: int) -> bool:
        """Return whether this broker's log is the same as, or a prefix of, both logs of a fork. Such a log does not say which of them it continued in.

        A prefix of one of them that ends where they fork, or before, is a prefix of the other one, too, also if it was not compared with that.
        """
        return any(broker not in brokers_of([fork]) and self._is_start_of_both(broker, fork) for fork in self.forks)

    def _is_start_of_both(self, broker: int, fork: Pair) -> bool:
        starts = [self._is_start(broker, other) for other in (fork.broker_a, fork.broker_b)]
        end = next((log.end for log in (*self.survivors, *self.fenced) if log.broker_id == broker), 0)
        return all(starts) or (any(starts) and end <= (fork.common_offset or 0))

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
        another proves. If logs fork, proof of commitment counts more than a later epoch.
        """
        if ranking == Ranking.KIP1275:
            return tuple(sorted(self.survivors, key=lambda log: (-_known(log.partition_leader_epoch, -1), -log.end, _start(log))))
        return tuple(
            sorted(
                self.survivors,
                key=lambda log: (
                    -self.proven(log),
                    not self.resolved(log),
                    not self.agrees_longest(log),
                    -_known(log.last_written_epoch, -2),
                    -log.end,
                    _start(log),
                ),
            )
        )

    def starting_first(self, brokers: Collection[int]) -> tuple[int, ...]:
        """Return those survivors of `brokers` whose logs start first. A follower deletes what lies before the start of its leader's log."""
        logs = [log for log in self.survivors if log.broker_id in brokers]
        first = min(map(_start, logs), default=0)
        return tuple(log.broker_id for log in logs if _start(log) == first)

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


def brokers_of(pairs: Iterable[Pair]) -> set[int]:
    """Return the brokers of these pairs."""
    return {broker for pair in pairs for broker in (pair.broker_a, pair.broker_b)}
