# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the folder of one log: its epochs, where it ends, and what a start of its broker would keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.checksums import CrcSum
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs import checkpoint_files, log_names
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.checkpoint_files import Malformed
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_files import (
    MOST_LOG_FILES,
    DiskError,
    DiskFile,
    Folder,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.kept_end import Segment, judged, kept_after_start
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.log_names import LogFiles, segment_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.offset_index import BEGIN, indexed_start
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.segment import PIECE, Walk, walk
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import StoredBatch

T = TypeVar("T")
# Gaps that are returned.
MOST_GAPS = 100


class Depth(NamedTuple):
    """How much of each log is read. `whole_logs`: all segments. `crc_bytes`: at the end of each log. `last_batches`: how many are returned.

    `as_at_start`: partitions of which all crcs are checked that Kafka checks when the broker starts.
    """

    whole_logs: bool
    crc_bytes: int
    last_batches: int
    as_at_start: frozenset[TopicPartition] = frozenset()


class Checkpoints(NamedTuple):
    """What the checkpoint files of the log dir say of a log, None if they do not name it."""

    clean_shutdown: bool
    high_watermark: int | None
    recovery_point: int | None
    log_start_offset: int | None


def read_log(folder: Folder, checkpoints: Checkpoints, depth: Depth, crcs: CrcSum | None, as_at_start: bool = False) -> dict[str, Any]:
    """Return what the folder of a log holds, as the module documents it. Raises DiskError for a damaged file, and for a disk that cannot be read.

    as_at_start  whether it is one of `depth.as_at_start`
    crcs         gets the crcs. The result is right if they are; else the log must be read again with None
    """
    files = log_names.log_files(folder.entries(MOST_LOG_FILES))
    content = folder.content(log_names.IDS, checkpoint_files.MOST_IDS)
    topic_id = None if content is None else parsed(folder, log_names.IDS, content, checkpoint_files.topic_id)
    content = folder.content(log_names.EPOCHS, checkpoint_files.MOST_EPOCHS)
    epochs = {} if content is None else parsed(folder, log_names.EPOCHS, content, checkpoint_files.epoch_checkpoint)
    sizes = {base: folder.size(segment_file(base)) for base in files.segments}
    row: dict[str, Any] = {
        "topic_id": topic_id,
        "log_start_offset": max(checkpoints.log_start_offset or 0, min([*files.segments[:1], *files.swapped], default=0)),
        "high_watermark": checkpoints.high_watermark,
        "recovery_point": checkpoints.recovery_point,
        "clean_shutdown": checkpoints.clean_shutdown,
        "epochs": [{"epoch": epoch, "start_offset": offset} for epoch, offset in epochs.items()],
        "segments": len(files.segments),
        "bytes": sum(sizes.values()),
        "foreign_files": files.foreign,
    }
    if as_at_start and files.segments:
        first = files.segments[-1] if checkpoints.clean_shutdown else _first_checked(files, checkpoints)
        depth = depth._replace(crc_bytes=max(depth.crc_bytes, sum(size for base, size in sizes.items() if base >= first)))
    row |= _end(folder, files, sizes, checkpoints, depth, crcs)
    row["doubts"] += _doubts(row, files)
    return row


def parsed(folder: Folder, name: str, content: bytes, parse: Callable[[bytes], T]) -> T:
    """Return what a file says. Raises DiskError if it is malformed."""
    try:
        return parse(content)
    except Malformed as error:
        raise DiskError(folder.path / name, str(error)) from error


def _end(
    folder: Folder, files: LogFiles, sizes: dict[int, int], checkpoints: Checkpoints, depth: Depth, crcs: CrcSum | None
) -> dict[str, Any]:
    """Return the fields about the end of a log."""
    start = checkpoints.log_start_offset or 0
    if not files.segments:
        row = dict.fromkeys(("crc_checked_from", "headers_checked_from", "last_batch_base_offset", "last_batch_transactional", "torn"))
        doubts = ["it has no segment: Kafka begins an empty one at its start"]
        ends = {"log_end_offset": start, "kept_end_offset": start, "kept_end_checked": True, "last_written_epoch": -1}
        return {**row, **ends, **_on_request(depth, (), ()), "doubts": doubts}
    walked = _walked(folder, files, depth, crcs)
    damaged = next((number for number, segment in enumerate(walked) if segment.walk.fault), len(walked) - 1)
    valid, fault = walked[: damaged + 1], walked[damaged].walk.fault
    batches = [batch for segment in valid for batch in segment.walk.batches]
    kept = kept_after_start(walked, _first_checked(files, checkpoints), checkpoints.clean_shutdown)
    doubts = [kept.doubt] if kept.doubt else []
    gaps = []
    for segment, following in pairwise(walked):
        if segment.walk.fault is None and segment.walk.end_offset < following.base_offset:
            gaps.append({"start_offset": segment.walk.end_offset, "end_offset": following.base_offset})
        if (end := segment.walk.header_end_offset) > (begin := following.base_offset):
            doubts.append(f"{segment.name} ends at {end}, and the next segment begins at {begin}: both have the same offsets")
    kept_end = kept.end_offset
    if kept_end is not None and kept_end < start:
        doubts.append(f"it ends at {kept_end}, before its start {start}: Kafka deletes it, and begins an empty one there")
        kept_end = start
    checked = [segment.walk.crc_from_offset for segment in walked if segment.walk.crc_from_offset is not None]
    walked_from = [segment.walk.first_offset for segment in walked if segment.walk.first_offset is not None]
    last = batches[-1] if batches else None
    return {
        "log_end_offset": walked[damaged].walk.end_offset,
        "kept_end_offset": kept_end,
        "kept_end_checked": kept.checked,
        "last_written_epoch": last.epoch if last else -1,
        "last_batch_base_offset": last.base_offset if last else None,
        "last_batch_transactional": last.transactional if last else None,
        "headers_checked_from": walked_from[0] if walked_from else None,
        "crc_checked_from": checked[0] if checked else None,
        "torn": fault
        and {
            "segment": walked[damaged].name,
            "position": fault.position,
            "bytes": sum(size for base, size in sizes.items() if base >= walked[damaged].base_offset) - fault.position,
            "why": fault.why,
            "reason": fault.reason,
            "goes_on": walked[damaged].goes_on or any(size for base, size in sizes.items() if base > walked[damaged].base_offset),
        },
        **_on_request(depth, batches, gaps),
        "doubts": doubts,
    }


def _first_checked(files: LogFiles, checkpoints: Checkpoints) -> int:
    """Return the base offset of the first segment that Kafka checks without a clean shutdown: the one that has the recovery point."""
    return max((base for base in files.segments if base <= (checkpoints.recovery_point or 0)), default=files.segments[0])


def _on_request(depth: Depth, batches: Sequence[StoredBatch], gaps: Sequence[dict[str, int]]) -> dict[str, Any]:
    """Return the fields that a row has only if an option requests them. Each field takes Ansible longer than it takes to read it."""
    fields: dict[str, Any] = {"last_batches": [batch._asdict() for batch in batches[-depth.last_batches :]]} if depth.last_batches else {}
    return fields | ({"gaps": list(gaps[:MOST_GAPS])} if depth.whole_logs else {})


def _walked(folder: Folder, files: LogFiles, depth: Depth, crcs: CrcSum | None) -> list[Segment]:
    """Walk over the last segment, and over earlier ones if all are wanted, or until one has a batch. Return them in order.

    Of all of them, only the last batches before the first fault are kept.
    """
    walked: list[Segment] = []
    keep = left = max(1, depth.last_batches)
    unchecked, behind_fault = depth.crc_bytes, 0
    for base in reversed(files.segments):
        indexed = base in files.indexed
        with folder.file(segment_file(base)) as file:
            index = segment_file(base, "index") if indexed and not depth.whole_logs else None
            seen = _walk_end(folder, file, base, index, unchecked, keep, crcs)
            if seen.fault:
                walked[behind_fault:] = [one._replace(walk=one.walk._replace(batches=())) for one in walked[behind_fault:]]
                left, behind_fault = keep, len(walked)
            seen = seen._replace(batches=seen.batches[max(0, len(seen.batches) - left) :])
            left -= len(seen.batches)
            walked.append(judged(base, file, indexed, seen))
            unchecked = max(0, unchecked - file.size)
        if not depth.whole_logs and seen.first_offset is not None:
            break
    return walked[::-1]


def _walk_end(folder: Folder, file: DiskFile, base: int, index: str | None, crc_bytes: int, keep: int, crcs: CrcSum | None) -> Walk:
    """Walk over a segment, from an entry of its index on if it has one, and check the crcs of so many bytes at the end of its batches."""

    def walk_from(crc_from: int) -> Walk:
        start = indexed_start(folder, index, file, base, crc_from, PIECE) if index else BEGIN
        return walk(file, base, start, crc_from, keep, crcs)

    crc_from = max(0, file.size - crc_bytes)
    seen = walk_from(crc_from)
    if crc_bytes and seen.header_fault and (sooner := max(0, seen.header_fault.position - crc_bytes)) < crc_from:
        return walk_from(sooner)  # nothing behind the fault has a crc, so the bytes before it are checked
    return seen


def _doubts(row: dict[str, Any], files: LogFiles) -> list[str]:
    """Return why what was read may not be what the replica had."""
    doubts, end = [], row["log_end_offset"]
    if row["high_watermark"] is not None and row["high_watermark"] > end:
        doubts.append(f"its high watermark was {row['high_watermark']}, and it ends at {end}: committed records are missing")
    if row["epochs"] and row["epochs"][-1]["start_offset"] > end:
        newest = row["epochs"][-1]
        doubts.append(f"leader epoch {newest['epoch']} began at {newest['start_offset']}, and it ends at {end}: records are missing")
    if files.swapped:
        doubts.append(f"the cleaner was interrupted: Kafka puts {len(files.swapped)} .swap segments in place of others when it starts")
        if max(files.swapped) >= max(files.segments, default=0):
            row["kept_end_offset"], row["kept_end_checked"] = None, False
    return doubts
