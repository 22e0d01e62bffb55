# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record batches (message format v2) as bytes: finds where each one begins, reads its header, and checks its crc. Pure."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.checksums import crc32c
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import FRAME_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import DELETE_HORIZON, HEADER, LENGTH_ENDS

# Where the crc is, and where the part of a batch begins that it covers.
CRC, CRC_ENDS = struct.Struct(">17xI"), 21
NO_EPOCH = -1  # of a batch that no leader has written
SMALLEST_LENGTH = HEADER.size - LENGTH_ENDS
# Attributes: bits 0 to 2 are the codec, bit 4 is set in batches of a transaction, bit 5 in the markers at its end.
_CODEC, _TRANSACTIONAL, _CONTROL = 0b111, 0b1_0000, 0b10_0000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# Of formats 0 and 1: offset, length, magic behind the crc. The length counts crc, magic, attributes, timestamp (format 1), and lengths of key and value.
_OLD_HEADER, _SMALLEST_OLD = struct.Struct(">qi4xb"), (14, 22)


# What can be wrong with a batch.
FORMAT, LENGTH, HEADER_VALUES, WRONG_CRC, ORDER = "format", "length", "header", "crc", "order"


class BatchError(RecoveryError):
    """Bytes of a log that are not whole batches of format v2. The text says at which offset, and what is wrong.

    `fault`: that in one word, None if the batch is right and only in the wrong place.
    """

    def __init__(self, text: str, fault: str | None = None) -> None:
        super().__init__(text)
        self.fault = fault


class StoredBatch(NamedTuple):
    """The header of a batch. Offsets are absolute, timestamps ms since 1970.

    epoch          leader epoch in which it was written
    records        number of records, fewer than offsets if compaction has removed some: it keeps the last batch of a producer even without records
    base_timestamp -1 if the cleaner has written another time in its place (KIP-534)
    producer_id    -1 without an idempotent producer; then producer_epoch and base_sequence are -1, too
    compression    one of CODECS
    transactional  whether it is part of a transaction (KIP-98)
    control        whether it is the marker at the end of a transaction
    size           bytes, header included
    """

    base_offset: int
    last_offset: int
    epoch: int
    records: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    compression: str
    transactional: bool
    control: bool
    size: int


def batch_header(data: bytes | bytearray | memoryview, at: int = 0) -> StoredBatch:
    """Return the header that begins at `at`. Raises BatchError for another format, and for values that no batch can have.

    The crc does not cover the base offset and the leader epoch.
    """
    base, length, epoch, magic, _crc, attributes, delta, first, latest, producer, producer_epoch, sequence, count = HEADER.unpack_from(
        data, at
    )
    if magic != 2:
        raise BatchError(f"the batch at offset {base} has format {magic}, and only format 2 can be checked", FORMAT)
    possible_values = (
        0 <= count <= delta + 1 > 0 and 0 <= base < MOST_INT64 - delta and epoch >= NO_EPOCH and attributes & _CODEC < len(CODECS)
    )
    if length < SMALLEST_LENGTH or not possible_values:
        fault = HEADER_VALUES if length >= SMALLEST_LENGTH else LENGTH
        raise BatchError(f"the header of the batch at offset {base} has impossible values", fault)
    first = -1 if attributes & DELETE_HORIZON else first
    return StoredBatch(
        base, base + delta, epoch, count, first, latest, producer, producer_epoch, sequence, CODECS[attributes & _CODEC],
        bool(attributes & _TRANSACTIONAL), bool(attributes & _CONTROL), length + LENGTH_ENDS,
    )  # fmt: skip


def old_message_size(header: bytes) -> int | None:
    """Return the size of a message of format 0 or 1, which begins a header, or less than one. None for another format, and for an impossible size."""
    if len(header) < _OLD_HEADER.size:
        return None
    _offset, length, magic = _OLD_HEADER.unpack_from(header)
    return LENGTH_ENDS + length if magic in (0, 1) and length >= _SMALLEST_OLD[magic] else None


def check_order(before: StoredBatch | None, batch: StoredBatch) -> None:
    """Raise BatchError if offsets or leader epochs go backwards from one batch to the next."""
    if before is not None and (batch.base_offset <= before.last_offset or batch.epoch < before.epoch):
        raise BatchError(
            f"the batch at offset {batch.base_offset}, epoch {batch.epoch}, follows one that ends at {before.last_offset}, epoch {before.epoch}",
            ORDER,
        )


def stored_batches(data: bytes) -> Iterator[StoredBatch]:
    """Yield the header of every whole batch in `data`. A batch at the end that is cut off is left out, as Fetch may send one.

    Raises BatchError as `batch_header` and `check_order` do, for a batch of more than FRAME_BYTES, and for a wrong crc.
    """
    view, at, before = memoryview(data), 0, None
    while at + HEADER.size <= len(data):
        batch = batch_header(data, at)
        base, end = batch.base_offset, at + batch.size
        if batch.size - LENGTH_ENDS > FRAME_BYTES:
            raise BatchError(f"the header of the batch at offset {base} has impossible values", LENGTH)
        if end > len(data):
            return
        if crc32c(view[at + CRC_ENDS : end]) != CRC.unpack_from(data, at)[0]:
            raise BatchError(f"the crc of the batch at offset {base} is wrong: its bytes have changed since they were written", WRONG_CRC)
        check_order(before, batch)
        before = batch
        yield batch
        at = end
