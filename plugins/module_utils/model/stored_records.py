# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The records in a batch of format v2, and the markers at the end of transactions (KIP-98). Pure.

A batch whose crc is right may still have wrong content: every length and number is checked before it is used.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import RECORD_HEADERS, RECORDS_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.compressed_records import CompressionError, decompressed
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import HEADER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import CODECS, BatchError

# Attributes: bits 0 to 2 are the codec, bit 3 is set if the broker has set the time, to the same for all records of the batch.
_CODEC, _APPEND_TIME = 0b111, 0b1000
_MARKER_KEY = struct.Struct(">hh")  # version, type
_MARKER_VALUE = struct.Struct(">hi")  # version, epoch of the transaction coordinator
_MARKERS = {0: "abort", 1: "commit"}
_TIMESTAMPS = range(-(1 << 63), 1 << 63)
_LONGEST_VARINT = 10


class Record(NamedTuple):
    """A record. `timestamp`: ms since 1970, -1 if the producer has set none. `headers`: names (UTF-8, if clients do what Kafka documents) and values."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...]


class Marker(NamedTuple):
    """The end of a transaction, `kind` `commit` or `abort`. Other control records, as of the metadata log, have the kind `type 2` and so on.

    `coordinator_epoch`: None for other control records
    """

    offset: int
    timestamp: int
    kind: str
    coordinator_epoch: int | None
    producer_id: int
    producer_epoch: int


class _RecordError(Exception):
    """Content of a batch that cannot be what a producer sends."""


def has_append_time(batch: bytes) -> bool:
    """Return whether the timestamps of a batch are the broker's (LogAppendTime), not the producers' (CreateTime)."""
    return bool(HEADER.unpack_from(batch)[5] & _APPEND_TIME)


def records_of(batch: bytes, most: int = RECORDS_BYTES) -> Iterator[Record]:
    """Yield the records of one whole batch, whose header `stored_batches` has checked. The content of a control batch is what `marker_of` reads.

    most  bytes that its records may take once they are decompressed

    Raises BatchError, which names the offset of the batch, if its content is damaged or takes more bytes. Records before that place are yielded.
    """
    base, *_, attributes, delta, first, latest, _producer, _epoch, _sequence, count = HEADER.unpack_from(batch)
    content = memoryview(batch)[HEADER.size :]
    done = 0
    try:
        # A batch that lost all its records to compaction has no content, whatever its codec.
        data = decompressed(CODECS[attributes & _CODEC], content, most) if content else b""
        for record in _records(data, count, base, delta, first):
            yield record._replace(timestamp=latest) if attributes & _APPEND_TIME else record
            done += 1
    except CompressionError as error:
        raise BatchError(f"the batch at offset {base} cannot be decoded: {error}") from error
    except (IndexError, _RecordError) as error:
        reason = "its records are cut off" if isinstance(error, IndexError) else error
        raise BatchError(f"the batch at offset {base} cannot be decoded behind record {done} of {count}: {reason}") from error


def marker_of(batch: bytes) -> Marker:
    """Return the marker in a control batch. Raises BatchError if it has none, or another number of records than one."""
    base, *_, producer_id, producer_epoch, _sequence, count = HEADER.unpack_from(batch)
    records = list(records_of(batch)) if count == 1 else []
    key, value = (records[0].key, records[0].value) if records else (None, None)
    if key is None or len(key) < _MARKER_KEY.size:
        raise BatchError(f"the control batch at offset {base} has no marker")
    kind = _MARKER_KEY.unpack_from(key)[1]
    epoch = None
    if kind in _MARKERS:
        if value is None or len(value) < _MARKER_VALUE.size:
            raise BatchError(f"the marker at offset {base} has no epoch of its coordinator")
        epoch = _MARKER_VALUE.unpack_from(value)[1]
    return Marker(records[0].offset, records[0].timestamp, _MARKERS.get(kind, f"type {kind}"), epoch, producer_id, producer_epoch)


def _records(data: bytes, count: int, base: int, delta: int, first: int) -> Iterator[Record]:
    """Yield the records in decompressed content. Raises _RecordError, and IndexError at the end of the content."""
    at, before = 0, -1
    for _ in range(count):
        length, at = _varint(data, at)
        end = at + length
        if length < 0 or end > len(data):
            raise _RecordError("a record is longer than the rest of the batch")
        timestamp, at = _varint(data, at + 1)  # behind the attributes of the record, which Kafka does not use
        place, at = _varint(data, at)
        if not before < place <= delta:
            raise _RecordError(f"offset {base + place} is not between {base + before + 1} and {base + delta}")
        before, timestamp = place, first + timestamp
        if timestamp not in _TIMESTAMPS:
            raise _RecordError(f"the timestamp of offset {base + place} does not fit into 64 bits")
        key, at = _bytes(data, at, end)
        value, at = _bytes(data, at, end)
        headers, at = _headers(data, at, end)
        if at != end:
            raise _RecordError(f"the record at offset {base + place} has another length than its fields")
        yield Record(base + place, timestamp, key, value, headers)
    if at != len(data):
        raise _RecordError(f"{len(data) - at} bytes follow the last record")


def _headers(data: bytes, at: int, end: int) -> tuple[tuple[tuple[bytes, bytes | None], ...], int]:
    if data[at] == 0:
        return (), at + 1
    count, at = _varint(data, at)
    if not 0 <= count <= RECORD_HEADERS:
        raise _RecordError(f"a record has {count} headers, and at most {RECORD_HEADERS} are read")
    headers = []
    for _ in range(count):
        name, at = _bytes(data, at, end)
        if name is None:
            raise _RecordError("a header has no name")
        value, at = _bytes(data, at, end)
        headers.append((name, value))
    return tuple(headers), at


def _bytes(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    """Return bytes with their length before them, None for a negative length, and where they end."""
    length = data[at]
    if length < 0x80:  # most fields are short, and a call takes as long as the rest
        at, length = at + 1, (length >> 1) ^ -(length & 1)
    else:
        length, at = _varint(data, at)
    if length < 0:
        return None, at
    if at + length > end:
        raise _RecordError("a field is longer than its record")
    return data[at : at + length], at + length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a zigzag varint, and where it ends."""
    byte = data[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    value, shift = byte & 0x7F, 7
    for place in range(at + 1, at + _LONGEST_VARINT):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), place + 1
        shift += 7
    raise _RecordError("a number has more than ten bytes")
