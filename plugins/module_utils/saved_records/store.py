# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of saved records of one run and cluster: numbered parts, each a file of raw batches and a sealed index.

`<workdir>/saved/<run_id>/<cluster>/<number>.batches` has the batches as Kafka stores them, `<number>.jsonl` says whose they are. The index is written
after the batches are durable, so batches without an index count as not saved. The file `parts` has the number of parts, so that the last one is missed, too.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts, strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import whole_number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    check_inside,
    opened_regular,
    read_regular,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import BROKER, EPOCH, OFFSET, ContentError, Name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.epoch_segments import Segment, merged
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import StoredBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

BATCHES, INDEX, PARTS = ".batches", ".jsonl", "parts"
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

    `part`: the file of batches, with digest `sha256`; they begin at byte `position` and take `size` bytes. `segments`: leader epochs of the batches, and
    where each one ends. `in_sync`: as of a tail. `content_sha256`: of these batches, if the digest of the file was checked: whoever may write to the store of
    a workdir may change the file later, while its records are read.
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
    segments: tuple[Segment, ...]
    sha256: str = ""
    in_sync: bool = False
    content_sha256: str = ""


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
    parts = parts_of(folder)  # before the indexes: another run may write one more
    mounts.list_folder(folder)
    indexes = sorted(folder.glob(f"*{INDEX}")) if folder.is_dir() else []
    for number, index in enumerate(indexes, start=1):
        if index.stem != f"{number:06}":
            raise SavedRecordsError(f"{folder / f'{number:06}{INDEX}'} is missing: restore it and its file of batches from a copy")
    if len(indexes) < parts:
        raise SavedRecordsError(
            f"{folder / f'{len(indexes) + 1:06}{INDEX}'} is missing: restore it and its file of batches from a copy, or remove {folder / PARTS} to do "
            "without these records"
        )
    return indexes


def parts_of(folder: Path) -> int:
    """Return how many parts a folder has had, 0 if that is not known. Raises SavedRecordsError if the number cannot be read."""
    try:
        number = whole_number(read_regular(folder / PARTS, follow=False).decode("ascii", "replace").strip())
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise SavedRecordsError(f"cannot read {folder / PARTS}: {error.strerror}") from error
    if number is None:
        raise SavedRecordsError(f"{folder / PARTS} must have the number of parts, and was changed: restore it from a copy, or remove it")
    return number


def unfinished_parts(folder: Path) -> list[Path]:
    """Return the files of batches without an index: a run that was killed has left them, or runs still."""
    mounts.list_folder(folder)
    return sorted(path for path in folder.glob(f"*{BATCHES}") if not path.with_suffix(INDEX).exists())


def read_pieces(folder: Path, cluster_id: str, whole: bool = False) -> list[Piece]:
    """Return the pieces of every part of a folder, none if there is no folder. The rows of single batches are not kept.

    whole  whether the digest of each file of batches is checked, too. Else only its length is

    Raises SavedRecordsError for a part that is missing, was changed or cut off, or is of another cluster; FileError if others may write in the folder.
    """
    return [piece for index in _indexes(folder) for piece in _read_part(index, cluster_id, whole)]


def check_digests(pieces: Iterable[Piece]) -> None:
    """Check the digest of each file of batches that has one of these pieces. Errors are those of `read_pieces`."""
    for part, digest in {(piece.part, piece.sha256) for piece in pieces}:
        with _named(part.with_suffix(INDEX)), opened_regular(part, follow=False) as stream:
            _check_digests(stream, part, digest, ())


@contextmanager
def _named(index: Path) -> Iterator[None]:
    """Raise SavedRecordsError for what is wrong with a part."""
    try:
        yield
    except (ContentError, OSError, TypeError, landing_format.SnapshotError) as error:
        raise SavedRecordsError(
            f"{index}: {error}; restore the part from a copy. If no log that it was saved from is truncated yet, move the folder away and save again"
        ) from error


def _read_part(index: Path, cluster_id: str, whole: bool) -> list[Piece]:
    with _named(index):
        header = landing_format.check(index)
        if header["cluster_id"] != cluster_id:
            raise SavedRecordsError(
                f"{index} has records of the cluster {header['cluster_id']}, not of {cluster_id}: correct workdir, run_id, cluster or bootstrap_servers"
            )
        part = index.with_suffix(BATCHES)
        pieces: list[Piece] = []
        end: Any = None
        with opened_regular(index, follow=False) as lines:
            for line in islice(lines, 1, None):
                row = strict_json.parse(line)
                strict_json.check(row, {})
                if row.get("kind") != "piece":
                    end = end or row
                    continue
                segments = checked_row(row)
                pieces.append(Piece(
                    row["topic"], row["partition"], row["topic_id"], row["broker_id"], row["start_offset"], row["end_offset"], part,
                    row["position"], row["bytes"], row["leader_epoch"], row["broker_epoch"], segments,
                    in_sync=row.get("in_sync", False),
                ))  # fmt: skip
        strict_json.check(end, _END)
        _check_places(pieces, end["bytes"])
        with opened_regular(part, follow=False) as stream:
            if os.fstat(stream.fileno()).st_size != end["bytes"]:
                raise ContentError(f"{part.name} has another length than its index says")
            if whole:
                digests = _check_digests(stream, part, end["sha256"], pieces)
                pieces = [piece._replace(content_sha256=digest) for piece, digest in zip(pieces, digests, strict=True)]
        return [piece._replace(sha256=end["sha256"]) for piece in pieces]


def _check_places(pieces: Sequence[Piece], size: int) -> None:
    """Raise ContentError unless the pieces fill a file of this size, one behind the other: then none of its bytes is digested twice."""
    ends = [0, *accumulate(piece.size for piece in pieces)]
    for number, piece in enumerate(pieces, start=1):
        if piece.position != ends[number - 1] or ends[number] > size:
            raise ContentError(f"piece {number} is not behind the one before, in the file of batches")


def checked_row(row: Mapping[str, Any]) -> tuple[Segment, ...]:
    """Return the leader epochs of a row of an index. Offsets without a batch count to the batch behind them.

    Raises ContentError, or TypeError, for a row that cannot be used: then it is not written, either.
    """
    strict_json.check(row, _PIECE)
    strict_json.check(row.get("in_sync", False), bool)
    batches = [StoredBatch(*batch) for batch in row["batches"]]
    strict_json.check([{"last": batch.last_offset, "epoch": batch.epoch} for batch in batches], [{"last": OFFSET, "epoch": EPOCH}])
    ends = [row["start_offset"], *(batch.last_offset + 1 for batch in batches)]
    sizes = [batch.size for batch in batches]
    strict_json.check(sizes, [OFFSET])
    if ends[-1] != row["end_offset"] or any(end > after for end, after in pairwise(ends)) or sum(sizes) != row["bytes"]:
        raise ContentError("its batches are not those of its offsets")
    return tuple(merged(Segment(start, end, batch.epoch) for (start, end), batch in zip(pairwise(ends), batches, strict=True)))


def _check_digests(stream: BinaryIO, part: Path, digest: str, pieces: Sequence[Piece]) -> list[str]:
    """Return the sha256 of each of these pieces, from the same read that proves the digest of the whole file. Raises ContentError if that is another."""
    whole, digests = hashlib.sha256(), [hashlib.sha256() for _piece in pieces]
    ahead = deque(sorted(range(len(pieces)), key=lambda number: pieces[number].position))
    begun: list[int] = []
    begin = 0
    while chunk := memoryview(stream.read(_CHUNK)):
        end = begin + len(chunk)
        whole.update(chunk)
        while ahead and pieces[ahead[0]].position < end:
            begun.append(ahead.popleft())
        for number in begun:
            piece = pieces[number]
            digests[number].update(chunk[max(0, piece.position - begin) : piece.position + piece.size - begin])
        begun = [number for number in begun if pieces[number].position + pieces[number].size > end]
        begin = end
    if whole.hexdigest() != digest:
        raise ContentError(f"{part.name} has changed since it was written")
    return [one.hexdigest() for one in digests]


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
