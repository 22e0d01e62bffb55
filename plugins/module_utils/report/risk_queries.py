# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries on healthy snapshots for the report: partitions at risk now, the change since the day before, and the trend over days.

The last snapshot of a cluster represents a day. The change is since the last snapshot of an earlier day; on the first day, since the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import Column, DataFrame, Window
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import risk_rules
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.schemas import HEALTHY
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.recovery_queries import KEY, Read, of_clusters
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.columns import any_of, capped_sum, false_if_null

# Two of `risk_rules.RISKS`: the partition is offline, or a single failure takes it offline.
OFFLINE, ONE_FAILURE = "offline", "no_eligible_leader"
WHAT_IF_ORDER = (risk_rules.OFFLINE, risk_rules.ALREADY_OFFLINE, risk_rules.NEW_LEADER, risk_rules.SAME_LEADER)
_SNAPSHOT = ["cluster", "date", "run_id"]


def snapshots(read: Read, clusters: Sequence[str] | None, since: date) -> DataFrame:
    """Return one row per cluster and day: its last snapshot (run_id, collected_at, partitions), and its rank by date (`place` 1: the newest)."""
    audit = of_clusters(read("recovery_audit"), clusters).where((F.col("origin") == HEALTHY) & (F.col("date") >= F.lit(since)))
    own = F.struct("collected_at", "run_id", "partitions")
    newest_first = Window.partitionBy("cluster").orderBy(F.desc("date"))
    return (
        audit.groupBy("cluster", "date")
        .agg(F.max(own).alias("last"), F.min(own).alias("first"))
        .select("cluster", "date", "last.*", F.col("first.run_id").alias("first_run_id"), F.row_number().over(newest_first).alias("place"))
    )


def current(days: DataFrame) -> DataFrame:
    """Return per cluster its newest snapshot (cluster, date, run_id, collected_at, partitions), and the one to compare with (before_run_id, before_date)."""
    earlier = days.where("place = 2").select("cluster", F.col("run_id").alias("earlier"), F.col("date").alias("earlier_date"))
    first = F.when(F.col("first_run_id") != F.col("run_id"), F.col("first_run_id"))
    return (
        days.where("place = 1")
        .join(earlier, "cluster", "left")
        .select(
            *_SNAPSHOT,
            "collected_at",
            "partitions",
            F.coalesce("earlier", first).alias("before_run_id"),
            F.coalesce("earlier_date", "date").alias("before_date"),
        )
        .orderBy("cluster")
    )


def at_risk(read: Read, snapshots_now: DataFrame) -> DataFrame:
    """Return the risk rows of these snapshots, with `risks_before` (null if the partition was not at risk) and `compared` (false without an earlier one)."""
    known = read("risk")
    now = known.join(F.broadcast(snapshots_now.select(*_SNAPSHOT, "before_run_id")), _SNAPSHOT)
    before = snapshots_now.where("before_run_id IS NOT NULL").select(
        "cluster", F.col("before_date").alias("date"), F.col("before_run_id").alias("run_id")
    )
    then = known.join(F.broadcast(before), _SNAPSHOT).select(*KEY, F.col("risks").alias("risks_before"))
    return now.join(then, KEY, "left").withColumn("compared", F.col("before_run_id").isNotNull()).drop("before_run_id")


def risk_counts(read: Read, snapshots_now: DataFrame) -> DataFrame:
    """Return per cluster and kind of risk the partitions now and before (null without an earlier snapshot). Reads both snapshots once."""
    earlier = snapshots_now.where("before_run_id IS NOT NULL")
    wanted = snapshots_now.select(*_SNAPSHOT, F.lit(True).alias("now")).unionByName(
        earlier.select("cluster", F.col("before_date").alias("date"), F.col("before_run_id").alias("run_id"), F.lit(False).alias("now"))
    )
    counts = (
        read("risk")
        .join(F.broadcast(wanted), _SNAPSHOT)
        .withColumn("risk", F.explode("risks"))
        .groupBy("cluster", "risk")
        .agg(F.count_if("now").alias("partitions"), F.count_if(~F.col("now")).alias("before"))
    )
    return (
        counts.join(F.broadcast(earlier.select("cluster", F.lit(True).alias("compared"))), "cluster", "left")
        .withColumn("before", F.when(F.col("compared"), F.col("before")))
        .drop("compared")
        .orderBy("cluster", "risk")
    )


def ranked_partitions(rows: DataFrame, limit: int) -> DataFrame:
    """Return the rows of `at_risk` that rank highest in the fleet. `is_new` is null without an earlier snapshot."""
    fresh = F.when(F.col("compared"), F.col("risks_before").isNull())
    return (
        rows.select(
            *KEY,
            "leader",
            "replicas",
            "isr",
            "eligible_leader_replicas",
            "risks",
            "score",
            "depends_on",
            "failed_disks",
            fresh.alias("is_new"),
        )
        .orderBy(F.desc("score"), *KEY)
        .limit(limit)
    )


def ranked_clusters(rows: DataFrame) -> DataFrame:
    """Return per cluster, worst first: partitions offline, one failure from offline, at any risk and newly at risk, and the sum of their scores."""
    return (
        rows.groupBy("cluster")
        .agg(
            F.count_if(_with(OFFLINE)).alias("offline"),
            F.count_if(_with(ONE_FAILURE)).alias("one_failure"),
            F.count("*").alias("at_risk"),
            F.count_if(false_if_null(F.col("compared") & F.col("risks_before").isNull())).alias("new"),
            F.sum("score").alias("score"),
        )
        .orderBy(F.desc("score"), "cluster")
    )


def ranked_topics(rows: DataFrame, limit: int) -> DataFrame:
    """Return the topics with the highest sums of scores."""
    return (
        rows.groupBy("cluster", "topic")
        .agg(
            F.count_if(_with(OFFLINE)).alias("offline"),
            F.count_if(_with(ONE_FAILURE)).alias("one_failure"),
            F.count("*").alias("at_risk"),
            F.sum("score").alias("score"),
        )
        .orderBy(F.desc("score"), "cluster", "topic")
        .limit(limit)
    )


def ranked_brokers(rows: DataFrame, limit: int) -> DataFrame:
    """Return the brokers on which most partitions depend: the loss of that broker alone would take them offline."""
    return (
        rows.withColumn("broker_id", F.explode("depends_on"))
        .groupBy("cluster", "broker_id")
        .agg(F.count("*").alias("partitions"))
        .orderBy(F.desc("partitions"), "cluster", "broker_id")
        .limit(limit)
    )


def trend(read: Read, days: DataFrame) -> DataFrame:
    """Return per day, over all clusters: partitions offline and one failure from offline in the last snapshots, and the number of clusters."""
    counts = (
        read("risk")
        .join(F.broadcast(days.select(*_SNAPSHOT)), _SNAPSHOT)
        .groupBy("date")
        .agg(F.count_if(_with(OFFLINE)).alias("offline"), F.count_if(_with(ONE_FAILURE)).alias("one_failure"))
    )
    seen = days.groupBy("date").agg(F.count("*").alias("clusters"), F.sum("partitions").alias("partitions"))
    none = F.lit(0).cast("bigint")
    return (
        seen.join(counts, "date", "left")
        .select(
            "date",
            "clusters",
            "partitions",
            F.coalesce("offline", none).alias("offline"),
            F.coalesce("one_failure", none).alias("one_failure"),
        )
        .orderBy("date")
    )


def what_if_ranked(rows: DataFrame, limit: int) -> DataFrame:
    """Return the worst `limit` rows of `risk.what_if`: offline first, then by lost offsets."""
    order = F.array_position(F.array(*map(F.lit, WHAT_IF_ORDER)), F.col("outcome"))
    return (
        rows.select(*KEY, "leader", "outcome", "next_leader", "writable", "lost_offsets", "reason")
        .orderBy(order, F.desc_nulls_first("lost_offsets"), *KEY)
        .limit(limit)
    )


def what_if_counts(rows: DataFrame) -> DataFrame:
    """Return per cluster and outcome of `risk.what_if`: partitions, those online but not writable, known lost offsets, and partitions with unknown ones."""
    offline = F.col("outcome").isin(risk_rules.OFFLINE, risk_rules.ALREADY_OFFLINE)
    return (
        rows.groupBy("cluster", "outcome")
        .agg(
            F.count("*").alias("partitions"),
            F.count_if(false_if_null(~offline & ~F.col("writable"))).alias("not_writable"),
            F.coalesce(capped_sum("lost_offsets"), F.lit(0)).alias("lost_offsets"),
            F.count_if(offline & F.col("lost_offsets").isNull()).alias("unknown"),
        )
        .orderBy("cluster", "outcome")
    )


def _with(risk_name: str) -> Column:
    return any_of("risks", lambda own: own == risk_name)
