# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the metadata log of the active controller, from its beginning to its high watermark, within limits of bytes and time.

A log whose beginning was deleted begins with a snapshot (KIP-630): the state of every partition at that point, without its history.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import metadata_log_fetch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.metadata_batches import (
    UNREADABLE,
    MetadataBatch,
    read_batches,
    read_records,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import METADATA_BATCH_BYTES

# By default controllers keep 100 MB of log (metadata.max.retention.bytes) and one snapshot.
LIMIT_BYTES = 256 << 20
REQUEST_BYTES = 8 << 20
# A batch comes whole even if the request has a smaller limit.
PIECE_BYTES = REQUEST_BYTES + METADATA_BATCH_BYTES


class MetadataLogSource(Protocol):
    """The methods of `controllers.Controllers` that the reader uses."""

    def active(self) -> tuple[Any, Any]: ...
    def ask(self, node: Any, make: Callable[[], Any]) -> Any: ...


class LogRecord(NamedTuple):
    """One record: its offset, when it was written (milliseconds since 1970, None: before the snapshot was taken), its bytes."""

    offset: int
    timestamp: int | None
    value: bytes


class MetadataLog:
    """The records of the metadata log. It can be iterated over once.

    Afterwards `cut` is the reason why it was not read to its end (None: it was), `bytes` and `seconds` what was read and how long it took, and
    `snapshot` whether it begins with a snapshot.
    """

    def __init__(self, controllers: MetadataLogSource, limit_seconds: float, limit_bytes: int = LIMIT_BYTES) -> None:
        self._controllers = controllers
        self._limit_seconds, self._limit_bytes = limit_seconds, limit_bytes
        self._began = time.monotonic()
        self.cut: str | None = None
        self.bytes = 0
        self.snapshot = False
        self._whole = 0

    @property
    def seconds(self) -> float:
        """Seconds since reading began."""
        return time.monotonic() - self._began

    def __iter__(self) -> Iterator[LogRecord]:
        """Yield the committed records. ClusterError if no active controller answers, or if it sends larger pieces than requested."""
        node, quorum = self._controllers.active()
        epoch = quorum.topics[0].partitions[0].leader_epoch
        offset = last_epoch = 0
        piece = self._fetch(node, offset, last_epoch, epoch)
        if piece.snapshot is not None:
            self.snapshot = True
            yield from self._snapshot(node, piece.snapshot, epoch)
            offset, last_epoch = piece.snapshot
            piece = self._fetch(node, offset, last_epoch, epoch)
        end = piece.end
        while self.cut is None:
            if piece.error or piece.snapshot is not None:
                self.cut = f"the active controller answers {piece.error or 'that the beginning was deleted meanwhile'} at offset {offset}"
                return
            before = offset
            for batch in self._batches(piece.records):
                if offset < end:
                    yield from self._entries(batch)
                    offset, last_epoch = batch.next_offset, batch.leader_epoch
            if offset >= end:
                return
            if self.cut is None and offset <= before:
                self.cut = f"the active controller sends no records at offset {offset} of {end}"
            if self._within_limits(f"offset {offset} of {end}"):
                piece = self._fetch(node, offset, last_epoch, epoch)

    def _fetch(self, node: Any, offset: int, last_epoch: int, epoch: int) -> metadata_log_fetch.Piece:
        return self._ask(node, metadata_log_fetch.read_fetched, lambda: metadata_log_fetch.fetch(offset, last_epoch, epoch, REQUEST_BYTES))

    def _ask(self, node: Any, read: Callable[[Any], metadata_log_fetch.Piece], make: Callable[[], Any]) -> metadata_log_fetch.Piece:
        piece = read(self._controllers.ask(node, make))
        size = len(piece.records)
        if size > PIECE_BYTES:
            raise ClusterError(
                f"the active controller sends {size} bytes of its metadata log at once, {REQUEST_BYTES} were requested; check its logs"
            )
        self.bytes += size
        return piece

    def _snapshot(self, node: Any, snapshot: metadata_log_fetch.Snapshot, epoch: int) -> Iterator[LogRecord]:
        place, size, rest = 0, 1, b""
        while place < size and self._within_limits(f"byte {place} of the snapshot"):
            make = partial(metadata_log_fetch.fetch_snapshot, snapshot, place, epoch, REQUEST_BYTES)
            piece = self._ask(node, metadata_log_fetch.read_snapshot, make)
            if piece.error or not piece.records:
                self.cut = f"the active controller answers {piece.error or 'nothing'} at byte {place} of its snapshot"
                return
            place, size = place + len(piece.records), piece.end
            data = rest + piece.records  # pieces are cut anywhere, also within a batch
            for batch in self._batches(data):
                for entry in self._entries(batch):
                    yield LogRecord(snapshot.end_offset - 1, None, entry.value)
            rest = data[self._whole :]

    def _batches(self, data: bytes) -> Iterator[MetadataBatch]:
        """Yield the whole batches in `data`, and set `_whole` to their bytes: the size of the answer may cut the last batch off."""
        self._whole = 0
        try:
            self._whole, batches = read_batches(data)
            yield from batches
        except UNREADABLE as error:
            self.cut = f"a batch cannot be read: {error or type(error).__name__}"

    def _entries(self, batch: MetadataBatch) -> Iterator[LogRecord]:
        if batch.is_control:
            return
        if batch.is_compressed:
            # Kafka's controllers write log and snapshots without compression; the decompressed size of a batch has no bounds.
            self.cut = f"the batch at offset {batch.base_offset} is compressed, which controllers do not do"
            return
        try:
            for record in read_records(batch):
                if not self._within_time(f"offset {record.offset}"):
                    return
                yield LogRecord(record.offset, record.timestamp, record.value)
        except UNREADABLE as error:
            self.cut = f"the batch at offset {batch.base_offset} cannot be read: {error or type(error).__name__}"

    def _within_limits(self, place: str) -> bool:
        if self.cut is None and self.bytes >= self._limit_bytes:
            self.cut = f"the limit of {self._limit_bytes >> 20} MiB was reached at {place}"
        return self._within_time(place)

    def _within_time(self, place: str) -> bool:
        if self.cut is None and self.seconds >= self._limit_seconds:
            self.cut = f"the limit of {self._limit_seconds:g} s was reached at {place}"
        return self.cut is None
