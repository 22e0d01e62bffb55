# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record batches as kafka-python writes them."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Sequence

import pyarrow
from crc32c import crc32c
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder

EPOCH_AT = 12  # in a batch: the partition leader epoch, which the crc does not cover
LENGTH_AT, CRC_AT, ATTRIBUTES_AT, DELTA_AT, PRODUCER_AT, COUNT_AT, RECORDS_AT = 8, 17, 21, 23, 43, 57, 61
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
# Timestamp, key, value and headers.
Content = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


def batch(base_offset: int, records: int, epoch: int = 0, size: int = 10, producer_id: int = -1, transactional: bool = False) -> bytes:
    """Return the bytes of a batch of so many records, of `size` bytes each."""
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=transactional, producer_id=producer_id,
        producer_epoch=-1 if producer_id < 0 else 0, base_sequence=-1 if producer_id < 0 else 0, batch_size=1 << 20,
    )  # fmt: skip
    for number in range(records):
        builder.append(number, timestamp=1_795_000_000_000 + number, key=None, value=b"x" * size, headers=[])
    data = bytearray(builder.build())
    struct.pack_into(">q", data, 0, base_offset)
    struct.pack_into(">i", data, EPOCH_AT, epoch)
    return bytes(data)


def log(*sizes: int, start: int = 0, epochs: Sequence[int] = ()) -> bytes:
    """Return batches of so many records each, one after the other from offset `start` on. `epochs`: of each batch, 0 without them."""
    content, offset = b"", start
    for number, records in enumerate(sizes):
        content += batch(offset, records, epochs[number] if epochs else 0)
        offset += records
    return content


def batch_of(
    base_offset: int, records: Sequence[Content], codec: str = "none", epoch: int = 0, producer_id: int = -1, transactional: bool = False,
    producer_epoch: int = 0, sequence: int = 0,
) -> bytes:  # fmt: skip
    """Return the bytes of a batch with these records, compressed as Kafka's Java clients do it."""
    builder = DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=transactional, producer_id=producer_id,
        producer_epoch=-1 if producer_id < 0 else producer_epoch, base_sequence=-1 if producer_id < 0 else sequence, batch_size=1 << 30,
    )  # fmt: skip
    for number, (timestamp, key, value, headers) in enumerate(records):
        builder.append(number, timestamp=timestamp, key=key, value=value, headers=headers)
    plain = bytes(builder.build())
    data = bytearray(with_content(plain, compressed(codec, plain[RECORDS_AT:]), CODECS.index(codec) | transactional << 4))
    struct.pack_into(">q", data, 0, base_offset)
    struct.pack_into(">i", data, EPOCH_AT, epoch)
    return bytes(data)


def marker(
    base_offset: int, producer_id: int, commit: bool, coordinator_epoch: int = 3, epoch: int = 0, producer_epoch: int = 0,
    timestamp: int = 1_795_000_000_000,
) -> bytes:  # fmt: skip
    """Return the control batch that ends a transaction."""
    content: Content = (timestamp, struct.pack(">hh", 0, commit), struct.pack(">hi", 0, coordinator_epoch), [])
    plain = batch_of(base_offset, [content], epoch=epoch, producer_id=producer_id, producer_epoch=producer_epoch)
    return with_content(plain, plain[RECORDS_AT:], 0b11_0000)


def message(offset: int, magic: int, size: int = 10) -> bytes:
    """Return the bytes of a message of format 0 or 1, as Kafka wrote them before 0.11."""
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=0, batch_size=1 << 20)
    builder.append(0, timestamp=1_795_000_000_000, key=None, value=b"x" * size)
    return struct.pack(">q", offset) + bytes(builder.build())[8:]


def with_content(data: bytes, content: bytes, attributes: int) -> bytes:
    """Return a batch with other attributes, and other bytes in place of its records. Its length and its crc fit."""
    changed = bytearray(data[:RECORDS_AT] + content)
    struct.pack_into(">i", changed, LENGTH_AT, len(changed) - EPOCH_AT)
    struct.pack_into(">h", changed, ATTRIBUTES_AT, attributes)
    return with_crc(changed)


def without_records(data: bytes, attributes: int) -> bytes:
    """Return what compaction keeps of the last batch of a producer."""
    removed = bytearray(with_content(data, b"", attributes))
    struct.pack_into(">i", removed, COUNT_AT, 0)
    return with_crc(removed)


def with_crc(data: bytes | bytearray) -> bytes:
    """Return a batch with the crc of its bytes."""
    changed = bytearray(data)
    struct.pack_into(">I", changed, CRC_AT, crc32c(changed[ATTRIBUTES_AT:]))
    return bytes(changed)


def compressed(codec: str, content: bytes) -> bytes:
    """Return content compressed as Kafka's Java clients do it: snappy in blocks."""
    if codec == "none":
        return content
    if codec == "gzip":
        return gzip.compress(content)
    if codec == "snappy":
        blocks = (pyarrow.compress(content[at : at + 32_768], codec, asbytes=True) for at in range(0, len(content), 32_768))
        return XERIAL + b"".join(struct.pack(">i", len(block)) + block for block in blocks)
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, codec) as stream:
        stream.write(content)
    return bytes(sink.getvalue())
