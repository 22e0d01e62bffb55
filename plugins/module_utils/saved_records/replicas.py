# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What saved records have of each replica: its batches in the order of their offsets, each of them once, and what is in them."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import FRAME_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import opened_regular
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import BatchError, StoredBatch, stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import Marker, marker_of, records_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import Piece, SavedRecordsError

# Rows of one kind that are shown of a replica.
SHOWN = 10
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
COMMITTED, ABORTED, OPEN = "committed", "aborted", "open"
# How a transaction has ended, by the kind of its marker.
MARKER_STATES = {"commit": COMMITTED, "abort": ABORTED}


class Replica(NamedTuple):
    """A replica whose records are saved. `leader_epoch`: of its partition, when they were saved."""

    topic: str
    partition: int
    topic_id: str
    broker_id: int
    leader_epoch: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} on broker {self.broker_id}"


class SavedBatch(NamedTuple):
    """A batch with its bytes. Its records before the offset `start` are not among those that were saved, or are in a batch before it."""

    header: StoredBatch
    data: bytes
    start: int


def by_replica(pieces: Iterable[Piece]) -> dict[Replica, list[Piece]]:
    """Return the pieces of each replica, sorted by their offsets. Replicas are sorted by topic, partition and broker."""
    found: dict[Replica, list[Piece]] = {}
    for piece in pieces:
        replica = Replica(piece.topic, piece.partition, piece.topic_id, piece.broker_id, piece.leader_epoch)
        found.setdefault(replica, []).append(piece)
    return {replica: sorted(found[replica], key=lambda piece: (piece.start, -piece.end)) for replica in sorted(found)}


def batches_of(pieces: Sequence[Piece]) -> Iterator[SavedBatch]:
    """Yield the batches of one replica. One piece at a time is in memory.

    pieces  of this replica, as `by_replica` sorts them

    Raises SavedRecordsError for a piece that does not have the batches of which its index says so.
    """
    start = 0
    for piece in pieces:
        if piece.end <= start:
            continue  # of a run that saved the same records again
        start = max(start, piece.start)
        data, at = _read(piece), 0
        for batch in _headers(piece, data):
            if batch.last_offset >= start:
                yield SavedBatch(batch, data[at : at + batch.size], start)
                start = batch.last_offset + 1
            at += batch.size


def _read(piece: Piece) -> bytes:
    try:
        # What a broker has sent at once.
        if piece.size > FRAME_BYTES:
            raise SavedRecordsError(_refusal(piece, f"{piece.size} bytes in one piece: at most {FRAME_BYTES} are written"))
        with opened_regular(piece.part, follow=False) as stream:
            stream.seek(piece.position)
            data = stream.read(piece.size)
    except OSError as error:
        raise SavedRecordsError(_refusal(piece, error.strerror or str(error))) from error
    if piece.content_sha256 and hashlib.sha256(data).hexdigest() != piece.content_sha256:
        raise SavedRecordsError(_refusal(piece, "it has changed since it was checked"))
    return data


def _headers(piece: Piece, data: bytes) -> list[StoredBatch]:
    try:
        batches = list(stored_batches(data))
    except BatchError as error:
        raise SavedRecordsError(_refusal(piece, str(error))) from error
    if not batches or sum(batch.size for batch in batches) != piece.size:
        raise SavedRecordsError(_refusal(piece, "its last batch is cut off"))
    if not batches[0].last_offset >= piece.start or batches[-1].last_offset + 1 != piece.end:
        ends = f"from {batches[0].base_offset} to {batches[-1].last_offset + 1}"
        raise SavedRecordsError(_refusal(piece, f"its batches go {ends}, and its index says {piece.start} to {piece.end}"))
    return batches


def _refusal(piece: Piece, reason: str) -> str:
    where = f"{piece.topic}-{piece.partition} of broker {piece.broker_id} from offset {piece.start} on"
    return f"{piece.part}, {where}: {reason}; restore the file and its index from a copy"


@dataclass
class Contents:
    """What is saved of a replica, from the headers of its batches and its markers.

    ends     by producer id: offsets and kinds of the markers at the end of its transactions
    open     by producer id: epoch of the producer, first offset and number of records of a transaction without a marker
    in_sync  whether the replica was in the ISR or ELR when its partition lost its leader, False if that is not known
    """

    replica: Replica
    start: int
    end: int
    gaps: list[tuple[int, int]] = field(default_factory=list)
    batches: int = 0
    records: int = 0
    size: int = 0
    leader_epochs: set[int] = field(default_factory=set)
    compression: Counter[str] = field(default_factory=Counter)
    producers: set[int] = field(default_factory=set)
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    markers: Counter[str] = field(default_factory=Counter)
    first_markers: list[Marker] = field(default_factory=list)
    ends: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    open: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    unreadable: list[tuple[int, str]] = field(default_factory=list)
    in_sync: bool = False

    def add(self, saved: SavedBatch) -> None:
        """Count a batch, the next one of the replica."""
        batch = saved.header
        self.batches += 1
        self.size += batch.size
        self.leader_epochs.add(batch.epoch)
        if batch.producer_id >= 0:
            self.producers.add(batch.producer_id)
        if batch.control:
            if batch.records:
                self._add_marker(saved)
            return
        records = self._records(saved)
        self.records += records
        self.compression[batch.compression] += 1
        if batch.base_timestamp >= 0:
            self.first_timestamp = min(batch.base_timestamp, batch.base_timestamp if self.first_timestamp is None else self.first_timestamp)
        if batch.max_timestamp >= 0:
            self.last_timestamp = max(batch.max_timestamp, self.last_timestamp or 0)
        if batch.transactional and records:
            _epoch, first, before = self.open.get(batch.producer_id, (0, max(batch.base_offset, saved.start), 0))
            self.open[batch.producer_id] = (batch.producer_epoch, first, before + records)

    def _add_marker(self, saved: SavedBatch) -> None:
        try:
            marker = marker_of(saved.data)
        except BatchError as error:
            self.unreadable.append((saved.header.base_offset, str(error)))
            return
        self.markers[marker.kind] += 1
        if len(self.first_markers) < SHOWN:
            self.first_markers.append(marker)
        if marker.kind in MARKER_STATES:
            self.open.pop(marker.producer_id, None)
            self.ends.setdefault(marker.producer_id, []).append((marker.offset, MARKER_STATES[marker.kind]))

    def _records(self, saved: SavedBatch) -> int:
        """Return how many records of a batch are saved: only some if an earlier batch, or the new leader, has the others."""
        if saved.header.base_offset >= saved.start:
            return saved.header.records
        try:
            return sum(record.offset >= saved.start for record in records_of(saved.data))
        except BatchError:
            return saved.header.last_offset + 1 - saved.start

    def transaction_of(self, batch: StoredBatch) -> str | None:
        """Return how the transaction of a batch ends in this log: `committed`, `aborted` or `open`. None if it is not part of one."""
        if not batch.transactional:
            return None
        ends = self.ends.get(batch.producer_id, [])
        place = bisect_right(ends, (batch.last_offset, "~"))
        # The end of this transaction may be what is missing, and the next one that of another.
        return OPEN if place == len(ends) or self.has_gap(batch.last_offset, ends[place][0]) else ends[place][1]

    def may_end_before(self, batch: StoredBatch) -> bool:
        """Return whether a transaction of the producer of a batch has ended before it in this log, or may have where records are missing."""
        ends = [offset for offset, _kind in self.ends.get(batch.producer_id, ())[:1]]
        missing = [start for start, _end in self.gaps[:1]] + [offset for offset, _reason in self.unreadable[:1]]
        return any(offset < batch.base_offset for offset in ends + missing)

    def has_gap(self, start: int, end: int) -> bool:
        """Return whether not all offsets of a range are saved."""
        return start < self.start or any(first < end and last > start for first, last in self.gaps)

    def row(self) -> dict[str, Any]:
        """Return what the module returns of the replica, without `selected`."""
        return {
            **self.replica._asdict(),
            "start_offset": self.start,
            "end_offset": self.end,
            "gaps": [{"start_offset": start, "end_offset": end} for start, end in self.gaps[:SHOWN]],
            "batches": self.batches,
            "records": self.records,
            "bytes": self.size,
            "leader_epochs": sorted(self.leader_epochs),
            "first_timestamp": written(self.first_timestamp),
            "last_timestamp": written(self.last_timestamp),
            "compression": dict(sorted(self.compression.items())),
            "producers": len(self.producers),
            "markers": {"commit": 0, "abort": 0, **self.markers},
            "first_markers": [{**marker._asdict(), "timestamp": written(marker.timestamp)} for marker in self.first_markers],
            "open_transactions": [
                {"producer_id": producer, "producer_epoch": epoch, "first_offset": offset, "records": records}
                for producer, (epoch, offset, records) in sorted(self.open.items(), key=lambda item: item[1][1])
            ][:SHOWN],
        }


def contents_of(replica: Replica, pieces: Sequence[Piece], see: Callable[[SavedBatch], None] | None = None) -> Contents:
    """Return what is saved of a replica. `see` gets each batch. Raises SavedRecordsError as `batches_of` does."""
    contents = Contents(replica, pieces[0].start, max(piece.end for piece in pieces), in_sync=all(piece.in_sync for piece in pieces))
    end = pieces[0].start
    for piece in pieces:
        if piece.start > end:
            contents.gaps.append((end, piece.start))
        end = max(end, piece.end)
    for saved in batches_of(pieces):
        contents.add(saved)
        if see is not None:
            see(saved)
    return contents


def written(timestamp: int | None) -> str | None:
    """Return a timestamp (ms since 1970) as ISO 8601 text in UTC. None for none (-1), and for one that is no date."""
    if timestamp is None or timestamp < 0:
        return None
    try:
        return (_EPOCH + timedelta(milliseconds=timestamp)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return None
