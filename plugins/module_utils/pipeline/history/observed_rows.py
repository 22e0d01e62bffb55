# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of the table `replica_log` from landing files and healthy snapshots, and of the table `candidates` from landing files.

In the DataFrames here, `cluster` is the key of a run (see `RUNS`) until `of_runs` replaces it with the cluster's name. So the files of many runs are
read together, and decided by the rule of the plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import DISK_FAILED, ClusterHeader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import healthy_rows, schemas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import landing_lines, worker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.columns import first

# The facts of each run before its rows are read. `key`: directory and name of its files, "<run_id>/<cluster>" or "<cluster>/<run_id>".
# `kept_rows`, `kept_outcomes`: counts of a run's rows in the tables from files that are gone meanwhile.
RUNS = (
    "key string, run_id string, origin string, cluster string, date date, cluster_id string, collected_at timestamp, planned_at timestamp, "
    "finished_at timestamp, plan_id string, strategy string, ranking string, backend string, landing_sha256 string, plan_sha256 string, "
    "result_sha256 string, kept_rows map<string,bigint>, kept_outcomes map<string,bigint>, remarks array<string>, "
    f"{schemas.IMPACT_OF_RUN}, {schemas.MODE_OF_RUN}"
)


def lines(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """Return the lines of landing files `<run_id>/<cluster>.jsonl` as `landing_lines.lines_by_cluster` does, with the key of the run as `cluster`."""
    return landing_lines.lines_by_cluster(spark, files, run_key(".jsonl"))


def run_key(suffix: str) -> Column:
    """Return the key of the run of the row's file, from its path `…/<run_id>/<cluster><suffix>`."""
    return F.regexp_extract("_metadata.file_path", rf"([^/]+/[^/]+)\{suffix}$", 1)


def of_runs(rows: DataFrame, runs: DataFrame, names: Mapping[str, str]) -> DataFrame:
    """Add run_id, date and the name of the cluster to `rows`, and further columns of the run. `names`: column of the run → its name in the result."""
    run_columns = runs.select(
        F.col("key"), "run_id", F.col("cluster").alias("_name"), "date", *(F.col(of).alias(name) for of, name in names.items())
    )
    joined = rows.withColumnRenamed("cluster", "key").join(F.broadcast(run_columns), "key")
    return joined.withColumnRenamed("_name", "cluster")


def replica_log(spark: SparkSession, files: Sequence[str], clusters: Mapping[str, ClusterHeader], runs: DataFrame) -> DataFrame:
    """Return one row per replica of each partition in the landing files, as collected, in the schema of the table `replica_log`.

    `clusters`: as `landing_lines.read_cluster` returned them, by key of the run. `runs`: rows of RUNS.
    """
    seen = lines(spark, files).mapInArrow(worker.replica_log(clusters), worker.REPLICA_LOG)
    rows = seen.withColumn("origin", F.lit(schemas.RECOVERY))
    return of_runs(rows, runs, {"collected_at": "observed_at"}).select(*schemas.columns("replica_log"))


def candidates(spark: SparkSession, files: Sequence[str], runs: DataFrame, ranking: str) -> DataFrame:
    """Return the survivors of each offline partition as `decide` ranks them, in the schema of the table `candidates`.

    `runs`: rows of RUNS. `ranking`: a value of Ranking; KIP-1275's is one of them.
    """
    found = lines(spark, files).mapInArrow(worker.candidates(Ranking(ranking)), worker.CANDIDATES)
    return of_runs(found, runs, {"collected_at": "observed_at"}).select(*schemas.columns("candidates"))


def faults(spark: SparkSession, files: Sequence[str]) -> dict[str, str]:
    """Return the reason why a landing file cannot be used, by key of the run; usable files are absent. The plan quarantines for the same reasons."""
    reason, topic = F.col("reason"), F.col("topic")
    counted = (
        lines(spark, files)
        .mapInArrow(worker.faults(), worker.FAULTS)
        .groupBy("cluster")
        .agg(
            F.min(reason).alias("reason"),
            F.count(reason).alias("unusable"),
            F.count(F.when(reason.isNull() & topic.isNull(), F.lit(1))).alias("frame"),
            (F.count(topic) - F.count_distinct(topic, F.col("partition"))).alias("doubled"),
        )
    )
    found = {}
    paths = {f"{path.parent.name}/{path.stem}": path for path in map(Path, files)}
    for row in counted.collect():
        if row["unusable"]:
            fault = landing_lines.first_fault(paths[row["cluster"]]) or row["reason"]
            found[row["cluster"]] = f"{fault} (lines that cannot be used: {row['unusable']})"
        elif row["frame"] != worker.FRAME_LINES:
            found[row["cluster"]] = worker.BROKEN_FRAME
        elif row["doubled"]:
            found[row["cluster"]] = f"two documents of one partition ({row['doubled']} of them)"
    return found


def healthy_replica_log(watermarks: DataFrame, brokers: DataFrame, runs: DataFrame) -> DataFrame:
    """Return one row per replica of each partition of healthy snapshots, in the schema of the table `replica_log`.

    `watermarks`, `brokers`: as `healthy_rows` returns them. `runs`: rows of RUNS. Log ends that were not read are null. `error`: that of the leader,
    and DISK_FAILED for a replica whose disk has failed on a live broker.
    """
    key = ["cluster", "run_id"]
    states = brokers.groupBy(*key).agg(
        F.map_from_entries(F.collect_list(F.struct("broker_id", F.struct("broker_state", "rack")))).alias("states")
    )
    broker, leads = F.col("broker_id"), F.col("broker_id") == F.col("leader")
    end = first(F.filter("replica_ends", lambda row: row["broker_id"] == broker))["log_end_offset"]
    unfenced = F.map_keys(F.map_filter("states", lambda _broker, state: state["broker_state"] == UNFENCED))
    known = watermarks.join(F.broadcast(states), key, "left").withColumn("failed_disks", healthy_rows.failed_disks(unfenced))
    rows = known.withColumn("broker_id", F.explode("replicas"))
    dates = runs.select(*key, "date")
    return (
        rows.join(F.broadcast(dates), key)
        .select(
            *key,
            "date",
            "topic",
            "partition",
            F.lit(schemas.HEALTHY).alias("origin"),
            "observed_at",
            "topic_id",
            "leader",
            "leader_epoch",
            "broker_id",
            F.col("states")[broker]["broker_state"].alias("broker_state"),
            F.col("states")[broker]["rack"].alias("rack"),
            F.array_contains("isr", broker).alias("in_isr"),
            F.array_contains("eligible_leader_replicas", broker).alias("in_elr"),
            F.array_contains("last_known_elr", broker).alias("in_last_known_elr"),
            "min_insync_replicas",
            "cleanup_policy",
            F.when(leads, F.col("log_start_offset")).alias("log_start_offset"),
            F.when(leads, F.coalesce(F.col("log_end_offset"), end)).otherwise(end).alias("log_end_offset"),
            F.when(leads, F.col("high_watermark")).alias("high_watermark"),
            F.lit(None).cast("int").alias("partition_leader_epoch"),
            F.lit(None).cast("int").alias("last_written_epoch"),
            F.coalesce(F.when(leads, F.col("error")), F.when(F.array_contains("failed_disks", broker), F.lit(DISK_FAILED))).alias("error"),
        )
        .select(*schemas.columns("replica_log"))
    )
