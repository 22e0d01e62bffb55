# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bronze: the rows of the landing files as they are, told apart by what they speak of. Nothing is judged here but where a row belongs.

A row that breaks the schema is never dropped. Where it names its partition, that partition alone is held (silver's `defects`): one bad
row must not stop thousands of sound partitions from coming back. Where it does not, or where it is a broker row, it could
be anybody's missing evidence, and the whole file is quarantined.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql import functions as F

BROKER_STATES = ("unfenced", "fenced", "coming_back")
PARTITION_KINDS = ("partition", "replica", "pair", "proof", "history", "healthy")
TOPIC_ID = r"^[a-zA-Z0-9_-]{1,64}$"
# As instants.utc_now writes it.
TIME = "yyyy-MM-dd'T'HH:mm:ssX"
TOPIC_NAME = r"^[a-zA-Z0-9._-]{1,249}$"

STATE = (
    "topic_id string, leader int, leader_epoch int, replicas array<int>, isr array<int>, eligible_leader_replicas array<int>, "
    "last_known_elr array<int>, reassigning boolean, named boolean, min_insync_replicas int, unclean_leader_election_enable boolean, "
    "cleanup_policy string"
)
REPLICA = (
    "broker_id int, broker_state string, error string, log_start_offset bigint, log_end_offset bigint, high_watermark bigint, "
    "partition_leader_epoch int, last_written_epoch int, broker_epoch bigint, last_batch_transactional boolean"
)
PAIR = "broker_a int, broker_b int, relation string, shorter int, common_offset bigint, reason string"
PROOF = "source string, name string, offset bigint, held boolean"
CHANGE = (
    "offset bigint, timestamp bigint, leader int, leader_epoch int, isr array<int>, eligible_leader_replicas array<int>, "
    "unclean boolean, reassigned boolean"
)
HISTORY = (
    "doubt string, offline_since bigint, last_isr array<int>, metadata_version int, min_insync_replicas int, "
    f"changes array<struct<{CHANGE.replace(', ', ',').replace(' ', ':')}>>"
)
# The newest healthy snapshot in which the partition had a leader (times in milliseconds since 1970, rate in offsets per second).
HEALTHY = "observed_at bigint, topic_id string, leader_epoch int, isr array<int>, log_end_offset bigint, high_watermark bigint, append_rate double"
HEADER = "eligible_leader_replicas_version int, collected_at string"
# Rows of all kinds are flat objects, read in one pass; fields that decide nothing are left in the file.
_PARTS = ("kind string, topic string, partition int", STATE, REPLICA, "silent_seconds double, rack string", PAIR, PROOF, HISTORY, HEALTHY)
# Rows of two kinds may have a field of one name, and rows of older landing files lack the newest ones.
SCHEMA = ", ".join(dict.fromkeys(field for part in (*_PARTS, HEADER, "damaged string") for field in part.split(", ")))


def records(spark: SparkSession, files: Sequence[str]) -> DataFrame:
    """One row per line of `files` (absolute paths, each named `<cluster>.jsonl`), with its `cluster`; `damaged` holds a line that breaks the schema."""
    return lines(spark, SCHEMA, files).withColumn("cluster", cluster_of_file())


def lines(spark: SparkSession, schema: str, files: Sequence[str]) -> DataFrame:
    """One row per line of `files`, which are JSON lines; the column `damaged` of `schema` holds one that breaks it."""
    # The encoding is named, although lines are read a tenth faster without: then a line could also be UTF-16, or begin with a BOM.
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "damaged", "lineSep": "\n", "encoding": "UTF-8"}
    return spark.read.schema(schema).options(**options).json([literal_path(file) for file in files])


def cluster_of_file() -> Column:
    """The cluster that a file is named after."""
    # `_metadata.file_name` would be a column that is read beside all others: a quarter of the time of reading.
    name = F.substring_index(F.input_file_name(), "/", -1)
    return F.left(name, F.length(name) - len(".jsonl"))


def literal_path(file: str) -> str:
    """Quote what Hadoop would take for a wildcard, and say that the path is one of the local (or shared) file system."""
    return "file:" + "".join(f"\\{letter}" if letter in "{}[]*?\\" else letter for letter in file)


def grouped(records: DataFrame) -> DataFrame:
    """One row (cluster, topic, partition) per partition that any row names, with its sound rows as sorted arrays and the number of damaged
    ones; and one row per cluster, without topic and partition, with what is of no partition. All in one pass over the files, since to
    read JSON is most of the work: see `brokers` and `partition_records`, which take it apart."""
    kind = F.coalesce("kind", F.lit(""))
    of_partition = kind.isin(*PARTITION_KINDS) & _names_partition()
    return (
        records.withColumns(
            {"fault": _fault(), "topic": F.when(of_partition, F.col("topic")), "partition": F.when(of_partition, F.col("partition"))}
        )
        .groupBy("cluster", "topic", "partition")
        .agg(
            _rows("partition", STATE).alias("states"),
            _rows("replica", REPLICA).alias("replica_rows"),
            _rows("pair", PAIR).alias("pairs"),
            _rows("proof", f"{PROOF}, broker_id int").alias("proofs"),
            _rows("history", HISTORY).alias("histories"),
            _rows("healthy", HEALTHY).alias("healthy_rows"),
            F.count("damaged").alias("damaged_rows"),
            F.sort_array(
                F.collect_list(F.when((kind == "broker") & _sound_broker(), F.struct("broker_id", "broker_state", "silent_seconds")))
            ).alias("brokers"),
            F.max(F.when(kind == "header", F.col("eligible_leader_replicas_version"))).alias("eligible_leader_replicas_version"),
            F.unix_millis(F.to_timestamp(F.max(F.when(kind == "header", F.col("collected_at"))), TIME)).alias("collected_at"),
            F.when(F.count("fault") > 0, F.format_string("%s (rows that cannot be used: %d)", F.min("fault"), F.count("fault"))).alias(
                "broken"
            ),
        )
    )


def brokers(grouped: DataFrame) -> DataFrame:
    """One row per cluster: its brokers, sorted, as array of (broker_id, broker_state, silent_seconds), `eligible_leader_replicas_version`,
    when it was gathered, `collected_at`, in milliseconds since 1970 (null where the header does not tell), and `broken`: why its file cannot
    be used, null where it can."""
    return grouped.where("topic IS NULL").select("cluster", "brokers", "eligible_leader_replicas_version", "collected_at", "broken")


def partition_records(grouped: DataFrame) -> DataFrame:
    """One row (cluster, topic, partition) per partition that any row names: `states`, `replica_rows`, `pairs`, `proofs`, `histories` and
    `healthy_rows`, its sound rows as sorted arrays, and `damaged_rows`, the number of the others."""
    return grouped.where("topic IS NOT NULL").drop("brokers", "eligible_leader_replicas_version", "collected_at", "broken")


def broken_files(brokers: DataFrame) -> DataFrame:
    """One row (cluster, reason) per file with a row that cannot be put down to one partition."""
    return brokers.where("broken IS NOT NULL").select("cluster", F.col("broken").alias("reason"))


def _fault() -> Column:
    """Why a row makes its file useless, null where it does not."""
    kind = F.coalesce("kind", F.lit(""))
    return (
        F.when(kind.isin("header", "seal"), None)
        .when(kind == "broker", F.when(~_sound_broker(), F.lit("a broker row that breaks the schema")))
        .when(~kind.isin(*PARTITION_KINDS), F.lit("a row of no known kind"))
        .when(~_names_partition(), F.concat(F.lit("a row without a valid topic and partition, kind "), kind))
    )


def _rows(kind: str, fields: str) -> Column:
    names = [field.split()[0] for field in fields.split(", ")]
    return F.sort_array(F.collect_list(F.when((F.col("kind") == kind) & F.col("damaged").isNull(), F.struct(*names))))


def _sound_broker() -> Column:
    return F.coalesce(
        F.col("damaged").isNull()
        & (F.col("broker_id") >= 0)
        & F.col("broker_state").isin(*BROKER_STATES)
        & (F.col("silent_seconds").isNull() | F.col("silent_seconds").between(0, 1e12)),
        F.lit(False),
    )


def _names_partition() -> Column:
    return F.coalesce(F.col("topic").rlike(TOPIC_NAME) & (F.col("partition") >= 0), F.lit(False))
