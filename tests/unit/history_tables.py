# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""History tables without Spark: rows as Spark would stage them, in a folder or a store, what the manifest makes of them, and a process that dies at a step."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.catalog import Catalog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.manifest import DataFile, TableChange
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.store import PublishedRun, remove_runs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.client import Client
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.mount import mounted

DAY = date(2026, 11, 20)
# Rows of a run: table → values.
Content = Mapping[str, Collection[int]]
T = TypeVar("T")
Found = Counter[tuple[str, str, date, str, int]]


@dataclass
class Place:
    """A folder of this machine, or of an object store (`url`)."""

    folder: Path
    url: str | None = None

    def catalog(self, name: str = "history", grace: float = 3600.0, abandoned: float = 0.0) -> Catalog:
        """Return the tables of that name, as a process of its own sees them."""
        if self.url is None:
            return Catalog(self.folder / name, grace)
        # The clock of the store has whole seconds.
        return Catalog(mounted(f"{self.url}/{name}").root / "history", grace - 2, abandoned=abandoned - 2)

    def data_files(self, catalog: Catalog) -> set[str]:
        """Return the paths of all Parquet files that are there, named by the manifest or not."""
        if self.url is None:
            return {str(path.relative_to(catalog.root)) for path in catalog.root.glob("**/*.parquet")}
        mount = mounts.mount_of(catalog.root)
        assert mount is not None
        return {key.removeprefix("history/") for key in mount.client.list("history") if key.endswith(".parquet")}


def publish(
    catalog: Catalog,
    runs: Mapping[PublishedRun, tuple[date, Content]],
    replaced: Mapping[PublishedRun, Collection[str]] | None = None,
) -> None:
    """Put the rows of runs in the place of those named as replaced, as `Store.publish` does. `replaced`: by default all rows that these runs have."""

    def make(change: TableChange) -> None:
        change.clusters.update(run.cluster for run in runs)
        stage(change, runs)
        remove_runs(catalog, change, present(catalog, change, runs) if replaced is None else replaced)

    catalog.change(make)


@contextmanager
def just_before_a_commit(catalog: Catalog, act: Callable[[], object]) -> Iterator[None]:
    """Call `act` once, after the next change in this block was made and before it is committed."""
    change, pending = catalog.change, [act]

    def changed(make: Callable[[TableChange], T]) -> T:
        def made(begun: TableChange) -> T:
            result = make(begun)
            if pending:
                pending.pop()()
            return result

        return change(made)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(catalog, "change", changed)
        yield


def present(catalog: Catalog, change: TableChange, runs: Collection[PublishedRun]) -> dict[PublishedRun, set[str]]:
    """Return those of `runs` that have rows in the tables from which a change starts, and in which. Tables with an `origin` only."""
    tables: dict[PublishedRun, set[str]] = {}
    for file in change.current:
        for row in pq.ParquetFile(catalog.local([file])[0]).read().to_pylist():
            run = PublishedRun(row["origin"], file.cluster, row["run_id"])
            if run in runs:
                tables.setdefault(run, set()).add(file.table)
    return tables


def stage(change: TableChange, runs: Mapping[PublishedRun, tuple[date, Content]]) -> None:
    """One file per table, cluster and day, as Spark writes them."""
    rows: dict[tuple[str, str, date], list[dict[str, Any]]] = {}
    for run, (day, content) in runs.items():
        for table, values in content.items():
            origin = {} if table == "risk" else {"origin": run.origin}
            rows.setdefault((table, run.cluster, day), []).extend({"run_id": run.run_id, **origin, "value": value} for value in values)
    for place, ((table, cluster, day), some) in enumerate(rows.items()):
        if some:
            path = change.folder / f"part-{place}.parquet"
            pq.write_table(pa.Table.from_pylist(some), path)
            change.added[DataFile.new(table, cluster, day)] = path


def found(catalog: Catalog) -> Found:
    """Every row of all tables: (table, cluster, day, run id, value)."""
    rows: Found = Counter()
    for file in catalog.files():
        for row in pq.ParquetFile(catalog.local([file])[0]).read().to_pylist():
            rows[file.table, file.cluster, file.date, row["run_id"], row["value"]] += 1
    return rows


class Killed(BaseException):
    """The process is no more."""


@contextmanager
def killed_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let the process die before its `step`-th change of a file system or store; a dead process cleans nothing up. Yields the steps that were taken."""
    taken: list[str] = []
    with monkeypatch.context() as patched:

        def mortal(of: Any, name: str) -> None:
            original = getattr(of, name)

            def call(*given: Any, **named: Any) -> Any:
                if len(taken) >= step:
                    raise Killed
                taken.append(name)
                return original(*given, **named)

            patched.setattr(of, name, call)

        for name in ("rename", "replace", "unlink", "mkdir", "rmdir"):
            mortal(Path, name)
        mortal(shutil, "rmtree")
        mortal(os, "fsync")
        for name in ("put", "create", "replace", "copy", "remove"):
            mortal(Client, name)
        yield taken
