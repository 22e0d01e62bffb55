# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies records from the disk of a lost broker to the control node, piece by piece.

What a host answers is not trusted: names come from what was requested, lengths and SHA-256 are checked, and no more is copied than there is room for. Nor is a
copy of an earlier run: the host confirms each of its pieces by the SHA-256. Batches are checked again by those who save them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    FileError,
    private_directory,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import (
    BROKER,
    OFFSET,
    ContentError,
    IntRange,
    Optional,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_files import DiskError, log_dir_folder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_pieces import MOST_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.log_names import log_files, log_name, segment_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.segment import MOST_SEGMENT_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import HEADER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import LOCK, locked, room, room_for_files

# Of one answer. Pieces of many short logs go together.
PIECES_PER_ANSWER = 200
# Of one answer, of which each becomes a file: of one log, and of all. A range has at least the header of a batch.
MOST_LOG_RANGES, MOST_RANGES = 20_000, 100_000
_POSITION, _SIZE = IntRange(0, MOST_SEGMENT_BYTES), IntRange(HEADER.size, MOST_SEGMENT_BYTES)
_RANGE = {"topic": str, "partition": BROKER, "segment": OFFSET, "position": _POSITION, "bytes": _SIZE}
_CONTENT = {"sha256": str, "content": Optional(str)}
# Calls the module on the host with these options, and returns its result.
Host = Callable[[dict[str, Any]], Mapping[str, Any]]


class Limits(NamedTuple):
    """Most bytes of one partition, and of all; None for no limit."""

    partition_bytes: int | None
    run_bytes: int | None


class _Range(NamedTuple):
    """The bytes of one segment that are copied. `file`: relative to the folder of the copy."""

    key: TopicPartition
    segment: int
    position: int
    size: int

    @property
    def file(self) -> Path:
        return Path(f"{self.key[0]}-{self.key[1]}") / segment_file(self.segment)


class _Piece(NamedTuple):
    """A part of a range, which begins at byte `begin` of the range."""

    range: _Range
    begin: int
    size: int


def copy_logs(folder: Path, logs: Sequence[Mapping[str, Any]], limits: Limits, host: Host, check_mode: bool) -> dict[str, Any]:
    """Copy what `logs` name into `folder/<topic>-<partition>/<segment>.log`, and return what `kafka_log_dir_copy` documents.

    Raises RecoveryError for an answer of the host that cannot be right, FileError if there is not enough room.
    """
    found = _checked(_ranges, logs, host({"logs": list(logs)}))
    sizes: dict[TopicPartition, int] = {}
    for one in found:
        sizes[one.key] = sizes.get(one.key, 0) + one.size
    keys = _within(sizes, limits)
    ranges = [one for one in found if one.key in keys]
    copied = 0
    if not check_mode:
        others = _others(folder, {one.file for one in ranges})
        with locked(folder):
            for path in others:
                path.unlink(missing_ok=True)
            _check_room(folder, ranges)
            for pieces in _together(ranges):
                copied += _copy(folder, pieces, host)
    skipped = [{"topic": topic, "partition": partition} for topic, partition in sizes if (topic, partition) not in keys]
    return {"bytes": sum(one.size for one in ranges), "copied_bytes": copied, "skipped": skipped}


def _checked(parse: Callable[[Any, Any], Any], wanted: Any, answer: Any) -> Any:
    try:
        return parse(wanted, answer)
    except ContentError as error:
        raise RecoveryError(f"the host answers with something else than was requested: {error}; nothing of it is used") from error


def _ranges(logs: Sequence[Mapping[str, Any]], answer: Mapping[str, Any]) -> list[_Range]:
    rows = answer.get("ranges")
    if isinstance(rows, list) and len(rows) > MOST_RANGES:
        raise ContentError(f"{len(rows)} ranges, more than {MOST_RANGES}")
    strict_json.check(rows, [_RANGE])
    keys = {(log["topic"], log["partition"]) for log in logs}
    ranges = [_Range((row["topic"], row["partition"]), row["segment"], row["position"], row["bytes"]) for row in rows or ()]
    for one in ranges:
        if one.key not in keys or log_name(one.file.parts[0]) is None:
            raise ContentError(f"a range of {quoted(f'{one.key[0]}-{one.key[1]}', 300)}, which is not one of logs")
    if len({one.file for one in ranges}) != len(ranges):
        raise ContentError("two ranges of one segment")
    if any(number > MOST_LOG_RANGES for number in Counter(one.key for one in ranges).values()):
        raise ContentError(f"more than {MOST_LOG_RANGES} ranges of one log")
    return ranges


def _within(sizes: Mapping[TopicPartition, int], limits: Limits) -> set[TopicPartition]:
    """Return the partitions that are copied, the short ones first."""
    keys, total = set(), 0
    for key, size in sorted(sizes.items(), key=lambda item: item[1]):
        if limits.partition_bytes is not None and size > limits.partition_bytes:
            continue
        if limits.run_bytes is not None and total + size > limits.run_bytes:
            continue
        total += size
        keys.add(key)
    return keys


def _check_room(folder: Path, ranges: Sequence[_Range]) -> None:
    """Raise FileError unless there is room for what is not copied yet, and for all records once more, which are saved from the copy."""
    there = [min(one.size, path.stat().st_size) for one in ranges if (path := folder / one.file).exists()]
    needed, free = 2 * sum(one.size for one in ranges) - sum(there), room(folder)
    # A folder for each log, too.
    files, free_files = len(ranges) - len(there) + len({one.key for one in ranges}), room_for_files(folder)
    for kind, wanted, possible in (("bytes", needed, free), ("files", files, free_files)):
        if possible is not None and wanted > possible:
            raise FileError(
                f"{max(0, possible)} {kind} may still be written in {folder}, the rest stays free, and {wanted} are needed to copy and save the records: "
                "make room, choose another workdir (kafka_recovery_workdir), or set kafka_recovery_max_saved_bytes"
            )


def _others(folder: Path, files: set[Path]) -> list[Path]:
    """Return the files that an earlier copy has left and this one does not need. Raises FileError if the folder has anything that no copy has left."""
    return [path for path in _left(folder) if path.relative_to(folder) not in files] if folder.exists() else []


def _left(folder: Path) -> Iterator[Path]:
    try:
        with log_dir_folder(folder) as opened:
            for entry in opened.entries():
                if entry.name == LOCK:
                    continue
                if not entry.is_folder or log_name(entry.name) is None:
                    raise _foreign(folder / entry.name)
                with opened.folder(entry.name) as log:
                    for file in log.entries():
                        if not log_files([file]).segments:
                            raise _foreign(folder / entry.name / file.name)
                        yield folder / entry.name / file.name
    except DiskError as error:
        raise FileError(str(error)) from error


def _foreign(path: Path) -> FileError:
    return FileError(
        f"{path} is a link, or nothing that a copy has left, and other files in the folder of a copy are removed: name a folder of its own (dest)"
    )


def _together(ranges: Sequence[_Range]) -> Iterator[list[_Piece]]:
    """Yield the pieces of all ranges, as many at a time as one answer may have."""
    pieces: list[_Piece] = []
    size = 0
    for one in ranges:
        for begin in range(0, one.size, MOST_BYTES):
            piece = _Piece(one, begin, min(MOST_BYTES, one.size - begin))
            if pieces and (size + piece.size > MOST_BYTES or len(pieces) == PIECES_PER_ANSWER):
                yield pieces
                pieces, size = [], 0
            pieces.append(piece)
            size += piece.size
    if pieces:
        yield pieces


def _copy(folder: Path, pieces: Sequence[_Piece], host: Host) -> int:
    """Copy pieces that the folder does not have. Return how many bytes were copied."""
    handles = [_opened(folder, piece.range) for piece in pieces]
    try:
        present = [
            hashlib.sha256(os.pread(handle, piece.size, piece.begin)).hexdigest() for handle, piece in zip(handles, pieces, strict=True)
        ]
        wanted = [
            {
                "topic": piece.range.key[0], "partition": piece.range.key[1], "segment": piece.range.segment,
                "position": piece.range.position + piece.begin, "bytes": piece.size, "sha256": digest,
            }
            for piece, digest in zip(pieces, present, strict=True)
        ]  # fmt: skip
        contents = _checked(_contents, wanted, host({"pieces": wanted}))
        copied = 0
        for handle, piece, content in zip(handles, pieces, contents, strict=True):
            if content is not None:
                _write(handle, content, piece.begin, folder / piece.range.file)
                copied += piece.size
        for handle, piece in zip(handles, pieces, strict=True):
            os.ftruncate(handle, max(piece.begin + piece.size, min(piece.range.size, os.fstat(handle).st_size)))
        return copied
    finally:
        for handle in handles:
            os.close(handle)


def _contents(wanted: Sequence[Mapping[str, Any]], answer: Mapping[str, Any]) -> list[bytes | None]:
    """Return the content of each piece, None if the present one is right."""
    rows = answer.get("contents")
    strict_json.check(rows, [_CONTENT])
    if rows is None or len(rows) != len(wanted):
        raise ContentError("another number of pieces")
    contents: list[bytes | None] = []
    for piece, row in zip(wanted, rows, strict=True):
        if row["content"] is None:
            if row["sha256"] != piece["sha256"]:
                raise ContentError("a piece without its content")
            contents.append(None)
            continue
        try:
            content = base64.b64decode(row["content"], validate=True)
        except (binascii.Error, ValueError):
            raise ContentError("a piece that is not base64") from None
        if len(content) != piece["bytes"] or hashlib.sha256(content).hexdigest() != row["sha256"]:
            raise ContentError("a piece with another length or SHA-256")
        contents.append(content)
    return contents


def _opened(folder: Path, one: _Range) -> int:
    path = folder / one.file
    private_directory(path.parent)
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error


def _write(handle: int, content: bytes, position: int, path: Path) -> None:
    view = memoryview(content)
    try:
        while view:
            written = os.pwrite(handle, view, position)
            view, position = view[written:], position + written
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
