# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of saved records of one run and cluster: numbered parts, each a file of raw batches and a sealed index.

`<workdir>/saved/<run_id>/<cluster>/<number>.batches` has the batches as Kafka stores them, `<number>.jsonl` says whose they are. The index is written
after the batches are durable, so batches without an index count as not saved.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    FileError,
    check_inside,
    opened_regular,
    private_directory,
    refuse_link,
    replacing,
    safe_name,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import BROKER, EPOCH, OFFSET, ContentError, Name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.epoch_segments import Segment, merged
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import chunks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import StoredBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

BATCHES, INDEX = ".batches", ".jsonl"
# A part is closed after as many bytes or batches. What a killed run loses of its work is one part. Rows of batches are in memory until then.
PART_BYTES, PART_BATCHES = 64 << 20, 50_000
# Batches in one row of an index, whose lines have a limit (`landing_format.LONGEST_LINE`).
ROW_BATCHES = 10_000
LOCK = ".lock"
# Pieces that wait to be written while the next ones are read. They stay in memory until then.
QUEUED_PIECES = 32
# So many bytes go to the disk at a time, so that little is left when a part ends.
SYNCED_BYTES = 16 << 20
# What stays free of the file system of the workdir: so many bytes, or this share of a small one, and this share of its files.
# Journals of elections need room, too.
FREE_BYTES, FREE_SHARE = 1 << 30, 0.05
_CHUNK = 1 << 20
_PIECE: dict[str, Any] = {
    "kind": Name(),
    "topic": Name(),
    "partition": BROKER,
    "topic_id": Name(),
    "broker_id": BROKER,
    "broker_epoch": strict_json.Optional(OFFSET),
    "leader_epoch": EPOCH,
    "start_offset": OFFSET,
    "end_offset": OFFSET,
    "position": OFFSET,
    "bytes": OFFSET,
    "batches": [list],
}
_END: dict[str, Any] = {"kind": Name(), "bytes": OFFSET, "sha256": Name()}


class SavedRecordsError(RecoveryError):
    """A folder of saved records cannot be used. The text names the file and says what is wrong with it."""


class Piece(NamedTuple):
    """Batches of one replica that stand together in a part, from offset `start` to `end` (the offset after the last one).

    `part`: the file of batches; they begin at byte `position` and take `size` bytes. `segments`: leader epochs of the batches, and where each one ends.
    """

    topic: str
    partition: int
    topic_id: str
    broker_id: int
    start: int
    end: int
    part: Path
    position: int
    size: int
    leader_epoch: int
    broker_epoch: int | None
    segments: tuple[Segment, ...] = ()


def folder_of(workdir: Path, run_id: str, cluster: str) -> Path:
    """Return the folder of a run's saved records. Raises FileError for a name that cannot be a file name."""
    return workdir / "saved" / safe_name("run_id", run_id) / safe_name("cluster", cluster)


def cluster_id_of(folder: Path) -> str | None:
    """Return Kafka's id of the cluster whose records a folder has, None if it has no index or does not exist.

    Raises SavedRecordsError if an index is missing or cannot be read; FileError if others may write in the folder.
    """
    indexes = _indexes(folder)
    if not indexes:
        return None
    try:
        return str(landing_format.header_of(indexes[0])["cluster_id"])
    except landing_format.SnapshotError as error:
        raise SavedRecordsError(f"{indexes[0]}: {error}; restore it from a copy") from error


def _indexes(folder: Path) -> list[Path]:
    """Return the indexes of a folder in their order. Parts are numbered without gaps. Errors are those of `cluster_id_of`."""
    check_inside(folder.parents[2], folder / "any")
    indexes = sorted(folder.glob(f"*{INDEX}")) if folder.is_dir() else []
    for number, index in enumerate(indexes, start=1):
        if index.stem != f"{number:06}":
            raise SavedRecordsError(f"{folder / f'{number:06}{INDEX}'} is missing: restore it and its file of batches from a copy")
    return indexes


def unfinished_parts(folder: Path) -> list[Path]:
    """Return the files of batches without an index: a run that was killed has left them, or runs still."""
    return sorted(path for path in folder.glob(f"*{BATCHES}") if not path.with_suffix(INDEX).exists())


def read_pieces(folder: Path, cluster_id: str, whole: bool = False) -> list[Piece]:
    """Return the pieces of every part of a folder, none if there is no folder. The rows of single batches are not kept.

    whole  whether the digest of each file of batches is checked, too. Else only its length is

    Raises SavedRecordsError for a part that is missing, was changed or cut off, or is of another cluster; FileError if others may write in the folder.
    """
    return [piece for index in _indexes(folder) for piece in _read_part(index, cluster_id, whole)]


def check_digests(pieces: Iterable[Piece], cluster_id: str) -> None:
    """Check the digest of each file of batches that has one of these pieces. Errors are those of `read_pieces`."""
    for part in {piece.part for piece in pieces}:
        for _piece in _read_part(part.with_suffix(INDEX), cluster_id, whole=True):
            pass


def _read_part(index: Path, cluster_id: str, whole: bool) -> Iterator[Piece]:
    try:
        header = landing_format.check(index)
        if header["cluster_id"] != cluster_id:
            raise SavedRecordsError(f"{index} has records of the cluster {header['cluster_id']}, not of {cluster_id}")
        part = index.with_suffix(BATCHES)
        end: Any = None
        with opened_regular(index, follow=False) as lines:
            for line in islice(lines, 1, None):
                row = strict_json.parse(line)
                strict_json.check(row, {})
                if row.get("kind") != "piece":
                    end = end or row
                    continue
                strict_json.check(row, _PIECE)
                yield Piece(
                    row["topic"], row["partition"], row["topic_id"], row["broker_id"], row["start_offset"], row["end_offset"], part,
                    row["position"], row["bytes"], row["leader_epoch"], row["broker_epoch"], _segments(row),
                )  # fmt: skip
        strict_json.check(end, _END)
        _check_batches(part, end["bytes"], end["sha256"] if whole else None)
    except (ContentError, OSError, TypeError, landing_format.SnapshotError) as error:
        raise SavedRecordsError(f"{index}: {error}; move the folder away, and save again") from error


def _segments(row: Mapping[str, Any]) -> tuple[Segment, ...]:
    """Return the leader epochs of a piece. Offsets without a batch count to the batch behind them. Raises ContentError for batches in a wrong order."""
    batches = [StoredBatch(*batch) for batch in row["batches"]]
    strict_json.check([{"last": batch.last_offset, "epoch": batch.epoch} for batch in batches], [{"last": OFFSET, "epoch": EPOCH}])
    ends = [row["start_offset"], *(batch.last_offset + 1 for batch in batches)]
    if ends[-1] != row["end_offset"] or any(end > after for end, after in pairwise(ends)):
        raise ContentError("its batches are not those of its offsets")
    return tuple(merged(Segment(start, end, batch.epoch) for (start, end), batch in zip(pairwise(ends), batches, strict=True)))


def _check_batches(part: Path, size: int, digest: str | None) -> None:
    with opened_regular(part, follow=False) as stream:
        if os.fstat(stream.fileno()).st_size != size:
            raise ContentError(f"{part.name} has another length than its index says")
        if digest is None:
            return
        found = hashlib.sha256()
        while chunk := stream.read(_CHUNK):
            found.update(chunk)
        if found.hexdigest() != digest:
            raise ContentError(f"{part.name} has changed since it was written")


def saved_end(tail: Tail, start: int, pieces: Sequence[Piece]) -> tuple[int, list[Piece]]:
    """Return the offset up to which the records of a tail are saved without a gap, `start` if none are, and the pieces that have them."""
    end, used = start, []
    own = (
        piece
        for piece in pieces
        if (piece.topic, piece.partition, piece.topic_id, piece.broker_id, piece.leader_epoch)
        == (*tail.key, tail.topic_id, tail.broker_id, tail.leader_epoch)
    )
    for piece in sorted(own, key=lambda piece: piece.start):
        if piece.start <= end < piece.end:
            end = piece.end
            used.append(piece)
    return end, used


def room(folder: Path) -> int:
    """Return how many bytes may still be saved in a folder, 0 or less if none. Raises FileError if its file system cannot be read."""
    found = _file_system(folder)
    return found.f_bavail * found.f_frsize - min(FREE_BYTES, int(FREE_SHARE * found.f_blocks * found.f_frsize))


def no_room(folder: Path, more: int) -> str | None:
    """Return why so many more bytes must not be written in a folder, None if they may be. Raises FileError as `room`."""
    if (free := room(folder)) >= more:
        return None
    return f"{max(0, free)} bytes may still be written in {folder}, and the rest stays free"


def room_for_files(folder: Path) -> int | None:
    """Return how many files may still be created in a folder, 0 or less if none, None if its file system has no limit. Raises FileError as `room`."""
    found = _file_system(folder)
    return found.f_favail - int(FREE_SHARE * found.f_files) if found.f_files else None


def _file_system(folder: Path) -> os.statvfs_result:
    try:
        return os.statvfs(folder)
    except OSError as error:
        raise FileError(f"how much is free in {folder} cannot be read: {error.strerror}") from error


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
        """Write batches of a tail. `start`: the offset from which on they have every record that the log has."""
        for some in chunks(batches, ROW_BATCHES):
            size = sum(batch.size for batch in some)
            self._add(tail, start, data[:size], some)
            start, data = some[-1].last_offset + 1, data[size:]

    def _add(self, tail: Tail, start: int, data: memoryview, batches: Sequence[StoredBatch]) -> None:
        self._batches += len(batches)
        self._queued.append(self._disk.submit(self._write, data))
        self._wait(QUEUED_PIECES)
        self.rows.append({
            "kind": "piece", "topic": tail.topic, "partition": tail.partition, "topic_id": tail.topic_id, "broker_id": tail.broker_id,
            "broker_epoch": tail.broker_epoch, "leader_epoch": tail.leader_epoch, "start_offset": start,
            "end_offset": batches[-1].last_offset + 1, "position": self.size, "bytes": len(data), "batches": [list(batch) for batch in batches],
        })  # fmt: skip
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

    `header`: the fields of landing_format.HEADER_FIELDS without `collected_at`. Raises FileError if the disk is full or another run writes this part.
    """
    numbers = (int(path.stem) for path in folder.iterdir() if path.suffix == INDEX and path.stem.isdecimal())
    part = folder / f"{1 + max(numbers, default=0):06}{BATCHES}"
    refuse_link(part)
    try:
        with replacing(part) as stream, ThreadPoolExecutor(1) as disk:
            writer = PartWriter(stream, disk)
            yield writer
            end = writer.end()
            if not writer.rows:
                raise _EmptyPartError
    except _EmptyPartError:
        return
    landing_format.write(part.with_suffix(INDEX), {**header, "collected_at": utc_now()}, [*writer.rows, end])
    make_durable(folder)


class _EmptyPartError(Exception):
    """Nothing was written to a part, so it is left out."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Create a folder of saved records, and hold its lock. Raises FileError if another run has it, or if it cannot be created."""
    private_directory(folder)
    path = folder / LOCK
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise FileError(f"cannot open {path}: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise FileError(f"another run saves records in {folder}: wait until it has ended, or use another run_id") from error
    finally:
        os.close(handle)


def make_durable(folder: Path) -> None:
    """Wait until the names of the files in a folder, and its own name, are on the disk. Raises FileError if that fails."""
    for path in (folder, *folder.parents[:4]):
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            # Some network file systems do not sync directories. They write names at once.
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EACCES):
                raise FileError(f"cannot write {path} to the disk: {error.strerror}") from error
