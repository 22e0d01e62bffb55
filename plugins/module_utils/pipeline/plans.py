# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the landing files of a run to one plan file per cluster."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import planfile, snapshot
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.errors import SpokenError, printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.files import FileError, check_inside, safe_name, utc_now, work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline import bronze, entries, gold, history, silver, spread
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.session import INTERPRETED, tasks

# Landing files that are planned together. No cluster's plan depends on another's, so a fleet of any size is planned in parts: what is kept
# in memory does not grow with it. Large enough for the time that Spark takes to analyse each part, about a second, not to count.
BATCH_BYTES = 64 << 20
# For sessions that make plans. The rules are functions of arrays, which Spark interprets in any case: code generated around
# them, and looking for parts that occur twice in them, took a fifth of the time of 300,000 rows.
SETTINGS = {**INTERPRETED, "spark.sql.subexpressionElimination.enabled": "false"}
# Entries by (section, evidence or reason).
Counts = Counter[tuple[str, str | None]]


class NoSnapshotError(SpokenError):
    """There is nothing to plan from."""


class BrokenFileError(SpokenError):
    """A file with a valid seal holds rows that cannot be put down to one partition."""


@dataclass
class Landing:
    """The landing files of a run: those to be read, with their sizes in bytes and their headers, and those that are not, with the reasons."""

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


def landing(workdir: Path, run_id: str, clusters: Sequence[str] | None) -> Landing:
    """Look through `<workdir>/landing/<run_id>`. `clusters`: the expected names; None takes every file as expected.

    A file is quarantined where it is missing, fails its seal, is of another cluster or run, or was not expected.
    """
    folder = workdir / "landing" / safe_name("run_id", run_id)
    check_inside(workdir, folder / "any")
    if not folder.is_dir():
        raise NoSnapshotError(f"{folder} is no directory: gather the evidence of run {run_id} first (kafka_replica_log_info)")
    present = {path.stem for path in folder.glob("*.jsonl")}
    expected = present if clusters is None else {safe_name("clusters", name) for name in clusters}
    found = Landing(run_id)
    for name in sorted(present | expected):
        path = folder / f"{name}.jsonl"
        try:
            found.headers[name] = _header(path, name, run_id, expected)
            found.sizes[name] = path.stat().st_size
            found.files[name] = path
        except FileNotFoundError:  # between the two looks
            found.refuse(path, "there is no landing file")
        except (snapshot.SnapshotError, FileError) as error:
            found.refuse(path, str(error))
    return found


def _header(path: Path, name: str, run_id: str, expected: Iterable[str]) -> dict[str, Any]:
    if name not in expected:
        raise snapshot.SnapshotError("its cluster is not among the expected ones")
    header = snapshot.check(path)
    safe_name("file name", name)
    if header["cluster"] != name:
        raise snapshot.SnapshotError(f"it was gathered from cluster {header['cluster']}: a copied or renamed file")
    if header["run_id"] != run_id:
        raise snapshot.SnapshotError(f"it belongs to run {header['run_id']}")
    return header


@contextmanager
def plan_entries(spark: SparkSession, files: Sequence[str], strategy: str, ranking: str, only_batch: bool) -> Iterator[DataFrame]:
    """Build the plan entries (see `entries.plan_entries`) of all `files`; what is used twice on the way is kept while they are used."""
    with ExitStack() as stack:

        def kept(table: DataFrame) -> DataFrame:
            # A checkpoint has its making analysed once and not again with each use, a third of the work of planning one cluster. But what it
            # holds is freed late, whenever Java collects its garbage: with the batches of a fleet memory would fill up.
            if only_batch:
                return table.localCheckpoint()
            stack.callback(table.unpersist)
            return table.persist()

        grouped = kept(bronze.grouped(bronze.records(spark, files)))
        brokers = bronze.brokers(grouped)
        partitions = history.histories(silver.partitions(bronze.partition_records(grouped), brokers))
        decisions = kept(gold.decisions(gold.evidence(gold.candidates(partitions, ranking)), strategy))
        yield entries.plan_entries(spread.leaders(decisions), brokers, bronze.broken_files(brokers))


def write_plans(spark: SparkSession, found: Landing, workdir: Path, strategy: str, ranking: str) -> dict[str, Any]:
    """Write `<workdir>/plans/<run_id>/<cluster>.json` for every cluster whose file can be read; return plans, quarantine and summary.

    Where all files make one batch, a plan is written while its rows stream by. Memory stays bounded by the rows of one batch in any case.
    """
    paths = {name: work_file(workdir, "plans", name, found.run_id) for name in found.files}
    options = {"strategy": strategy, "ranking": ranking}
    counted: dict[str, Counts] = {}
    broken = set()
    batches = list(found.batches())
    for batch in batches:
        with plan_entries(spark, [str(file) for file in batch], strategy, ranking, len(batches) == 1) as table:
            # While a cluster's rows are written here, Spark makes the next ones. But an embedded Spark holds on to all that such an iterator has
            # fetched (in its scheduler's list of jobs by tag): of the many batches of a fleet, each is fetched as a whole.
            found_rows = table.toLocalIterator(prefetchPartitions=True) if len(batches) == 1 else table.collect()
            for name, rows in groupby(found_rows, key=lambda row: row.cluster):
                try:
                    counted[name] = _write(paths[name], found.headers[name], options, rows)
                except BrokenFileError as error:
                    broken.add(name)
                    found.refuse(found.files[name], str(error))
    for name in sorted(found.files.keys() - counted.keys() - broken):
        counted[name] = _write(paths[name], found.headers[name], options, ())
    return {
        "plans": [_plan(name, paths[name], counted[name]) for name in sorted(counted)],
        "quarantine": sorted(found.quarantine, key=lambda row: row["path"]),
        "summary": _summary(counted.values(), len(found.quarantine)),
    }


def _write(path: Path, header: Mapping[str, Any], options: Mapping[str, str], rows: Iterable[Row]) -> Counts:
    plan = {
        "plan_id": str(uuid.uuid4()),
        "cluster": header["cluster"],
        "cluster_id": header["cluster_id"],
        "run_id": header["run_id"],
        "created_at": utc_now(),
        "backend": header["backend"],
        **options,
    }
    counts: Counts = Counter()
    with planfile.writing(path, plan) as writer:
        for row in rows:
            if row.section == entries.QUARANTINE:
                raise BrokenFileError(json.loads(row.entry)["reason"])
            writer.add(row.section, json.loads(row.entry))
            counts[row.section, row.word] += 1
    return counts


def _total(counts: Counts, section: str) -> int:
    return sum(number for (part, _), number in counts.items() if part == section)


def _plan(name: str, path: Path, counts: Counts) -> dict[str, Any]:
    return {
        "cluster": name,
        "path": str(path),
        "elect": _total(counts, entries.PARTITIONS),
        "held": _total(counts, entries.HELD_BACK),
        "online": _total(counts, entries.ONLINE_ALREADY),
    }


def _summary(counted: Iterable[Counts], quarantined: int) -> dict[str, Any]:
    clusters = list(counted)
    counts = sum(clusters, Counter())

    def by_word(section: str) -> dict[str, int]:
        return {str(word): number for (part, word), number in sorted(counts.items(), key=str) if part == section}

    return {
        "clusters": len(clusters),
        "quarantined": quarantined,
        "elect": _total(counts, entries.PARTITIONS),
        "elect_by_evidence": by_word(entries.PARTITIONS),
        "held": _total(counts, entries.HELD_BACK),
        "held_by_reason": by_word(entries.HELD_BACK),
        "online": _total(counts, entries.ONLINE_ALREADY),
    }
