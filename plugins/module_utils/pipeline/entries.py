# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of the plan files: gold's decisions as the JSON objects that a plan holds, in the order in which they are written."""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline import loss
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.columns import as_json, recovery_order
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.gold import ELECT, HELD
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.words import explanation

QUARANTINE, BROKERS, PARTITIONS, HELD_BACK, ONLINE_ALREADY = "quarantine", "brokers", "partitions", "held", "online"
SECTIONS = (QUARANTINE, BROKERS, PARTITIONS, HELD_BACK, ONLINE_ALREADY)


def plan_entries(leaders: DataFrame, brokers: DataFrame, broken_files: DataFrame) -> DataFrame:
    """One row (cluster, section, word, entry) per entry of a plan file, clusters whole and each in the order of SECTIONS and of recovery.

    `entry` is JSON; `word` is the evidence of what is elected and the reason of what is held. A broken file's row comes before all
    others of its cluster, which are then not to be used.
    """
    rows = (
        _partition_rows(leaders)
        .unionByName(_rows(brokers.select("cluster", F.explode("brokers").alias("broker")), BROKERS, F.col("broker")))
        .unionByName(_rows(broken_files, QUARANTINE, F.struct("reason")))
    )
    place = F.array_position(F.array(*map(F.lit, SECTIONS)), F.col("section"))
    ordered = rows.repartition("cluster").sortWithinPartitions("cluster", place, *recovery_order(), "entry")
    return ordered.select("cluster", "section", "word", "entry")


def _rows(table: DataFrame, section: str, entry: Column) -> DataFrame:
    return table.select(
        "cluster",
        F.lit(section).alias("section"),
        F.lit(None).cast("string").alias("topic"),
        F.lit(None).cast("int").alias("partition"),
        F.lit(None).cast("string").alias("word"),
        as_json(entry).alias("entry"),
    )


def _partition_rows(leaders: DataFrame) -> DataFrame:
    leader = F.coalesce(F.col("designated"), F.col("winner")["broker_id"])
    survivors = F.transform(
        "survivors",
        lambda log: F.struct(*(log[name].alias(name) for name in ("broker_id", "last_written_epoch", "log_end_offset", "broker_epoch"))),
    )
    told = leaders.withColumn("loss", loss.bounds()).withColumn("explanation", explanation(leader))
    elected = F.struct(
        "topic",
        "partition",
        F.col("designated").alias("designatedLeader"),
        _order().alias("replicas_best_first"),
        "evidence",
        "explanation",
        F.struct("topic_id", "leader_epoch", "replicas", survivors.alias("survivors")).alias("guards"),
        "loss",
        _truncated(leader).alias("truncated"),
        "isr",
        "eligible_leader_replicas",
        "last_known_elr",
        "min_insync_replicas",
        "unclean_leader_election_enable",
    )
    held = F.struct(
        "topic",
        "partition",
        "reason",
        "evidence",
        F.col("winner")["broker_id"].alias("candidate"),
        "explanation",
        "loss",
        _truncated(leader).alias("truncated"),
        survivors.alias("survivors"),
        "min_insync_replicas",
        "unclean_leader_election_enable",
    )
    online = F.struct("topic", "partition", "leader")
    outcome = F.col("outcome")
    return told.select(
        "cluster",
        F.when(outcome == ELECT, PARTITIONS).when(outcome == HELD, HELD_BACK).otherwise(ONLINE_ALREADY).alias("section"),
        "topic",
        "partition",
        F.when(outcome == ELECT, F.col("evidence")).when(outcome == HELD, F.col("reason")).alias("word"),
        F.when(outcome == ELECT, as_json(elected)).when(outcome == HELD, as_json(held)).otherwise(as_json(online)).alias("entry"),
    )


def _order() -> Column:
    return F.array_distinct(F.concat(F.array("designated"), F.col("best_first")))


def _truncated(leader: Column) -> Column:
    """What other survivors lose when `leader` leads: from `offset` on, at most `records`; both null where that is not known."""
    losing = F.filter(
        F.col("winner")["relations"],
        lambda row: (row["other"] != leader) & (row["common_offset"].isNull() | (row["common_offset"] < row["log_end_offset"])),
    )
    return F.coalesce(
        F.transform(
            losing,
            lambda row: F.struct(
                row["other"].alias("broker_id"),
                row["common_offset"].alias("offset"),
                (row["log_end_offset"] - row["common_offset"]).alias("records"),
            ),
        ),
        F.array().cast("array<struct<broker_id: int, offset: bigint, records: bigint>>"),
    )
