# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Risk: partitions of a healthy snapshot that are offline or one failure from offline, and the effect of a loss of certain brokers.

A live member of the ISR, else a live eligible leader replica can become leader without loss (KIP-966, "Leader election"). Without either the partition
is offline. Forks are not considered: while there is a leader, followers truncate records that it lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.columns import any_of, false_if_null, first, listed

# Worst first. Each weighs more than all that follow it together, so the sum (`score`) ranks by the worst risk, then by the next.
RISKS = ("offline", "no_eligible_leader", "last_in_sync", "below_min_isr", "same_rack", "far_behind", "under_replicated")
WEIGHTS = {risk: 1 << place for place, risk in enumerate(reversed(RISKS))}
FAR_BEHIND = 10_000  # offsets that a follower outside of the ISR lacks

# The effects of a loss of brokers on a partition, worst first.
ALREADY_OFFLINE, OFFLINE, NEW_LEADER, SAME_LEADER = "already_offline", "offline", "new_leader", "same_leader"

_SNAPSHOT = ["cluster", "run_id"]
_PARTITION = [*_SNAPSHOT, "topic", "partition"]


def risks(watermarks: DataFrame, brokers: DataFrame, far_behind: int = FAR_BEHIND) -> DataFrame:
    """Return one row per partition of `healthy_rows.watermarks` that is at risk: the fields of the table `risk`, and `cluster`.

    `risks`: values of RISKS, worst first. `score`: the sum of their WEIGHTS. `depends_on`: an array with the broker whose loss alone takes the
    partition offline, or empty. `far_behind`: offsets that a follower outside of the ISR must lack for the risk of that name.
    """
    in_sync, may_lead = F.col("in_sync"), F.col("may_lead")
    behind = F.filter("replica_ends", lambda end: ~F.array_contains("isr", end["broker_id"]))
    # The racks of the live ISR. A cluster with a single rack has no remedy, so it does not count as risk.
    racks = F.array_distinct(F.transform("in_sync", lambda broker: F.coalesce(F.element_at("racks", broker), F.lit(""))))
    online = F.col("leader") >= 0
    applies = {
        "offline": ~online,
        "no_eligible_leader": online & (F.size(may_lead) <= 1),
        "last_in_sync": online & (F.size(in_sync) <= 1),
        "below_min_isr": online & (F.size(in_sync) < F.col("min_insync_replicas")),
        "same_rack": (F.size(in_sync) > 1) & (F.size(racks) == 1) & (first(racks) != "") & (F.col("rack_count") > 1),
        "far_behind": any_of(behind, lambda end: F.col("log_end_offset") - end["log_end_offset"] > far_behind),
        "under_replicated": F.size(in_sync) < F.size("replicas"),
    }
    names = F.array_compact(F.array(*(F.when(false_if_null(applies[risk]), F.lit(risk)) for risk in RISKS)))
    score = sum((F.when(false_if_null(applies[risk]), F.lit(WEIGHTS[risk])).otherwise(F.lit(0)) for risk in RISKS), F.lit(0))
    return (
        _live(watermarks, brokers)
        .select(
            *_PARTITION,
            "observed_at",
            "leader",
            "replicas",
            "isr",
            "eligible_leader_replicas",
            names.alias("risks"),
            score.cast("int").alias("score"),
            F.when(online & (F.size(may_lead) == 1), may_lead).otherwise(F.array().cast("array<int>")).alias("depends_on"),
        )
        .where(F.size("risks") > 0)
    )


def what_if(watermarks: DataFrame, brokers: DataFrame, lost: Sequence[int]) -> DataFrame:
    """Return the state of each partition with a replica on `lost` brokers, if they were all lost at the time of the snapshot.

    Rows have `cluster`, `run_id`, `topic`, `partition`, `leader`, and

    outcome       already_offline, offline (no eligible leader is left), new_leader or same_leader
    next_leader   the leader afterwards, or null
    writable      whether acks=all is accepted afterwards, null if min.insync.replicas is not known
    lost_offsets  offsets that an unclean election of the best survivor would lose, 0 with a clean leader, null if not known
    reason        why `lost_offsets` is not known, or what limits it

    An id means the broker of each cluster that has it. Raises RecoveryError for ids that no cluster has.
    """
    _check(brokers, lost)
    gone = F.array(*(F.lit(broker) for broker in lost)).cast("array<int>")
    touched = _live(watermarks, brokers).where(F.arrays_overlap("replicas", gone))
    left = (
        touched.withColumn("in_sync_left", F.array_except("in_sync", gone))
        .withColumn("may_lead_left", F.array_except("may_lead", gone))
        .withColumn("survivors", F.array_except(F.array_intersect("replicas", "live"), gone))
    )
    # The controller elects the first replica of the assignment that is in sync, else the first eligible one.
    in_sync = F.array_intersect("replicas", "in_sync_left")
    next_leader = F.coalesce(first(in_sync), first(F.array_intersect("replicas", "may_lead_left")))
    outcome = (
        F.when(F.col("leader") < 0, F.lit(ALREADY_OFFLINE))
        .when(next_leader.isNull(), F.lit(OFFLINE))
        .when(F.array_contains(gone, F.col("leader")), F.lit(NEW_LEADER))
        .otherwise(F.lit(SAME_LEADER))
    )
    clean = F.col("outcome").isin(NEW_LEADER, SAME_LEADER)
    known = F.filter("replica_ends", lambda end: F.array_contains("survivors", end["broker_id"]))
    unread = F.array_except("survivors", F.transform(known, lambda end: end["broker_id"]))
    best = F.array_max(F.transform(known, lambda end: end["log_end_offset"]))
    lacking = F.col("log_end_offset") - best
    cost = F.when(lacking.isNotNull(), F.greatest(lacking, F.lit(0).cast("bigint")))  # greatest() ignores nulls
    reason = (
        F.when(clean, None)
        .when(F.size("survivors") == 0, F.lit("no replica is left: it stays offline until one of them is back"))
        .when(F.col("log_end_offset").isNull(), F.lit("how far its log reaches is not known: it had no leader that answered"))
        .when(best.isNull(), F.format_string("where the logs of brokers %s end was not read", listed(unread)))
        .when(F.size(unread) > 0, F.format_string("at most: where the logs of brokers %s end was not read", listed(unread)))
    )
    return (
        left.withColumn("outcome", outcome)
        .withColumn("next_leader", F.when(F.col("outcome") == SAME_LEADER, F.col("leader")).when(clean, next_leader))
        .select(
            *_PARTITION,
            "leader",
            "outcome",
            "next_leader",
            (clean & (F.greatest(F.size("in_sync_left"), F.lit(1)) >= F.col("min_insync_replicas"))).alias("writable"),
            F.when(clean, F.lit(0).cast("bigint")).otherwise(cost).alias("lost_offsets"),
            reason.alias("reason"),
        )
    )


def _check(brokers: DataFrame, lost: Sequence[int]) -> None:
    """Raise RecoveryError if `lost` is empty or has an id that no cluster has. Collects at most as many rows as `lost` has ids."""
    if not lost:
        raise RecoveryError("no broker is named: name the ids of brokers whose loss is to be simulated")
    found = {row["broker_id"] for row in brokers.where(F.col("broker_id").isin(*lost)).select("broker_id").distinct().collect()}
    missing = sorted(set(lost) - found)
    if missing:
        raise RecoveryError(f"no cluster has a broker {', '.join(map(str, missing))}; name ids of brokers in the last snapshots")


def _live(watermarks: DataFrame, brokers: DataFrame) -> DataFrame:
    """Add `live` (unfenced brokers), `in_sync` and `may_lead` (those of the partition, ids), `racks` by broker, and how many racks there are."""
    states = brokers.groupBy(*_SNAPSHOT).agg(
        F.sort_array(F.collect_list(F.when(F.col("broker_state") == UNFENCED, F.col("broker_id")))).alias("live"),
        F.map_from_entries(F.collect_list(F.struct("broker_id", "rack"))).alias("racks"),
        F.count_distinct("rack").alias("rack_count"),
    )
    return (
        watermarks.join(F.broadcast(states), _SNAPSHOT)
        .withColumn("in_sync", F.array_intersect("isr", "live"))
        # The controller elects no broker outside of the assignment, and a cancelled reassignment can leave one in the ELR.
        .withColumn("may_lead", F.array_intersect(F.array_intersect(F.array_union("isr", "eligible_leader_replicas"), "replicas"), "live"))
    )
