# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The header of a record batch (message format v2), and whether two batches can be the same one."""

from __future__ import annotations

import struct
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import METADATA_BATCH_BYTES

# base offset int64, length int32, partition leader epoch int32, magic int8, crc uint32, attributes int16,
# last offset delta int32, base timestamp int64, max timestamp int64, producer id int64, producer epoch int16, base sequence int32, records int32
HEADER = struct.Struct(">qiibIhiqqqhii")
# Attributes: bit 4 in batches of a transaction, bit 5 in markers, bit 6 if the base timestamp is the time from which on the cleaner deletes tombstones and
# markers (KIP-534). Timestamps of records count from it all the same.
_TRANSACTIONAL, DELETE_HORIZON = 0b11_0000, 0b100_0000

# A batch's length counts the bytes after the length field; a batch without records has the rest of its header (61 bytes).
LENGTH_ENDS, _SMALLEST = 12, 49


class LastBatch(NamedTuple):
    """The header of a batch. Offsets are absolute; `epoch`: leader epoch in which it was written; `max_timestamp`: ms since 1970.

    `transactional`: it is part of a transaction, or the marker at the end of one (KIP-98). `cleaned`: compaction has rewritten it, which keeps
    its offsets and its epoch and changes its crc.
    """

    base_offset: int
    last_offset: int
    epoch: int
    crc: int
    max_timestamp: int
    transactional: bool = False
    cleaned: bool = False

    def holds(self, offset: int) -> bool:
        """Return whether the batch covers `offset`. If compaction removed the requested batch, Fetch answers with the next one."""
        return self.base_offset <= offset <= self.last_offset


def read_batch(records: bytes | memoryview | None) -> LastBatch | None:
    """Return the header of the first batch in `records`, None if `records` is shorter than a header or its format is older than v2."""
    if not records or len(records) < HEADER.size:
        return None
    base_offset, _length, epoch, magic, crc, attributes, last_delta, _, max_timestamp, _, _, _, count = HEADER.unpack_from(records)
    if magic != 2:
        return None
    # A leader accepts no batch with gaps between its offsets: only the cleaner leaves gaps.
    cleaned = count != last_delta + 1 or bool(attributes & DELETE_HORIZON)
    return LastBatch(base_offset, base_offset + last_delta, epoch, crc, max_timestamp, bool(attributes & _TRANSACTIONAL), cleaned)


def whole_batches(data: bytes | memoryview) -> int:
    """Return the length in bytes of the whole batches at the start of `data`.

    Raises ValueError for a format older than v2, and for a batch larger than METADATA_BATCH_BYTES or smaller than its header.
    """
    at = 0
    while at + HEADER.size <= len(data):
        _base_offset, length, _epoch, magic = HEADER.unpack_from(data, at)[:4]
        if magic != 2 or not _SMALLEST <= length <= METADATA_BATCH_BYTES:
            raise ValueError(f"{length} bytes of format {magic}")
        if at + LENGTH_ENDS + length > len(data):
            break
        at += LENGTH_ENDS + length
    return at


def may_be_equal(one: LastBatch, other: LastBatch) -> bool:
    """Return whether two batches of one leader epoch that contain the same offset can be the same batch.

    An epoch has one leader, and followers copy its batches unchanged. Only compaction rewrites them, and it keeps their offsets.
    """
    return one[:3] == other[:3] and (one.crc == other.crc or one.cleaned or other.cleaned)
