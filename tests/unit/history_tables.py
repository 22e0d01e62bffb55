# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""History tables without Spark: rows as Spark would stage them, what the manifest makes of them, and a process that dies at a step."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.catalog import Catalog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.manifest import DataFile, TableChange
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.store import PublishedRun, remove_runs

DAY = date(2026, 11, 20)
# Rows of a run: table → values.
Content = Mapping[str, Collection[int]]
Found = Counter[tuple[str, str, date, str, int]]


def publish(catalog: Catalog, runs: Mapping[PublishedRun, tuple[date, Content]], replaced: Mapping[PublishedRun, Collection[str]]) -> None:
    """Put the rows of runs in the place of those named as replaced, as `Store.publishing` does."""
    with catalog.begin_change() as change:
        stage(change, runs)
        remove_runs(catalog, change, replaced)


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
        for row in pq.ParquetFile(catalog.root / file.path).read().to_pylist():
            rows[file.table, file.cluster, file.date, row["run_id"], row["value"]] += 1
    return rows


class Killed(BaseException):
    """The process is no more."""


@contextmanager
def killed_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let the process die before its `step`-th change of a file system; a dead process cleans nothing up. Yields the steps that were taken."""
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
        yield taken
