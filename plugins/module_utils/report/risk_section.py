# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is at risk by the newest healthy snapshots, and what the loss of brokers would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import capital, count, number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import healthy_rows, risk
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import plain_rows, recovery_queries, risk_queries
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.scope import LIMITS, Wanted

TREND_DAYS = 100


def outlook(read: recovery_queries.Read, wanted: Wanted) -> dict[str, Any]:
    """Return the keys `risk` and `trend` of the document. `read` returns a history table by name."""
    days = risk_queries.snapshots(read, wanted.clusters, wanted.now.date() - timedelta(days=TREND_DAYS)).persist()
    try:
        now = risk_queries.current(days).persist()
        rows = risk_queries.at_risk(read, now).persist()
        try:
            risk = risk_of(
                plain_rows.rows(now),
                plain_rows.rows(risk_queries.risk_counts(read, now)),
                plain_rows.rows(risk_queries.ranked_clusters(rows)),
                plain_rows.rows(risk_queries.ranked_topics(rows, LIMITS["risk_topics"])),
                plain_rows.rows(risk_queries.ranked_brokers(rows, LIMITS["risk_brokers"])),
                plain_rows.rows(risk_queries.ranked_partitions(rows, LIMITS["at_risk"])),
            )
            trend = plain_rows.rows(risk_queries.trend(read, days))
        finally:
            rows.unpersist()
            now.unpersist()
    finally:
        days.unpersist()
    return {"risk": risk, "trend": trend}


def risk_of(
    snapshots: list[dict[str, Any]],
    kinds: list[dict[str, Any]],
    clusters: list[dict[str, Any]],
    topics: list[dict[str, Any]],
    brokers: list[dict[str, Any]],
    partitions: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return the key `risk` of the document: the tables of `risk_queries`, and their sums."""
    totals = {
        "partitions": sum(row["partitions"] or 0 for row in snapshots),
        "offline": sum(row["offline"] for row in clusters),
        "one_failure": sum(row["one_failure"] for row in clusters),
        "at_risk": sum(row["at_risk"] for row in clusters),
        "new": sum(row["new"] for row in clusters),
    }
    return {
        "snapshots": snapshots,
        "kinds": kinds,
        "clusters": clusters,
        "topics": topics,
        "brokers": brokers,
        "partitions": partitions,
        "totals": totals,
    }


def what_if(spark: SparkSession, wanted: Wanted, document: Mapping[str, Any], lost: Sequence[int]) -> dict[str, Any]:
    """Return the state of the fleet without the brokers `lost`, by its newest snapshots. Raises RecoveryError without a usable snapshot, and WhatIfError
    if no cluster has such a broker."""
    paths = [wanted.workdir / "healthy" / row["cluster"] / f"{row['run_id']}.jsonl" for row in document["risk"]["snapshots"]]
    if not paths:
        raise RecoveryError(f"what_if_brokers: there is no healthy snapshot in {wanted.workdir}; collect one with the playbook snapshot")
    for path in paths:
        try:
            landing_format.check(path)
        except landing_format.SnapshotError as error:
            raise RecoveryError(f"what_if_brokers: {path}, the newest snapshot of its cluster, cannot be used: {error}") from error
    files = [str(path) for path in paths]
    rows = risk.what_if(healthy_rows.watermarks(spark, files), healthy_rows.brokers(spark, files), lost).persist()
    try:
        counts = plain_rows.rows(risk_queries.what_if_counts(rows))
        shown = plain_rows.rows(risk_queries.what_if_ranked(rows, LIMITS["what_if"]))
    finally:
        rows.unpersist()
    return {"brokers": sorted(lost), "counts": counts, "partitions": shown, "text": what_if_text(counts)}


def what_if_text(counts: Sequence[Mapping[str, Any]]) -> str:
    """Return sentences on the loss of some brokers. `counts`: rows of `risk_queries.what_if_counts`, by outcome."""

    def added(key: str, *outcomes: str) -> int:
        return sum(row[key] for row in counts if not outcomes or row["outcome"] in outcomes)

    offline, already = added("partitions", "offline"), added("partitions", "already_offline")
    if not added("partitions"):
        return "No partition has a replica there."
    text = f"{capital(count(offline, 'partition') if offline else 'no partition')} would go offline"
    if already:
        text += f", {number(already)} {'is' if already == 1 else 'are'} so already"
    text += f"; {number(added('partitions', 'new_leader'))} would get another leader, and {number(added('not_writable'))} would be online but not writable."
    lost, unknown = added("lost_offsets", "offline", "already_offline"), added("unknown", "offline", "already_offline")
    if offline + already:
        known = offline + already - unknown
        bound = f"at most {count(lost, 'record')} for {count(known, 'partition')}" if known else ""
        rest = f"unknown for {count(unknown, 'partition')}" if unknown else ""
        text += f" Electing the best survivors would lose {' and '.join(filter(None, (bound, rest)))}."
    return text
