# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides for each partition after a loss of brokers which replicas stay and how many are added. Nothing else is moved.

A replica on a broker that is not lost stays, unless the new replication factor is smaller. So the number of copied bytes is the least possible,
whatever brokers `placement` chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import FENCED, UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.redundancy.layout_rows import LostBrokers, named_lost
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.columns import any_of, bind, false_if_null, first

STAYS, MOVES, HELD = "stays", "moves", "held"
# Why a partition is held.
REASSIGNING, INCOMPLETE, NO_LEADER = "reassignment_in_progress", "incomplete", "no_leader"
TOO_FEW_BROKERS, BELOW_MIN_ISR, NO_ROOM = "too_few_brokers", "below_min_isr", "no_room"


def tasks(
    partitions: DataFrame,
    clusters: DataFrame,
    lost_brokers: LostBrokers = None,
    replication_factor: int | None = None,
    topics: Sequence[str] | None = None,
    without_survivor: bool = False,
) -> DataFrame:
    """Add the decision to each row of `layout_rows.partitions`. `clusters`: rows of `layout_rows.clusters`.

    outcome     STAYS, MOVES or HELD
    reason      why the partition is held, else null
    wanted      number of replicas that the partition should have
    live        number of unfenced brokers
    gone        replicas on lost brokers
    kept        replicas that stay, in the order of the assignment; `kept_racks`: their racks
    missing     number of replicas to add

    `lost_brokers`: ids of lost brokers, for all clusters or by cluster; None for the fenced ones. `replication_factor`: None to keep each
    partition's own. `topics`: topics to plan, None for all. `without_survivor`: plan the partitions all of whose replicas are on lost brokers,
    and no others. They have nothing to copy, and get an empty leader (`kafka_partition_revival`).
    """
    ids = F.transform("brokers", lambda row: row["broker_id"])
    states = clusters.select(
        "cluster",
        ids.alias("known"),
        of_state(UNFENCED).alias("unfenced"),
        lost(lost_brokers).alias("given_up"),
        _rack_by_broker().alias("racks"),
    )
    wanted = F.size("replicas") if replication_factor is None else F.lit(replication_factor)
    in_scope = F.lit(True) if topics is None else F.col("topic").isin(list(topics))
    found = partitions.join(F.broadcast(states), "cluster", "left").withColumns(
        {
            "wanted": wanted,
            "live": F.size("unfenced"),
            "gone": F.array_intersect("replicas", "given_up"),
            "survivors": F.array_except("replicas", "given_up"),
        }
    )
    lacking = (F.size("gone") > 0) | (F.size("replicas") != F.col("wanted"))
    concerned = in_scope & ((F.size("survivors") == 0) if without_survivor else lacking)
    judged = found.withColumn("reason", F.when(concerned, _reason(without_survivor))).withColumn(
        "outcome", F.when(~concerned, F.lit(STAYS)).when(F.col("reason").isNull(), F.lit(MOVES)).otherwise(F.lit(HELD))
    )
    return (
        judged.withColumn(
            "kept",
            F.when((F.col("outcome") == MOVES) & (F.size("survivors") > F.col("wanted")), _chosen_to_stay()).otherwise(F.col("survivors")),
        )
        .withColumns(
            {
                "kept_racks": F.transform("kept", lambda broker: _rack("racks", broker)),
                "missing": F.when(F.col("outcome") == MOVES, F.col("wanted") - F.size("kept")).otherwise(F.lit(0)),
            }
        )
        .drop("known", "unfenced", "given_up", "racks", "survivors")
    )


def lost(lost_brokers: LostBrokers) -> Column:
    """Return a column with the ids of the lost brokers: those of `lost_brokers` that the cluster has, or the fenced ones if none are named.

    It needs the columns `cluster` and `brokers` of `layout_rows.clusters`.
    """
    named = named_lost(lost_brokers)
    return F.when(named.isNull(), of_state(FENCED)).otherwise(
        F.filter(named, lambda broker: any_of("brokers", lambda row: row["broker_id"] == broker))
    )


def of_state(state: str) -> Column:
    """Return a column with the ids of the brokers in a state (`unfenced`, `fenced`, `coming_back`), from the column `brokers`."""
    return F.transform(F.filter("brokers", lambda row: row["broker_state"] == state), lambda row: row["broker_id"])


def rack_aware() -> Column:
    """Return a column: whether placement considers racks, because every unfenced broker has one. Kafka's tools do the same (RackAwareMode.Safe)."""
    return ~any_of("brokers", lambda row: (row["broker_state"] == UNFENCED) & row["rack"].isNull())


def _rack_by_broker() -> Column:
    return F.transform(
        "brokers",
        lambda row: F.struct(
            row["broker_id"].alias("broker_id"),
            F.when(rack_aware(), F.coalesce(row["rack"], F.lit(""))).otherwise(F.lit("")).alias("rack"),
        ),
    )


def _rack(racks: str, broker: Column) -> Column:
    return F.coalesce(first(F.filter(racks, lambda row: row["broker_id"] == broker))["rack"], F.lit(""))


def _reason(without_survivor: bool) -> Column:
    """Return the reason why a partition is held, or null."""
    copied = F.lit(not without_survivor)
    return (
        F.when(F.col("reassigning"), F.lit(REASSIGNING))
        .when(~false_if_null(F.size(F.array_except("replicas", "known")) == 0), F.lit(INCOMPLETE))
        .when(copied & ~false_if_null(F.array_contains("unfenced", F.col("leader"))), F.lit(NO_LEADER))
        # Replicas on brokers that are coming back count, because they need no other broker.
        .when(F.size(F.array_union("unfenced", "survivors")) < F.col("wanted"), F.lit(TOO_FEW_BROKERS))
        .when(
            false_if_null((F.col("wanted") < F.size("replicas")) & (F.col("wanted") < F.col("min_insync_replicas"))),
            F.lit(BELOW_MIN_ISR),
        )
    )


def _chosen_to_stay() -> Column:
    """Return the `wanted` survivors that stay if there are more: the leader first, then members of the ISR, then from racks with the fewest chosen,
    then in the order of the assignment."""

    def take(chosen: Column, _step: Column) -> Column:
        racks = F.transform(chosen, lambda broker: _rack("racks", broker))
        rest = F.transform(
            F.array_except("survivors", chosen),
            lambda broker: F.struct(
                (broker != F.col("leader")).alias("follower"),
                (~F.array_contains("isr", broker)).alias("behind"),
                F.size(F.filter(racks, lambda rack: rack == _rack("racks", broker))).alias("mates"),
                F.array_position("survivors", broker).alias("place"),
                broker.alias("broker_id"),
            ),
        )
        return F.concat(chosen, F.array(F.array_min(rest)["broker_id"]))

    chosen = F.aggregate(F.array_repeat(F.lit(1), F.col("wanted")), F.slice("survivors", 1, 0), take)
    return bind(chosen, lambda stays: F.filter("survivors", lambda broker: F.array_contains(stays, broker)))
