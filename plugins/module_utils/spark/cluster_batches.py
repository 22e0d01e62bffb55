# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sealed files of a run, one per cluster: which of them can be used, and how Spark works through them in batches."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import DataFrame

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, check_inside, safe_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import BYTES_PER_TASK, INTERPRETED, tasks

# Files that are planned together. No cluster's plan depends on another's, so a fleet of any size is planned in batches and memory does not
# grow with the fleet. A batch is so large that the second in which Spark analyses it does not matter.
BATCH_BYTES = 64 << 20
# The rows that are made from a file take about as much memory as the file.
FETCHED_BYTES = 384 << 20
# For sessions that make plans. Spark itself does little with the rows, so generated code does not pay. Files are split among Python workers in
# tasks of a few seconds. By default Spark adds 4 MB to the size of every file: two or three small clusters would be one task, and to start a
# task takes longer than to plan these clusters.
SETTINGS = {
    **INTERPRETED,
    "spark.sql.subexpressionElimination.enabled": "false",
    "spark.sql.files.maxPartitionBytes": str(BYTES_PER_TASK),
    "spark.sql.files.openCostInBytes": str(BYTES_PER_TASK // 32),
}
SUFFIX = ".jsonl"

Keep = Callable[["DataFrame"], "DataFrame"]
# The first field is the cluster.
Row = Sequence[Any]
Entries = Callable[[list[str], Keep], "DataFrame | Sequence[Row]"]
T = TypeVar("T")


class BrokenFileError(RecoveryError):
    """A file with a valid seal has invalid rows and cannot be used."""


@dataclass(frozen=True)
class Kind:
    """A kind of sealed files.

    folder   folder of the workdir
    what     name of such a file in messages: "landing file"
    collect  what to collect, and the module that collects it, for messages: ("evidence", "kafka_replica_log_info")
    prove    takes header, cluster and run id, and raises SnapshotError if the file is of another cluster or run
    """

    folder: str
    what: str
    collect: tuple[str, str]
    prove: Callable[[Mapping[str, Any], str, str], None]


@dataclass
class RunFiles:
    """The sealed files of a run: by cluster the usable files with their sizes in bytes and headers, and the quarantined files with reasons."""

    run_id: str
    files: dict[str, Path] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    headers: dict[str, dict[str, Any]] = field(default_factory=dict)
    quarantine: list[dict[str, str]] = field(default_factory=list)

    def batches(self) -> Iterator[list[Path]]:
        """Yield lists of files in order, each of at most BATCH_BYTES or of one file."""
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
        """Return whether the rows of these files fit into memory. Those of every batch do, unless it is one large file."""
        return sum(self.sizes[Path(file).stem] for file in files) <= FETCHED_BYTES

    @property
    def bytes(self) -> int:
        """Total size of the usable files."""
        return sum(self.sizes.values())

    def settings(self) -> dict[str, str]:
        """Return the Spark settings of a session that plans from these files."""
        largest = max((sum(self.sizes[file.stem] for file in batch) for batch in self.batches()), default=0)
        return {**SETTINGS, "spark.sql.shuffle.partitions": str(tasks(largest))}

    def refuse(self, path: Path, reason: str) -> None:
        """Quarantine a file. Path and reason are made printable."""
        self.quarantine.append({"path": printable(str(path)), "reason": printable(reason)})


def find_run_files(workdir: Path, kind: Kind, run_id: str, clusters: Sequence[str] | None, others: Sequence[str] = ()) -> RunFiles:
    """Check the files of `<workdir>/<folder>/<run_id>`. `clusters`: the expected names; None expects every file except those of `others`.

    A file is quarantined if it is missing, has no valid seal, is of another cluster or run, or was not expected. Raises RecoveryError if
    the directory does not exist.
    """
    folder = workdir / kind.folder / safe_name("run_id", run_id)
    check_inside(workdir, folder / "any")
    mounts.list_folder(folder)
    if not folder.is_dir():
        evidence, module = kind.collect
        raise RecoveryError(f"{folder} is not a directory: collect the {evidence} of run {run_id} first ({module})")
    present = {path.stem for path in folder.glob(f"*{SUFFIX}")} - set(others)
    expected = present if clusters is None else {safe_name("clusters", name) for name in clusters}
    run_files = RunFiles(run_id)
    for name in sorted(present | expected):
        path = folder / f"{name}{SUFFIX}"
        try:
            run_files.headers[name] = _header(path, kind, name, run_id, expected)
            run_files.sizes[name] = path.stat().st_size
            run_files.files[name] = path
        except FileNotFoundError:  # deleted since it was listed
            run_files.refuse(path, f"there is no {kind.what}")
        except (landing_format.SnapshotError, FileError) as error:
            run_files.refuse(path, str(error).replace("landing file", kind.what))
    return run_files


def _header(path: Path, kind: Kind, name: str, run_id: str, expected: Iterable[str]) -> dict[str, Any]:
    if name not in expected:
        raise landing_format.SnapshotError("its cluster is not among the expected ones")
    header = landing_format.check(path)
    safe_name("file name", name)
    kind.prove(header, name, run_id)
    return header


def write_each(run_files: RunFiles, entries: Entries, write: Callable[[str, Iterable[Any]], T]) -> dict[str, T]:
    """Write a file for every cluster whose file is usable, and return the results of `write` by cluster.

    `entries` takes the files of a batch and returns their rows, those of a cluster together, as a DataFrame or as a list. Tables that it uses twice go
    through its second argument. `write` takes a cluster and its rows, and quarantines the file if it raises BrokenFileError. The rows of a single
    batch are streamed. Memory is bounded by the rows of two batches.
    """
    written: dict[str, T] = {}
    broken = set()

    def write_one(name: str, rows: Iterable[Row]) -> None:
        try:
            written[name] = write(name, rows)
        except BrokenFileError as error:
            broken.add(name)
            run_files.refuse(run_files.files[name], str(error))

    batches = [[str(file) for file in batch] for batch in run_files.batches()]
    with closing(_streamed(entries, batches) if len(batches) == 1 else _fetched(entries, batches)) as rows:
        for name, own in groupby(rows, key=itemgetter(0)):
            write_one(name, own)
    for name in sorted(run_files.files.keys() - written.keys() - broken):
        write_one(name, ())
    run_files.quarantine.sort(key=lambda row: row["path"])
    return written


def _streamed(entries: Entries, batches: Sequence[list[str]]) -> Generator[Row]:
    """Yield the rows of the only batch. Spark makes the next rows while those of a cluster are written."""
    (files,) = batches
    with _keeping(only_batch=True) as keep:
        rows = entries(files, keep)
        yield from rows.toLocalIterator(prefetchPartitions=True) if isinstance(rows, DataFrame) else rows


def _fetched(entries: Entries, batches: Sequence[list[str]]) -> Generator[Row]:
    """Yield the rows of several batches. Spark makes those of the next batch while those of one are written.

    Each batch is fetched as a whole: an embedded Spark keeps all rows that a streaming iterator has fetched (in its scheduler's list of jobs by tag).
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
        # A caller that stops early does not wait for the next batch: the session that is closed next cancels it.
        ahead.shutdown(wait=False)


@contextmanager
def _keeping(only_batch: bool) -> Iterator[Keep]:
    """Return a function that keeps a table which is used twice, until the context ends.

    Spark analyses the plan of a checkpoint once and not with each use, which saves a third of the work of planning one cluster. But Java frees a
    checkpoint only when it collects garbage: the batches of a fleet would fill the memory.
    """
    with ExitStack() as stack:

        def keep(table: DataFrame) -> DataFrame:
            if only_batch:
                return table.localCheckpoint()
            stack.callback(table.unpersist)
            return table.persist()

        yield keep
