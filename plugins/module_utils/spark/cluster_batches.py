# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sealed files of a run, one for each cluster, and what is made of them: a batch at a time, a file of its own for each cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import DataFrame

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, check_inside, safe_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import sealed_jsonl
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import BYTES_PER_TASK, INTERPRETED, tasks

# Files that are planned together. No cluster's plan depends on another's, so a fleet of any size is planned in parts: what is kept
# in memory does not grow with it. Large enough for the time that Spark takes to analyse each part, about a second, not to count.
BATCH_BYTES = 64 << 20
# What is made of one file takes about as much memory as the file.
FETCHED_BYTES = 384 << 20
# For sessions that make plans. What Spark itself does to rows is little, so to generate code for it takes more time than it brings. Files are split among
# Python workers in tasks of a few seconds. By default Spark counts every file as 4 MB more than it has, so that two or three clusters with a few
# partitions are a task of their own, and a task takes longer than these clusters.
SETTINGS = {
    **INTERPRETED,
    "spark.sql.subexpressionElimination.enabled": "false",
    "spark.sql.files.maxPartitionBytes": str(BYTES_PER_TASK),
    "spark.sql.files.openCostInBytes": str(BYTES_PER_TASK // 32),
}
SUFFIX = ".jsonl"

Keep = Callable[["DataFrame"], "DataFrame"]
# Its first field is the cluster.
Row = Sequence[Any]
Entries = Callable[[list[str], Keep], "DataFrame | Sequence[Row]"]
T = TypeVar("T")


class NoSnapshotError(RecoveryError):
    """There is nothing to plan from."""


class BrokenFileError(RecoveryError):
    """A file with a valid seal holds rows that make it useless."""


@dataclass(frozen=True)
class Kind:
    """Sealed files of one kind. `prove`: given header, cluster and run id, raises SnapshotError for a file of another one.

    folder  of the workdir
    what    they are, in words: "landing file"
    gather  how to get them: words that have to be followed by the run id, and the module
    """

    folder: str
    what: str
    gather: tuple[str, str]
    prove: Callable[[Mapping[str, Any], str, str], None]


@dataclass
class Landing:
    """The sealed files of a run: those to be read, with their sizes in bytes and their headers, and those that are not, with the reasons."""

    run_id: str
    files: dict[str, Path] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    headers: dict[str, dict[str, Any]] = field(default_factory=dict)
    quarantine: list[dict[str, str]] = field(default_factory=list)

    def batches(self) -> Iterator[list[Path]]:
        """The files in lists of at most BATCH_BYTES (or of one file), in order."""
        batch: list[Path] = []
        size = 0
        for name, file in self.files.items():
            more = self.sizes[name]
            if batch and size + more > BATCH_BYTES:
                yield batch
                batch, size = [], 0
            batch.append(file)
            size += more
        if batch:
            yield batch

    def is_small(self, files: Iterable[str]) -> bool:
        """Whether what is made of these files fits into memory, as that of every batch but one large file does."""
        return sum(self.sizes[Path(file).stem] for file in files) <= FETCHED_BYTES

    @property
    def bytes(self) -> int:
        """Size of all files that are to be read."""
        return sum(self.sizes.values())

    def settings(self) -> dict[str, str]:
        """What the session that plans from these files should be set to."""
        largest = max((sum(self.sizes[file.stem] for file in batch) for batch in self.batches()), default=0)
        return {**SETTINGS, "spark.sql.shuffle.partitions": str(tasks(largest))}

    def refuse(self, path: Path, reason: str) -> None:
        """Quarantine a file, whatever its name."""
        self.quarantine.append({"path": printable(str(path)), "reason": printable(reason)})


def look(workdir: Path, kind: Kind, run_id: str, clusters: Sequence[str] | None, others: Sequence[str] = ()) -> Landing:
    """Look through `<workdir>/<folder>/<run_id>`. `clusters`: the expected names; None takes every file as expected, but those of `others`.

    A file is quarantined where it is missing, fails its seal, is of another cluster or run, or was not expected. NoSnapshotError where
    there is no such directory.
    """
    folder = workdir / kind.folder / safe_name("run_id", run_id)
    check_inside(workdir, folder / "any")
    if not folder.is_dir():
        evidence, module = kind.gather
        raise NoSnapshotError(f"{folder} is no directory: gather the {evidence} of run {run_id} first ({module})")
    present = {path.stem for path in folder.glob(f"*{SUFFIX}")} - set(others)
    expected = present if clusters is None else {safe_name("clusters", name) for name in clusters}
    found = Landing(run_id)
    for name in sorted(present | expected):
        path = folder / f"{name}{SUFFIX}"
        try:
            found.headers[name] = _header(path, kind, name, run_id, expected)
            found.sizes[name] = path.stat().st_size
            found.files[name] = path
        except FileNotFoundError:  # between the two looks
            found.refuse(path, f"there is no {kind.what}")
        except (sealed_jsonl.SnapshotError, FileError) as error:
            found.refuse(path, str(error).replace("landing file", kind.what))
    return found


def _header(path: Path, kind: Kind, name: str, run_id: str, expected: Iterable[str]) -> dict[str, Any]:
    if name not in expected:
        raise sealed_jsonl.SnapshotError("its cluster is not among the expected ones")
    header = sealed_jsonl.check(path)
    safe_name("file name", name)
    kind.prove(header, name, run_id)
    return header


def write_each(found: Landing, entries: Entries, write: Callable[[str, Iterable[Any]], T]) -> dict[str, T]:
    """Write a file for every cluster whose file can be read; return by cluster what `write` does. What it finds broken is quarantined.

    `entries` makes the rows of some files, those of a cluster together, and leaves them in Spark or fetches them itself; what it uses twice on the way
    it keeps. `write` is given a cluster's rows, none for a cluster without any. Where all files make one batch, a file is written while its rows stream
    by. Memory stays bounded by the rows of two batches in any case.
    """
    written: dict[str, T] = {}
    broken = set()

    def write_one(name: str, rows: Iterable[Row]) -> None:
        try:
            written[name] = write(name, rows)
        except BrokenFileError as error:
            broken.add(name)
            found.refuse(found.files[name], str(error))

    batches = [[str(file) for file in batch] for batch in found.batches()]
    with closing(_streamed(entries, batches) if len(batches) == 1 else _fetched(entries, batches)) as rows:
        for name, own in groupby(rows, key=itemgetter(0)):
            write_one(name, own)
    for name in sorted(found.files.keys() - written.keys() - broken):
        write_one(name, ())
    found.quarantine.sort(key=lambda row: row["path"])
    return written


def _streamed(entries: Entries, batches: Sequence[list[str]]) -> Generator[Row]:
    """The rows of the only batch: while a cluster's rows are written, Spark makes the next ones."""
    (files,) = batches
    with _keeping(only_batch=True) as keep:
        rows = entries(files, keep)
        yield from rows.toLocalIterator(prefetchPartitions=True) if isinstance(rows, DataFrame) else rows


def _fetched(entries: Entries, batches: Sequence[list[str]]) -> Generator[Row]:
    """The rows of many batches: while those of one are written, Spark makes those of the next one.

    Each is fetched as a whole: an embedded Spark holds on to all that a streaming iterator has fetched (in its scheduler's list of jobs by tag).
    """

    def fetch(files: list[str]) -> Sequence[Row]:
        with _keeping(only_batch=False) as keep:
            rows = entries(files, keep)
            return rows.collect() if isinstance(rows, DataFrame) else rows

    ahead = ThreadPoolExecutor(max_workers=1)
    coming: Future[Sequence[Row]] | None = None
    try:
        for files in (*batches, None):
            rows: Sequence[Row] = coming.result() if coming else []
            coming = ahead.submit(fetch, files) if files else None
            yield from rows
    finally:
        # Who breaks off does not wait for a batch that nobody wants any more: the session that is closed next ends its making.
        ahead.shutdown(wait=False)


@contextmanager
def _keeping(only_batch: bool) -> Iterator[Keep]:
    """How to keep tables that are used twice, for as long as they are.

    A checkpoint has its making analysed once and not again with each use, a third of the work of planning one cluster. But what it holds is freed
    late, whenever Java collects its garbage: with the batches of a fleet memory would fill up.
    """
    with ExitStack() as stack:

        def keep(table: DataFrame) -> DataFrame:
            if only_batch:
                return table.localCheckpoint()
            stack.callback(table.unpersist)
            return table.persist()

        yield keep
