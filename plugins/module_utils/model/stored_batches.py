# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record batches (message format v2) as bytes: finds where each one begins, reads its header, and checks its crc. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import FRAME_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import HEADER, LENGTH_ENDS

with suppress(ImportError):  # optional_imports.py says why
    from crc32c import crc32c

# Where the part of a batch begins that its crc covers: behind the crc itself.
_CRC_ENDS = 21
_SMALLEST = HEADER.size - LENGTH_ENDS
# Attributes: bits 0 to 2 are the codec, bit 4 is set in batches of a transaction, bit 5 in the markers at its end.
_CODEC, _TRANSACTIONAL, _CONTROL = 0b111, 0b1_0000, 0b10_0000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class BatchError(RecoveryError):
    """Bytes of a log that are not whole batches of format v2. The text says at which offset, and what is wrong."""


class StoredBatch(NamedTuple):
    """The header of a batch. Offsets are absolute, timestamps ms since 1970.

    epoch          leader epoch in which it was written
    records        number of records, fewer than offsets if compaction has removed some
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


def stored_batches(data: bytes) -> Iterator[StoredBatch]:
    """Yield the header of every whole batch in `data`. A batch at the end that is cut off is left out, as Fetch may send one.

    Raises BatchError for another format, an impossible length, number of records or codec, a wrong crc, and for offsets or epochs that go backwards.
    """
    view, at, before = memoryview(data), 0, None
    while at + HEADER.size <= len(data):
        base, length, epoch, magic, crc, attributes, delta, first, latest, producer, producer_epoch, sequence, count = HEADER.unpack_from(
            data, at
        )
        if magic != 2:
            raise BatchError(f"the batch at offset {base} has format {magic}, and only format 2 can be checked")
        if not _SMALLEST <= length <= FRAME_BYTES or delta < 0 or count < 0 or count > delta + 1 or attributes & _CODEC >= len(CODECS):
            raise BatchError(f"the header of the batch at offset {base} has impossible values")
        end = at + LENGTH_ENDS + length
        if end > len(data):
            return
        if crc32c(view[at + _CRC_ENDS : end]) != crc:
            raise BatchError(f"the crc of the batch at offset {base} is wrong: its bytes have changed since they were written")
        if before is not None and (base <= before.last_offset or epoch < before.epoch):
            raise BatchError(
                f"the batch at offset {base}, epoch {epoch}, follows one that ends at {before.last_offset}, epoch {before.epoch}"
            )
        before = StoredBatch(
            base, base + delta, epoch, count, first, latest, producer, producer_epoch, sequence, CODECS[attributes & _CODEC],
            bool(attributes & _TRANSACTIONAL), bool(attributes & _CONTROL), end - at,
        )  # fmt: skip
        yield before
        at = end
