# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The header of a record batch (message format v2), and whether two of one epoch at one offset can be the same batch."""

from __future__ import annotations

import struct
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import METADATA_BATCH_BYTES

# base offset int64, length int32, partition leader epoch int32, magic int8, crc uint32, attributes int16,
# last offset delta int32, base timestamp int64, max timestamp int64, producer id int64, producer epoch int16, base sequence int32, records int32
_HEADER = struct.Struct(">qiibIhiqqqhii")
# Attributes: bit 4 stands in batches of a transaction, bit 5 in markers, bit 6 where the cleaner has set when tombstones may go (KIP-534).
_TRANSACTIONAL, _DELETE_HORIZON = 0b11_0000, 0b100_0000

# A batch's length is counted from behind it; a batch without records has the rest of its header (61 bytes).
_LENGTH_ENDS, _SMALLEST = 12, 49


class LastBatch(NamedTuple):
    """Offsets are absolute; `epoch` is the leader epoch in which the batch was written; `max_timestamp` in milliseconds.

    `transactional`: it is part of a transaction, or the marker at the end of one (KIP-98). `cleaned`: compaction has rewritten it, which keeps its
    offsets and its epoch and changes its crc.
    """

    base_offset: int
    last_offset: int
    epoch: int
    crc: int
    max_timestamp: int
    transactional: bool = False
    cleaned: bool = False

    def holds(self, offset: int) -> bool:
        """Whether the batch covers `offset`. Fetch answers with the next batch where compaction removed the one asked for."""
        return self.base_offset <= offset <= self.last_offset


def read_batch(records: bytes | memoryview | None) -> LastBatch | None:
    """Return the header of the first batch in `records`, None where there is none or it is of a format before v2."""
    if not records or len(records) < _HEADER.size:
        return None
    base_offset, _length, epoch, magic, crc, attributes, last_delta, _, max_timestamp, _, _, _, count = _HEADER.unpack_from(records)
    if magic != 2:
        return None
    # A leader takes no batch with gaps between its offsets: only the cleaner leaves some.
    cleaned = count != last_delta + 1 or bool(attributes & _DELETE_HORIZON)
    return LastBatch(base_offset, base_offset + last_delta, epoch, crc, max_timestamp, bool(attributes & _TRANSACTIONAL), cleaned)


def whole_batches(data: bytes | memoryview) -> int:
    """How many of these bytes are whole batches. ValueError if one is of a format before v2, or larger than the metadata log has any."""
    at = 0
    while at + _HEADER.size <= len(data):
        _base_offset, length, _epoch, magic = _HEADER.unpack_from(data, at)[:4]
        if magic != 2 or not _SMALLEST <= length <= METADATA_BATCH_BYTES:
            raise ValueError(f"{length} bytes of format {magic}")
        if at + _LENGTH_ENDS + length > len(data):
            break
        at += _LENGTH_ENDS + length
    return at


def may_be_equal(one: LastBatch, other: LastBatch) -> bool:
    """Whether two batches of one leader epoch that hold the same offset can be the same batch.

    An epoch has one leader and followers copy its batches unchanged. Only compaction rewrites them, and not their offsets.
    """
    return one[:3] == other[:3] and (one.crc == other.crc or one.cleaned or other.cleaned)
