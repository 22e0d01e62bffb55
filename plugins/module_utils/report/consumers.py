# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Consumers and producers in the report: for which runs the impact was read, its summary, and the next step. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import capital, count, number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.impact_file import COUNTS, FOLDER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import GIVEN_A_LEADER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.recovery_queries import WITHOUT_LEADER

Row = dict[str, Any]
Rows = list[Row]

PLAYBOOK = "impact"
LOOKED, OUTDATED, NOT_LOOKED = "looked", "outdated", "not_looked"
_OF_LOOK = ("cluster", "run_id", "observed_at")
_KEY = ("topic", "partition")
# The lists of the document: the kind of their rows in the table `impact`, and their columns.
LISTS: Mapping[str, tuple[str, Sequence[str]]] = {
    "groups": (
        "group",
        ("group_id", "group_state", "group_type", "partitions", "in_doubt", "offsets_read_and_lost", "must_stop", "command"),
    ),
    "transactions": (
        "transaction",
        (
            *_KEY,
            "state",
            "transactional_id",
            "coordinator_state",
            "producer_id",
            "producer_epoch",
            "start_offset",
            "ends_in_seconds",
            "explanation",
            "command",
        ),
    ),
    "partitions": ("partition", (*_KEY, "leader", "readable", "writable", "explanation")),
    "canaries": ("canary", (*_KEY, "offset", "error", "read_back")),
    "warnings": ("warning", ("explanation",)),
}


def impact_states(given: Sequence[Mapping[str, Any]], seen: Sequence[Mapping[str, Any]], workdir: Path, playbooks: Playbooks) -> Rows:
    """Return one row per run and cluster that gave partitions a leader, or whose impact was read, those without a current impact first.

    `given`, `seen`: rows of `recovery_queries.given_leaders` and `recovery_queries.impact_audit`. `state` is NOT_LOOKED, OUTDATED (the results are newer
    than the impact) or LOOKED; `command` reads the impact, null if it is current.
    """
    partitions = {(row["run_id"], row["cluster"]): row["partitions"] for row in given}
    last = {(row["run_id"], row["cluster"]): row for row in seen}
    found = []
    for run_id, cluster in sorted({*partitions, *last}):
        look = last.get((run_id, cluster))
        state = NOT_LOOKED if look is None else OUTDATED if (look["finished_at"] or "") > look["impact_at"] else LOOKED
        summary = None if look is None else {name: (look["impact"] or {}).get(name, 0) for name in COUNTS}
        found.append(
            {
                "cluster": cluster,
                "run_id": run_id,
                "partitions": partitions.get((run_id, cluster), 0),
                "state": state,
                "observed_at": None if look is None else look["impact_at"],
                "summary": summary,
                "path": None if look is None else str(workdir / FOLDER / run_id / f"{cluster}.json"),
                "command": None if state == LOOKED else command(run_id, cluster, playbooks),
            }
        )
    order = (NOT_LOOKED, OUTDATED, LOOKED)
    return sorted(found, key=lambda row: (order.index(row["state"]), row["cluster"], row["run_id"]))


def command(run_id: str, cluster: str, playbooks: Playbooks) -> str:
    """Return the command that reads the impact of a run on consumers and producers."""
    return playbooks.line(PLAYBOOK, cluster, {"kafka_recovery_run_id": run_id})


def impact(looked: Rows, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the key `impact` of the document: `looks` (rows of `impact_states`), and `rows` of `recovery_queries.impact` as lists by kind, most urgent
    first.

    `totals` has the sums over `looks`, and the number of clusters without a current impact (`due`). `known` has the full length of each list.
    """
    document: dict[str, Any] = {"looks": looked, "totals": {"due": len(_clusters(looked, (NOT_LOOKED, OUTDATED)))}, "known": {}}
    for name in COUNTS:
        document["totals"][name] = sum(look["summary"][name] for look in looked if look["summary"])
    for name, (kind, columns) in LISTS.items():
        own = [row for row in rows if row["kind"] == kind]
        document[name] = [{column: row[column] for column in (*_OF_LOOK, *columns)} for row in own]
        document["known"][name] = own[0]["known"] if own else 0
    return document


def by_cluster(document: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return the summaries by cluster, added up over the runs."""
    found: dict[str, dict[str, int]] = {}
    for look in document["impact"]["looks"]:
        if look["summary"]:
            own = found.setdefault(look["cluster"], dict.fromkeys(COUNTS, 0))
            for name in COUNTS:
                own[name] += look["summary"][name]
    return found


def offsets_beyond_log_end(document: Mapping[str, Any]) -> int | None:
    """Return the number of partitions on which a confirmed committed offset was beyond the end of the leader's log when the plan was made.

    Counts partitions without a current impact, which would be more precise. None if there are no such partitions.
    """
    due = _clusters(document["impact"]["looks"], (NOT_LOOKED, OUTDATED))
    groups = [
        row
        for row in document["groups"]
        if (row["outcome"] in WITHOUT_LEADER and not row["online_later"]) or (row["outcome"] in GIVEN_A_LEADER and row["cluster"] in due)
    ]
    return sum(row["beyond_consumers"] for row in groups) if groups else None


def next_step(totals: Mapping[str, int]) -> str:
    """Return the next step for consumers and producers, in one or two sentences, or an empty text if there is none."""
    todo = [
        f"{verb} {count(totals[name], one, many)}{rest}"
        for verb, name, one, many, rest in (
            ("reset", "groups", "consumer group", None, ""),
            ("look at", "transactions_hanging", "hanging transaction", None, ""),
            ("end", "transactions_records_lost", "transaction", None, " that may have lost records"),
        )
        if totals[name]
    ]
    steps = [f"{capital(_listed(todo))}."] if todo else []
    if totals["due"]:
        steps.append(f"Check which consumers and producers the recovery affects, in {count(totals['due'], 'cluster')}.")
    return " ".join(steps)


def summary(document: Mapping[str, Any]) -> str:
    """Return a summary of the impact, or an empty text if it was not read for any cluster."""
    looked = document["impact"]["looks"]
    seen, known = _clusters(looked, (LOOKED, OUTDATED)), _clusters(looked)
    if not seen:
        return ""
    totals = document["impact"]["totals"]
    effects = [
        f"{count(totals['groups'], 'consumer group has', 'consumer groups have')} to be reset",
        f"{count(totals['transactions_hanging'], 'transaction hangs', 'transactions hang')}",
        f"{count(totals['not_readable'], 'partition')} cannot be read",
        f"{count(totals['not_writable'], 'accepts', 'accept')} no writes with acks=all",
    ]
    clusters = "the one cluster" if len(known) == 1 else f"{number(len(seen))} of {count(len(known), 'cluster')}"
    text = f"Checked in {clusters} with partitions that got a leader: {_listed(effects)}."
    doubts = [
        f"{count(totals['offsets_in_doubt'], 'committed offset')} that may lie in another log",
        f"{count(totals['transactions_in_doubt'], 'transaction')} of which not every coordinator answered",
        f"{count(totals['transactions_records_lost'], 'open transaction')} that may have lost records",
    ]
    in_doubt = [
        doubt
        for doubt, name in zip(doubts, ("offsets_in_doubt", "transactions_in_doubt", "transactions_records_lost"), strict=True)
        if totals[name]
    ]
    return f"{text} In doubt: {_listed(in_doubt)}." if in_doubt else text


def _clusters(looked: Rows, states: Sequence[str] = (NOT_LOOKED, OUTDATED, LOOKED)) -> set[str]:
    return {look["cluster"] for look in looked if look["state"] in states}


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
