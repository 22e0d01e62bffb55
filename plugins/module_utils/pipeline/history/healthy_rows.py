# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Healthy snapshots as DataFrames, without a decision.

`files` are absolute paths `…/<cluster>/<run_id>.jsonl` whose seals have been checked (`landing_format.check`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT32
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import STORAGE_ERROR
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import local_frame
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.json_lines import TIME, lines

BROKER = "broker_id int, broker_state string, silent_seconds double, rack string"
WATERMARK = (
    "topic string, partition int, topic_id string, leader int, leader_epoch int, replicas array<int>, isr array<int>, "
    "eligible_leader_replicas array<int>, last_known_elr array<int>, offline_replicas array<int>, min_insync_replicas int, cleanup_policy string, "
    "log_start_offset bigint, log_end_offset bigint, high_watermark bigint, error string"
)
ENDS = "replica_ends array<array<bigint>>"
SCHEMA = f"kind string, {BROKER}, {WATERMARK}, {ENDS}, damaged string"
ELR_VERSION = "eligible_leader_replicas_version"  # in the header
# Required fields of a partition's row. The others may be null.
NEEDED = ("topic", "partition", "topic_id", "leader", "leader_epoch", "replicas", "isr", "eligible_leader_replicas", "replica_ends")


def watermarks(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """Return one row per partition of each snapshot: `cluster`, `run_id`, `observed_at` (timestamp), the fields of WATERMARK, and

    replica_ends                      an array of (broker_id, log_end_offset)
    eligible_leader_replicas_version  the level of that feature in the cluster (KIP-966), null if it is not known

    `leader` is -1 if there is none. Invalid rows are left out (see `broken_files`).
    """
    named = [field.split()[0] for field in WATERMARK.split(", ")]
    ends = F.transform("replica_ends", lambda end: F.struct(end[0].cast("int").alias("broker_id"), end[1].alias("log_end_offset")))
    return (
        _records(spark, files)
        .where((F.col("kind") == "watermark") & _whole())
        .join(F.broadcast(_taken(spark, files)), ["cluster", "run_id"])
        .select("cluster", "run_id", "observed_at", *named, ends.alias("replica_ends"), ELR_VERSION)
    )


def brokers(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """Return one row per broker of each snapshot: `cluster`, `run_id` and the fields of BROKER. Invalid rows are left out."""
    named = [field.split()[0] for field in BROKER.split(", ")]
    sound = F.col("damaged").isNull() & F.col("broker_id").isNotNull() & F.col("broker_state").isNotNull()
    return _records(spark, files).where((F.col("kind") == "broker") & sound).select("cluster", "run_id", *named)


def failed_disks(unfenced: Column) -> Column:
    """Return the replicas of a row of `watermarks` whose broker is alive and whose disk has failed (KIP-858), in assignment order.

    `unfenced`: the ids of such brokers. A replica of a fenced broker is offline, too, whatever its disk does. One whose log end offset was read has its
    disk: its broker came back after the partition was described.
    """
    none = F.array().cast("array<int>")
    refused = F.when(F.col("error") == STORAGE_ERROR, F.array("leader"))
    read = F.transform(F.filter("replica_ends", lambda end: end["log_end_offset"].isNotNull()), lambda end: end["broker_id"])
    offline = F.concat(F.coalesce("offline_replicas", none), F.coalesce(refused, none))
    return F.array_except(F.array_intersect(F.array_intersect("replicas", unfenced), offline), read)


def broken_files(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """Return one row (cluster, run_id, reason) per snapshot with invalid rows, which `watermarks` and `brokers` leave out."""
    kind = F.coalesce("kind", F.lit(""))
    partition = (kind == "watermark") & ~_whole()
    broker = (kind == "broker") & (F.col("damaged").isNotNull() | F.col("broker_id").isNull() | F.col("broker_state").isNull())
    return (
        _records(spark, files)
        .where(partition | broker | ~kind.isin("header", "seal", "broker", "watermark"))
        .groupBy("cluster", "run_id")
        .agg(F.format_string("rows that break the schema: %d", F.count("*")).alias("reason"))
    )


def _records(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    path = F.col("_metadata.file_path")
    names = {"cluster": F.regexp_extract(path, r"([^/]+)/[^/]+$", 1), "run_id": F.regexp_extract(path, r"([^/]+)\.jsonl$", 1)}
    return lines(spark, SCHEMA, files).withColumns(names)


def _whole() -> Column:
    sound = F.col("damaged").isNull()
    for name in NEEDED:
        sound = sound & F.col(name).isNotNull()
    return sound


def _taken(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """Return the time and the ELR_VERSION of each snapshot from its first line. Spark would read the whole file for that."""
    rows = []
    for path in map(Path, files):
        header = landing_format.header_of(path)
        rows.append({"cluster": path.parent.name, "run_id": path.stem, "collected_at": header["collected_at"], ELR_VERSION: _level(header)})
    taken = local_frame.frame(spark, rows, f"cluster string, run_id string, collected_at string, {ELR_VERSION} int")
    return taken.select("cluster", "run_id", F.to_timestamp("collected_at", TIME).alias("observed_at"), ELR_VERSION)


def _level(header: Mapping[str, Any]) -> int | None:
    level = header.get(ELR_VERSION)
    return level if isinstance(level, int) and not isinstance(level, bool) and 0 <= level <= MOST_INT32 else None
