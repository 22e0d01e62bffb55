# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which saved records of a partition are replayed, in which order, and why the others are not. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import EpochEnd
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import BatchError, StoredBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import Marker, Record
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_log import (
    Place,
    TargetLog,
    content_of,
    content_with_numbers,
    content_with_origin,
    sent,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_origin import (
    OWN_NAMES,
    Numbered,
    Origin,
    Sent,
    numbered_of,
    origin_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replicas import (
    ABORTED,
    COMMITTED,
    MARKER_STATES,
    OPEN,
    Contents,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.selection import SelectedRecord

ALREADY_THERE = "already_there"
IN_CLUSTER, SENT_AGAIN, SAVED_TWICE, UNDECIDED, HEADER_NAME = "in_cluster", "sent_again", "saved_twice", "undecided", "header_name"
REASONS = (IN_CLUSTER, SENT_AGAIN, SAVED_TWICE, ABORTED, UNDECIDED, HEADER_NAME)


class Chosen(NamedTuple):
    """A saved record, once for all replicas that had it. `reason`: why it is not replayed, None if it is."""

    record: Record
    origin: Origin
    numbered: Numbered | None
    reason: str | None

    @property
    def size(self) -> int:
        """Return how many bytes its key, value and own headers have."""
        record = self.record
        return len(record.key or b"") + len(record.value or b"") + sum(len(name) + len(value or b"") for name, value in record.headers)

    def headers(self) -> list[tuple[str, bytes | None]]:
        """Return the headers with which it is written: its own, and those that say where it was before."""
        kept = [(name.decode(), value) for name, value in self.record.headers if name not in OWN_NAMES]
        return [*kept, *self.origin.headers(), *(self.numbered.headers() if self.numbered else [])]


@dataclass
class Rules:
    """What decides about the saved records of one partition.

    epoch_ends    where leader epochs of saved batches end in the elected log, empty to compare with no log
    log           the log to which records are replayed
    contents      what is saved of each replica
    lost_again    as the function of that name returns it
    conflicts     as `Source.conflicts`
    has_conflicts whether records are undecided because others have their numbers: it is not known whether their producer has sent them again
    forged        origins of saved records of which the log has none, but another record with the headers that a replay writes
    """

    cluster_id: str
    log: TargetLog
    epoch_ends: Mapping[int, EpochEnd] = field(default_factory=dict)
    contents: Collection[Contents] = ()
    lost_again: Mapping[Origin, tuple[int, int]] = field(default_factory=dict)
    conflicts: Collection[Sent] = ()
    include_aborted: bool = False
    include_undecided: bool = False
    has_conflicts: bool = False
    forged: set[Origin] = field(default_factory=set)

    def chosen(self, replicas: Iterable[Iterable[SelectedRecord]]) -> Iterator[Chosen]:
        """Yield each saved record once, in the order in which it is replayed: by leader epoch and offset, which is the order of each log.

        replicas  the selected records of each replica, in the order of their offsets

        Raises BatchError for a replica whose leader epochs go backwards.
        """
        first_places = dict(self.log.places)
        chosen_again: set[int] = set()
        for _key, copies in groupby(heapq.merge(*map(_in_order, replicas), key=_place), key=_place):
            yield self._choose(list(copies), first_places, chosen_again)

    def _choose(self, copies: Sequence[SelectedRecord], first_places: dict[int, Place], chosen_again: set[int]) -> Chosen:
        one = copies[0]
        replica, record = one.replica, one.record
        own = Origin(self.cluster_id, replica.topic_id, replica.partition, record.offset, one.batch.epoch, replica.broker_id)
        before = _origin_before(one, self.cluster_id)
        origin = before or own
        replicas = {copy.replica for copy in copies}
        in_sync = any(contents.in_sync for contents in self.contents if contents.replica in replicas)
        reason = self._reason(origin, one.batch, record, {copy.transaction for copy in copies}, in_sync)
        numbers = sent(one.batch)
        numbered = numbered_of(record.headers) if before else numbers and Numbered(numbers, one.batch.base_offset)
        if reason is None and numbered and numbered.sent not in self.conflicts:
            place = (origin.leader_epoch, numbered.base_offset)
            if first_places.setdefault(content_with_numbers(record, numbered, origin.offset), place) != place:
                reason = SAVED_TWICE
        if reason is None and (same := origin._replace(broker_id=-1)) in self.lost_again:
            content = content_with_origin(record, same)
            reason = SAVED_TWICE if content in chosen_again else None
            chosen_again.add(content)
        return Chosen(record, origin, numbered, reason)

    def _reason(self, origin: Origin, batch: StoredBatch, record: Record, ends: Collection[str | None], in_sync: bool) -> str | None:
        if is_held(self.epoch_ends, batch.epoch, record.offset) or is_held(self.epoch_ends, origin.leader_epoch, origin.offset):
            return IN_CLUSTER
        same = origin._replace(broker_id=-1)
        if same in self.log.replayed:
            if content_with_origin(record, same) in self.log.contents:
                return ALREADY_THERE
            self.forged.add(same)
            if not self.include_undecided:
                return UNDECIDED
        numbers = sent(batch)
        if numbers and (again := self.log.sent_again.get(numbers)) and (record.offset - batch.base_offset, content_of(record)) in again:
            return SENT_AGAIN
        if (numbers in self.log.sent_again or numbers in self.conflicts) and not self.include_undecided:
            self.has_conflicts = True
            return UNDECIDED
        end = self._end(batch, ends, in_sync) if batch.transactional else COMMITTED
        if end == ABORTED and not self.include_aborted:
            return ABORTED
        if end == OPEN and not self.include_undecided:
            return UNDECIDED
        return None if all(_is_text(name) for name, _value in record.headers) else HEADER_NAME

    def _end(self, batch: StoredBatch, saved: Collection[str | None], in_sync: bool) -> str:
        """Return how the transaction of a batch has ended. `saved`: what the logs say that the batch was saved from. `in_sync`: of one of these replicas."""
        decided = {end for end in saved if end in (COMMITTED, ABORTED)} or self._end_in_log(batch, in_sync)
        return decided.pop() if len(decided) == 1 else OPEN

    def _end_in_log(self, batch: StoredBatch, in_sync: bool) -> set[str]:
        """Return how a transaction has ended whose marker was not saved: empty, or more than one end, if the log does not show it.

        The epoch of its marker is that of the producer, or the next one (KIP-890, and after a time-out): another transaction may have both. If the saved log
        has the end of an earlier one, the first marker may be of that, for example of kafka-transactions.sh. A marker that a replay may have written is the end
        of an earlier one. The coordinator is not asked: it knows the last transaction of a producer alone, and older clients do not give each transaction an
        epoch.

        A replica that was not in sync may lack the end of this transaction, and the marker may be that of the next one. Only a COMMIT in the next epoch of the
        producer cannot: that is of a client which gives each transaction an epoch (KIP-890).
        """
        fork = self.epoch_ends.get(batch.epoch)
        if fork is None:
            return set()
        ends = [
            MARKER_STATES[marker.kind] if marker.offset not in self.log.copies and (in_sync or _has_own_epoch(marker, batch)) else OPEN
            for marker in self.log.markers.get(batch.producer_id, ())
            if marker.offset >= fork.end_offset
            and marker.producer_epoch in (batch.producer_epoch, batch.producer_epoch + 1)
            and marker.kind in MARKER_STATES
        ]
        return {*ends} if any(one.may_end_before(batch) for one in self.contents) else {*ends[:1]}


def _has_own_epoch(marker: Marker, batch: StoredBatch) -> bool:
    """Return whether a COMMIT is of a client that gives each transaction an epoch (KIP-890), so that it ends no later one than that of the batch."""
    return MARKER_STATES[marker.kind] == COMMITTED and marker.producer_epoch == batch.producer_epoch + 1


def known_ends(epoch_ends: Mapping[int, EpochEnd], log_start: int) -> dict[int, EpochEnd]:
    """Return the ends of the epochs without those at or below the start of a log.

    A leader that has deleted all of an epoch answers the same as one that never had it: that it ends where the first one begins that it knows.
    """
    return {epoch: end for epoch, end in epoch_ends.items() if not end.end_offset <= log_start > 0}


def is_held(epoch_ends: Mapping[int, EpochEnd], epoch: int, offset: int) -> bool:
    """Return whether a log has the record of a leader epoch at an offset. An epoch has one leader, so it is the same record."""
    end = epoch_ends.get(epoch)
    return end is not None and end.leader_epoch == epoch and offset < end.end_offset


def left_at(epoch_ends: Mapping[int, EpochEnd], epoch: int, offset: int) -> int:
    """Return the offset at which a log leaves the one that a record was saved from, which the log does not have.

    Since it was saved, the log may have been truncated to before it. Producers may have sent the record again from there on.
    """
    end = epoch_ends.get(epoch)
    return offset if end is None else min(offset, max(0, end.end_offset))


def lost_again(cluster_id: str, records: Iterable[SelectedRecord]) -> dict[Origin, tuple[int, int]]:
    """Return the origins of records that an earlier replay has written, and that were lost again: leader epoch and offset of the lost copy.

    Each origin is without its broker.
    """
    return {origin._replace(broker_id=-1): _place(one) for one in records if (origin := _origin_before(one, cluster_id))}


def _origin_before(one: SelectedRecord, cluster_id: str) -> Origin | None:
    """Return the origin of a record that an earlier replay has written, and that was lost again: it stays the same record. None for others."""
    # Replays write in transactions, and after an election. An application may copy the headers to a record of its own.
    found = origin_of(one.record.headers) if one.batch.transactional else None
    is_earlier = found is not None and found.leader_epoch < one.batch.epoch
    return found if found and is_earlier and found[:3] == (cluster_id, one.replica.topic_id, one.replica.partition) else None


def _place(selected: SelectedRecord) -> tuple[int, int]:
    return selected.batch.epoch, selected.record.offset


def _in_order(records: Iterable[SelectedRecord]) -> Iterator[SelectedRecord]:
    before = (-1, -1)
    for one in records:
        if _place(one) <= before:
            raise BatchError(
                f"what is saved of {one.replica} is in no order from offset {one.record.offset}, leader epoch {one.batch.epoch}, on: name the other brokers"
            )
        before = _place(one)
        yield one


def _is_text(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True
