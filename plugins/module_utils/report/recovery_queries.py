# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries on recoveries for the report: one function per result, each bounded. They run in Spark, and collect no data of the fleet's size.

`read` returns a history table by name (`store.Store.read`). Tables are large after years, so queries start with recovery_audit, which has one row per
run and cluster, and read the other tables only for its runs, clusters and dates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import reduce

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import Column, DataFrame, Window
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import CONSUMER_GROUP
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import outcomes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.schemas import RECOVERY
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.columns import capped_sum, false_if_null

Read = Callable[[str], "DataFrame"]

# A partition of a plan that has not been applied. In reports only.
PLANNED = "planned"
# The order in which partitions are shown, worst first.
WITHOUT_LEADER = (*outcomes.WITHOUT_LEADER, PLANNED)
SHOWN_FIRST = (*WITHOUT_LEADER, *(outcome for outcome in Outcome if outcome not in WITHOUT_LEADER))
OUTCOME_LABELS = outcomes.LABELS | {PLANNED: "planned, not elected"}
# Modes of a run: a recovery may have elected, a plan and a dry run have not.
RECOVERED, PLAN_ONLY, DRY_RUN = "recovery", "plan", "dry_run"
# States of transactions, the most urgent first.
TRANSACTIONS_FIRST = ("hanging", "records_lost", "in_doubt", "open")
KEY = ["cluster", "topic", "partition"]
MOST_REMARKS = 10


def of_clusters(table: DataFrame, clusters: Sequence[str] | None) -> DataFrame:
    """Return the rows of `table` for these clusters, None for all."""
    return table if clusters is None else table.where(F.col("cluster").isin(*clusters))


def recoveries(read: Read, clusters: Sequence[str] | None) -> DataFrame:
    """Return the audit rows of recoveries, one per run and cluster, with `last_at`, the time of the run's last step."""
    rows = of_clusters(read("recovery_audit"), clusters).where(F.col("origin") == RECOVERY)
    return rows.withColumn("last_at", F.coalesce("finished_at", "planned_at", "collected_at", "impact_at"))


def runs(audit: DataFrame) -> DataFrame:
    """Return all runs, newest first: times, mode, clusters, partitions by outcome, and remarks, over all clusters.

    `planned_offline`: how many partitions without a leader the plans of the run have.
    """
    counts = [F.coalesce(F.sum(F.col("outcomes")[outcome]), F.lit(0)).alias(outcome) for outcome in Outcome]
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
            # Plans have losses of the partitions that they elect or hold, not of those that were online.
            F.coalesce(F.sum(F.col("table_rows")["loss"]), F.lit(0)).alias("planned_offline"),
            *counts,
        )
        .orderBy(F.desc("last_at"), F.desc("run_id"))
    )


def with_subject(runs: DataFrame) -> DataFrame:
    """Return the `runs` that a report can be about: that were allowed to elect and have results, or that found partitions without a leader.

    A later run that finds none, and a dry run, must not hide what an election has cost.
    """
    open_ones = reduce(Column.__add__, (F.col(outcome) for outcome in outcomes.WITHOUT_LEADER))
    results = reduce(Column.__add__, (F.col(outcome) for outcome in Outcome))
    recovered = (F.col("mode") == RECOVERED) & (results > 0)
    return runs.where(recovered | ((F.col("mode") == PLAN_ONLY) & (open_ones + F.col("planned_offline") > 0)))


def of_runs(table: DataFrame, run_ids: Sequence[str], dates: Sequence[object], clusters: Sequence[str] | None) -> DataFrame:
    """Return the rows of these runs. `dates`: those of the runs, so that only their folders are read."""
    return of_clusters(table, clusters).where(F.col("date").isin(*dates) & F.col("run_id").isin(*run_ids))


def partitions(read: Read, run_ids: Sequence[str], dates: Sequence[object], clusters: Sequence[str] | None) -> DataFrame:
    """Return one row per partition of these runs, from the last of them that has it: result, plan and loss joined.

    `reason_code`: that of the result, else of the plan, empty if there is none; `detail`: the plan's explanation, else the reason in the result;
    `reported_at`: the time of result or plan. Loss bounds are null if they are not known. `online_at` and `online_run` are null, see
    `newer_run_queries.with_online_at`.
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
    planned = (
        F.when(F.col("section") == "partitions", PLANNED).when(F.col("section") == "held", Outcome.HELD).otherwise(Outcome.ALREADY_ONLINE)
    )
    joined = (
        result.join(plan, own, "full")
        .join(loss, own, "left")
        .select(
            *own,
            F.coalesce("outcome", planned).alias("outcome"),
            "leader",
            F.coalesce("result_designated_leader", "designated_leader").alias("designated_leader"),
            F.coalesce("result_evidence", "evidence").alias("evidence"),
            F.coalesce("result_reason_code", "reason_code", F.lit("")).alias("reason_code"),
            F.coalesce("explanation", "result_reason", F.lit("")).alias("detail"),
            "result_reason",
            "strategy",
            F.coalesce("finished_at", "planned_at").alias("reported_at"),
            *("lower_bound", "lower_bound_from", "upper_bound", "upper_bound_from", "estimate", "estimate_from", "gaps"),
            "truncated_records",
            "truncated_unknown",
            F.lit(None).cast("timestamp").alias("online_at"),
            F.lit(None).cast("string").alias("online_run"),
        )
    )
    newest = Window.partitionBy(*KEY).orderBy(F.desc("reported_at"), F.desc("run_id"))
    return joined.withColumn("place", F.row_number().over(newest)).where("place = 1").drop("place")


def by_outcome(rows: DataFrame) -> DataFrame:
    """Return counts and bounds of `partitions` per cluster, outcome and reason code: at most some dozens of rows per cluster.

    `online_later`: whether a newer run saw the partitions with a leader; see `newer_run_queries.with_online_at`.
    """
    needs_reason = F.col("outcome").isin(*WITHOUT_LEADER)
    return (
        rows.withColumn("reason_code", F.when(needs_reason, F.col("reason_code")).otherwise(F.lit("")))
        .withColumn("online_later", F.col("online_at").isNotNull())
        .groupBy("cluster", "outcome", "reason_code", "online_later")
        .agg(
            F.count("*").alias("partitions"),
            F.sort_array(F.collect_set("evidence")).alias("evidence"),
            F.min(F.struct("topic", "partition")).alias("first"),
            *_bounds(),
        )
        .orderBy("cluster", "outcome", "reason_code", "online_later")
    )


def _bounds() -> list[Column]:
    """Return sums of known bounds, each with the number of partitions whose bound is known."""
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
    """Return counts and bounds per topic, those with most partitions without a leader first."""
    outcomes = [F.count_if(F.col("outcome") == outcome).alias(outcome) for outcome in SHOWN_FIRST]
    open_ones = F.count_if(F.col("outcome").isin(*WITHOUT_LEADER) & F.col("online_at").isNull()).alias("without_leader")
    return (
        rows.groupBy("cluster", "topic")
        .agg(F.count("*").alias("partitions"), open_ones, *outcomes, *_bounds())
        .orderBy(F.desc("without_leader"), F.desc("lower_bound"), "cluster", "topic")
        .limit(limit)
    )


def worst_first(rows: DataFrame, limit: int) -> DataFrame:
    """Return the first `limit` rows of `partitions`: those without a leader, then those with the largest loss."""
    severity = F.array_position(F.array(*map(F.lit, SHOWN_FIRST)), F.col("outcome"))
    internal = F.col("topic").startswith("__")
    return rows.orderBy(severity, F.desc(internal), F.desc_nulls_last("lower_bound"), *KEY).limit(limit)


def offline_since(read: Read, rows: DataFrame, clusters: Sequence[str] | None) -> DataFrame:
    """Return per cluster the earliest time (`since`) from which one of its partitions was without a leader in all plans and results until now."""
    still = rows.where(F.col("outcome").isin(*WITHOUT_LEADER) & F.col("online_at").isNull()).select(*KEY).distinct()
    planned = of_clusters(read("plan"), clusters).select(
        *KEY, F.col("planned_at").alias("at"), (F.col("section") != "online").alias("offline")
    )
    ended = of_clusters(read("result"), clusters).select(
        *KEY, F.col("finished_at").alias("at"), F.col("outcome").isin(Outcome.HELD, Outcome.STALE, Outcome.FAILED).alias("offline")
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


def others_offline(audit: DataFrame, run_ids: Sequence[str], rows: DataFrame) -> DataFrame:
    """Return per cluster how many partitions outside of these runs had no leader when the last of them ended. Clusters without any are left out.

    `rows`: `partitions` of these runs. What an earlier one left without a leader is among those that the last run counted.
    """
    newest = Window.partitionBy("cluster").orderBy(F.desc("finished_at"))
    ended = audit.where(F.col("run_id").isin(*run_ids) & F.col("finished_at").isNotNull())
    last = ended.withColumn("place", F.row_number().over(newest)).where("place = 1")
    left = rows.where(F.col("outcome").isin(*WITHOUT_LEADER)).groupBy("cluster", "run_id").agg(F.count("*").alias("left"))
    earlier = left.join(last.select("cluster", F.col("run_id").alias("last_run")), "cluster").where("run_id != last_run")
    known = earlier.groupBy("cluster").agg(F.sum("left").alias("known"))
    others = last.join(known, "cluster", "left").withColumn("partitions", F.col("other_offline") - F.coalesce("known", F.lit(0)))
    return others.where("partitions > 0").select("cluster", "partitions", "finished_at").orderBy("cluster")


def reported_until(audit: DataFrame, run_ids: Sequence[str]) -> DataFrame:
    """Return per cluster the time of its last step in these runs (`until`), or the end of its last election if it is in none of them."""
    own = F.max(F.when(F.col("run_id").isin(*run_ids), F.col("last_at")))
    return audit.groupBy("cluster").agg(F.coalesce(own, F.max("finished_at")).alias("until")).where("until IS NOT NULL")


def unclean_recoveries(read: Read, clusters: Sequence[str] | None) -> DataFrame:
    """Return per cluster, strategy and evidence how many partitions of the whole history got a leader from outside of the ISR, and the last time.

    The strategy is that of the partition's topic in the plan, empty for leaders that were designated by hand.
    """
    own = [*KEY, "run_id", "date"]
    strategies = of_clusters(read("plan"), clusters).select(*own, "strategy")
    elected = of_clusters(read("result"), clusters).where(F.col("outcome") == Outcome.ELECTED)
    return (
        elected.join(strategies, own, "left")
        .groupBy("cluster", F.coalesce("strategy", F.lit("")).alias("strategy"), F.coalesce("evidence", F.lit("")).alias("evidence"))
        .agg(F.count("*").alias("elected"), F.max("finished_at").alias("last_at"))
        .orderBy("cluster", "strategy", "evidence")
    )


def given_leaders(rows: DataFrame) -> DataFrame:
    """Return per run and cluster how many of `partitions` got a leader from the run, so that consumers and producers may be affected.

    A designated partition that was online had been elected when the run was started before.
    """
    before = (F.col("outcome") == Outcome.ALREADY_ONLINE) & F.col("designated_leader").isNotNull()
    given = rows.where(F.col("outcome").isin(*outcomes.GIVEN_A_LEADER) | before)
    return given.groupBy("run_id", "cluster").agg(F.count("*").alias("partitions")).orderBy("run_id", "cluster")


def impact_audit(audit: DataFrame, run_ids: Sequence[str]) -> DataFrame:
    """Return one row per run and cluster of these runs: its date, `finished_at`, and time and counts of its impact (null if it was not read)."""
    columns = ("run_id", "cluster", "date", "finished_at", "impact_at", "impact")
    return audit.where(F.col("run_id").isin(*run_ids)).select(*columns).orderBy("run_id", "cluster")


def impact(read: Read, run_ids: Sequence[str], dates: Sequence[object], clusters: Sequence[str] | None, limit: int) -> DataFrame:
    """Return the most urgent `limit` rows of each `kind` of the impact, each with `known`, the number of all rows of its kind."""
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
    """Return the number of refused files per cluster and kind."""
    return (
        of_clusters(read("quarantine"), clusters)
        .groupBy("cluster", "kind")
        .agg(F.count("*").alias("files"), F.max("refused_at").alias("last_at"))
        .orderBy("cluster", "kind")
    )


def refused(read: Read, clusters: Sequence[str] | None, limit: int) -> DataFrame:
    """Return the files that were refused last, with the reasons."""
    return (
        of_clusters(read("quarantine"), clusters)
        .select("cluster", "run_id", "refused_at", "kind", "path", "reason")
        .orderBy(F.desc("refused_at"), "cluster", "path")
        .limit(limit)
    )
