# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the rows of layout files (see `layout_file`). A row that breaks the schema makes its whole file unusable: it may hide a full disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import BROKER_STATES, UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.columns import any_of, false_if_null, first
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.json_lines import TOPIC_NAME, cluster_of_file, lines

BROKER = "broker_id int, broker_state string, rack string, usable_bytes bigint, total_bytes bigint"
PARTITION = (
    "topic string, partition int, topic_id string, leader int, replicas array<int>, isr array<int>, reassigning boolean, "
    "min_insync_replicas int, sizes array<array<bigint>>"
)
# 1 PiB: no disk and no replica is larger, and sums of larger numbers would overflow.
MOST_BYTES = 1 << 50
SCHEMA = f"kind string, {BROKER}, {PARTITION}, damaged string"


# Lost brokers: one list for every cluster, a list by cluster, or None for the fenced brokers.
LostBrokers = Sequence[int] | Mapping[str, Sequence[int]] | None


def records(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """Return one row per line of `files`, with the columns of SCHEMA and `cluster`. `damaged` has the text of a line that breaks the schema.

    `files`: absolute paths, each named `<cluster>.jsonl`, whose seals have been checked.
    """
    return lines(spark, SCHEMA, files).withColumn("cluster", cluster_of_file())


def named_lost(lost_brokers: LostBrokers) -> Column:
    """Return a column with the ids that `lost_brokers` has for the `cluster` of a row, null if it does not mention the cluster."""
    if lost_brokers is None:
        return F.lit(None).cast("array<int>")
    if isinstance(lost_brokers, Mapping):
        # One literal for all clusters: an expression per cluster would slow Spark's optimizer.
        by_cluster = json.dumps({cluster: list(brokers) for cluster, brokers in lost_brokers.items()})
        return F.try_element_at(F.from_json(F.lit(by_cluster), "map<string,array<int>>"), F.col("cluster"))
    return F.array(*(F.lit(broker) for broker in sorted(set(lost_brokers)))).cast("array<int>")


def clusters(records: DataFrame, lost_brokers: LostBrokers = None) -> DataFrame:
    """Return one row per cluster of `records`: `brokers` and `broken`, the reason why its file cannot be used, or null.

    `brokers`: an array of (broker_id, broker_state, rack, usable_bytes, total_bytes), sorted by id. A file in which one of `lost_brokers` is
    unfenced cannot be used.
    """
    kind = F.col("kind")
    found = records.groupBy("cluster").agg(
        F.sort_array(
            F.collect_list(
                F.when(
                    false_if_null((kind == "broker") & _sound_broker()),
                    F.struct("broker_id", "broker_state", "rack", "usable_bytes", "total_bytes"),
                )
            )
        ).alias("brokers"),
        F.count(F.when(false_if_null(kind == "partition"), F.lit(1))).alias("partition_rows"),
        F.count_distinct(F.when(false_if_null(kind == "partition"), F.struct("topic", "partition"))).alias("partitions"),
        F.min(_fault()).alias("fault"),
    )
    ids = F.transform("brokers", lambda row: row["broker_id"])
    named = F.coalesce(named_lost(lost_brokers), F.array().cast("array<int>"))
    alive = F.filter("brokers", lambda row: (row["broker_state"] == UNFENCED) & F.array_contains(named, row["broker_id"]))
    broken = (
        F.when(F.col("fault").isNotNull(), F.col("fault"))
        .when(F.size(F.array_distinct(ids)) < F.size("brokers"), F.lit("it has two rows of a broker"))
        .when(F.col("partitions") < F.col("partition_rows"), F.lit("it has two rows of a partition"))
        .when(
            F.size(alive) > 0,
            F.concat(
                F.lit("broker "),
                first(alive)["broker_id"].cast("string"),
                F.lit(
                    " is named in lost_brokers, but it is unfenced: leave it out, or wait until it is fenced and collect the layout again"
                ),
            ),
        )
    )
    return found.select("cluster", "brokers", broken.alias("broken"))


def partitions(records: DataFrame) -> DataFrame:
    """Return one row per partition of `records`: its fields, but instead of `sizes` its `bytes`, the size of a replica that is in sync.

    That is the size of the leader's replica, else of the largest known one, or null if no size is known. Invalid rows are left out.
    """
    fields = [field.split()[0] for field in PARTITION.split(", ")]
    size_of_leader = first(F.filter("sizes", lambda row: F.get(row, F.lit(0)) == F.col("leader")))
    replica_bytes = F.coalesce(F.get(size_of_leader, F.lit(1)), F.array_max(F.transform("sizes", lambda row: F.get(row, F.lit(1)))))
    return records.where((F.col("kind") == "partition") & false_if_null(_sound_partition())).select(
        "cluster", *(name for name in fields if name != "sizes"), replica_bytes.alias("bytes")
    )


def known_topics(records: DataFrame, topics: Sequence[str]) -> set[str]:
    """Return those of `topics` that have a partition in `records`."""
    named = records.where((F.col("kind") == "partition") & F.col("topic").isin(*topics))
    return {row.topic for row in named.select("topic").distinct().collect()}


def _fault() -> Column:
    """Return the reason why a row makes its file unusable, or null."""
    kind = F.coalesce("kind", F.lit(""))
    return (
        F.when(kind.isin("header", "seal"), F.lit(None).cast("string"))
        .when(kind == "broker", F.when(~false_if_null(_sound_broker()), F.lit("a broker row that breaks the schema")))
        .when(kind == "partition", F.when(~false_if_null(_sound_partition()), F.lit("a partition row that breaks the schema")))
        .otherwise(F.lit("a row of no known kind"))
    )


def _sound_broker() -> Column:
    possible = [F.col(name).isNull() | F.col(name).between(-1, MOST_BYTES) for name in ("usable_bytes", "total_bytes")]
    return F.col("damaged").isNull() & (F.col("broker_id") >= 0) & F.col("broker_state").isin(*BROKER_STATES) & possible[0] & possible[1]


def _sound_partition() -> Column:
    sizes = any_of(
        "sizes", lambda row: ~false_if_null((F.size(row) == 2) & (F.get(row, F.lit(0)) >= 0) & F.get(row, F.lit(1)).between(0, MOST_BYTES))
    )
    return (
        F.col("damaged").isNull()
        & F.col("topic").rlike(TOPIC_NAME)
        & (F.col("partition") >= 0)
        & F.col("topic_id").isNotNull()
        & (F.col("leader") >= -1)
        & (F.size("replicas") > 0)
        & (F.size(F.array_distinct("replicas")) == F.size("replicas"))
        & ~any_of("replicas", lambda broker: broker.isNull() | (broker < 0))
        & F.col("isr").isNotNull()
        & F.col("reassigning").isNotNull()
        & F.col("sizes").isNotNull()
        & ~sizes
    )
