# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record batches as kafka-python writes them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from kafka.record.default_records import DefaultRecordBatchBuilder

EPOCH_AT = 12  # in a batch: the partition leader epoch, which the crc does not cover


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
