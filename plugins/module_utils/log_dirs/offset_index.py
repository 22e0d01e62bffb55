# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The offset index of a segment: from which position a walk can begin without reading what is before it."""

from __future__ import annotations

import struct
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_files import DiskFile, Folder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import HEADER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import BatchError, StoredBatch, batch_header

# Offset relative to that of the segment, position in the segment. The file of a log that is written ends with zeros.
_ENTRY = struct.Struct(">ii")
# Kafka's largest index.
_MOST_BYTES = 2**31 - 1
# Most indexes are small, and are read at once.
_AT_ONCE = 1 << 12


class Start(NamedTuple):
    """Where a walk over a segment begins: a position, and what was already read from there on."""

    position: int
    data: bytes


BEGIN = Start(0, b"")


def indexed_start(folder: Folder, name: str, segment: DiskFile, base_offset: int, before: int, length: int) -> Start:
    """Return the position of the last entry of an index that is not behind `before`, BEGIN if there is none or a valid batch does not begin there.

    name         of the file of the index
    segment      the segment that the index belongs to, and its base offset
    length       how many bytes are read from the position on
    """
    if before <= 0:
        return BEGIN
    with folder.file(name) as index:
        start, high = index.read(0, _AT_ONCE), min(index.size, _MOST_BYTES) // _ENTRY.size

        def entry(number: int) -> tuple[int, int]:
            at = number * _ENTRY.size
            if at + _ENTRY.size <= len(start):
                return _ENTRY.unpack_from(start, at)
            content = index.read(at, _ENTRY.size)
            return _ENTRY.unpack(content) if len(content) == _ENTRY.size else (0, 0)

        def is_usable(number: int) -> bool:
            offset, position = entry(number)
            return offset > 0 and 0 < position <= before

        usable, first, zeros = 0, len(start) // _ENTRY.size, start.find(bytes(_ENTRY.size))
        if zeros >= 0:
            first = zeros // _ENTRY.size + 1  # the entries that were written end here
        if 0 < first < high and not is_usable(first - 1):
            high = first  # the rest of the file is not read
        while usable < high:
            middle = (usable + high) // 2
            if is_usable(middle):
                usable = middle + 1
            else:
                high = middle
        if not usable:
            return BEGIN
        offset, position = entry(usable - 1)
    start = Start(position, segment.read(position, length))
    return start if _begins_batch(segment, start, base_offset, base_offset + offset) else BEGIN


def _begins_batch(segment: DiskFile, start: Start, lowest: int, highest: int) -> bool:
    """Return whether a batch with an offset in this range begins at `start`, and another one behind it unless the segment ends there."""
    first = _header(segment, start, 0)
    if first is None or not lowest <= first.base_offset <= highest:
        return False
    if start.position + first.size == segment.size:
        return True
    second = _header(segment, start, first.size)
    return second is not None and second.base_offset > first.last_offset


def _header(segment: DiskFile, start: Start, at: int) -> StoredBatch | None:
    """Return the header of a batch that begins so many bytes behind `start` and ends in the segment, None if there is none."""
    data = start.data
    if at + HEADER.size > len(data):
        data, at, start = segment.read(start.position + at, HEADER.size), 0, Start(start.position + at, b"")
    if len(data) < HEADER.size:
        return None
    try:
        batch = batch_header(data, at)
    except BatchError:
        return None
    return batch if start.position + at + batch.size <= segment.size else None
