# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the bytes of a lost broker's segments that have certain offsets, and returns them piece by piece, each with its SHA-256."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import FRAME_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.broker_disk import broker_folders
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_files import DiskError, DiskFile, Folder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.log_dir import check_not_locked
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.log_names import log_files, log_name, segment_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import HEADER, LENGTH_ENDS

# Bytes of the contents of one answer.
MOST_BYTES = 8 << 20
# Where the disk cannot read a piece, it is read block by block.
BLOCK_BYTES = 4096
# Base offset, length, and how many offsets the batch has less one.
_PLACE = struct.Struct(">qi11xi")


def read_pieces(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `kafka_log_dir_copy` documents of its part on the host. Raises RecoveryError as `broker_folders` does."""
    with broker_folders(params) as (folders, _metadata):
        ranges = [row for log in params["logs"] for row in _ranges(folders, log)]
        pieces = _contents(folders, params["pieces"])
        for folder in folders:
            check_not_locked(folder, " since it was read")
    return {"changed": False, "ranges": ranges, "contents": pieces}


def _ranges(folders: Sequence[Folder], log: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the ranges of bytes with the batches of a log from `start_offset` to `end_offset`, one for each segment. None of what cannot be read."""
    try:
        with _log(folders, log) as folder:
            segments = log_files(folder.entries()).segments
            first = max((base for base in segments if base <= log["start_offset"]), default=0)
            for base in segments:
                if first <= base < log["end_offset"]:
                    with folder.file(segment_file(base)) as file:
                        begin, end, is_whole = _range(file, log["start_offset"], log["end_offset"])
                    if begin < end:
                        row = {"topic": log["topic"], "partition": log["partition"]}
                        yield {**row, "segment": base, "position": begin, "bytes": end - begin}
                    if not is_whole:
                        return
    except DiskError:
        return  # then these records are not copied, and count as not saved


def _range(file: DiskFile, start: int, end: int) -> tuple[int, int, bool]:
    """Return the positions between which a segment has whole batches with these offsets, and whether later segments may be copied, too.

    The header of a batch that is not whole, or too large, ends the range: so those who read the copy see what is missing. If not even a header is left, what
    follows is not copied, because nothing would show the hole.
    """
    begin = position = 0
    while len(header := file.read(position, HEADER.size)) == HEADER.size:
        base, length, delta = _PLACE.unpack_from(header)
        size = LENGTH_ENDS + length
        if base >= end:
            return begin, position, True
        if not HEADER.size <= size <= min(FRAME_BYTES, file.size - position):
            return begin, position + HEADER.size, True
        position += size
        if base + delta < start:
            begin = position
    return begin, position, position == file.size


def _contents(folders: Sequence[Folder], pieces: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    if sum(max(0, piece["bytes"]) for piece in pieces) > MOST_BYTES:
        raise RecoveryError(f"pieces: they have more than {MOST_BYTES} bytes: name fewer in one task")
    return [_content(folders, piece) for piece in pieces]


def _content(folders: Sequence[Folder], piece: Mapping[str, Any]) -> dict[str, Any]:
    """Return the SHA-256 of a piece, and its content if that is not the known one."""
    with _log(folders, piece) as folder, folder.file(segment_file(piece["segment"])) as file:
        begin, size = max(0, piece["position"]), max(0, piece["bytes"])
        try:
            content = file.read(begin, size)
        except DiskError:
            content = b"".join(_block(file, at, min(BLOCK_BYTES, begin + size - at)) for at in range(begin, begin + size, BLOCK_BYTES))
        if len(content) != piece["bytes"]:
            raise DiskError(file.path, f"it ends before byte {piece['position'] + piece['bytes']}: it has changed, run again")
    digest = hashlib.sha256(content).hexdigest()
    return {"sha256": digest, "content": None if digest == piece["sha256"] else base64.b64encode(content).decode()}


def _block(file: DiskFile, position: int, size: int) -> bytes:
    """Return a block, zeros if the disk cannot read it: the crc of its batch shows that, and the others are saved."""
    try:
        return file.read(position, size)
    except DiskError:
        return bytes(size)


def _log(folders: Sequence[Folder], log: Mapping[str, Any]) -> Folder:
    """Open the folder of a log in the log dir that has it. Raises DiskError."""
    name = f"{log['topic']}-{log['partition']}"
    if log_name(name) is None:
        raise RecoveryError(f"{name!r} is not the name of a partition")
    for folder in folders[:-1]:
        try:
            return folder.folder(name)
        except DiskError:
            continue
    return folders[-1].folder(name)
