# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of a reassignment file (see `redundancy_plans`) as JSON objects, in the order in which they are written."""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):  # libraries.py says why
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
# Word of a partition that has two replicas in one rack although there are racks enough.
RACK_VIOLATION = "rack_violation"


def entries(clusters: DataFrame, tasks: DataFrame, placements: DataFrame, lost_brokers: LostBrokers = None) -> DataFrame:
    """One row (cluster, section, word, entry) per line, clusters whole and each in the order of SECTIONS, internal topics first.

    `entry` is JSON. `word` is the reason of what is held, RACK_VIOLATION of a partition that has one, else null. The row of a broken file comes
    before all others of its cluster, which are then not to be used.
    """
    rows = _partition_rows(placements).unionByName(_held_rows(tasks)).unionByName(_broker_rows(clusters, placements, lost_brokers))
    broken = clusters.where(F.col("broken").isNotNull())
    rows = rows.unionByName(
        broken.select(
            "cluster",
            F.lit(QUARANTINE).alias("section"),
            *_nowhere(),
            F.lit(None).cast("string").alias("word"),
            as_json(F.struct(F.col("broken").alias("reason"))).alias("entry"),
        )
    )
    return in_plan_order(rows, SECTIONS, "broker_id", "entry").select("cluster", "section", "word", "entry")


def _nowhere() -> list[Column]:
    return [
        F.lit(None).cast("string").alias("topic"),
        F.lit(None).cast("int").alias("partition"),
        F.lit(None).cast("int").alias("broker_id"),
    ]


def _partition_rows(placements: DataFrame) -> DataFrame:
    """What is to be reassigned, and what would be if there was room."""
    live_racks = F.array_distinct(F.transform("before", lambda row: row["rack"]))
    moves = placements.select("cluster", "before", live_racks.alias("live_racks"), F.explode("moves").alias("move")).select(
        "cluster", "before", "live_racks", "move.*"
    )
    told = moves.withColumns(
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
    held = F.struct("topic", "partition", "replicas", F.lit(NO_ROOM).alias("reason"), _no_room().alias("explanation"))
    return told.select(
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
        "there are not %d brokers beside those that have it with room for its %s bytes: make room, add brokers, or raise max_disk_percent",
        F.col("missing"),
        F.col("size"),
    )


def _held_rows(tasks: DataFrame) -> DataFrame:
    reason = F.col("reason")
    explanation = (
        F.when(reason == REASSIGNING, F.lit("a reassignment of it is under way: let it end or cancel it, then gather the layout anew"))
        .when(reason == INCOMPLETE, F.lit("the layout says nothing of a broker that has a replica of it: gather the layout anew"))
        .when(reason == NO_LEADER, F.lit("it has no live leader to copy from: recover it first, then gather the layout anew"))
        .when(
            reason == TOO_FEW_BROKERS,
            format_template(
                "it is to have %d replicas, and %d brokers are unfenced: start more brokers, or set a smaller replication_factor",
                F.col("wanted"),
                F.col("live"),
            ),
        )
        .when(
            reason == BELOW_MIN_ISR,
            format_template(
                "with %d replicas it could never have the %d in sync that its min.insync.replicas asks for: change that first",
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
        as_json(F.struct("topic", "partition", "replicas", "reason", explanation.alias("explanation"))).alias("entry"),
    )


def _broker_rows(clusters: DataFrame, placements: DataFrame, lost_brokers: LostBrokers) -> DataFrame:
    """What each broker has when all is done, null where it is not unfenced."""
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
