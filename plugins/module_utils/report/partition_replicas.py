# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The replicas of one partition as numbers: what each holds, where it forks from the leader's log, what it truncates, and what of that is saved. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    COMING_BACK,
    FENCED,
    FORKED,
    NO_ANSWER,
    UNFENCED,
    Broker,
    Log,
    PartitionEvidence,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.epoch_segments import Segment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.known_epochs import known_epochs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import Piece


class ReplicaState(StrEnum):
    """What is known of a replica's broker and disk."""

    ALIVE = "alive"
    FENCED = "fenced"  # and it answers
    READ_FROM_DISK = "read_from_disk"  # fenced, and its log was read from its disk
    LOST = "lost"  # fenced, and its log was not read
    COMING_BACK = "coming_back"
    SILENT = "silent"  # unfenced, and it did not answer
    DISK_FAILED = "disk_failed"
    ERROR = "error"
    NOT_READ = "not_read"  # the document does not have it


class Role(StrEnum):
    """What the plan, or the results, say of a replica."""

    LEADER = "leader"
    DESIGNATED = "designated_leader"
    CANDIDATE = "candidate"


@dataclass(frozen=True)
class CommittedOffset:
    """A committed offset below which this log is known to hold all records. `name`: of the consumer group or snapshot."""

    offset: int
    source: str
    name: str | None


@dataclass(frozen=True)
class OffsetRange:
    """Offsets from `start` to `end`, the offset after the last one."""

    start: int
    end: int


@dataclass(frozen=True)
class DrawnReplica:
    """One replica. Offsets are None if they are not known.

    fork_offsets    where its log forks from the leader's or candidate's: at most one. For that log, and without a leader: from any other
    truncated_from  the offset from which on the leader's followers truncate this log, None if they keep all of it, or if that is not known
    truncates       whether this log loses records; then `truncated_from` None means that it is not known where
    """

    broker_id: int
    state: ReplicaState
    role: Role | None
    error: str | None
    silent_seconds: float | None
    in_isr: bool
    in_elr: bool
    in_last_known_elr: bool
    log_start_offset: int | None
    log_end_offset: int | None
    high_watermark: int | None
    last_written_epoch: int | None
    epochs: tuple[Segment, ...] = ()
    fork_offsets: tuple[int, ...] = ()
    committed_offsets: tuple[CommittedOffset, ...] = ()
    truncates: bool = False
    truncated_from: int | None = None
    saved: tuple[OffsetRange, ...] = ()

    @property
    def start(self) -> int:
        """Where its log starts, 0 if that is not known."""
        return self.log_start_offset or 0

    @property
    def was_read(self) -> bool:
        """Whether its log was read."""
        return self.log_end_offset is not None

    def as_dict(self) -> dict[str, Any]:
        """Return it as results of modules show it."""
        fields = {**asdict(self), "epochs": [segment._asdict() for segment in self.epochs]}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}


def replicas_of(
    evidence: PartitionEvidence,
    brokers: Mapping[int, Broker],
    leader: tuple[int, Role] | None = None,
    truncated: Iterable[Mapping[str, Any]] = (),
    pieces: Collection[Piece] = (),
    batches: Iterable[tuple[int, int, int]] = (),
) -> list[DrawnReplica]:
    """Return the replicas of a partition in the order of its assignment, then others that the evidence has.

    leader     the broker that leads, is to lead, or is the candidate, None without a plan
    truncated  what followers of that leader truncate, as in plans
    pieces     saved records of this partition
    batches    as `known_epochs` takes them
    """
    logs = {log.broker_id: log for log in evidence.logs}
    epochs, lost = known_epochs(evidence, batches), {row["broker_id"]: row for row in truncated}
    assigned = evidence.state.replicas if evidence.state else ()
    found = []
    for broker in dict.fromkeys((*assigned, *logs)):
        log, known, cut = logs.get(broker), brokers.get(broker), lost.get(broker)
        offsets = (log.log_start_offset, log.log_end_offset, log.high_watermark, log.last_written_epoch) if log and log.answered else None
        found.append(
            DrawnReplica(
                broker,
                _state(log),
                leader[1] if leader and leader[0] == broker else None,
                log.error if log else None,
                known.silent_seconds if known else None,
                *_memberships(evidence, broker),
                *(offsets or (None, None, None, None)),
                epochs.get(broker, ()),
                _forks(evidence, broker, leader[0] if leader and leader[0] in epochs else None),
                _committed(evidence, broker),
                cut is not None,
                cut["offset"] if cut else None,
                _ranges([piece for piece in pieces if piece.broker_id == broker]),
            )
        )
    return found


def _state(log: Log | None) -> ReplicaState:
    if log is None:
        return ReplicaState.NOT_READ
    if log.disk_failed:
        return ReplicaState.DISK_FAILED
    if log.broker_state == COMING_BACK:
        return ReplicaState.COMING_BACK
    if log.read_from_disk_at is not None:
        return ReplicaState.READ_FROM_DISK
    if log.answered:
        return ReplicaState.FENCED if log.broker_state == FENCED else ReplicaState.ALIVE
    if log.error not in (None, NO_ANSWER):
        return ReplicaState.ERROR
    return ReplicaState.SILENT if log.broker_state == UNFENCED else ReplicaState.LOST


def _memberships(evidence: PartitionEvidence, broker: int) -> tuple[bool, bool, bool]:
    state = evidence.state
    if state is None:
        return False, False, False
    return broker in state.isr, broker in state.eligible_leader_replicas, broker in state.last_known_elr


def _forks(evidence: PartitionEvidence, broker: int, leader: int | None) -> tuple[int, ...]:
    """Return where the log of this broker forks from that of the leader. For the leader itself, or without one, from any other log."""
    pairs = [pair for pair in evidence.pairs.values() if pair.relation == FORKED and broker in (pair.broker_a, pair.broker_b)]
    if leader is not None:
        pairs = [pair for pair in pairs if leader in (pair.broker_a, pair.broker_b)]
    return tuple(sorted({pair.common_offset for pair in pairs if pair.common_offset is not None}))


def _committed(evidence: PartitionEvidence, broker: int) -> tuple[CommittedOffset, ...]:
    held = (proof for proof in evidence.proofs if proof.held and proof.broker_id == broker)
    return tuple(sorted((CommittedOffset(proof.offset, proof.source, proof.name) for proof in held), key=_reach, reverse=True))


def _reach(committed: CommittedOffset) -> tuple[int, str, str]:
    return committed.offset, committed.source, committed.name or ""


def _ranges(pieces: Sequence[Piece]) -> tuple[OffsetRange, ...]:
    """Return the offsets of saved pieces, neighbours as one range."""
    ranges: list[OffsetRange] = []
    for piece in sorted(pieces, key=lambda piece: (piece.start, piece.end)):
        if ranges and piece.start <= ranges[-1].end:
            ranges[-1] = OffsetRange(ranges[-1].start, max(ranges[-1].end, piece.end))
        else:
            ranges.append(OffsetRange(piece.start, piece.end))
    return tuple(ranges)
