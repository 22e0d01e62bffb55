# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the batches of tails from the segments of a lost broker's disk, piece by piece, as a broker would answer Fetch requests for them."""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedRecords
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import FRAME_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_files import DiskError, Folder, log_dir_folder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.log_names import log_files, segment_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import HEADER, LENGTH_ENDS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import old_message_size
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

# Base offset, length, and how many offsets the batch has less one.
_PLACE, _OFFSET = struct.Struct(">qi11xi"), struct.Struct(">q")


def _extent(header: bytes) -> tuple[int, int, int] | None:
    """Return the first offset of what a header begins, the offset behind it, and its size, 0 if it cannot have one. None for less than a header."""
    if (size := old_message_size(header)) is not None:
        (base,) = _OFFSET.unpack_from(header)
        return base, base + 1, size
    if len(header) < HEADER.size:
        return None
    base, length, delta = _PLACE.unpack_from(header)
    return base, base + delta + 1, LENGTH_ENDS + length if LENGTH_ENDS + length >= HEADER.size else 0


@dataclass
class _Place:
    """Where the next batch of a log begins: the segments that are not read to their end, and the position in the first of them."""

    segments: list[int]
    position: int = 0


class DiskSource:
    """The logs of one broker below `folders`, their folders by partition. `tails`: what may be read of them."""

    def __init__(self, folders: Mapping[TopicPartition, Path], tails: Collection[Tail]) -> None:
        self._folders = folders
        self._ends = {tail.key: tail.end for tail in tails}
        self._places: dict[TopicPartition, _Place] = {}
        self.unreachable: dict[Any, str] = {}

    def log_starts(self, _work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, int]]:
        """Return nothing: every tail of a disk has a start."""
        return {}

    def records(
        self, work: Mapping[int, Mapping[TopicPartition, int]], partition_bytes: int, answer_bytes: int
    ) -> dict[int, dict[TopicPartition, FetchedRecords]]:
        """Return whole batches from an offset on, as `Cluster.records` does. A log that cannot be read has an error in words."""
        found: dict[int, dict[TopicPartition, FetchedRecords]] = {}
        for broker, offsets in work.items():
            answers = found.setdefault(broker, {})
            for key, offset in offsets.items():
                if answer_bytes <= 0:
                    answers[key] = FetchedRecords(None, b"")
                    continue
                try:
                    records = self._batches(key, offset, min(partition_bytes, answer_bytes))
                    answers[key] = FetchedRecords(None, records)
                    answer_bytes -= len(records)
                except DiskError as error:
                    answers[key] = FetchedRecords(str(error), b"")
        return found

    def _batches(self, key: TopicPartition, offset: int, size: int) -> bytes:
        """Return batches of a log from an offset on: about `size` bytes, or one larger batch; nothing at the end of the tail."""
        path = self._folders.get(key)
        if path is None:
            raise DiskError(Path(f"{key[0]}-{key[1]}"), "its records were not copied to this host")
        with log_dir_folder(path) as folder:
            place = self._places.get(key)
            if place is None:
                segments = log_files(folder.entries()).segments
                first = max((base for base in segments if base <= offset), default=offset)
                place = self._places[key] = _Place([base for base in segments if base >= first])
            while place.segments:
                if data := self._read(folder, place, offset, size, self._ends[key]):
                    return data
                place.segments.pop(0)
                place.position = 0
        return b""

    def _read(self, folder: Folder, place: _Place, offset: int, size: int, end: int) -> bytes:
        """Return the next batches of the first segment, b"" at its end, and move the place behind them. Batches below `offset` are passed over."""
        with folder.file(segment_file(place.segments[0])) as file:
            begin = position = place.position
            end_offset = 0
            while (found := _extent(file.read(position, HEADER.size))) is not None:
                base, batch_end, batch_size = found
                if base >= end or end_offset >= end:
                    break
                if base <= offset:
                    begin = position
                if not 0 < batch_size <= min(FRAME_BYTES, file.size - position):
                    if position > begin:
                        break  # these first
                    raise DiskError(file.path, f"no whole batch begins at byte {position}")
                if position > begin and position + batch_size - begin > size:
                    break
                position += batch_size
                end_offset = batch_end
                if end_offset <= offset:
                    begin = position
            place.position = position
            return file.read(begin, position - begin)
