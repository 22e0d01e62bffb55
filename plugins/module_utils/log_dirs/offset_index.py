# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The offset index of a segment: from which position a walk can begin without reading what is before it."""

from __future__ import annotations

import struct

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_files import DiskFile, Folder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.segment import PIECE, crc_is_right
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import HEADER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import BatchError, batch_header

# Offset relative to that of the segment, position in the segment. The file of a log that is written ends with zeros.
_ENTRY = struct.Struct(">ii")
# Kafka's largest index.
_MOST_BYTES = 2**31 - 1


def start_position(folder: Folder, name: str, segment: DiskFile, base_offset: int, before: int) -> int:
    """Return the position of the last entry of an index that is not behind `before`, 0 if there is none or a valid batch does not begin there.

    name         of the file of the index
    segment      the segment that the index belongs to, and its base offset
    """
    if before <= 0 or not folder.size(name):
        return 0
    with folder.file(name) as index:
        usable, high = 0, min(index.size, _MOST_BYTES) // _ENTRY.size
        while usable < high:
            middle = (usable + high) // 2
            offset, position = _entry(index, middle)
            if offset > 0 and 0 < position <= before:
                usable = middle + 1
            else:
                high = middle
        if not usable:
            return 0
        offset, position = _entry(index, usable - 1)
    return position if _begins_batch(segment, position, base_offset, base_offset + offset) else 0


def _entry(index: DiskFile, number: int) -> tuple[int, int]:
    entry = index.read(number * _ENTRY.size, _ENTRY.size)
    return _ENTRY.unpack(entry) if len(entry) == _ENTRY.size else (0, 0)


def _begins_batch(segment: DiskFile, position: int, lowest: int, highest: int) -> bool:
    """Return whether a batch with an offset in this range begins at a position, and has the right crc if it is not large."""
    header = segment.read(position, HEADER.size)
    if len(header) < HEADER.size:
        return False
    try:
        batch = batch_header(header)
    except BatchError:
        return False
    whole = position + batch.size <= segment.size and lowest <= batch.base_offset <= highest
    return whole and (batch.size > PIECE or crc_is_right(segment, position, batch.size))
