# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The header of a record batch (message format v2), as far as telling logs apart needs it."""

from __future__ import annotations

import struct
from typing import NamedTuple

# base offset int64, length int32, partition leader epoch int32, magic int8, crc uint32, attributes int16,
# last offset delta int32, base timestamp int64, max timestamp int64
_HEADER = struct.Struct(">qiibIhiqq")


class LastBatch(NamedTuple):
    """Offsets are absolute; `epoch` is the leader epoch in which the batch was written; `max_timestamp` in milliseconds."""

    base_offset: int
    last_offset: int
    epoch: int
    crc: int
    max_timestamp: int


def read_batch(records: bytes | memoryview | None) -> LastBatch | None:
    """Return the header of the first batch in `records`, None where there is none or it is of a format before v2."""
    if not records or len(records) < _HEADER.size:
        return None
    base_offset, _length, epoch, magic, crc, _attributes, last_delta, _base_timestamp, max_timestamp = _HEADER.unpack_from(records)
    if magic != 2:
        return None
    return LastBatch(base_offset, base_offset + last_delta, epoch, crc, max_timestamp)
