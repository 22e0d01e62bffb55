# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Queries on runs that are newer than the reported ones: which partitions they saw without a leader, and which with one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.recovery_queries import KEY, WITHOUT_LEADER, Read, of_runs


def found_none(read: Read, audit: DataFrame, run_ids: Sequence[str], dates: Sequence[object], clusters: Sequence[str] | None) -> DataFrame:
    """Return per cluster the last of these runs whose plan or results have no partition at all (`run_id`), and its time (`seen_at`).

    A run for the whole cluster lists only partitions without a leader, so it found none. A run for named partitions lists each of them, so it is never
    among these.
    """
    listed = [of_runs(read(table), run_ids, dates, clusters).select("run_id", "cluster") for table in ("plan", "result")]
    ended = audit.where(F.col("run_id").isin(*run_ids) & F.coalesce("finished_at", "planned_at").isNotNull())
    none = ended.where(F.coalesce("other_offline", F.lit(0)) == 0).join(listed[0].unionByName(listed[1]), ["run_id", "cluster"], "anti")
    last = F.max(F.struct("last_at", "run_id"))
    return none.groupBy("cluster").agg(last.alias("last")).select("cluster", F.col("last.last_at").alias("seen_at"), "last.run_id")


def offline_later(rows: DataFrame, until: DataFrame, none: DataFrame) -> DataFrame:
    """Return per cluster the number of rows of `partitions` without a leader, and their last time (`seen_at`).

    They are newer than `reported_until`, and than the run that found none.
    """
    ends = until.unionByName(none.select("cluster", F.col("seen_at").alias("until"))).groupBy("cluster").agg(F.max("until").alias("until"))
    newer = rows.join(F.broadcast(ends), "cluster", "left").where("until IS NULL OR reported_at > until")
    offline = newer.where(F.col("outcome").isin(*WITHOUT_LEADER))
    return offline.groupBy("cluster").agg(F.count("*").alias("partitions"), F.max("reported_at").alias("seen_at")).orderBy("cluster")


def with_online_at(rows: DataFrame, later: DataFrame) -> DataFrame:
    """Return rows of `partitions`; for one without a leader, `online_at` is when the last newer run that lists it saw it with one (`online_run`).

    `later`: `partitions` of the newer runs. Both are null if that run saw it without a leader, too.
    """
    online = later.where(~F.col("outcome").isin(*WITHOUT_LEADER))
    seen = online.select(*KEY, F.col("reported_at").alias("later_at"), F.col("run_id").alias("later_run"))
    back = F.col("outcome").isin(*WITHOUT_LEADER) & (F.col("later_at") > F.col("reported_at"))
    return (
        rows.join(seen, KEY, "left")
        .withColumns({"online_at": F.when(back, F.col("later_at")), "online_run": F.when(back, F.col("later_run"))})
        .drop("later_at", "later_run")
    )


def online_later(rows: DataFrame) -> DataFrame:
    """Return per cluster how many of `partitions` a newer run saw with a leader again, and the last of these runs (`run_id`) with its time (`seen_at`)."""
    counted = rows.where(F.col("online_at").isNotNull()).groupBy("cluster")
    last = counted.agg(F.count("*").alias("partitions"), F.max(F.struct("online_at", "online_run")).alias("last"))
    return last.select("cluster", "partitions", F.col("last.online_at").alias("seen_at"), F.col("last.online_run").alias("run_id")).orderBy(
        "cluster"
    )
