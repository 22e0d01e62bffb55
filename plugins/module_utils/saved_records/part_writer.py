# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes one part of a folder of saved records: a file of raw batches, and then its sealed index."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    refuse_link,
    remove,
    replacing,
    sync_folder,
    write_private,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import ContentError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import chunks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import BatchError, StoredBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import (
    BATCHES,
    INDEX,
    PARTS,
    checked_row,
    parts_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

# A part is closed after as many bytes or batches. What a killed run loses of its work is one part. Rows of batches are in memory until then.
PART_BYTES, PART_BATCHES = 64 << 20, 50_000
# Batches in one row of an index, whose lines have a limit (`landing_format.LONGEST_LINE`).
ROW_BATCHES = 10_000
# Pieces that wait to be written while the next ones are read. They stay in memory until then.
QUEUED_PIECES = 32
# So many bytes go to the disk at a time, so that little is left when a part ends.
SYNCED_BYTES = 16 << 20


class PartWriter:
    """Writes one part, while its caller reads on: `disk` has one thread. `size`: bytes so far."""

    def __init__(self, stream: BinaryIO, disk: ThreadPoolExecutor) -> None:
        self._stream, self._disk, self._digest = stream, disk, hashlib.sha256()
        self._queued: deque[Future[None]] = deque()
        self.size = self._batches = self._not_synced = 0
        self.rows: list[dict[str, Any]] = []

    @property
    def is_full(self) -> bool:
        """Return whether the next batches belong into another part."""
        return self.size >= PART_BYTES or self._batches >= PART_BATCHES

    def add(self, tail: Tail, start: int, data: memoryview, batches: Sequence[StoredBatch]) -> None:
        """Write batches of a tail. `start`: the offset from which on they have every record that the log has.

        Raises BatchError for what the index could not say: all of its parts could not be read again.
        """
        for some in chunks(batches, ROW_BATCHES):
            size = sum(batch.size for batch in some)
            self._add(tail, start, data[:size], some)
            start, data = some[-1].last_offset + 1, data[size:]

    def _add(self, tail: Tail, start: int, data: memoryview, batches: Sequence[StoredBatch]) -> None:
        row = {
            "kind": "piece", "topic": tail.topic, "partition": tail.partition, "topic_id": tail.topic_id, "broker_id": tail.broker_id,
            "broker_epoch": tail.broker_epoch, "leader_epoch": tail.leader_epoch, "in_sync": tail.in_sync, "start_offset": start,
            "end_offset": batches[-1].last_offset + 1, "position": self.size, "bytes": len(data), "batches": [list(batch) for batch in batches],
        }  # fmt: skip
        try:
            checked_row(row)
        except ContentError as error:
            raise BatchError(f"it cannot be saved so that it can be read again: {error}") from error
        self._batches += len(batches)
        self._queued.append(self._disk.submit(self._write, data))
        self._wait(QUEUED_PIECES)
        self.rows.append(row)
        self.size += len(data)

    def _write(self, data: memoryview) -> None:
        self._stream.write(data)
        self._digest.update(data)
        self._not_synced += len(data)
        if self._not_synced >= SYNCED_BYTES:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._not_synced = 0

    def _wait(self, pieces: int) -> None:
        """Wait until at most so many pieces are not written yet. Raises OSError if one could not be written."""
        while len(self._queued) > pieces:
            self._queued.popleft().result()

    def end(self) -> dict[str, Any]:
        """Wait until all is written, and return the last row of the index. Raises OSError if something could not be written."""
        self._wait(0)
        return {"kind": "end", "bytes": self.size, "sha256": self._digest.hexdigest()}


@contextmanager
def open_part(folder: Path, header: Mapping[str, Any]) -> Iterator[PartWriter]:
    """Yield a writer of the next part. Batches and index are durable when the context ends without an error; without a piece nothing is written.

    `header`: the fields of landing_format.HEADER_FIELDS without `collected_at`. Raises FileError if the disk is full, or if another run writes
    this part: in a store also one that took the lock of the folder from this one, which was stalled.
    """
    numbers = (int(path.stem) for path in folder.iterdir() if path.suffix == INDEX and path.stem.isdecimal())
    part = folder / f"{1 + max(numbers, default=0):06}{BATCHES}"
    refuse_link(part)
    if part.exists():
        remove(part)  # a killed run has written no index for it
    try:
        with replacing(part, new=True) as stream, ThreadPoolExecutor(1) as disk:
            writer = PartWriter(stream, disk)
            yield writer
            end = writer.end()
            if not writer.rows:
                raise _EmptyPartError
    except _EmptyPartError:
        return
    landing_format.write(part.with_suffix(INDEX), {**header, "collected_at": utc_now()}, [*writer.rows, end], new=True)
    count_parts(folder)


def count_parts(folder: Path) -> None:
    """Wait until the parts of a folder are on the disk, and then their number. Raises FileError, and SavedRecordsError for a number that was changed."""
    sync_folder(folder)  # also what a killed run has made
    number = sum(path.suffix == INDEX for path in folder.iterdir())
    if parts_of(folder) != number:
        write_private(folder / PARTS, f"{number}\n".encode())


class _EmptyPartError(Exception):
    """Nothing was written to a part, so it is left out."""
