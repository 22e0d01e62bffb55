# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The headline of a report: what happened, and what to do next. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import capital, count, number, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import GIVEN_A_LEADER, Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import newer_knowledge
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.recovery_queries import (
    DRY_RUN,
    PLAN_ONLY,
    PLANNED,
    RECOVERED,
)

# What saw that partitions have a leader again.
SEEN_BY = {PLAN_ONLY: "a plan", DRY_RUN: "a dry run", RECOVERED: "a run", newer_knowledge.SNAPSHOT: "a snapshot"}


def headline(document: Mapping[str, Any], downstream: str) -> dict[str, str]:
    """Return the headline of a report: `state` (offline, planned, dry_run, recovered, at_risk, calm, unknown), `text` (what happened)
    and `next` (what to do, may be empty). `document`: as `report.document` builds it.

    `downstream`: the next step for consumers and producers (`consumers.next_step`), shown once partitions have leaders.
    """
    totals, risk = document["totals"], document["risk"]
    newer, at_risk = document["newer_offline"], risk["totals"]["one_failure"]
    offline = newer["snapshots"] if document["runs"] else risk["totals"]["offline"]
    outlook = _outlook(offline, at_risk, risk["totals"]["partitions"])
    if totals["without_leader"]:
        return _still_offline(document)
    if document["others_offline"]:
        return _others_offline(document)
    if document["runs"] and offline:
        return {"state": "offline", "text": f"{outlook}.", "next": "Recover what is offline: the playbook recover."}
    if newer["runs"]:
        return _offline_later(newer)
    if totals["partitions"]:
        back = _back(document["online_later"])
        elected = totals["outcomes"].get(Outcome.ELECTED, 0)
        given = sum(totals["outcomes"].get(outcome, 0) for outcome in GIVEN_A_LEADER)
        text = f"{_every(totals['partitions'])} a leader"
        if elected:
            text += f"; {number(elected)} {'was' if elected == 1 else 'were'} elected"
        elif not given and not back:
            text += ", and had one before"
        text += back
        following = f"{outlook}." if outlook and document["risk_is_newer"] else "Nothing is left to elect."
        return {"state": "recovered" if given else "calm", "text": f"{text}.", "next": " ".join(filter(None, (following, downstream)))}
    if document["runs"]:
        return {"state": "calm", "text": "The last run found no partition without a leader.", "next": f"{outlook}." if outlook else ""}
    if risk["snapshots"]:
        state = "offline" if offline else "at_risk" if at_risk else "calm"
        following = "Recover what is offline." if offline else "See who is at risk below." if at_risk else "Nothing has to be done."
        return {
            "state": state,
            "text": f"No recovery has been run. {outlook or 'No partition is one failure from offline'}.",
            "next": following,
        }
    return {
        "state": "unknown",
        "text": "Nothing is known yet: there is no recovery and no healthy snapshot in this workdir.",
        "next": "Run the playbook snapshot from a timer, and this page shows who is at risk.",
    }


def _still_offline(document: Mapping[str, Any]) -> dict[str, str]:
    totals = document["totals"]
    left, planned = totals["without_leader"], sum(row["partitions"] for row in document["held"] if row["outcome"] == PLANNED)
    has = verb(left, "has", "have")
    if left == totals["partitions"]:
        subject = "The one partition of this run" if left == 1 else f"All {number(left)} partitions of this run"
    else:
        subject = f"{number(left)} of {count(totals['partitions'], 'partition')}"
    elected = totals["outcomes"].get(Outcome.ELECTED, 0)
    rest = f"; {number(elected)} {'was' if elected == 1 else 'were'} elected" if elected else "; nothing was elected"
    if document["mode"] == "dry_run":
        return {
            "state": "dry_run",
            "text": f"Dry run: {subject[0].lower()}{subject[1:]} {has} no leader; nothing was elected.",
            "next": _first(document),
        }
    if planned == left:
        return {"state": "planned", "text": f"{subject} {has} no leader{rest}. A plan is ready.", "next": _first(document)}
    return {"state": "offline", "text": f"{subject} still {has} no leader{rest}.", "next": _first(document)}


def _others_offline(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the headline for a run that recovered its partitions, while other partitions of its clusters are offline."""
    wanted, rows = document["totals"]["partitions"], document["others_offline"]
    others, first = sum(row["partitions"] for row in rows), rows[0]
    done = f"{number(wanted)} of {count(wanted, 'requested partition')} {verb(wanted, 'has', 'have')} a leader; " if wanted else ""
    text = f"{done}{count(others, 'other partition')} had none at {first['finished_at']}."
    return {
        "state": "offline",
        "text": capital(text),
        "next": f"Plan for the rest of cluster {first['cluster']}: the playbook plan, without partitions.",
    }


def _offline_later(newer: Mapping[str, Any]) -> dict[str, str]:
    """Return the headline for partitions without a leader in a dry run or a plan after the reported recovery."""
    partitions, clusters = newer["runs"], newer["clusters"]
    where = f"{verb(len(clusters), 'cluster', 'clusters')} {', '.join(clusters)}"
    return {
        "state": "offline",
        "text": f"{count(partitions, 'partition')} of {where} had no leader in a newer run, at {newer['seen_at']}.",
        "next": "Recover what is offline: the playbook recover.",
    }


def _back(online_later: Sequence[Mapping[str, Any]]) -> str:
    """Return which run or snapshot saw with a leader what the reported runs left without one, as the end of a sentence."""
    if not online_later:
        return ""
    last = max(online_later, key=lambda row: row["seen_at"])
    left, others = (sum(row[name] for row in online_later) for name in ("partitions", "others"))
    none = "none" if others else f"none of the other {number(left)}"
    return f"; {SEEN_BY[last['mode']]} at {last['seen_at']} found {none} offline"


def _first(document: Mapping[str, Any]) -> str:
    held = document["held"]
    more = len(held) - 1
    text = f"Next, in cluster {held[0]['cluster']}: {held[0]['next_step']}."
    return text + (f" {count(more, 'more step')} below." if more else "")


def _every(partitions: int) -> str:
    return "The one partition of this run has" if partitions == 1 else f"All {number(partitions)} partitions of this run have"


def _outlook(offline: int, at_risk: int, known: int) -> str:
    parts = []
    if offline:
        parts.append(f"{count(offline, 'partition')} {'is' if offline == 1 else 'are'} offline in the newest snapshots")
    if at_risk:
        parts.append(f"{number(at_risk)} of {count(known, 'partition')} {'is' if at_risk == 1 else 'are'} one failure from offline")
    return ", ".join(parts)
