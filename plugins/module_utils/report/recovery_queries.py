# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report shows of recoveries: bounded results from the history tables, each from one function. Spark only, nothing of the fleet's size is collected.

`read` gives a history table by its name (`store.Store.read`). Tables are large over the years, so everything begins with the audit,
which has one row per run and cluster, and the others are read for the runs, clusters and dates that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import Column, DataFrame, Window
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import (
    ALREADY_ONLINE,
    CLEAN_LEADER,
    ELECTED,
    FAILED,
    HELD,
    OUTCOMES,
    STALE,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.schemas import RECOVERY
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.columns import capped_sum, false_if_null

Read = Callable[[str], "DataFrame"]

# A partition of a plan that nobody has applied (yet). In reports only.
PLANNED = "planned"
# Worst first: in this order partitions are shown.
SHOWN_FIRST = (FAILED, STALE, HELD, PLANNED, CLEAN_LEADER, ELECTED, ALREADY_ONLINE)
WITHOUT_LEADER = (FAILED, STALE, HELD, PLANNED)
# What a run was: a recovery may have elected, a plan and a dry run have not.
RECOVERED, PLAN_ONLY, DRY_RUN = "recovery", "plan", "dry_run"
# Whose leader this recovery, or the controller meanwhile, has chosen.
GIVEN_A_LEADER = (ELECTED, CLEAN_LEADER)
# What is found of consumers and producers, the most urgent first.
TRANSACTIONS_FIRST = ("hanging", "records_lost", "in_doubt", "open")
# loss.lower_bound_from of a bound that a consumer group's committed offset gives.
CONSUMER_GROUP = "consumer_group"
KEY = ["cluster", "topic", "partition"]
MOST_REMARKS = 10


def of_clusters(table: DataFrame, clusters: Sequence[str] | None) -> DataFrame:
    """`table` for these clusters; None stands for all."""
    return table if clusters is None else table.where(F.col("cluster").isin(*clusters))


def recoveries(read: Read, clusters: Sequence[str] | None) -> DataFrame:
    """The audit rows of recoveries, one per run and cluster, with `last_at`, when the last of it happened."""
    rows = of_clusters(read("recovery_audit"), clusters).where(F.col("origin") == RECOVERY)
    return rows.withColumn("last_at", F.coalesce("finished_at", "planned_at", "collected_at", "impact_at"))


def runs(audit: DataFrame, limit: int) -> DataFrame:
    """The newest `limit` runs, newest first: times, clusters, partitions by outcome, and what is odd about them (all clusters together)."""
    counts = [F.coalesce(F.sum(F.col("outcomes")[outcome]), F.lit(0)).alias(outcome) for outcome in OUTCOMES]
    return (
        audit.groupBy("run_id")
        .agg(
            F.min("collected_at").alias("collected_at"),
            F.max("planned_at").alias("planned_at"),
            F.max("finished_at").alias("finished_at"),
            F.max("last_at").alias("last_at"),
            F.max("strategy").alias("strategy"),
            F.when(F.max("data_loss_allowed"), RECOVERED)
            .when(F.max("finished_at").isNull() & F.coalesce(F.min("dry_run"), F.lit(False)), DRY_RUN)
            .when(F.max("finished_at").isNull() | ~F.max("data_loss_allowed"), PLAN_ONLY)
            .otherwise(RECOVERED)
            .alias("mode"),
            F.sort_array(F.collect_set("cluster")).alias("clusters"),
            F.slice(F.array_sort(F.array_distinct(F.flatten(F.collect_list("remarks")))), 1, MOST_REMARKS).alias("remarks"),
            *counts,
        )
        .orderBy(F.desc("last_at"), F.desc("run_id"))
        .limit(limit)
    )


def of_runs(table: DataFrame, run_ids: Sequence[str], dates: Sequence[object], clusters: Sequence[str] | None) -> DataFrame:
    """The rows of these runs. The dates are those of the runs, so that only their folders are read."""
    return of_clusters(table, clusters).where(F.col("date").isin(*dates) & F.col("run_id").isin(*run_ids))


def partitions(read: Read, run_ids: Sequence[str], dates: Sequence[object], clusters: Sequence[str] | None) -> DataFrame:
    """One row per partition of these runs, how it ended in the last of them: result, plan and loss side by side.

    `word`: the reason code, `detail`: the plan's explanation, or what the result says. Loss bounds are null where nothing is known.
    """
    own = [*KEY, "run_id"]
    plan = of_runs(read("plan"), run_ids, dates, clusters).select(
        *own, "planned_at", "strategy", "section", "designated_leader", "evidence", "reason_code", "explanation"
    )
    result = of_runs(read("result"), run_ids, dates, clusters).select(
        *own,
        "finished_at",
        "outcome",
        "leader",
        *(F.col(name).alias(f"result_{name}") for name in ("designated_leader", "evidence", "reason_code", "reason")),
    )
    loss = of_runs(read("loss"), run_ids, dates, clusters).drop("leader", "date")
    planned = F.when(F.col("section") == "partitions", PLANNED).when(F.col("section") == "held", HELD).otherwise(ALREADY_ONLINE)
    joined = (
        result.join(plan, own, "full")
        .join(loss, own, "left")
        .select(
            *own,
            F.coalesce("outcome", planned).alias("outcome"),
            "leader",
            F.coalesce("result_designated_leader", "designated_leader").alias("designated_leader"),
            F.coalesce("result_evidence", "evidence").alias("evidence"),
            F.coalesce("result_reason_code", "reason_code", F.lit("")).alias("word"),
            F.coalesce("explanation", "result_reason", F.lit("")).alias("detail"),
            "result_reason",
            "strategy",
            F.coalesce("finished_at", "planned_at").alias("told_at"),
            *("lower_bound", "lower_bound_from", "upper_bound", "upper_bound_from", "estimate", "estimate_from", "gaps"),
            "truncated_records",
            "truncated_unknown",
        )
    )
    newest = Window.partitionBy(*KEY).orderBy(F.desc("told_at"), F.desc("run_id"))
    return joined.withColumn("place", F.row_number().over(newest)).where("place = 1").drop("place")


def by_outcome(rows: DataFrame) -> DataFrame:
    """Counts and bounds of `partitions` per cluster, outcome and word: at most some dozens of rows per cluster."""
    needs_word = F.col("outcome").isin(*WITHOUT_LEADER)
    return (
        rows.withColumn("word", F.when(needs_word, F.col("word")).otherwise(F.lit("")))
        .groupBy("cluster", "outcome", "word")
        .agg(
            F.count("*").alias("partitions"),
            F.sort_array(F.collect_set("evidence")).alias("evidence"),
            F.min(F.struct("topic", "partition")).alias("first"),
            *_bounds(),
        )
        .orderBy("cluster", "outcome", "word")
    )


def _bounds() -> list[Column]:
    """Sums of what is known, each with the number of partitions of which it is known: what is unknown adds nothing silently."""
    columns = []
    for name in ("lower_bound", "upper_bound", "estimate"):
        columns += [capped_sum(name).alias(name), F.count(name).alias(f"{name}_known")]
    group = (F.col("lower_bound_from") == CONSUMER_GROUP) & (F.col("lower_bound") > 0)
    return [
        *columns,
        capped_sum(F.when(F.col("upper_bound").isNotNull(), F.col("lower_bound"))).alias("lower_bound_where_upper"),
        F.count_if(false_if_null(F.size("gaps") > 0)).alias("with_gaps"),
        F.count_if(false_if_null(group)).alias("beyond_consumers"),
        F.coalesce(capped_sum("truncated_records"), F.lit(0)).alias("truncated_records"),
        F.coalesce(capped_sum("truncated_unknown"), F.lit(0)).alias("truncated_unknown"),
    ]


def by_topic(rows: DataFrame, limit: int) -> DataFrame:
    """Counts and bounds per topic, those with most partitions without a leader first."""
    outcomes = [F.count_if(F.col("outcome") == outcome).alias(outcome) for outcome in SHOWN_FIRST]
    open_ones = F.count_if(F.col("outcome").isin(*WITHOUT_LEADER)).alias("without_leader")
    return (
        rows.groupBy("cluster", "topic")
        .agg(F.count("*").alias("partitions"), open_ones, *outcomes, *_bounds())
        .orderBy(F.desc("without_leader"), F.desc("lower_bound"), "cluster", "topic")
        .limit(limit)
    )


def worst_first(rows: DataFrame, limit: int) -> DataFrame:
    """The rows of `partitions` that a page has room for: those without a leader, then those that lost most."""
    severity = F.array_position(F.array(*map(F.lit, SHOWN_FIRST)), F.col("outcome"))
    internal = F.col("topic").startswith("__")
    return rows.orderBy(severity, F.desc(internal), F.desc_nulls_last("lower_bound"), *KEY).limit(limit)


def offline_since(read: Read, rows: DataFrame, clusters: Sequence[str] | None) -> DataFrame:
    """Per cluster the earliest time (`since`) at which one of its partitions that now has no leader was seen without one, and had none ever since."""
    still = rows.where(F.col("outcome").isin(*WITHOUT_LEADER)).select(*KEY).distinct()
    planned = of_clusters(read("plan"), clusters).select(
        *KEY, F.col("planned_at").alias("at"), (F.col("section") != "online").alias("offline")
    )
    ended = of_clusters(read("result"), clusters).select(
        *KEY, F.col("finished_at").alias("at"), F.col("outcome").isin(HELD, STALE, FAILED).alias("offline")
    )
    seen = planned.unionByName(ended).join(still, KEY, "semi")
    last_online = F.max(F.when(~F.col("offline"), F.col("at"))).over(Window.partitionBy(*KEY))
    return (
        seen.withColumn("online_at", last_online)
        .where(F.col("offline") & (F.col("online_at").isNull() | (F.col("at") > F.col("online_at"))))
        .groupBy("cluster")
        .agg(F.min("at").alias("since"))
        .orderBy("cluster")
    )


def others_offline(audit: DataFrame, run_ids: Sequence[str]) -> DataFrame:
    """Per cluster, of the last of these runs: `partitions` that it was not about and that had no leader when it ended. Only clusters with any."""
    newest = Window.partitionBy("cluster").orderBy(F.desc("finished_at"))
    ended = audit.where(F.col("run_id").isin(*run_ids) & F.col("finished_at").isNotNull())
    last = ended.withColumn("place", F.row_number().over(newest)).where("place = 1")
    return last.where("other_offline > 0").select("cluster", F.col("other_offline").alias("partitions"), "finished_at").orderBy("cluster")


def reported_until(audit: DataFrame, run_ids: Sequence[str]) -> DataFrame:
    """Per cluster the time up to which these runs report it (`until`). For a cluster that they leave out: when its last election ended."""
    own = F.max(F.when(F.col("run_id").isin(*run_ids), F.col("last_at")))
    return audit.groupBy("cluster").agg(F.coalesce(own, F.max("finished_at")).alias("until")).where("until IS NOT NULL")


def offline_later(rows: DataFrame, until: DataFrame) -> DataFrame:
    """Per cluster the rows of `partitions` without a leader that are newer than `reported_until`: how many, and when they were last seen (`seen_at`)."""
    newer = rows.join(F.broadcast(until), "cluster", "left").where("until IS NULL OR told_at > until")
    offline = newer.where(F.col("outcome").isin(*WITHOUT_LEADER))
    return offline.groupBy("cluster").agg(F.count("*").alias("partitions"), F.max("told_at").alias("seen_at")).orderBy("cluster")


def unclean_recoveries(read: Read, clusters: Sequence[str] | None) -> DataFrame:
    """Over the history that is kept: partitions that were given a leader from outside the ISR, and when last, per cluster, strategy and evidence.

    The strategy is the one by which the partition's topic was planned, empty for leaders that were designated by hand.
    """
    own = [*KEY, "run_id", "date"]
    strategies = of_clusters(read("plan"), clusters).select(*own, "strategy")
    elected = of_clusters(read("result"), clusters).where(F.col("outcome") == ELECTED)
    return (
        elected.join(strategies, own, "left")
        .groupBy("cluster", F.coalesce("strategy", F.lit("")).alias("strategy"), F.coalesce("evidence", F.lit("")).alias("evidence"))
        .agg(F.count("*").alias("elected"), F.max("finished_at").alias("last_at"))
        .orderBy("cluster", "strategy", "evidence")
    )


def given_leaders(rows: DataFrame) -> DataFrame:
    """Of `partitions`, per run and cluster how many the run gave a leader: their consumers and producers may be hit.

    What a run was to elect and found online, it had elected when it was run before.
    """
    before = (F.col("outcome") == ALREADY_ONLINE) & F.col("designated_leader").isNotNull()
    given = rows.where(F.col("outcome").isin(*GIVEN_A_LEADER) | before)
    return given.groupBy("run_id", "cluster").agg(F.count("*").alias("partitions")).orderBy("run_id", "cluster")


def looks(audit: DataFrame, run_ids: Sequence[str]) -> DataFrame:
    """One row per run and cluster, of these runs: its date, and when somebody looked at consumers and producers, and counted what (null: nobody has)."""
    columns = ("run_id", "cluster", "date", "finished_at", "impact_at", "impact")
    return audit.where(F.col("run_id").isin(*run_ids)).select(*columns).orderBy("run_id", "cluster")


def impact(read: Read, run_ids: Sequence[str], dates: Sequence[object], clusters: Sequence[str] | None, limit: int) -> DataFrame:
    """What looks have found: of each `kind` the most urgent `limit` rows, each with `known`, the number of all of its kind."""
    urgency = (
        F.when(F.col("kind") == "group", -F.col("partitions"))
        .when(F.col("kind") == "transaction", F.array_position(F.array(*map(F.lit, TRANSACTIONS_FIRST)), F.col("state")).cast("int"))
        .when(F.col("kind") == "partition", F.col("readable").cast("int"))
        .when(F.col("kind") == "canary", F.col("read_back").cast("int"))
    )
    order = ["urgency", "cluster", "topic", "partition", "group_id", "run_id", "start_offset", "transactional_id", "explanation"]
    kind = Window.partitionBy("kind")
    return (
        of_runs(read("impact"), run_ids, dates, clusters)
        .withColumn("urgency", urgency)
        .withColumns({"place": F.row_number().over(kind.orderBy(*order)), "known": F.count("*").over(kind)})
        .where(F.col("place") <= limit)
        .orderBy("kind", "place")
        .drop("urgency", "place", "date")
    )


def refused_counts(read: Read, clusters: Sequence[str] | None) -> DataFrame:
    """Files in quarantine per cluster and kind."""
    return (
        of_clusters(read("quarantine"), clusters)
        .groupBy("cluster", "kind")
        .agg(F.count("*").alias("files"), F.max("refused_at").alias("last_at"))
        .orderBy("cluster", "kind")
    )


def refused(read: Read, clusters: Sequence[str] | None, limit: int) -> DataFrame:
    """The files that were refused last, with the reasons."""
    return (
        of_clusters(read("quarantine"), clusters)
        .select("cluster", "run_id", "refused_at", "kind", "path", "reason")
        .orderBy(F.desc("refused_at"), "cluster", "path")
        .limit(limit)
    )
