# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares a log on the disk of a lost broker with the log of a broker that answers, by the ends of leader epochs (KIP-101, KIP-279). Pure.

The disk has a list of its leader epochs. The other broker is asked where an epoch ends in its log. Up to the end of the greatest epoch that both have, they
have the same records.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import EpochEndAnswer
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    CORRUPT,
    FORKED,
    PREFIX,
    SAME,
    UNKNOWN,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog

# The most epochs that the other broker is asked for: each is one that only one of the logs has.
MOST_EPOCHS = 64


class EvidenceLog(NamedTuple):
    """A log on a disk that is not empty. `epochs`: leader epochs that have records, with their start offsets, in order."""

    broker_id: int
    log: ReplicaLog
    epochs: tuple[tuple[int, int], ...]

    @property
    def start(self) -> int:
        """Where the log starts."""
        return self.log.log_start_offset or 0

    @property
    def end(self) -> int:
        """The offset after its last record."""
        return self.log.log_end_offset or 0

    def up_to(self, epoch: int) -> tuple[int, int] | None:
        """Return the greatest epoch up to this one, and where it ends. None if the log has only later ones."""
        place = bisect_right([number for number, _start in self.epochs], epoch)
        if not place:
            return None
        return self.epochs[place - 1][0], self.epochs[place][1] if place < len(self.epochs) else self.end


class Relation(NamedTuple):
    """How two logs relate: the fields of a row of `log_comparison.pair_row`."""

    relation: str
    shorter: int | None = None
    common_offset: int | None = None
    reason: str | None = None


def compare(disk: EvidenceLog, broker: int, log: ReplicaLog, answers: Mapping[int, EpochEndAnswer | None]) -> Relation | int:
    """Return how the log of `broker`, which was read, relates to that of the disk, or the leader epoch whose end in that log has to be known first.

    `answers`: of the broker, by requested epoch.
    """
    start, end, last = log.log_start_offset or 0, log.log_end_offset or 0, log.last_batch
    if end == 0:
        return Relation(PREFIX, broker, 0)
    if last is None:
        return _unknown(disk, broker, "its last batch is not known")
    if not 0 <= last.base_offset <= last.last_offset == end - 1 or last.epoch < 0:
        return _unknown(
            disk, broker, f"its last batch has the offsets {last.base_offset} to {last.last_offset}, and it ends at offset {end}"
        )
    if max(start, disk.start) >= min(end, disk.end):
        return _unknown(disk, broker, "they have no offset in common, because one of them was deleted up to there")
    epoch, epoch_end, bound = last.epoch, end, last.base_offset
    for _step in range(MOST_EPOCHS):
        own = disk.up_to(epoch)
        if own is None:
            if start or disk.start:
                return _unknown(disk, broker, "the leader epochs that both may have had were deleted")
            return Relation(FORKED, common_offset=0)
        if own[0] == epoch:
            return _related(disk, broker, log, min(own[1], epoch_end))
        if own[0] not in answers:
            return own[0]
        answer = answers[own[0]]
        if answer is None or answer.error is not None or answer.epoch is None or answer.end_offset is None:
            return _unknown(disk, broker, f"it does not say where leader epoch {own[0]} ends")
        if not (0 <= answer.epoch <= own[0] and 0 <= answer.end_offset <= max(bound, start)):
            return _unknown(disk, broker, f"it says that leader epoch {answer.epoch} ends at offset {answer.end_offset}, which cannot be")
        if 0 < start >= answer.end_offset:
            # A broker that has deleted all of an epoch answers as one that never had it.
            return _unknown(
                disk, broker, f"it has deleted what it had below offset {start}, so whether it had leader epoch {own[0]} is not known"
            )
        epoch, epoch_end = answer.epoch, answer.end_offset
        bound = epoch_end
    return _unknown(disk, broker, f"they differ in more than {MOST_EPOCHS} leader epochs")


def _related(disk: EvidenceLog, broker: int, log: ReplicaLog, common: int) -> Relation:
    """Return the relation of two logs that have the same leader epochs up to `common`."""
    end = log.log_end_offset or 0
    if common < min(end, disk.end):
        # What was deleted from the beginning of a log is not compared.
        return Relation(FORKED, common_offset=max(common, log.log_start_offset or 0, disk.start))
    if end != disk.end:
        return Relation(PREFIX, broker if end < disk.end else disk.broker_id, common)
    mine, other = disk.log.last_batch, log.last_batch
    if mine is None or other is None or mine[:3] != other[:3]:
        return Relation(
            CORRUPT, reason=f"the disk of broker {disk.broker_id} and broker {broker} have different batches at offset {end - 1}"
        )
    return Relation(SAME, None, common)


def _unknown(disk: EvidenceLog, broker: int, reason: str) -> Relation:
    return Relation(UNKNOWN, reason=f"the log of broker {broker} was not compared with the disk of broker {disk.broker_id}: {reason}")
