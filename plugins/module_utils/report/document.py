# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as one document, from which the HTML page, the JSON file and the metrics are made. Its keys are a public interface.

Lists are bounded (LIMITS). Each list that may be cut has its full length beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import DataFrame, Row, SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import phrases
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import STRATEGY, Playbooks, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import next_steps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file, sealed_jsonl
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import healthy_rows, risk
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import (
    consumers,
    newer_knowledge,
    operations,
    recovery_queries,
    risk_queries,
)

VERSION = 1
LIMITS = {
    "runs": 20,
    "topics": 2_000,
    "partitions": 10_000,
    "impact": 2_000,
    "at_risk": 2_000,
    "risk_topics": 200,
    "risk_brokers": 200,
    "refused": 200,
    "what_if": 5_000,
}
TREND_DAYS = 100


class ReportError(RecoveryError):
    """The requested runs, clusters or snapshots do not exist or cannot be used."""


@dataclass(frozen=True)
class Wanted:
    """The scope of a report. `run_ids`: None for the newest recovery; `clusters`: None for all."""

    name: str
    workdir: Path
    run_ids: Sequence[str] | None = None
    clusters: Sequence[str] | None = None
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    playbooks: Playbooks = field(default_factory=Playbooks)


def collect(read: recovery_queries.Read, wanted: Wanted) -> dict[str, Any]:
    """Return the document with `what_if` null. `read` returns a history table by name. Raises ReportError if a requested run is not in the tables."""
    document: dict[str, Any] = {
        "version": VERSION,
        "report": wanted.name,
        "generated_at": phrases.instant(wanted.now),
        "inventory": list(wanted.playbooks.inventory),
        "asked_clusters": None if wanted.clusters is None else sorted(wanted.clusters),
        "what_if": None,
        **_recovery(read, wanted),
        **_outlook(read, wanted),
        **_quarantine(read, wanted),
        "unclean_recoveries": _rows(recovery_queries.unclean_recoveries(read, wanted.clusters)),
        "operations": operations.of_workdir(wanted.workdir, wanted.clusters),
    }
    return complete(document)


def complete(document: dict[str, Any]) -> dict[str, Any]:
    """Add the keys that follow from the others: clusters, headline, and what newer snapshots and runs say."""
    newer = newer_knowledge.clusters_with_newer_snapshot(document) if document["runs"] else set()
    document["risk_is_newer"] = bool(newer)
    document["newer_offline"] = newer_knowledge.offline(document, newer)
    document["clusters"] = _clusters(document)
    document["headline"] = phrases.headline(document, consumers.next_step(document["impact"]["totals"]))
    return document


def plain(value: Any) -> Any:
    """Return a value of Spark in a form that JSON can have."""
    if isinstance(value, Row):
        return {name: plain(item) for name, item in value.asDict().items()}
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        return phrases.instant(value)
    return value.isoformat() if isinstance(value, date) else value


def _rows(table: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a bounded table."""
    return [plain(row) for row in table.collect()]


def _recovery(read: recovery_queries.Read, wanted: Wanted) -> dict[str, Any]:
    audit = recovery_queries.recoveries(read, wanted.clusters)
    known = _rows(recovery_queries.runs(audit, LIMITS["runs"]))
    # A dry run is not a recovery: it is shown only if it is requested, or if there is no other run.
    real = [run for run in known if run["mode"] != recovery_queries.DRY_RUN] or known
    chosen = list(wanted.run_ids) if wanted.run_ids is not None else [run["run_id"] for run in real[:1]]
    audited = recovery_queries.impact_audit(audit, chosen).collect() if chosen else []
    if missing := sorted(set(chosen) - {row.run_id for row in audited}):
        raise ReportError(f"run_ids: no run {', '.join(missing)} of these clusters is in the history of {wanted.workdir}")
    dates = sorted({row.date for row in audited})
    seen = [plain(row) for row in audited if row.impact_at]
    rows = recovery_queries.partitions(read, chosen or [""], dates or [date(1970, 1, 1)], wanted.clusters).persist()
    try:
        groups = _rows(recovery_queries.by_outcome(rows))
        topics = _rows(recovery_queries.by_topic(rows, LIMITS["topics"]))
        shown = _rows(recovery_queries.worst_first(rows, LIMITS["partitions"]))
        since = {row.cluster: phrases.instant(row.since) for row in recovery_queries.offline_since(read, rows, wanted.clusters).collect()}
        given = _rows(recovery_queries.given_leaders(rows))
    finally:
        rows.unpersist()
    found = _rows(recovery_queries.impact(read, chosen, dates, wanted.clusters, LIMITS["impact"])) if seen else []
    modes = {run["mode"] for run in known if run["run_id"] in chosen}
    until = recovery_queries.reported_until(audit, chosen)
    reported_until = {row.cluster: phrases.instant(row.until) for row in until.collect()}
    return {
        "run_ids": chosen,
        "mode": next(
            (mode for mode in (recovery_queries.RECOVERED, recovery_queries.PLAN_ONLY, recovery_queries.DRY_RUN) if mode in modes), None
        ),
        "runs": known,
        "reported_until": reported_until,
        "offline_later": _offline_later(read, audit, newer_knowledge.later_runs(known, chosen, reported_until), until, wanted),
        "others_offline": others_offline(_rows(recovery_queries.others_offline(audit, chosen)), wanted.playbooks) if chosen else [],
        "totals": totals(groups, since),
        "loss": losses(groups),
        "groups": groups,
        "offline_since": since,
        "held": held(groups, shown, wanted),
        "impact": consumers.impact(consumers.impact_states(given, seen, wanted.workdir, wanted.playbooks), found),
        "topics": topics,
        "partitions": [with_next(row, wanted) for row in shown],
    }


def _offline_later(
    read: recovery_queries.Read, audit: DataFrame, run_ids: Sequence[str], until: DataFrame, wanted: Wanted
) -> list[dict[str, Any]]:
    """Return partitions without a leader in runs that are newer than the reported ones: dry runs, and plans that have not been applied."""
    if not run_ids:
        return []
    dates = sorted({row.date for row in recovery_queries.impact_audit(audit, run_ids).collect()})
    return _rows(recovery_queries.offline_later(recovery_queries.partitions(read, run_ids, dates, wanted.clusters), until))


def others_offline(rows: Sequence[Mapping[str, Any]], playbooks: Playbooks) -> list[dict[str, Any]]:
    """Add to rows of `recovery_queries.others_offline` the next step and the command that plans for the whole cluster.

    Results have only the number of these partitions, so no command can name them.
    """
    step = "plan for all partitions of the cluster without a leader. The last run was not about these, which are among them"
    return [
        {**row, "word": "other_offline", "next_step": step, "command": playbooks.line("plan", row["cluster"], without=[STRATEGY])}
        for row in rows
    ]


def totals(groups: Sequence[Mapping[str, Any]], since: Mapping[str, str | None]) -> dict[str, Any]:
    """Return counts over all clusters. `groups`: rows of `recovery_queries.by_outcome`; `since`: `offline_since` by cluster."""
    outcomes = {outcome: sum(row["partitions"] for row in groups if row["outcome"] == outcome) for outcome in recovery_queries.SHOWN_FIRST}
    return {
        "partitions": sum(outcomes.values()),
        "clusters": len({row["cluster"] for row in groups}),
        "without_leader": sum(outcomes[outcome] for outcome in recovery_queries.WITHOUT_LEADER),
        "outcomes": outcomes,
        "oldest_offline_since": min(filter(None, since.values()), default=None),
    }


def losses(groups: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the loss of partitions that got a leader, and the loss of the others if the best survivor is elected. `groups`: as in `totals`."""
    return {
        "given_up": _loss(group for group in groups if group["outcome"] in recovery_queries.GIVEN_A_LEADER),
        "at_stake": _loss(group for group in groups if group["outcome"] in recovery_queries.WITHOUT_LEADER),
    }


def _loss(groups: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    added = phrases.total(list(groups))
    return {**added, "words": phrases.loss(added)}


def _plan(workdir: Path, run_id: str, cluster: str) -> str:
    return str(workdir / "plans" / run_id / f"{cluster}.json")


def _codes(row: Mapping[str, Any]) -> list[str]:
    return [row["word"], row["outcome"]]


def _designates(group: Mapping[str, Any], plan: str, keys: Sequence[TopicPartition]) -> bool:
    """Return whether the plan elects leaders for exactly these partitions. It may not exist any more, or a later run may have some of its partitions."""
    if next_steps.first_with_step(_codes(group)) not in next_steps.APPLIED:
        return False
    try:
        return {(row["topic"], row["partition"]) for row in plan_file.load(plan)["partitions"]} == set(keys)
    except RecoveryError:
        return False


def held(groups: Sequence[Mapping[str, Any]], shown: Sequence[Mapping[str, Any]], wanted: Wanted) -> list[dict[str, Any]]:
    """Return one entry per cluster, outcome and reason of partitions without a leader, the cheapest next step first.

    An entry whose partitions are not all in `shown` has no command, because a command names all of them.
    """
    found, rows = [], defaultdict(list)
    for row in shown:
        rows[row["cluster"], row["outcome"], row["word"]].append(row)
    for group in groups:
        if group["outcome"] not in recovery_queries.WITHOUT_LEADER:
            continue
        own = rows[group["cluster"], group["outcome"], group["word"]]
        plan = _plan(wanted.workdir, own[0]["run_id"] if own else "", group["cluster"])
        names = [(row["topic"], row["partition"]) for row in own] if len(own) == group["partitions"] else []
        found.append(
            {
                **{key: group[key] for key in ("cluster", "outcome", "word", "partitions", "first")},
                "plan": plan,
                "next_step": next_steps.next_step(_codes(group), plan, wanted.playbooks.require_commit),
                "command": next_steps.command(
                    _codes(group), group["cluster"], names, plan if _designates(group, plan, names) else None, wanted.playbooks
                ),
            }
        )
    return sorted(found, key=lambda row: (next_steps.order(next_steps.first_with_step(_codes(row))), -row["partitions"], row["cluster"]))


def with_next(row: dict[str, Any], wanted: Wanted) -> dict[str, Any]:
    """Add to a partition its next step and command, both null if it has a leader."""
    if row["outcome"] not in recovery_queries.WITHOUT_LEADER:
        return {**row, "next_step": None, "command": None}
    plan, codes = _plan(wanted.workdir, row["run_id"], row["cluster"]), _codes(row)
    return {
        **row,
        "next_step": next_steps.next_step(codes, plan, wanted.playbooks.require_commit),
        "command": next_steps.command(codes, row["cluster"], [(row["topic"], row["partition"])], None, wanted.playbooks),
    }


def _outlook(read: recovery_queries.Read, wanted: Wanted) -> dict[str, Any]:
    days = risk_queries.snapshots(read, wanted.clusters, wanted.now.date() - timedelta(days=TREND_DAYS)).persist()
    try:
        now = risk_queries.current(days).persist()
        rows = risk_queries.at_risk(read, now).persist()
        try:
            risk = risk_of(
                _rows(now),
                _rows(risk_queries.risk_counts(read, now)),
                _rows(risk_queries.ranked_clusters(rows)),
                _rows(risk_queries.ranked_topics(rows, LIMITS["risk_topics"])),
                _rows(risk_queries.ranked_brokers(rows, LIMITS["risk_brokers"])),
                _rows(risk_queries.ranked_partitions(rows, LIMITS["at_risk"])),
            )
            trend = _rows(risk_queries.trend(read, days))
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
    """Return the state of the fleet without the brokers `lost`, by its newest snapshots. Raises ReportError without a usable snapshot, and WhatIfError
    if no cluster has such a broker."""
    paths = [wanted.workdir / "healthy" / row["cluster"] / f"{row['run_id']}.jsonl" for row in document["risk"]["snapshots"]]
    if not paths:
        raise ReportError(f"what_if_brokers: there is no healthy snapshot in {wanted.workdir}; collect one with the playbook snapshot")
    for path in paths:
        try:
            sealed_jsonl.check(path)
        except sealed_jsonl.SnapshotError as error:
            raise ReportError(f"what_if_brokers: {path}, the newest snapshot of its cluster, cannot be used: {error}") from error
    files = [str(path) for path in paths]
    rows = risk.what_if(healthy_rows.watermarks(spark, files), healthy_rows.brokers(spark, files), lost).persist()
    try:
        counts = _rows(risk_queries.what_if_counts(rows))
        shown = _rows(risk_queries.what_if_ranked(rows, LIMITS["what_if"]))
    finally:
        rows.unpersist()
    return {"brokers": sorted(lost), "counts": counts, "partitions": shown, "words": phrases.what_if(counts)}


def _quarantine(read: recovery_queries.Read, wanted: Wanted) -> dict[str, Any]:
    return {
        "quarantine": {
            "counts": _rows(recovery_queries.refused_counts(read, wanted.clusters)),
            "files": _rows(recovery_queries.refused(read, wanted.clusters, LIMITS["refused"])),
        }
    }


def _clusters(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row per cluster of the reported runs and of the snapshots, those with most partitions without a leader first."""
    groups, risk = document["groups"], document["risk"]
    snapshots = {row["cluster"]: row for row in risk["snapshots"]}
    ranks = {row["cluster"]: row for row in risk["clusters"]}
    found = []
    for name in sorted({*(row["cluster"] for row in groups), *snapshots}):
        own = [row for row in groups if row["cluster"] == name]
        outcomes = {outcome: sum(row["partitions"] for row in own if row["outcome"] == outcome) for outcome in recovery_queries.SHOWN_FIRST}
        found.append(
            {
                "cluster": name,
                "partitions": sum(outcomes.values()),
                "without_leader": sum(outcomes[outcome] for outcome in recovery_queries.WITHOUT_LEADER),
                "outcomes": outcomes,
                "offline_since": document["offline_since"].get(name),
                "given_up": _loss(row for row in own if row["outcome"] in recovery_queries.GIVEN_A_LEADER),
                "at_stake": _loss(row for row in own if row["outcome"] in recovery_queries.WITHOUT_LEADER),
                "snapshot_at": snapshots.get(name, {}).get("collected_at"),
                "one_failure": ranks.get(name, {"one_failure": 0})["one_failure"] if name in snapshots else None,
            }
        )
    return sorted(found, key=lambda row: (-row["without_leader"], row["cluster"]))
