# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads and publishes the history tables with Spark: by their schema, run by run, exactly once.

Spark gets the paths of files and a directory to write to, and never lists or removes files of others. So it can run anywhere, as long as it reads the
workdir (see `spark.paths`), and after a killed run Spark has nothing to repair.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import parquet_rewrite, schemas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.catalog import GRACE, PATIENCE, Catalog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.manifest import DataFile, TableChange
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import local_frame
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.paths import reads_store, spark_path

CONF = {
    # Every tool reads this type as a time in UTC. Spark's default is the deprecated INT96.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # The paths are files. A Spark job that checks a thousand of them takes longer than the driver.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": str(1 << 20),
}
FREE_BYTES = 1 << 20
T = TypeVar("T")


class PublishedRun(NamedTuple):
    """The unit that is published and replaced as a whole."""

    origin: str
    cluster: str
    run_id: str


@dataclass
class Publication:
    """Staged rows of some runs.

    `replaced`: runs in the tables, with the names of the tables from which their rows are removed when the publication is committed.
    """

    spark: SparkSession
    catalog: Catalog
    change: TableChange
    replaced: dict[PublishedRun, Collection[str]] = field(default_factory=dict)

    def write(self, table: str, rows: DataFrame) -> None:
        """Stage the rows of a table, which have `cluster` and `date`, in one Spark job for any number of clusters.

        Raises RecoveryError if the disk is full, PySparkException if the rows cannot be computed or do not have the schema of the table.
        """
        folder = self.change.folder / table
        schema = cast("StructType", StructType.fromDDL(f"{schemas.SCHEMAS[table]}, {schemas.PARTITIONED_BY}"))
        writer = rows.select(*schemas.columns(table)).to(schema).repartition("cluster", "date").write.partitionBy("cluster", "date")
        try:
            writer.option("compression", "zstd").parquet(spark_path(str(folder)))
        except PySparkException as error:
            if "No space left" in str(error) or "File too large" in str(error) or _is_full(folder):
                raise RecoveryError(
                    f"no room for the history tables in {folder.parents[1]}: they have not changed; make room and run again"
                ) from error
            raise
        for path in self.catalog.medium.staged(folder):
            cluster, day = (name.partition("=")[2] for name in (path.parents[1].name, path.parent.name))
            self.change.added[DataFile.new(table, cluster, date.fromisoformat(day))] = path

    def staged_tables(self) -> dict[str, DataFrame]:
        """Return the staged rows by table, read back."""
        paths: dict[str, list[str]] = {}
        for file, path in self.change.added.items():
            paths.setdefault(file.table, []).append(str(path))
        return {table: _read(self.spark, table, self.change.folder / table, some) for table, some in paths.items()}


class Store:
    """The tables below `root`. `grace`, `patience`: see `catalog.Catalog`."""

    def __init__(self, spark: SparkSession, root: Path, grace: float = GRACE, patience: float = PATIENCE) -> None:
        self.catalog = Catalog(root, grace, patience)
        self._spark = spark
        self._pinned: tuple[DataFile, ...] | None = None
        for key, value in CONF.items():
            spark.conf.set(key, value)

    def pin(self) -> None:
        """Make every later `read` return the rows of the present manifest. Raises RecoveryError if it is not valid."""
        self._pinned = self.catalog.files()

    def read(self, table: str, clusters: Collection[str] | None = None, since: date | None = None) -> DataFrame:
        """Return the rows of a table, with `cluster` and `date`: of the manifest that is pinned, else of the present one.

        `clusters`: only these clusters; `since`: only this day and later ones (UTC). Without files the DataFrame is empty. Raises RecoveryError if the
        manifest is not valid.
        """
        wanted = [
            file
            for file in (self.catalog.files() if self._pinned is None else self._pinned)
            if file.table == table and (clusters is None or file.cluster in clusters) and (since is None or file.date >= since)
        ]
        root = self.catalog.root
        if not reads_store(root):
            self.catalog.local(wanted)
        return _read(self._spark, table, root / table, [str(root / file.path) for file in wanted])

    def publish(self, make: Callable[[Publication], T]) -> T:
        """Commit what `make` writes, and return its result. The replaced runs are removed. After an error nothing is published.

        Raises RecoveryError as `Catalog.change` does, which may call `make` again.
        """

        def changed(change: TableChange) -> T:
            publication = Publication(self._spark, self.catalog, change)
            made = make(publication)
            remove_runs(self.catalog, change, publication.replaced)
            return made

        return self.catalog.change(changed)


def remove_runs(catalog: Catalog, change: TableChange, runs: Mapping[PublishedRun, Collection[str]]) -> None:
    """Remove the rows of `runs` when `change` is committed. `runs`: the names of tables by run.

    A file that also has rows of other runs is rewritten without these. Raises OSError if the disk is full.
    """
    wanted: dict[tuple[str, str], list[PublishedRun]] = {}
    for run, names in runs.items():
        for table in names:
            wanted.setdefault((table, run.cluster), []).append(run)
    for file in change.current:
        if not (mine := wanted.get((file.table, file.cluster), [])):
            continue
        (source,) = catalog.local([file])
        if parquet_rewrite.holds_any(source, {run.run_id for run in mine}):
            target = change.folder / file.path.replace("/", "_")
            pairs = {(run.origin if has_origin(file.table) else None, run.run_id) for run in mine}
            rows = parquet_rewrite.rewrite([source], target, parquet_rewrite.of_runs(pairs))
            change.replace([file], (DataFile.new(file.table, file.cluster, file.date), target) if rows else None)


def has_origin(table: str) -> bool:
    """Return whether runs of both origins have rows in a table."""
    return all(table in names for names in schemas.WRITTEN_BY.values())


def _read(spark: SparkSession, table: str, base: Path, files: Collection[str]) -> DataFrame:
    schema = f"{schemas.SCHEMAS[table]}, {schemas.PARTITIONED_BY}"
    if not files:
        return local_frame.frame(spark, [], schema)
    reader = spark.read.schema(schema).option("basePath", spark_path(str(base)))
    return reader.parquet(*map(spark_path, files)).select(*schemas.columns(table))


def _is_full(folder: Path) -> bool:
    status = os.statvfs(folder.parent)
    return status.f_bavail * status.f_frsize < FREE_BYTES or not status.f_favail
