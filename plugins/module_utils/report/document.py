# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as one document, from which the HTML page, the JSON file and the metrics are made. Its keys are a public interface.

Lists are bounded (`scope.LIMITS`). Each list that may be cut has its full length beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import DataFrame

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import phrases
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import GIVEN_A_LEADER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import (
    consumers,
    lost_record_section,
    newer_knowledge,
    operations,
    partition_steps,
    plain_rows,
    recovery_queries,
    risk_section,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.headline import headline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.scope import LIMITS, Wanted

VERSION = 1


def collect(read: recovery_queries.Read, wanted: Wanted) -> dict[str, Any]:
    """Return the document with `what_if` null. `read` returns a history table by name. Raises RecoveryError if a requested run is not in the tables."""
    document: dict[str, Any] = {
        "version": VERSION,
        "report": wanted.name,
        "generated_at": phrases.instant(wanted.now),
        "inventory": list(wanted.playbooks.inventory),
        "asked_clusters": None if wanted.clusters is None else sorted(wanted.clusters),
        "what_if": None,
        **_recovery(read, wanted),
        **risk_section.outlook(read, wanted),
        **_quarantine(read, wanted),
        "unclean_recoveries": plain_rows.rows(recovery_queries.unclean_recoveries(read, wanted.clusters)),
        "operations": operations.of_workdir(wanted.workdir, wanted.clusters),
    }
    return complete(document)


def complete(document: dict[str, Any]) -> dict[str, Any]:
    """Add the keys that follow from the others: clusters, headline, and what newer snapshots and runs say."""
    newer = newer_knowledge.clusters_with_newer_snapshot(document) if document["runs"] else set()
    document["risk_is_newer"] = bool(newer)
    document["newer_offline"] = newer_knowledge.offline(document, newer)
    document["clusters"] = _clusters(document)
    document["headline"] = headline(document, consumers.next_step(document["impact"]["totals"]))
    return document


def _recovery(read: recovery_queries.Read, wanted: Wanted) -> dict[str, Any]:
    audit = recovery_queries.recoveries(read, wanted.clusters)
    known = plain_rows.rows(recovery_queries.runs(audit, LIMITS["runs"]))
    # A dry run is not a recovery: it is shown only if it is requested, or if there is no other run.
    real = [run for run in known if run["mode"] != recovery_queries.DRY_RUN] or known
    chosen = list(wanted.run_ids) if wanted.run_ids is not None else [run["run_id"] for run in real[:1]]
    audited = recovery_queries.impact_audit(audit, chosen).collect() if chosen else []
    if missing := sorted(set(chosen) - {row.run_id for row in audited}):
        raise RecoveryError(
            f"run_ids: no run {', '.join(missing)} of these clusters is in the history of {wanted.workdir}; name runs of this workdir "
            "(kafka_recovery_report_runs), or leave the option out for the newest one"
        )
    dates = sorted({row.date for row in audited})
    seen = [plain_rows.plain(row) for row in audited if row.impact_at]
    rows = recovery_queries.partitions(read, chosen or [""], dates or [date(1970, 1, 1)], wanted.clusters).persist()
    try:
        groups = plain_rows.rows(recovery_queries.by_outcome(rows))
        topics = plain_rows.rows(recovery_queries.by_topic(rows, LIMITS["topics"]))
        shown = plain_rows.rows(recovery_queries.worst_first(rows, LIMITS["partitions"]))
        since = {row.cluster: phrases.instant(row.since) for row in recovery_queries.offline_since(read, rows, wanted.clusters).collect()}
        given = plain_rows.rows(recovery_queries.given_leaders(rows))
    finally:
        rows.unpersist()
    lost = lost_record_section.lost_records(wanted.workdir, given)
    found = plain_rows.rows(recovery_queries.impact(read, chosen, dates, wanted.clusters, LIMITS["impact"])) if seen else []
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
        "others_offline": partition_steps.others_offline(plain_rows.rows(recovery_queries.others_offline(audit, chosen)), wanted.playbooks)
        if chosen
        else [],
        "totals": totals(groups, since),
        "loss": losses(groups),
        "lost_records": lost,
        "drawings": lost_record_section.drawings(wanted.workdir, lost["partitions"], shown),
        "groups": groups,
        "offline_since": since,
        "held": partition_steps.held(groups, shown, wanted),
        "impact": consumers.impact(consumers.impact_states(given, seen, wanted.workdir, wanted.playbooks), found),
        "topics": topics,
        "partitions": [partition_steps.with_next(row, wanted) for row in shown],
    }


def _offline_later(
    read: recovery_queries.Read, audit: DataFrame, run_ids: Sequence[str], until: DataFrame, wanted: Wanted
) -> list[dict[str, Any]]:
    """Return partitions without a leader in runs that are newer than the reported ones: dry runs, and plans that have not been applied."""
    if not run_ids:
        return []
    dates = sorted({row.date for row in recovery_queries.impact_audit(audit, run_ids).collect()})
    return plain_rows.rows(recovery_queries.offline_later(recovery_queries.partitions(read, run_ids, dates, wanted.clusters), until))


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
        "given_up": _loss(group for group in groups if group["outcome"] in GIVEN_A_LEADER),
        "at_stake": _loss(group for group in groups if group["outcome"] in recovery_queries.WITHOUT_LEADER),
    }


def _loss(groups: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    added = phrases.total(list(groups))
    return {**added, "text": phrases.loss(added)}


def _quarantine(read: recovery_queries.Read, wanted: Wanted) -> dict[str, Any]:
    return {
        "quarantine": {
            "counts": plain_rows.rows(recovery_queries.refused_counts(read, wanted.clusters)),
            "files": plain_rows.rows(recovery_queries.refused(read, wanted.clusters, LIMITS["refused"])),
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
                "given_up": _loss(row for row in own if row["outcome"] in GIVEN_A_LEADER),
                "at_stake": _loss(row for row in own if row["outcome"] in recovery_queries.WITHOUT_LEADER),
                "snapshot_at": snapshots.get(name, {}).get("collected_at"),
                "one_failure": ranks.get(name, {"one_failure": 0})["one_failure"] if name in snapshots else None,
            }
        )
    return sorted(found, key=lambda row: (-row["without_leader"], row["cluster"]))
