# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds what can be read of a damaged log on the disk of a lost broker: the valid batches before, between and behind its damages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import FRAME_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_files import DiskError, DiskFile, log_dir_folder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.log_names import log_files, segment_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.segment import crc_is_right
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import HEADER, LENGTH_ENDS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import (
    BatchError,
    StoredBatch,
    batch_header,
    check_order,
    old_message_size,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_comparison import (
    CLEAN_LEADER,
    NO_LEADER,
    Compared,
    tail_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save import Saved
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

# A log with more damages is read up to here.
MOST_RANGES = 16


@dataclass
class Salvaged:
    """What a damaged log has: `ranges` of offsets (start, end) that can be read, rows of `unreadable` as the module documents them, and why not more.

    `reason`: None if every range is saved.
    """

    ranges: list[tuple[int, int]] = field(default_factory=list)
    unreadable: list[dict[str, Any]] = field(default_factory=list)
    reason: str | None = None


def salvage(
    compared: Iterable[Compared],
    tails: Mapping[TopicPartition, Tail],
    saved: Saved,
    broker_id: int,
    folders: Mapping[TopicPartition, Path],
    save: Callable[[list[Tail]], None],
) -> dict[TopicPartition, Salvaged]:
    """Save what can be read of damaged logs, and return what they have.

    tails  what was to be saved: a tail that could not be read is read again here, in ranges. Of other damaged logs, only what follows their end is read
    saved  what `save` has saved
    save   saves tails of different partitions
    """
    found, parts = dict[TopicPartition, Salvaged](), dict[TopicPartition, list[Tail]]()
    for one in compared:
        tail = tails.get(one.log.key)
        refused = tail is not None and tail in saved.damaged
        may_be_read = one.log.key in folders and one.log.topic_id is not None and one.relation not in (NO_LEADER, CLEAN_LEADER)
        if not may_be_read or not (refused or one.log.damage) or signals.pending_signal():
            continue
        try:
            salvaged = found[one.log.key] = readable(folders[one.log.key], one.start if refused else one.log.end)
        except DiskError as error:
            found[one.log.key] = Salvaged(reason=str(error))
            continue
        whole = tail or tail_of(one, broker_id)
        parts[one.log.key] = [whole._replace(start=start, end=end) for start, end in salvaged.ranges]
    for number in range(MOST_RANGES):
        if some := [ranges[number] for ranges in parts.values() if number < len(ranges)]:
            save(some)
    for key, ranges in parts.items():
        found[key].reason = next((saved.refused[part] for part in ranges if part in saved.refused), None)
    return found


def readable(path: Path, start: int) -> Salvaged:
    """Read the log in folder `path` from offset `start` on, and check each batch. Raises DiskError if the folder cannot be read.

    Behind a batch whose crc is wrong, or that cannot be saved (in the format of Kafka before 0.11, or without a leader epoch), the next one follows. Behind
    bytes that are no header, nothing is found before the next segment.
    """
    found, end, damaged = Salvaged(), start, False
    for batch in _batches(path, start):
        if batch is None:
            damaged = True
            continue
        first = max(start, batch.base_offset)
        if damaged:
            found.unreadable.append({"start_offset": end, "end_offset": first})
        if damaged or not found.ranges:
            if len(found.ranges) == MOST_RANGES:
                found.unreadable[-1]["end_offset"] = None
                return found
            found.ranges.append((first if damaged else start, 0))
        end, damaged = batch.last_offset + 1, False
        found.ranges[-1] = (found.ranges[-1][0], end)
    if damaged:
        found.unreadable.append({"start_offset": end, "end_offset": None})
    return found


def _batches(path: Path, start: int) -> Iterator[StoredBatch | None]:
    """Yield the valid batches from offset `start` on, and None for each damage between them."""
    before: StoredBatch | None = None
    with log_dir_folder(path) as folder:
        segments = log_files(folder.entries()).segments
        first = max((base for base in segments if base <= start), default=start)
        for base in (base for base in segments if base >= first):
            with folder.file(segment_file(base)) as file:
                position = 0
                while position < file.size:
                    try:
                        size, batch = _header(file, position)
                    except (BatchError, DiskError):
                        yield None
                        break
                    if batch is None or batch.last_offset >= start:
                        valid = batch is not None and _follows(before, batch) and _is_valid(file, position, batch)
                        before = batch if valid else before
                        yield batch if valid else None
                    position += size


def _header(file: DiskFile, position: int) -> tuple[int, StoredBatch | None]:
    """Return the size of what begins at a position, and its header, None if it has the format of Kafka before 0.11. Raises BatchError for anything else."""
    header = file.read(position, HEADER.size)
    size, batch = old_message_size(header), None
    if size is None:
        if len(header) < HEADER.size:
            raise BatchError("less than a header is left")
        batch = batch_header(header)
        size = batch.size
    if size > min(file.size - position, FRAME_BYTES + LENGTH_ENDS):
        raise BatchError("its end is missing")
    return size, batch


def _follows(before: StoredBatch | None, batch: StoredBatch) -> bool:
    try:
        check_order(before, batch)
    except BatchError:
        return False
    return True


def _is_valid(file: DiskFile, position: int, batch: StoredBatch) -> bool:
    try:
        return crc_is_right(file, position, batch.size)
    except DiskError:
        return False
