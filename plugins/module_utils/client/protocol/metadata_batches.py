# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches of the metadata log and their records, as controllers write them (message format v2). Pure: no I/O, no Kafka client.

kafka-python's reader has no bounds: it reads millions of headers of one record before its caller can check the time.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import HEADER, LENGTH_ENDS, whole_batches

_CODEC, _LOG_APPEND_TIME, _CONTROL = 0b111, 0b1000, 0b10_0000
LATEST = 2**63 - 1  # milliseconds since 1970, as Kafka stores them
UNREADABLE = (ValueError, IndexError, struct.error)


class MetadataBatch(NamedTuple):
    """One batch. `records`: its bytes after the header, which hold `record_count` records. `appended_at`: milliseconds since 1970, if set."""

    base_offset: int
    next_offset: int
    leader_epoch: int
    is_control: bool
    is_compressed: bool
    appended_at: int | None
    base_timestamp: int
    record_count: int
    records: memoryview


class Record(NamedTuple):
    """One record; `timestamp` in milliseconds since 1970."""

    offset: int
    timestamp: int
    value: bytes


def read_batches(data: bytes | memoryview) -> tuple[int, Iterator[MetadataBatch]]:
    """Return the number of bytes of `data` that are whole batches, and these batches. ValueError if one has another format or is too large."""
    whole = whole_batches(data)
    return whole, _batches(memoryview(data)[:whole])


def _batches(data: memoryview) -> Iterator[MetadataBatch]:
    at = 0
    while at < len(data):
        base, length, epoch, _magic, _crc, attributes, last_delta, first, latest, *_producer, count = HEADER.unpack_from(data, at)
        end = at + LENGTH_ENDS + length
        yield MetadataBatch(
            base,
            base + last_delta + 1,
            epoch,
            bool(attributes & _CONTROL),
            bool(attributes & _CODEC),
            latest if attributes & _LOG_APPEND_TIME else None,
            first,
            count,
            data[at + HEADER.size : end],
        )
        at = end


def read_records(batch: MetadataBatch) -> Iterator[Record]:
    """Yield the records of an uncompressed batch. Raises one of UNREADABLE at the first record that no controller writes."""
    data, at = batch.records, 0
    if batch.record_count < 0:
        raise ValueError(f"it has {batch.record_count} records")
    for _number in range(batch.record_count):
        length, begin = _varint(data, at)
        at = begin
        time_delta, at = _varint(data, at + 1)  # after the attributes
        offset_delta, at = _varint(data, at)
        _key, at = _bytes(data, at)
        value, at = _bytes(data, at)
        headers, at = _varint(data, at)
        if headers:
            raise ValueError(f"a record has {headers} headers, and controllers write none")
        if at - begin != length:
            raise ValueError(f"a record has {at - begin} bytes instead of {length}")
        timestamp = batch.base_timestamp + time_delta if batch.appended_at is None else batch.appended_at
        if not 0 <= timestamp <= LATEST:
            raise ValueError(f"a record has the time {timestamp}")
        offset = batch.base_offset + offset_delta
        if not batch.base_offset <= offset < batch.next_offset:
            raise ValueError(f"a record has offset {offset}, and its batch those from {batch.base_offset} to {batch.next_offset - 1}")
        yield Record(offset, timestamp, bytes(value))
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes follow its last record")


def _bytes(data: memoryview, at: int) -> tuple[memoryview, int]:
    """Return bytes that follow their length (empty for null), and the place after them."""
    length, at = _varint(data, at)
    if not -1 <= length <= len(data) - at:
        raise ValueError(f"a record has a key or value of {length} bytes")
    end = at + max(0, length)
    return data[at:end], end


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return a zigzag-coded number of at most 64 bits, and the place after it."""
    byte = data[at]
    if byte < 0x80:  # nearly always
        return (byte >> 1) ^ -(byte & 1), at + 1
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise ValueError("an integer of more than 64 bits")
