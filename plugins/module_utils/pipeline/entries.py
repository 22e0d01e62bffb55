# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entries of the plan files: gold's decisions as JSON, field by field, in the order in which they are written."""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import planfile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline import loss
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.columns import in_plan_order, json_lines
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.gold import ELECT, HELD
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.words import explanation

QUARANTINE, BROKERS, PARTITIONS, HELD_BACK, ONLINE_ALREADY = "quarantine", "brokers", "partitions", "held", "online"
SECTIONS = (QUARANTINE, BROKERS, PARTITIONS, HELD_BACK, ONLINE_ALREADY)


# What entries tell of a survivor and of the winner.
SURVIVOR = ("broker_id", "last_written_epoch", "log_end_offset", "broker_epoch", "last_batch_transactional")
WINNER = ("broker_id", "log_end_offset", "relations")


def needed(decisions: DataFrame) -> DataFrame:
    """Decisions without what no entry tells. They are kept, sent to other tasks and sorted, and with all that they rest on they are several times
    as large."""
    winner = F.col("winner")
    return decisions.withColumns(
        {
            "survivors": F.transform("survivors", lambda log: F.struct(*(log[name].alias(name) for name in SURVIVOR))),
            "winner": F.when(winner.isNotNull(), F.struct(*(winner[name].alias(name) for name in WINNER))),
            "history": F.col("history").dropFields("changes"),
        }
    ).drop("ranked")


def plan_entries(leaders: DataFrame, brokers: DataFrame, broken_files: DataFrame) -> DataFrame:
    """One row (cluster, section, word, entry) per entry of a plan file, clusters whole and each in the order of SECTIONS and of recovery.

    `entry`: the fields of the entry in the order of `planfile.FIELDS`, as `json_lines` writes them; of a broken file the reason, as it is. `word` is
    the evidence of what is elected and the reason of what is held. A broken file's row comes before all others of its cluster, which are
    then not to be used.
    """
    told = brokers.select("cluster", F.inline("brokers"))
    rows = (
        _partition_rows(leaders)
        .unionByName(_rows(told, BROKERS, _entry(BROKERS)))
        .unionByName(_rows(broken_files, QUARANTINE, F.col("reason")))
    )
    return in_plan_order(rows, SECTIONS, "broker_id", "entry").select("cluster", "section", "word", "entry")


def _rows(table: DataFrame, section: str, entry: Column) -> DataFrame:
    return table.select(
        "cluster",
        F.lit(section).alias("section"),
        F.lit(None).cast("string").alias("topic"),
        F.lit(None).cast("int").alias("partition"),
        (F.col("broker_id") if section == BROKERS else F.lit(None).cast("int")).alias("broker_id"),
        F.lit(None).cast("string").alias("word"),
        entry.alias("entry"),
    )


def _entry(section: str, **fields: Column) -> Column:
    """The entry of a section: its fields are columns of their names, but for those that are given."""
    return json_lines(*(fields.get(name, F.col(name)) for name in planfile.FIELDS[section]))


def _partition_rows(leaders: DataFrame) -> DataFrame:
    leader = F.coalesce(F.col("designated"), F.col("winner")["broker_id"])
    # Names inside of a field stand in the order of the alphabet, in which the digest of a plan is made.
    survivors = F.transform(
        "survivors",
        lambda log: F.struct(*(log[name].alias(name) for name in ("broker_epoch", "broker_id", "last_written_epoch", "log_end_offset"))),
    )
    elected = _entry(
        PARTITIONS,
        designatedLeader=F.col("designated"),
        replicas_best_first=_order(),
        guards=F.struct("leader_epoch", "replicas", survivors.alias("survivors"), "topic_id"),
        truncated=_truncated(leader),
    )
    held = _entry(HELD_BACK, candidate=F.col("winner")["broker_id"], truncated=_truncated(leader), survivors=survivors)
    outcome = F.col("outcome")
    told = leaders.withColumn("loss", loss.bounds()).withColumn("explanation", explanation(leader))
    return told.select(
        "cluster",
        F.when(outcome == ELECT, PARTITIONS).when(outcome == HELD, HELD_BACK).otherwise(ONLINE_ALREADY).alias("section"),
        "topic",
        "partition",
        F.lit(None).cast("int").alias("broker_id"),
        F.when(outcome == ELECT, F.col("evidence")).when(outcome == HELD, F.col("reason")).alias("word"),
        F.when(outcome == ELECT, elected).when(outcome == HELD, held).otherwise(_entry(ONLINE_ALREADY)).alias("entry"),
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
