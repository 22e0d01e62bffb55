# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The history tables as Spark sees them: read by their schema, and published run by run, exactly once.

Spark is given the paths of files and a directory to write in, and never lists, renames or removes one: so it does not matter where it
runs, as long as it sees the workdir under the same path, and a run that is killed leaves nothing that Spark would have to mend.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import NamedTuple, cast

with suppress(ImportError):  # libraries.py says why
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import parquet_rewrite, schemas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.manifest import (
    GRACE,
    PATIENCE,
    Catalog,
    CatalogError,
    Change,
    DataFile,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import local_frame
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.json_lines import literal_path

CONF = {
    # What every tool reads as a time in UTC; Spark's own default is a type that nobody else writes any more.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # The paths are files. Looking at a thousand of them takes longer as a Spark job.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": str(1 << 20),
}
FREE_BYTES = 1 << 20


class Run(NamedTuple):
    """What is published, and replaced, as one."""

    origin: str
    cluster: str
    run_id: str


@dataclass
class Publication:
    """Rows of some runs on their way into the tables. `current`: the files that the tables consist of meanwhile.

    `replaced`: runs that are in the tables, with the names of the tables from which their rows are to go when the new ones come.
    """

    spark: SparkSession
    change: Change
    current: tuple[DataFile, ...]
    replaced: dict[Run, Collection[str]] = field(default_factory=dict)

    def write(self, table: str, rows: DataFrame) -> None:
        """Stage the rows of a table, which say their `cluster` and `date`; one Spark job, whatever the number of clusters."""
        folder = self.change.folder / table
        schema = cast("StructType", StructType.fromDDL(f"{schemas.SCHEMAS[table]}, {schemas.PARTITIONED_BY}"))
        writer = rows.select(*schemas.columns(table)).to(schema).repartition("cluster", "date").write.partitionBy("cluster", "date")
        try:
            writer.option("compression", "zstd").parquet(literal_path(str(folder)))
        except PySparkException as error:
            if "No space left" in str(error) or "File too large" in str(error) or _is_full(folder):
                raise CatalogError(
                    f"no room for the history tables in {folder.parents[1]}: they stand as before; make room and run again"
                ) from error
            raise
        for path in sorted(folder.glob("cluster=*/date=*/part-*.parquet")):
            cluster, day = (name.partition("=")[2] for name in (path.parents[1].name, path.parent.name))
            self.change.added[DataFile.new(table, cluster, date.fromisoformat(day))] = path

    def staged_tables(self) -> dict[str, DataFrame]:
        """The rows that were written, read back by table."""
        paths: dict[str, list[str]] = {}
        for file, path in self.change.added.items():
            paths.setdefault(file.table, []).append(str(path))
        return {table: _read(self.spark, table, self.change.folder / table, found) for table, found in paths.items()}


class Store:
    """The tables below `root`. Times to wait: see `catalog`."""

    def __init__(self, spark: SparkSession, root: Path, grace: float = GRACE, patience: float = PATIENCE) -> None:
        self.catalog = Catalog(root, grace, patience)
        self._spark = spark
        for key, value in CONF.items():
            spark.conf.set(key, value)

    def read(self, table: str, clusters: Collection[str] | None = None, since: date | None = None) -> DataFrame:
        """All rows as they are now, with `cluster` and `date`; empty if there is none.

        `clusters`, `since`: leave out the files of others, and those of earlier days.
        """
        wanted = [
            file
            for file in self.catalog.files()
            if file.table == table and (clusters is None or file.cluster in clusters) and (since is None or file.date >= since)
        ]
        root = self.catalog.root
        return _read(self._spark, table, root / table, [str(root / file.path) for file in wanted])

    @contextmanager
    def publishing(self) -> Iterator[Publication]:
        """Publish what is written in the block: all of it, in the place of the runs named as replaced, or on any error nothing."""
        with self.catalog.writing() as change:  # pylint: disable=contextmanager-generator-missing-cleanup  # an error ends it, too
            publication = Publication(self._spark, change, change.current)
            yield publication
            take_out(self.catalog.root, change, publication.replaced)


def take_out(root: Path, change: Change, runs: Mapping[Run, Collection[str]]) -> None:
    """Remove the rows of `runs` from the tables named for each; a file with rows of others too is written anew without them."""
    wanted: dict[tuple[str, str], list[Run]] = {}
    for run, names in runs.items():
        for table in names:
            wanted.setdefault((table, run.cluster), []).append(run)
    for file in change.current:
        mine = wanted.get((file.table, file.cluster), [])
        if mine and parquet_rewrite.holds_any(root / file.path, {run.run_id for run in mine}):
            target = change.folder / file.path.replace("/", "_")
            pairs = {(run.origin if has_origin(file.table) else None, run.run_id) for run in mine}
            rows = parquet_rewrite.rewrite([root / file.path], target, parquet_rewrite.of_runs(pairs))
            change.replace([file], (DataFile.new(file.table, file.cluster, file.date), target) if rows else None)


def has_origin(table: str) -> bool:
    """Whether runs of both origins have rows in a table."""
    return all(table in names for names in schemas.WRITTEN_BY.values())


def _read(spark: SparkSession, table: str, base: Path, files: Collection[str]) -> DataFrame:
    schema = f"{schemas.SCHEMAS[table]}, {schemas.PARTITIONED_BY}"
    if not files:
        return local_frame.frame(spark, [], schema)
    reader = spark.read.schema(schema).option("basePath", literal_path(str(base)))
    return reader.parquet(*map(literal_path, files)).select(*schemas.columns(table))


def _is_full(folder: Path) -> bool:
    told = os.statvfs(folder.parent)
    return told.f_bavail * told.f_frsize < FREE_BYTES or not told.f_favail
