# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of the tables `plan`, `loss`, `result`, `impact`, `risk`, `quarantine` and `recovery_audit`.

`input_files` has checked the files. Here Spark reads them again, many at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import reduce
from pathlib import Path

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import file_rows, schemas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.file_rows import Strategies
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.observed_rows import of_runs, run_key
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import local_frame
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.arrow_rows import ArrowMapper
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.columns import false_if_null
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.paths import reads_store, spark_path

# By section of an impact file: the `kind` of its rows in the table, and their columns.
FOUND = {
    "groups": ("group", "group_id group_state group_type partitions in_doubt offsets_read_and_lost must_stop command"),
    "transactions": (
        "transaction",
        "topic partition transactional_id state coordinator_state producer_id producer_epoch start_offset ends_in_seconds explanation command",
    ),
    "partitions": ("partition", "topic partition leader readable writable explanation"),
    "canaries": ("canary", "topic partition offset error read_back"),
}
_TYPES = dict(field.split() for field in schemas.SCHEMAS["impact"].split(", "))
# `group` of the file is a keyword of SQL.
_NAMES = {"group_id": "group"}
_FIELDS = {
    section: ", ".join(f"{_NAMES.get(name, name)}: {_TYPES[name]}" for name in columns.split())
    for section, (_table, columns) in FOUND.items()
}
IMPACT = ", ".join([*(f"{section} array<struct<{fields}>>" for section, fields in _FIELDS.items()), "warnings array<string>"])
PLAN_COLUMNS = {"plan_id": "plan_id", "planned_at": "planned_at", "ranking": "ranking", "backend": "backend"}


def _rows(spark: SparkSession, files: Sequence[str], read: ArrowMapper, schema: str) -> DataFrame:
    """Return the rows of `schema` that `read` (of `file_rows`) makes of `files`: absolute paths `…/<run_id>/<cluster>.json`, checked by `input_files`."""
    file_rows.register_for_workers()
    if reads_store(Path(files[0])):
        contents = spark.read.format("binaryFile").load([spark_path(file) for file in files])
        return contents.select("content", run_key(".json").alias("cluster")).mapInArrow(read, schema)
    named = [{"path": file, "cluster": f"{Path(file).parent.name}/{Path(file).stem}"} for file in files]
    return local_frame.frame(spark, named, file_rows.FILES).mapInArrow(read, schema)


def plan(spark: SparkSession, files: Sequence[str], strategies: Mapping[str, Strategies], runs: DataFrame) -> DataFrame:
    """Return one row per entry of the plan files, in the schema of the table `plan`.

    `files`: as for `_rows`. `strategies`: by key of the run. `runs`: rows of `observed_rows.RUNS`.
    """
    entries = _rows(spark, files, file_rows.plan_entries(strategies), file_rows.ENTRIES)
    return of_runs(entries, runs, PLAN_COLUMNS).select(*schemas.columns("plan"))


def loss(spark: SparkSession, files: Sequence[str], runs: DataFrame) -> DataFrame:
    """Return one row per partition that the plan `files` elect or hold, in the schema of the table `loss` (records). `files`, `runs`: as for `plan`."""
    return of_runs(_rows(spark, files, file_rows.losses(), file_rows.LOSSES), runs, {}).select(*schemas.columns("loss"))


def result(spark: SparkSession, files: Sequence[str], runs: DataFrame) -> DataFrame:
    """Return one row per partition of results files, in the schema of the table `result`. `files`, `runs`: as for `plan`."""
    rows = _rows(spark, files, file_rows.results(), file_rows.RESULTS)
    return of_runs(rows, runs, {"finished_at": "finished_at"}).select(*schemas.columns("result"))


def impact_documents(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """Return one row per impact file, with the columns of IMPACT and `cluster`, the key of the run. `files`: as for `plan`."""
    read = spark.read.schema(IMPACT).option("multiLine", value=True).json([spark_path(file) for file in files])
    return read.withColumn("cluster", run_key(".json"))


def impact(looks: DataFrame, runs: DataFrame) -> DataFrame:
    """Return one row per group, transaction, canary and warning of impact files, and per partition that is not readable or writable.

    `looks`: `impact_documents`. `runs`: as for `plan`. The rows have the schema of the table `impact`.
    """
    names = [name for name in _TYPES if name not in ("run_id", "observed_at")]

    def row_of(kind: str, columns: Mapping[str, Column]) -> Column:
        values = {"kind": F.lit(kind), **columns}
        return F.struct(*(values.get(name, F.lit(None)).cast(_TYPES[name]).alias(name) for name in names))

    def section(name: str) -> Column:
        kind, columns = FOUND[name]
        rows = F.filter(name, lambda row: ~row["readable"] | false_if_null(~row["writable"])) if kind == "partition" else F.col(name)
        return F.transform(rows, lambda row: row_of(kind, {column: row[_NAMES.get(column, column)] for column in columns.split()}))

    warnings = F.transform("warnings", lambda text: row_of("warning", {"explanation": text}))
    # All in one pass over the files.
    rows = looks.select("cluster", F.explode(F.concat(*map(section, FOUND), warnings)).alias("row")).select("cluster", "row.*")
    return of_runs(rows, runs, {"impact_at": "observed_at"}).select(*schemas.columns("impact"))


def risk(risks: DataFrame, runs: DataFrame) -> DataFrame:
    """Return the rows of `risk.risks` with the day of their run, in the schema of the table `risk`."""
    days = runs.select("cluster", "run_id", "date")
    return risks.join(F.broadcast(days), ["cluster", "run_id"]).select(*schemas.columns("risk"))


def quarantine(runs: DataFrame, refused: DataFrame) -> DataFrame:
    """Return one row per refused file, in the schema of the table `quarantine`. `refused`: rows with the columns of `ingest.REFUSED`."""
    days = runs.select("origin", "cluster", "run_id", "date")
    return refused.join(F.broadcast(days), ["origin", "cluster", "run_id"]).select(*schemas.columns("quarantine"))


def recovery_audit(runs: DataFrame, written: Mapping[str, DataFrame]) -> DataFrame:
    """Return one row per run: its times, the digests of its files, and its number of rows in each table.

    `written`: the staged rows by table. Rows of a run in other tables, from a file that is gone meanwhile, keep their former count.
    """
    key = ["origin", "cluster", "run_id"]

    def count(rows: DataFrame, name: str, value: Column) -> DataFrame:
        return rows.groupBy(*key).agg(F.map_from_entries(F.collect_list(F.struct(F.col(name), value))).alias(f"new_{name}"))

    counted = [
        _with_origin(table, rows).groupBy(*key).agg(F.lit(table).alias("table"), F.count("*").alias("rows"))
        for table, rows in written.items()
    ]
    audit = runs
    if counted:
        audit = audit.join(count(reduce(DataFrame.unionByName, counted), "table", F.col("rows")), key, "left")
    if "result" in written:
        outcomes = _with_origin("result", written["result"]).groupBy(*key, "outcome").agg(F.count("*").alias("rows"))
        audit = audit.join(count(outcomes, "outcome", F.col("rows")), key, "left")
    if "replica_log" in written:
        seen = written["replica_log"].groupBy(*key).agg(F.count_distinct("topic", "partition").alias("seen"))
        audit = audit.join(seen, key, "left")
    for name, kind in (("new_table", "map<string,bigint>"), ("new_outcome", "map<string,bigint>"), ("seen", "bigint")):
        if name not in audit.columns:
            audit = audit.withColumn(name, F.lit(None).cast(kind))
    empty = F.create_map().cast("map<string,bigint>")
    rows = F.map_concat(F.coalesce("kept_rows", empty), F.coalesce("new_table", empty))
    return (
        audit.withColumn("table_rows", rows)
        .withColumn("outcomes", F.coalesce("new_outcome", "kept_outcomes", empty))
        .withColumn("partitions", F.coalesce(rows["plan"], rows["result"], "seen", F.lit(0)).cast("bigint"))
        .select(*schemas.columns("recovery_audit"))
    )


def _with_origin(table: str, rows: DataFrame) -> DataFrame:
    """Return `rows` with their `origin`. Tables with rows of one origin do not have that column."""
    if "origin" in rows.columns:
        return rows
    return rows.withColumn("origin", F.lit(next(origin for origin, names in schemas.WRITTEN_BY.items() if table in names)))
