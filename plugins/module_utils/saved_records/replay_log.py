# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a log holds that a replay writes to: replayed records, batches that producers have sent again, and ends of transactions. Pure."""

from __future__ import annotations

from collections.abc import Collection

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import StoredBatch, stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import (
    Marker,
    Record,
    has_append_time,
    marker_of,
    records_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_origin import (
    OWN_NAMES,
    Numbered,
    Origin,
    Sent,
    numbered_of,
    origin_of,
)

# Leader epoch and base offset of a batch.
Place = tuple[int, int]
COMMIT = "commit"
# Producer id, its epoch, and that of its coordinator.
Ended = tuple[int, int, int | None]


def note_of(marker: Marker) -> Marker:
    """Return the note that a replay writes to a log before it writes a saved marker again.

    It is the marker of a producer id that Kafka never gets to, so it ends nothing. A log that has the copy of the marker has the note, too, whichever replica
    is elected, and wherever the next replay runs.
    """
    return marker._replace(producer_id=MOST_INT64 - marker.producer_id)


def is_of_note(producer_id: int) -> bool:
    """Return whether a producer id is that of a note."""
    return producer_id > MOST_INT64 // 2


def sent(batch: StoredBatch) -> Sent | None:
    """Return the numbers of a batch, None for a producer that is not idempotent."""
    if batch.producer_id < 0 or batch.base_sequence < 0:
        return None
    return Sent(batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.last_offset - batch.base_offset)


def content_of(record: Record) -> int:
    """Return a hash of what the producer of a record has sent, in this process alone. Its time may be the broker's, and a replay adds headers."""
    return hash((record.key, record.value, tuple(header for header in record.headers if header[0] not in OWN_NAMES)))


def content_with_origin(record: Record, origin: Origin) -> int:
    """Return a hash of a replayed record, in this process alone. `origin`: without its broker."""
    return hash((origin, content_of(record)))


def content_with_numbers(record: Record, numbered: Numbered, offset: int) -> int:
    """Return a hash of a record of an idempotent producer, in this process alone, which is the same wherever its batch stands. `offset`: of its origin."""
    return hash((numbered.sent, offset - numbered.base_offset, content_of(record)))


class TargetLog:
    """Reads a log from its offset `next_offset` on.

    replayed     records that committed transactions of replays have written, with the offsets that they have now
    contents     `content_with_origin` of each of them: others can write the headers of a replay, too
    places       by `content_with_numbers`: leader epochs and base offsets of the batches that these records were in
    sent_again   those of `saved` that stand at the offset `fork` or behind it, with the place of each record in its batch and its `content_of`
    markers      by producer id: ends of transactions before which their producer has written nothing from `fork` on. The first one is that of the
                 transaction that was open at `fork`, if one was
    first_ends   by producer id: the first end of a transaction from `fork` on, whatever its producer has written before
    copies       offsets of COMMIT markers that stand behind a note of them: a replay may have written them again
    writers      ids of the producers that have transactional records from `fork` on
    has_holes    whether offsets or records are missing, as the cleaner of a compacted topic leaves a log
    append_time  whether the last batch has the time of the broker (LogAppendTime)
    """

    def __init__(self, start: int, fork: int, saved: Collection[Sent]) -> None:
        self.next_offset, self._fork, self._saved = start, fork, saved
        self.replayed: dict[Origin, int] = {}
        self.contents: set[int] = set()
        self.places: dict[int, Place] = {}
        self.sent_again: dict[Sent, set[tuple[int, int]]] = {}
        self.markers: dict[int, list[Marker]] = {}
        self.first_ends: dict[int, Marker] = {}
        self.copies: set[int] = set()
        self.writers: set[int] = set()
        self.append_time = self.has_holes = False
        self._noted: set[Ended] = set()
        self._open: dict[int, list[tuple[int, Origin, int, tuple[int, Place] | None]]] = {}

    def add(self, data: bytes) -> bool:
        """Read batches as Fetch returns them. Return whether one begins at or behind `next_offset`. Raises BatchError for damaged ones."""
        at, found = 0, False
        for batch in stored_batches(data):
            if batch.last_offset >= self.next_offset:
                self.has_holes |= batch.base_offset > self.next_offset or batch.records <= batch.last_offset - batch.base_offset
                self._add(batch, data[at : at + batch.size])
                self.next_offset, found = batch.last_offset + 1, True
            at += batch.size
        return found

    def _add(self, batch: StoredBatch, data: bytes) -> None:
        is_new = batch.base_offset >= self._fork
        if batch.control:
            if batch.records:
                self._end(marker_of(data), is_new)
            return
        self.append_time = has_append_time(data)
        numbers = sent(batch)
        if is_new and numbers in self._saved and numbers is not None:
            contents = ((record.offset - batch.base_offset, content_of(record)) for record in records_of(data))
            self.sent_again.setdefault(numbers, set()).update(contents)
        if not batch.transactional:
            return
        if is_new:
            self.writers.add(batch.producer_id)
        for record in records_of(data):
            if origin := origin_of(record.headers):
                same = origin._replace(broker_id=-1)
                place: tuple[int, Place] | None = None
                if numbered := numbered_of(record.headers):
                    place = content_with_numbers(record, numbered, origin.offset), (origin.leader_epoch, numbered.base_offset)
                self._open.setdefault(batch.producer_id, []).append((record.offset, same, content_with_origin(record, same), place))

    def _end(self, marker: Marker, is_new: bool) -> None:
        if is_of_note(marker.producer_id):
            self._noted.add(_ended(note_of(marker)))
            return
        if marker.kind == COMMIT and _ended(marker) in self._noted:
            self.copies.add(marker.offset)
        if is_new:
            self.first_ends.setdefault(marker.producer_id, marker)
        if is_new and marker.producer_id not in self.writers:
            self.markers.setdefault(marker.producer_id, []).append(marker)
        rows = self._open.pop(marker.producer_id, [])
        if marker.kind != COMMIT:
            return
        for offset, origin, content, place in rows:
            self.replayed.setdefault(origin, offset)
            self.contents.add(content)
            if place is not None:
                self.places.setdefault(*place)


def _ended(marker: Marker) -> Ended:
    return marker.producer_id, marker.producer_epoch, marker.coordinator_epoch
