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
    from pyspark.sql import functions as F

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import phrases
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import GIVEN_A_LEADER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import (
    consumers,
    given_up,
    lost_record_section,
    newer_knowledge,
    newer_run_queries,
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
    back = newer_knowledge.found_none(document) if document["runs"] else {}
    _close(document, back)
    newer = newer_knowledge.clusters_with_newer_snapshot(document) if document["runs"] else set()
    document["risk_is_newer"] = bool(newer)
    document["newer_offline"] = newer_knowledge.offline(document, newer)
    document["clusters"] = _clusters(document)
    document["headline"] = headline(document, consumers.next_step(document["impact"]["totals"]))
    return document


def _close(document: dict[str, Any], back: Mapping[str, Mapping[str, Any]]) -> None:
    """Mark as back online what the reported runs left without a leader in clusters where a newer run or snapshot found no such partition (`back`)."""
    online = {row["cluster"]: row for row in document["online_later"]}
    for cluster, seen in back.items():
        groups = [row for row in document["groups"] if row["cluster"] == cluster and row["outcome"] in recovery_queries.WITHOUT_LEADER]
        others = sum(row["partitions"] for row in document["others_offline"] if row["cluster"] == cluster)
        if groups or others:
            online[cluster] = {"others": others, **seen, "partitions": sum(row["partitions"] for row in groups)}
        for row in groups:
            row["online_later"] = True
    document["online_later"] = [online[cluster] for cluster in sorted(online)]
    for row in document["partitions"]:
        if row["cluster"] in back and row["outcome"] in recovery_queries.WITHOUT_LEADER:
            row |= {"online_at": back[row["cluster"]]["seen_at"], "command": None}
            row["next_step"] = partition_steps.seen_online(row)
    for row in document["topics"]:
        row["without_leader"] = 0 if row["cluster"] in back else row["without_leader"]
    for name in ("held", "others_offline"):
        document[name] = [row for row in document[name] if row["cluster"] not in back]
    document["offline_since"] = {cluster: since for cluster, since in document["offline_since"].items() if cluster not in back}
    document["totals"] = totals(document["groups"], document["offline_since"])
    document["loss"] = losses(document["groups"])
    _add_read(document["loss"]["given_up"], document, document["totals"]["outcomes"])


def _add_read(given: dict[str, Any], document: Mapping[str, Any], outcomes: Mapping[str, int], cluster: str | None = None) -> None:
    """Add to the bounds of partitions that got a leader what was read of the records that they lost (`read`), and write their text with it."""
    given["read"] = given_up.read_records(document["lost_records"], outcomes, given["partitions"], cluster)
    given["text"] = given_up.text(given)


def _recovery(read: recovery_queries.Read, wanted: Wanted) -> dict[str, Any]:
    audit = recovery_queries.recoveries(read, wanted.clusters)
    runs = recovery_queries.runs(audit)
    known = plain_rows.rows(runs.drop("planned_offline").limit(LIMITS["runs"]))
    chosen = list(wanted.run_ids) if wanted.run_ids is not None else _subject(runs, known)
    if older := set(chosen) - {run["run_id"] for run in known}:
        known += plain_rows.rows(runs.drop("planned_offline").where(F.col("run_id").isin(*older)))
    audited = recovery_queries.impact_audit(audit, chosen).collect() if chosen else []
    if missing := sorted(set(chosen) - {row.run_id for row in audited}):
        raise RecoveryError(
            f"run_ids: no run {', '.join(missing)} of these clusters is in the history of {wanted.workdir}; name runs of this workdir "
            "(kafka_recovery_report_runs), or leave the option out for the newest one"
        )
    dates = sorted({row.date for row in audited})
    seen = [plain_rows.plain(row) for row in audited if row.impact_at]
    until = recovery_queries.reported_until(audit, chosen)
    reported_until = {row.cluster: phrases.instant(row.until) for row in until.collect()}
    later, newer = _later(read, audit, newer_knowledge.later_runs(known, chosen, reported_until), until, wanted)
    rows = recovery_queries.partitions(read, chosen or [""], dates or [date(1970, 1, 1)], wanted.clusters)
    rows = (rows if later is None else newer_run_queries.with_online_at(rows, later)).persist()
    try:
        others = plain_rows.rows(recovery_queries.others_offline(audit, chosen, rows)) if chosen else []
        online = plain_rows.rows(newer_run_queries.online_later(rows)) if later is not None else []
        groups = plain_rows.rows(recovery_queries.by_outcome(rows))
        topics = plain_rows.rows(recovery_queries.by_topic(rows, LIMITS["topics"]))
        shown = plain_rows.rows(recovery_queries.worst_first(rows, LIMITS["partitions"]))
        since = {row.cluster: phrases.instant(row.since) for row in recovery_queries.offline_since(read, rows, wanted.clusters).collect()}
        given = plain_rows.rows(recovery_queries.given_leaders(rows))
    finally:
        rows.unpersist()
    lost = lost_record_section.lost_records(wanted.workdir, given)
    for row in lost["clusters"]:
        has_disk = row["on_disk"] or row["unread"]
        row["rescue"] = partition_steps.rescue(row["cluster"], wanted.playbooks, row["run_id"]) if has_disk else None
    found = plain_rows.rows(recovery_queries.impact(read, chosen, dates, wanted.clusters, LIMITS["impact"])) if seen else []
    modes = {run["run_id"]: run["mode"] for run in known}
    own_modes = {modes[run_id] for run_id in chosen}
    return {
        "run_ids": chosen,
        "mode": next(
            (mode for mode in (recovery_queries.RECOVERED, recovery_queries.PLAN_ONLY, recovery_queries.DRY_RUN) if mode in own_modes), None
        ),
        "runs": known,
        "reported_until": reported_until,
        **newer,
        "found_none": [{**row, "mode": modes[row["run_id"]]} for row in newer["found_none"]],
        "online_later": [{**row, "others": 0, "mode": modes[row["run_id"]]} for row in online],
        "others_offline": partition_steps.others_offline(others, wanted.playbooks),
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


def _subject(runs: DataFrame, known: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the run that is reported if none is requested, as a list.

    A dry run is not a recovery: it is shown only if there is no other run.
    """
    if found := recovery_queries.with_subject(runs).limit(1).collect():
        return [found[0].run_id]
    real = [run for run in known if run["mode"] != recovery_queries.DRY_RUN] or known
    return [run["run_id"] for run in real[:1]]


def _later(
    read: recovery_queries.Read, audit: DataFrame, run_ids: Sequence[str], until: DataFrame, wanted: Wanted
) -> tuple[DataFrame | None, dict[str, Any]]:
    """Return partitions of runs that are newer than the reported ones (None if there are none), and the keys of the document about these runs.

    They are dry runs, plans that have not been applied, and runs that had nothing to do.
    """
    if not run_ids:
        return None, {"offline_later": [], "found_none": []}
    dates = sorted({row.date for row in recovery_queries.impact_audit(audit, run_ids).collect()})
    later = recovery_queries.partitions(read, run_ids, dates, wanted.clusters)
    none = newer_run_queries.found_none(read, audit, run_ids, dates, wanted.clusters)
    return later, {
        "offline_later": plain_rows.rows(newer_run_queries.offline_later(later, until, none)),
        "found_none": plain_rows.rows(none.orderBy("cluster")),
    }


def is_open(group: Mapping[str, Any]) -> bool:
    """Return whether partitions of a row of `recovery_queries.by_outcome` have no leader, as far as is known now."""
    return group["outcome"] in recovery_queries.WITHOUT_LEADER and not group["online_later"]


def totals(groups: Sequence[Mapping[str, Any]], since: Mapping[str, str | None]) -> dict[str, Any]:
    """Return counts over all clusters. `groups`: rows of `recovery_queries.by_outcome`; `since`: `offline_since` by cluster."""
    outcomes = {outcome: sum(row["partitions"] for row in groups if row["outcome"] == outcome) for outcome in recovery_queries.SHOWN_FIRST}
    return {
        "partitions": sum(outcomes.values()),
        "clusters": len({row["cluster"] for row in groups}),
        "without_leader": sum(row["partitions"] for row in groups if is_open(row)),
        "outcomes": outcomes,
        "oldest_offline_since": min(filter(None, since.values()), default=None),
    }


def losses(groups: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the loss of partitions that got a leader, and the loss of the others if the best survivor is elected. `groups`: as in `totals`."""
    return {
        "given_up": _loss(group for group in groups if group["outcome"] in GIVEN_A_LEADER),
        "at_stake": _loss(filter(is_open, groups)),
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
                "without_leader": sum(row["partitions"] for row in own if is_open(row)),
                "outcomes": outcomes,
                "offline_since": document["offline_since"].get(name),
                "given_up": _loss(row for row in own if row["outcome"] in GIVEN_A_LEADER),
                "at_stake": _loss(filter(is_open, own)),
                "snapshot_at": snapshots.get(name, {}).get("collected_at"),
                "one_failure": ranks.get(name, {"one_failure": 0})["one_failure"] if name in snapshots else None,
            }
        )
    for row in found:
        _add_read(row["given_up"], document, row["outcomes"], row["cluster"])
    return sorted(found, key=lambda row: (-row["without_leader"], row["cluster"]))
