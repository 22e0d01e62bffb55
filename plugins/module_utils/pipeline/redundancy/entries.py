# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entries of a reassignment file (see `reassignment_files`) as JSON objects, in the order in which they are written."""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.redundancy.decisions import (
    BELOW_MIN_ISR,
    HELD,
    INCOMPLETE,
    NO_LEADER,
    NO_ROOM,
    REASSIGNING,
    TOO_FEW_BROKERS,
    lost,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.redundancy.layout_rows import LostBrokers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.redundancy.placement import new_replicas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.columns import as_json, first, format_template, in_plan_order

QUARANTINE, PARTITIONS, HELD_BACK, BROKERS = "quarantine", "partitions", "held", "brokers"
SECTIONS = (QUARANTINE, PARTITIONS, HELD_BACK, BROKERS)
# `word` of a partition with two replicas in one rack although there are enough racks.
RACK_VIOLATION = "rack_violation"


def entries(clusters: DataFrame, tasks: DataFrame, placements: DataFrame, lost_brokers: LostBrokers = None) -> DataFrame:
    """Return one row (cluster, section, word, entry) per entry. The rows of a cluster stay together, in the order of SECTIONS, internal topics first.

    `clusters`: rows of `layout_rows.clusters`; `tasks`: of `decisions.tasks`; `placements`: of `placement.placements`.
    `entry` is JSON. `word` is the reason of a held partition, RACK_VIOLATION of a planned partition with one, else null. A broken file has a row of
    section QUARANTINE before all others of its cluster, which must not be used then.
    """
    rows = _partition_rows(placements).unionByName(_held_rows(tasks)).unionByName(_broker_rows(clusters, placements, lost_brokers))
    broken = clusters.where(F.col("broken").isNotNull())
    rows = rows.unionByName(
        broken.select(
            "cluster",
            F.lit(QUARANTINE).alias("section"),
            *_null_keys(),
            F.lit(None).cast("string").alias("word"),
            as_json(F.struct(F.col("broken").alias("reason"))).alias("entry"),
        )
    )
    return in_plan_order(rows, SECTIONS, "broker_id", "entry").select("cluster", "section", "word", "entry")


def _null_keys() -> list[Column]:
    return [
        F.lit(None).cast("string").alias("topic"),
        F.lit(None).cast("int").alias("partition"),
        F.lit(None).cast("int").alias("broker_id"),
    ]


def _partition_rows(placements: DataFrame) -> DataFrame:
    """Return rows of the partitions to reassign, and of those that are held for want of room."""
    live_racks = F.array_distinct(F.transform("before", lambda row: row["rack"]))
    moves = placements.select("cluster", "before", live_racks.alias("live_racks"), F.explode("moves").alias("move")).select(
        "cluster", "before", "live_racks", "move.*"
    )
    with_replicas = moves.withColumns(
        {
            "new_replicas": new_replicas(),
            "racks": F.array_distinct(
                F.concat(
                    "kept_racks",
                    F.transform("added", lambda broker: first(F.filter("before", lambda row: row["broker_id"] == broker))["rack"]),
                )
            ),
            "placed": F.size("added") == F.col("missing"),
        }
    )
    doubled = (F.size("live_racks") > 1) & (F.size("racks") < F.least(F.size("new_replicas"), F.size("live_racks")))
    entry = F.struct(
        "topic",
        "partition",
        F.col("new_replicas").alias("replicas"),
        F.col("replicas").alias("replicas_before"),
        F.col("added").alias("adding_replicas"),
        F.array_except("replicas", "new_replicas").alias("removing_replicas"),
        "topic_id",
        (F.col("bytes") * F.size("added")).alias("bytes"),
    )
    held = F.struct("topic", "partition", "replicas", F.lit(NO_ROOM).alias("reason_code"), _no_room().alias("explanation"))
    return with_replicas.select(
        "cluster",
        F.when(F.col("placed"), F.lit(PARTITIONS)).otherwise(F.lit(HELD_BACK)).alias("section"),
        "topic",
        "partition",
        F.lit(None).cast("int").alias("broker_id"),
        F.when(~F.col("placed"), F.lit(NO_ROOM)).when(doubled, F.lit(RACK_VIOLATION)).alias("word"),
        F.when(F.col("placed"), as_json(entry)).otherwise(as_json(held)).alias("entry"),
    )


def _no_room() -> Column:
    return format_template(
        "fewer than %d brokers without a replica of it have room for its %s bytes: make room, add brokers, or raise max_disk_percent",
        F.col("missing"),
        F.col("size"),
    )


def _held_rows(tasks: DataFrame) -> DataFrame:
    reason = F.col("reason")
    explanation = (
        F.when(reason == REASSIGNING, F.lit("a reassignment of it is under way: let it end or cancel it, then collect the layout again"))
        .when(reason == INCOMPLETE, F.lit("the layout does not have a broker with a replica of it: collect the layout again"))
        .when(reason == NO_LEADER, F.lit("it has no live leader to copy from: recover it first, then collect the layout again"))
        .when(
            reason == TOO_FEW_BROKERS,
            format_template(
                "it needs %d brokers for its replicas, and %d brokers are unfenced: start more brokers, or set a smaller replication_factor",
                F.col("wanted"),
                F.col("live"),
            ),
        )
        .when(
            reason == BELOW_MIN_ISR,
            format_template(
                "with %d replicas it can never reach its min.insync.replicas of %d: change that first",
                F.col("wanted"),
                F.col("min_insync_replicas"),
            ),
        )
    )
    return tasks.where(F.col("outcome") == HELD).select(
        "cluster",
        F.lit(HELD_BACK).alias("section"),
        "topic",
        "partition",
        F.lit(None).cast("int").alias("broker_id"),
        reason.alias("word"),
        as_json(F.struct("topic", "partition", "replicas", reason.alias("reason_code"), explanation.alias("explanation"))).alias("entry"),
    )


def _broker_rows(clusters: DataFrame, placements: DataFrame, lost_brokers: LostBrokers) -> DataFrame:
    """Return one row per broker: its loads after the reassignment, null if it is not unfenced."""
    broker = F.col("broker")

    def of(state: str) -> Column:
        return first(F.filter(state, lambda row: row["broker_id"] == broker["broker_id"]))

    rows = clusters.select("cluster", "brokers", lost(lost_brokers).alias("given_up"), F.explode("brokers").alias("broker")).join(
        placements.select("cluster", "before", "after"), "cluster", "left"
    )
    before, after = of("before"), of("after")
    entry = F.struct(
        *(broker[name].alias(name) for name in ("broker_id", "broker_state", "rack")),
        F.array_contains("given_up", broker["broker_id"]).alias("lost"),
        *(broker[name].alias(name) for name in ("usable_bytes", "total_bytes")),
        *(after[name].alias(name) for name in ("bytes", "replicas", "leaders")),
        (after["bytes"] - before["bytes"]).alias("adding_bytes"),
        (after["replicas"] - before["replicas"]).alias("adding_replicas"),
    )
    return rows.select(
        "cluster",
        F.lit(BROKERS).alias("section"),
        F.lit(None).cast("string").alias("topic"),
        F.lit(None).cast("int").alias("partition"),
        broker["broker_id"].alias("broker_id"),
        F.lit(None).cast("string").alias("word"),
        as_json(entry).alias("entry"),
    )
