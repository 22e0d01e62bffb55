# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Risk: partitions of a healthy snapshot that are offline or one failure from offline, and the effect of a loss of certain brokers.

The rules are plain Python (`risk_rules`), which Spark's workers apply to the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import decision
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import healthy_rows, risk_rules
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.risk_rules import FAR_BEHIND, WEIGHTS, Observed
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.arrow_rows import Row, arrow_mapper, register_for_workers

_SNAPSHOT = ["cluster", "run_id"]
_KEY = "cluster string, run_id string, topic string, partition int"
_RISKS = (
    f"{_KEY}, observed_micros bigint, leader int, replicas array<int>, isr array<int>, eligible_leader_replicas array<int>, "
    "risks array<string>, score int, depends_on array<int>, failed_disks array<int>"
)
_EFFECTS = f"{_KEY}, leader int, outcome string, next_leader int, writable boolean, lost_offsets bigint, reason string"


def risks(watermarks: DataFrame, brokers: DataFrame, far_behind: int = FAR_BEHIND) -> DataFrame:
    """Return one row per partition of `healthy_rows.watermarks` that is at risk: the fields of the table `risk`, and `cluster`.

    `risks`: values of RISKS, worst first. `score`: the sum of their WEIGHTS. `depends_on`: an array with the broker whose loss alone takes the
    partition offline, or empty. `failed_disks`: the unfenced brokers whose disk with a replica has failed. `far_behind`: offsets that a follower
    outside of the ISR must lack for the risk of that name.
    """

    def rows(key: Row, observed_micros: int, seen: Observed) -> Iterator[Row]:
        names = risk_rules.risks(seen, far_behind)
        if names:
            depends_on = [seen.leader] if "no_eligible_leader" in names else []
            score = sum(WEIGHTS[name] for name in names)
            yield (*key, observed_micros, seen.leader, seen.replicas, seen.isr, seen.elr, names, score, depends_on, seen.failed_disks)

    found = _of_each(_observed(watermarks, brokers), rows, _RISKS)
    return found.withColumn("observed_at", F.timestamp_micros("observed_micros")).drop("observed_micros")


def what_if(watermarks: DataFrame, brokers: DataFrame, lost: Sequence[int]) -> DataFrame:
    """Return the state of each partition with a replica on `lost` brokers, if they were all lost at the time of the snapshot.

    Rows have `cluster`, `run_id`, `topic`, `partition`, `leader`, and

    outcome       already_offline, offline (no eligible leader is left), new_leader or same_leader
    next_leader   the leader afterwards, or null
    writable      whether acks=all is accepted afterwards, null if min.insync.replicas is not known
    lost_offsets  offsets that an unclean election of the best survivor would lose, 0 with a clean leader, null if not known
    reason        why `lost_offsets` is not known, or what limits it, and which disks have failed

    An id means the broker of each cluster that has it. Raises RecoveryError for ids that no cluster has.
    """
    _check(brokers, lost)
    gone = frozenset(lost)

    def rows(key: Row, _observed_micros: int, seen: Observed) -> Iterator[Row]:
        yield (*key, seen.leader, *risk_rules.effect(seen, gone))

    touched = F.arrays_overlap("replicas", F.array(*(F.lit(broker) for broker in lost)).cast("array<int>"))
    return _of_each(_observed(watermarks.where(touched), brokers), rows, _EFFECTS)


def _of_each(partitions: DataFrame, rows: Callable[[Row, int, Observed], Iterable[Row]], schema: str) -> DataFrame:
    """Return the rows of `schema` that `rows` yields for each row of `_observed`."""
    register_for_workers(decision, risk_rules)

    def of_one(cluster: str, run_id: str, topic: str, partition: int, observed_micros: int, *seen: Any) -> Iterable[Row]:
        return rows((cluster, run_id, topic, partition), observed_micros, Observed(*seen))

    return partitions.mapInArrow(arrow_mapper(of_one, schema), schema)


def _check(brokers: DataFrame, lost: Sequence[int]) -> None:
    """Raise RecoveryError if `lost` is empty or has an id that no cluster has. Collects at most as many rows as `lost` has ids."""
    if not lost:
        raise RecoveryError("no broker is named: name the ids of brokers whose loss is to be simulated")
    found = {row["broker_id"] for row in brokers.where(F.col("broker_id").isin(*lost)).select("broker_id").distinct().collect()}
    missing = sorted(set(lost) - found)
    if missing:
        raise RecoveryError(f"no cluster has a broker {', '.join(map(str, missing))}; name ids of brokers in the last snapshots")


def _observed(watermarks: DataFrame, brokers: DataFrame) -> DataFrame:
    """Return the columns of `_KEY`, the time of the snapshot in microseconds, and the fields of `risk_rules.Observed` in their order."""
    states = brokers.groupBy(*_SNAPSHOT).agg(
        F.collect_set(F.when(F.col("broker_state") == UNFENCED, F.col("broker_id"))).alias("unfenced"),
        F.map_from_entries(F.collect_list(F.struct("broker_id", "rack"))).alias("rack_of"),
        F.count_distinct("rack").alias("rack_count"),
    )
    failed = healthy_rows.failed_disks(F.col("unfenced"))
    read = F.filter("replica_ends", lambda end: end["log_end_offset"].isNotNull())
    return watermarks.join(F.broadcast(states), _SNAPSHOT).select(
        *_SNAPSHOT,
        "topic",
        "partition",
        F.unix_micros("observed_at").alias("observed_micros"),
        "leader",
        "replicas",
        "isr",
        "eligible_leader_replicas",
        F.array_except(F.array_intersect("replicas", "unfenced"), failed).alias("live"),
        failed.alias("failed_disks"),
        F.transform("replicas", lambda broker: F.element_at("rack_of", broker)).alias("racks"),
        "rack_count",
        "eligible_leader_replicas_version",
        "min_insync_replicas",
        "log_end_offset",
        F.transform(read, lambda end: end["broker_id"]).alias("read"),
        F.transform(read, lambda end: end["log_end_offset"]).alias("ends"),
    )
