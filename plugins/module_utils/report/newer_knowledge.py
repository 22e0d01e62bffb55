# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts about clusters after the reported recovery, from newer snapshots and runs. Pure: no I/O. Times are texts as in all files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

# The mode of what is no run.
SNAPSHOT = "snapshot"


def later_runs(runs: Sequence[Mapping[str, Any]], reported: Collection[str], until: Mapping[str, str | None]) -> list[str]:
    """Return the ids of runs that are not reported, but are newer for a cluster than `until` (see `recovery_queries.reported_until`)."""
    return [
        run["run_id"]
        for run in runs
        if run["run_id"] not in reported and any((run["last_at"] or "") > (until.get(cluster) or "") for cluster in run["clusters"])
    ]


def found_none(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return by cluster the last run or snapshot after the reported runs that found no partition without a leader: `cluster`, `seen_at`, `run_id`, `mode`."""
    offline = {row["cluster"]: row["offline"] for row in document["risk"]["clusters"]}
    snapshots = [
        {"cluster": row["cluster"], "seen_at": row["collected_at"], "run_id": row["run_id"], "mode": SNAPSHOT}
        for row in document["risk"]["snapshots"]
        if not offline.get(row["cluster"])
    ]
    seen = sorted([*document["found_none"], *snapshots], key=lambda row: row["seen_at"])
    reported = document["reported_until"]
    return {row["cluster"]: row for row in seen if row["seen_at"] > (reported.get(row["cluster"]) or "")}


def known_until(document: Mapping[str, Any]) -> dict[str, str]:
    """Return by cluster the time after which only a snapshot can say more: the end of the reported runs, or of a newer run that found none."""
    reported = {cluster: until or "" for cluster, until in document["reported_until"].items()}
    none = {row["cluster"]: row["seen_at"] for row in document["found_none"]}
    return {cluster: max(reported.get(cluster, ""), none.get(cluster, "")) for cluster in {*reported, *none}}


def clusters_with_newer_snapshot(document: Mapping[str, Any]) -> set[str]:
    """Return the clusters whose newest snapshot is newer than their reported runs, and than a run that found no partition without a leader."""
    until = known_until(document)
    return {row["cluster"] for row in document["risk"]["snapshots"] if row["collected_at"] > until.get(row["cluster"], "")}


def offline(document: Mapping[str, Any], newer: Collection[str]) -> dict[str, Any]:
    """Return how many partitions had no leader after the reported recovery: in `snapshots` of the clusters `newer`, and in `runs` that are newer than
    these, with their clusters and their last time (`seen_at`)."""
    taken = {row["cluster"]: row["collected_at"] for row in document["risk"]["snapshots"]}
    runs = [row for row in document["offline_later"] if row["seen_at"] > taken.get(row["cluster"], "")]
    return {
        "snapshots": sum(row["offline"] for row in document["risk"]["clusters"] if row["cluster"] in newer),
        "runs": sum(row["partitions"] for row in runs),
        "clusters": sorted(row["cluster"] for row in runs),
        "seen_at": max((row["seen_at"] for row in runs), default=None),
    }
