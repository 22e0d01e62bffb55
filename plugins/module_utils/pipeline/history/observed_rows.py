# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""History of what was seen: rows of `replica_log` from landing files and healthy snapshots, and the `candidates` that follow from them.

In all of these tables `cluster` is the key of a run (see `RUNS`) until `of_runs` puts the cluster's name in its place: so the files of
many runs are read together, and decided by the rule by which they are planned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.document import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import schemas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import landing_lines, worker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.columns import first

# What is known of each run before its rows are read. `key`: its files' directory and name, "<run_id>/<cluster>" or "<cluster>/<run_id>".
# `kept_rows`, `kept_outcomes`: what the tables have of a run from files that are gone meanwhile.
RUNS = (
    "key string, run_id string, origin string, cluster string, date date, cluster_id string, collected_at timestamp, planned_at timestamp, "
    "finished_at timestamp, plan_id string, strategy string, ranking string, backend string, landing_sha256 string, plan_sha256 string, "
    "result_sha256 string, kept_rows map<string,bigint>, kept_outcomes map<string,bigint>, remarks array<string>, "
    f"{schemas.IMPACT_OF_RUN}, {schemas.MODE_OF_RUN}"
)


def lines(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """The lines of landing files `<run_id>/<cluster>.jsonl` (see `landing_lines.lines_by_cluster`), by run."""
    return landing_lines.lines_by_cluster(spark, files, run_key(".jsonl"))


def run_key(suffix: str) -> Column:
    """The key of the run that a file is of, by its path `…/<run_id>/<cluster><suffix>`."""
    return F.regexp_extract("_metadata.file_path", rf"([^/]+/[^/]+)\{suffix}$", 1)


def of_runs(rows: DataFrame, runs: DataFrame, names: Mapping[str, str]) -> DataFrame:
    """`rows` with run_id, date and the name of the cluster, and these columns of the run; `names`: column of the run → its name here."""
    told = runs.select(
        F.col("key"), "run_id", F.col("cluster").alias("_name"), "date", *(F.col(of).alias(name) for of, name in names.items())
    )
    joined = rows.withColumnRenamed("cluster", "key").join(F.broadcast(told), "key")
    return joined.withColumnRenamed("_name", "cluster")


def replica_log(spark: SparkSession, files: Sequence[str], clusters: Mapping[str, Cluster], runs: DataFrame) -> DataFrame:
    """One row per replica of each partition that the landing files speak of, as it was seen: nothing is judged."""
    seen = lines(spark, files).mapInArrow(worker.replica_log(clusters), worker.REPLICA_LOG)
    rows = seen.withColumn("origin", F.lit(schemas.RECOVERY))
    return of_runs(rows, runs, {"collected_at": "observed_at"}).select(*schemas.columns("replica_log"))


def candidates(spark: SparkSession, files: Sequence[str], runs: DataFrame, ranking: str) -> DataFrame:
    """The survivors of each offline partition as `decide` ranks them by `ranking`, best first, with its word of evidence."""
    found = lines(spark, files).mapInArrow(worker.candidates(Ranking(ranking)), worker.CANDIDATES)
    return of_runs(found, runs, {"collected_at": "observed_at"}).select(*schemas.columns("candidates"))


def faults(spark: SparkSession, files: Sequence[str]) -> dict[str, str]:
    """By run why its landing file cannot be used: as the plan refuses it, where nobody knows what is missing."""
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
    """One row per replica of each partition of healthy snapshots (see `healthy`). Ends of replicas that were not asked are null."""
    key = ["cluster", "run_id"]
    states = brokers.groupBy(*key).agg(
        F.map_from_entries(F.collect_list(F.struct("broker_id", F.struct("broker_state", "rack")))).alias("states")
    )
    broker, leads = F.col("broker_id"), F.col("broker_id") == F.col("leader")
    end = first(F.filter("replica_ends", lambda row: row["broker_id"] == broker))["log_end_offset"]
    rows = watermarks.join(F.broadcast(states), key, "left").withColumn("broker_id", F.explode("replicas"))
    told = runs.select(*key, "date")
    return (
        rows.join(F.broadcast(told), key)
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
            F.when(leads, F.col("error")).alias("error"),
        )
        .select(*schemas.columns("replica_log"))
    )
