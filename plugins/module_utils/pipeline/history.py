# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the ISR history proves: KIP-966's eligible leader replicas, found out afterwards.

Since Kafka 3.7 nothing is committed while the ISR is smaller than min.insync.replicas. So a replica since whose leaving the ISR has always been
smaller holds every committed record: it had them all when it left, none was committed since, and to follow a clean leader never truncates one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.columns import any_of, filled, listed, present

# 3.7-IV0: with it finalized every broker runs 3.7 or later. Before, a small ISR committed too.
SOUND_METADATA_VERSION = 15


def histories(partitions: DataFrame) -> DataFrame:
    """Add `holders`, `left_last` and `history_gap` to the partitions of silver.

    `holders`: survivors which the history proves to hold every committed record; empty where it proves nothing.
    `left_last`: (broker_id, timestamp) of the survivors that left the ISR last, timestamp in milliseconds since 1970.
    `history_gap`: why a history proves nothing; null where it does, or where none was read.
    """
    changes, row = F.col("history")["changes"], F.col("history")
    # Positions in the history: the last at which each survivor was in the ISR, and the last at which records could be committed.
    placed = partitions.withColumns(
        {
            "inside": F.transform(
                "survivors",
                lambda log: F.struct(
                    _last(changes, lambda change: F.array_contains(change["isr"], log["broker_id"])).alias("place"),
                    log["broker_id"].alias("broker_id"),
                ),
            ),
            "committing": _last(changes, lambda change: F.size(change["isr"]) >= row["min_insync_replicas"]),
            "led": _last(changes, lambda change: change["leader"] >= 0),
        }
    )
    earliest = F.array_min(F.transform("inside", lambda one: one["place"]))
    latest = F.array_max(F.transform("inside", lambda one: one["place"]))
    since = F.when(earliest >= 0, F.slice(changes, earliest + 2, F.size(changes)))
    found = placed.withColumns(
        {
            "left_last": F.coalesce(
                F.when(
                    (latest >= 0) & row["doubt"].isNull(),
                    F.transform(
                        F.filter("inside", lambda one: one["place"] == latest),
                        lambda one: F.struct(
                            one["broker_id"].alias("broker_id"), F.get(changes, one["place"] + 1)["timestamp"].alias("timestamp")
                        ),
                    ),
                ),
                F.array().cast("array<struct<broker_id: int, timestamp: bigint>>"),
            ),
            "holders": F.transform(F.filter("inside", lambda one: one["place"] >= F.col("committing")), lambda one: one["broker_id"]),
            "history_gap": _gap(since, earliest),
        }
    )
    proven = present(row.isNotNull() & F.col("history_gap").isNull())
    return found.withColumn("holders", F.when(proven, F.col("holders")).otherwise(F.array().cast("array<int>"))).drop(
        "inside", "committing", "led"
    )


def _last(changes: Column, test: Callable[[Column], Column]) -> Column:
    """The position of the last change that passes, -1 where none does."""
    return F.coalesce(F.array_max(F.transform(changes, lambda change, place: F.when(present(test(change)), place))), F.lit(-1))


def _gap(since: Column, earliest: Column) -> Column:
    """`since`: the changes after the moment from which on a survivor was missing in the ISR, `earliest` the position of that moment."""
    row, changes = F.col("history"), F.col("history")["changes"]
    clean = F.concat("isr", "eligible_leader_replicas", "last_known_elr")
    final = F.element_at(F.when(F.size(changes) > 0, changes), -1)
    stands = (final["leader"] < 0) & (final["leader_epoch"] == F.col("leader_epoch"))
    unseen = F.transform(F.filter("inside", lambda one: one["place"] < 0), lambda one: one["broker_id"])
    returned = any_of(
        F.transform(changes, lambda change, place: (place >= earliest) & (place < F.col("led")) & (change["leader"] < 0)), lambda gone: gone
    )
    tests = (
        (row["doubt"].isNotNull(), row["doubt"]),
        (~present(stands), F.lit("it does not end where the partition stands")),
        (F.size(unseen) > 0, F.concat(F.lit("it does not go back to a moment when these were in the ISR: brokers "), listed(unseen))),
        (
            ~present(row["metadata_version"] >= SOUND_METADATA_VERSION),
            F.lit("metadata.version was below 3.7-IV0, and such brokers commit records with an ISR smaller than min.insync.replicas"),
        ),
        (
            row["min_insync_replicas"].isNull(),
            F.lit(
                "min.insync.replicas was not set for the topic or the cluster all the time, and what the files of brokers said then cannot be proven"
            ),
        ),
        (any_of(since, lambda change: change["unclean"]), F.lit("there was an unclean election")),
        (any_of(since, lambda change: change["reassigned"]), F.lit("its replicas were reassigned")),
        (
            returned,
            F.lit("it lost its last leader before and got one back, and whether that one had lost the end of its log is not known"),
        ),
        (
            any_of("survivors", lambda log: F.array_contains(clean, log["broker_id"])),
            F.lit("a survivor is in the ISR, ELR or last known ELR"),
        ),
        (
            F.size(F.filter("inside", lambda one: one["place"] >= F.col("committing"))) == 0,
            filled(
                "records could be committed after all survivors had left the ISR (min.insync.replicas was %d)", row["min_insync_replicas"]
            ),
        ),
    )
    told = F.coalesce(*(F.when(present(condition), text) for condition, text in tests))
    return F.when(row.isNotNull() & (F.size("survivors") > 0), told)


def instant(milliseconds: Column) -> Column:
    """A time as text, in UTC (the sessions' time zone)."""
    return F.date_format(F.timestamp_millis(milliseconds), "yyyy-MM-dd'T'HH:mm:ss'Z'")
