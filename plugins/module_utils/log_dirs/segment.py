# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Walks over the batches of a segment file, from header to header, and says where the first one is that is not whole or not valid."""

from __future__ import annotations

import struct
import zlib
from collections import deque
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.checksums import CrcSum, crc32c
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import FRAME_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_files import DiskError, DiskFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.offset_index import Start
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import HEADER, LENGTH_ENDS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import (
    CRC,
    CRC_ENDS,
    ORDER,
    WRONG_CRC,
    BatchError,
    StoredBatch,
    batch_header,
    check_order,
)

# What a power failure leaves: a batch whose end is missing, and blocks that were never written.
CUT, ZEROED = "cut", "zeroed"
# Kafka opens no larger segment.
MOST_SEGMENT_BYTES = 2**31 - 1
# Bytes that are read at once. Headers of large batches are read one by one.
PIECE, HEADER_PIECE = 1 << 18, 1 << 12
# Kafka reads the start of a header before the rest, and refuses a shorter length there.
# The last byte of the start is the format.
_START, _START_BYTES, _SHORTEST_LENGTH = struct.Struct(">qiIb"), 17, 14
_FORMAT = b"\x02"
# Bytes of supposed batches behind a cut one whose crcs are checked.
_MOST_CHECKED = 16 << 20


class Fault(NamedTuple):
    """Where the whole valid batches of a segment end before its end. `why`: CUT, ZEROED, or a fault of a BatchError. `reason`: the same as a sentence."""

    why: str
    reason: str
    position: int


class Walk(NamedTuple):
    """What a walk over a segment saw.

    start              position of the first batch; 0 unless the walk began at an entry of the index
    first_offset       base offset of that batch, None without a batch
    end_offset         the offset after the last batch before `fault`, the segment's base offset without one
    fault              the first thing that is wrong, None if the segment ends with a whole valid batch
    batches            the last batches before `fault`
    crc_from           position from which crcs were checked
    crc_from_offset    base offset of the first batch whose crc was checked, None if there is none
    header_end_offset  as end_offset by headers alone: a wrong crc does not count
    header_fault       as fault, by headers alone
    """

    start: int
    first_offset: int | None
    end_offset: int
    fault: Fault | None
    batches: tuple[StoredBatch, ...]
    crc_from: int
    crc_from_offset: int | None
    header_end_offset: int
    header_fault: Fault | None


def walk(file: DiskFile, base_offset: int, start: Start, crc_from: int, keep: int, crcs: CrcSum | None) -> Walk:
    """Walk over the batches of a segment.

    base_offset  of the segment, from the name of its file
    start        where a batch begins
    crc_from     check the crcs of batches from this position on
    keep         how many of the last batches are returned
    crcs         gets the crcs, which the caller checks at once. If one is wrong, a walk with None checks one after the other to find which

    Raises DiskError if the disk cannot be read, or if the file is larger than Kafka's segments.
    """
    if file.size > MOST_SEGMENT_BYTES:
        raise DiskError(file.path, f"it has {file.size} bytes, more than a segment can have")
    position, end_offset, first_offset, before, checked_from = start.position, base_offset, None, None, None
    valid: tuple[Fault | None, int, tuple[StoredBatch, ...]] | None = None  # at the first wrong crc
    batches: deque[StoredBatch] = deque(maxlen=keep)
    data, data_start, piece, header_fault = start.data, start.position, PIECE, None
    while position < file.size:
        at = position - data_start
        if not 0 <= at <= len(data) - HEADER.size:
            data, data_start, at = file.read(position, piece), position, 0
        try:
            batch = _next_batch(data, at, file.size - position, before, base_offset)
        except BatchError as error:
            header_fault = Fault(error.fault or "", str(error), position)
            break
        if position >= crc_from:
            if crcs is not None and at + batch.size <= len(data):
                crcs.add(memoryview(data)[at + CRC_ENDS : at + batch.size], CRC.unpack_from(data, at)[0])
            elif valid is None and not crc_is_right(file, position, batch.size):
                wrong_crc = Fault(WRONG_CRC, f"the crc of the batch at offset {batch.base_offset} is wrong", position)
                valid = wrong_crc, end_offset, tuple(batches)
            checked_from = batch.base_offset if checked_from is None else checked_from
        if before is None:
            first_offset = batch.base_offset
        end_offset, before = batch.last_offset + 1, batch
        batches.append(batch)
        piece = PIECE if batch.size < PIECE // 4 else HEADER_PIECE
        position += batch.size
    fault, valid_end, last = valid or (header_fault, end_offset, tuple(batches))
    return Walk(start.position, first_offset, valid_end, fault, last, crc_from, checked_from, end_offset, header_fault)


def _next_batch(data: bytes, at: int, rest: int, before: StoredBatch | None, base_offset: int) -> StoredBatch:
    """Return the header at `at`, of a batch that ends within `rest` bytes. Raises BatchError with the fault, also CUT and ZEROED."""
    try:
        if len(data) - at < HEADER.size:
            raise BatchError(f"{rest} bytes are left, less than a header", CUT)
        batch = batch_header(data, at)
    except BatchError as error:
        header = data[at : at + HEADER.size]
        if len(header) > _START_BYTES and not any(header):
            raise BatchError("there are zeros instead of a header: these blocks were never written", ZEROED) from error
        raise
    if batch.base_offset < base_offset:
        raise BatchError(f"the batch at offset {batch.base_offset} is in a segment that begins at {base_offset}", ORDER)
    check_order(before, batch)
    if batch.size > rest:
        raise BatchError(f"the batch at offset {batch.base_offset} has {batch.size} bytes, and {rest} are left", CUT)
    return batch


def crc_is_right(file: DiskFile, position: int, size: int) -> bool:
    """Return whether the crc of a batch of format 2 is that of its bytes, which are read in pieces."""
    data = file.read(position, min(size, PIECE))
    if len(data) <= CRC_ENDS:
        return False
    value, read = crc32c(memoryview(data)[CRC_ENDS:]), len(data)
    while read < size:
        more = file.read(position + read, min(size - read, PIECE))
        if not more:
            return False
        value, read = crc32c(more, value), read + len(more)
    return value == CRC.unpack_from(data)[0]


def goes_on(file: DiskFile, fault: Fault, end_offset: int) -> bool:
    """Return whether there may be records behind a fault: more than zeros, and more than the first part of one batch. `end_offset`: of what is before it."""
    if fault.why == CUT:
        return file.size - fault.position > PIECE or _has_batch(file.read(fault.position, PIECE), end_offset)
    if fault.why != ZEROED:
        return True
    position = file.next_data(fault.position)
    while position < file.size:
        data = file.read(position, PIECE)
        if data.count(0) != len(data) or not data:
            return True
        position = file.next_data(position + len(data))
    return False


def _has_batch(data: bytes, end_offset: int) -> bool:
    """Return whether what seems to be the first part of one batch is a whole one with a wrong length, or has a later one behind it."""
    view, checked = memoryview(data), 0
    if len(data) > HEADER.size and crc32c(view[CRC_ENDS:]) == CRC.unpack_from(data)[0]:
        return True
    at = data.find(_FORMAT, 2 * _START_BYTES - 1)
    while at >= 0 and (begin := at - _START_BYTES + 1) + HEADER.size <= len(data):
        size = _plausible_size(data, begin, end_offset)
        if size is not None:
            checked += size
            is_cut = begin + size > len(data)
            if is_cut or checked > _MOST_CHECKED or crc32c(view[begin + CRC_ENDS : begin + size]) == CRC.unpack_from(data, begin)[0]:
                return True
        at = data.find(_FORMAT, at + 1)
    return False


def _plausible_size(data: bytes, begin: int, end_offset: int) -> int | None:
    """Return the size of a batch whose header may begin here, None if none does."""
    try:
        batch = batch_header(data, begin)
    except BatchError:
        return None
    is_near = end_offset <= batch.base_offset <= end_offset + MOST_SEGMENT_BYTES
    return batch.size if is_near and batch.epoch >= 0 and batch.size <= FRAME_BYTES else None


def kafka_cuts(file: DiskFile, position: int) -> bool | None:
    """Return whether Kafka's recovery of a log truncates it at this position: what is there is no batch to Kafka either.

    Kafka checks the length and the crc, not the order of offsets and epochs. None if that is not known: the batch has more than FRAME_BYTES.
    """
    rest = file.size - position
    start = file.read(position, _START_BYTES)
    if rest <= _START_BYTES or len(start) < _START_BYTES:
        return True
    _offset, length, old_crc, magic = _START.unpack(start)
    if length < _SHORTEST_LENGTH or length > rest - LENGTH_ENDS:
        return True
    if length > FRAME_BYTES:
        return None
    if magic < 2:  # before Kafka 0.11 the crc was another one, and stood before the format
        return zlib.crc32(file.read(position + _START_BYTES - 1, length + LENGTH_ENDS - _START_BYTES + 1)) != old_crc
    return length < HEADER.size - LENGTH_ENDS or not crc_is_right(file, position, length + LENGTH_ENDS)


def kafka_start_fails(file: DiskFile, fault: Fault) -> bool:
    """Return whether Kafka cannot load a log that was shut down cleanly and has this in its last segment: it reads headers and repairs nothing."""
    start = file.read(fault.position, _START_BYTES + 1)
    return len(start) > _START_BYTES and int.from_bytes(start[8:12], "big", signed=True) < _SHORTEST_LENGTH
