# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""History of what was seen: rows of `replica_log` from landing files and healthy snapshots, and the `candidates` that follow from them.

In all of these tables `cluster` is the key of a run (see `RUNS`) until `of_runs` puts the cluster's name in its place: so the files of
many runs go through bronze, silver and gold together, by the rules by which they are planned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline import bronze, gold, history, silver, tables
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.columns import first

# What is known of each run before its rows are read. `key`: its files' directory and name, "<run_id>/<cluster>" or "<cluster>/<run_id>".
# `kept_rows`, `kept_outcomes`: what the tables have of a run from files that are gone meanwhile.
RUNS = (
    "key string, run_id string, origin string, cluster string, date date, cluster_id string, collected_at timestamp, planned_at timestamp, "
    "finished_at timestamp, plan_id string, strategy string, ranking string, backend string, landing_sha256 string, plan_sha256 string, "
    "result_sha256 string, kept_rows map<string,bigint>, kept_outcomes map<string,bigint>, remarks array<string>, "
    f"{tables.IMPACT_OF_RUN}, {tables.MODE_OF_RUN}"
)
REPLICA = (
    "log_start_offset",
    "log_end_offset",
    "high_watermark",
    "partition_leader_epoch",
    "last_written_epoch",
    "error",
)


def records(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """The rows of landing files `<run_id>/<cluster>.jsonl` (see `bronze.records`), by run."""
    return bronze.records(spark, files).withColumn("cluster", run_key(".jsonl"))


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


def replica_log(records: DataFrame, runs: DataFrame) -> DataFrame:
    """One row per replica of each partition that the landing files speak of, as it was seen: nothing is judged."""
    racks = (
        records.where(F.col("kind") == "broker")
        .groupBy("cluster")
        .agg(F.map_from_entries(F.array_distinct(F.collect_list(F.struct("broker_id", "rack")))).alias("racks"))
    )
    seen = bronze.partition_records(bronze.grouped(records)).select(
        "cluster", "topic", "partition", first("states").alias("state"), F.explode("replica_rows").alias("replica")
    )
    state, replica = F.col("state"), F.col("replica")
    broker = replica["broker_id"]
    rows = seen.join(F.broadcast(racks), "cluster", "left").select(
        "cluster",
        "topic",
        "partition",
        F.lit(tables.RECOVERY).alias("origin"),
        state["topic_id"].alias("topic_id"),
        state["leader"].alias("leader"),
        state["leader_epoch"].alias("leader_epoch"),
        broker.alias("broker_id"),
        replica["broker_state"].alias("broker_state"),
        F.col("racks")[broker].alias("rack"),
        F.array_contains(state["isr"], broker).alias("in_isr"),
        F.array_contains(state["eligible_leader_replicas"], broker).alias("in_elr"),
        F.array_contains(state["last_known_elr"], broker).alias("in_last_known_elr"),
        state["min_insync_replicas"].alias("min_insync_replicas"),
        state["cleanup_policy"].alias("cleanup_policy"),
        *(replica[name].alias(name) for name in REPLICA),
    )
    return of_runs(rows, runs, {"collected_at": "observed_at"}).select(*tables.columns("replica_log"))


def candidates(records: DataFrame, runs: DataFrame, ranking: str) -> DataFrame:
    """The survivors of each offline partition as `gold` ranks them by `ranking`, best first, with its word of evidence."""
    grouped = bronze.grouped(records)
    partitions = history.histories(silver.partitions(bronze.partition_records(grouped), bronze.brokers(grouped)))
    judged = gold.evidence(gold.candidates(partitions, ranking)).where(F.coalesce("leader", F.lit(-1)) < 0)
    rows = judged.select("cluster", "topic", "partition", "evidence", "winner", F.posexplode("ranked").alias("place", "log"))
    log = F.col("log")
    relation = first(F.filter(F.col("winner")["relations"], lambda row: row["other"] == log["broker_id"]))
    names = ("broker_id", "log_end_offset", "high_watermark", "last_written_epoch", "partition_leader_epoch", "proven", "resolved")
    found = rows.select(
        "cluster",
        "topic",
        "partition",
        "evidence",
        (F.col("place") + 1).alias("place"),
        *(log[name].alias(name) for name in names),
        relation["relation"].alias("relation_to_winner"),
        relation["common_offset"].alias("common_offset"),
    )
    return of_runs(found, runs, {"collected_at": "observed_at"}).select(*tables.columns("candidates"))


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
            F.lit(tables.HEALTHY).alias("origin"),
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
        .select(*tables.columns("replica_log"))
    )
