# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sentences of reports. Pure: no I/O.

An unknown value never counts as zero: sums name for how many partitions they are known, and for how many they are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import timestamps


def number(value: int) -> str:
    """Return 1234567 as 1,234,567."""
    return f"{value:,}"


def spaced(word: str) -> str:
    """Return a code of the files, such as `no_survivor`, with spaces for underscores."""
    return word.replace("_", " ")


def count(value: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: "1 partition", "2 partitions". `many`: the plural, None for `one` with an s."""
    return f"{number(value)} {one if value == 1 else many or one + 's'}"


def verb(value: int, one: str, many: str) -> str:
    """Return the form of a verb that agrees with a number."""
    return one if value == 1 else many


def instant(value: datetime | None) -> str | None:
    """Return a time in the format of all files; None stays None. Times from Spark have no zone, and are in this machine's."""
    return None if value is None else timestamps.written(value)


def lasting(seconds: float) -> str:
    """Return a time span as text with its two largest units, such as "2 hours 5 minutes". A negative one is "0 seconds"."""
    rest = max(0, int(seconds))
    parts = []
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        amount, rest = divmod(rest, size)
        if amount:
            parts.append(count(amount, unit))
    return " ".join(parts[:2]) or "0 seconds"


def total(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up rows of `recovery_queries.by_outcome`, which count partitions of one outcome. The result has the keys of a row.

    `lower_bound`, `upper_bound` and `estimate` are sums over the partitions for which they are known, None if there are none;
    `<name>_known` counts these partitions. `lower_bound_where_upper` sums lower bounds only if the upper bound is known, too.
    """
    added: dict[str, Any] = {"partitions": sum(row["partitions"] for row in rows)}
    for name in ("lower_bound", "upper_bound", "estimate"):
        added[f"{name}_known"] = sum(row[f"{name}_known"] for row in rows)
        added[name] = sum(row[name] or 0 for row in rows) if added[f"{name}_known"] else None
    added["lower_bound_where_upper"] = sum(row["lower_bound_where_upper"] or 0 for row in rows) if added["upper_bound_known"] else None
    for name in ("truncated_records", "truncated_unknown"):
        added[name] = sum(row[name] for row in rows)
    added["with_gaps"] = sum(row["with_gaps"] for row in rows)
    added["beyond_consumers"] = sum(row["beyond_consumers"] for row in rows)
    return added


def loss(added: Mapping[str, Any]) -> str:
    """Return one sentence with the bounds of a loss, in records. `added`: as `total` returns it. Unknown bounds are named, never shown as 0."""
    partitions, lower, upper = added["partitions"], added["lower_bound_known"], added["upper_bound_known"]
    if not partitions:
        return "no partition to count"
    if not lower and not upper:
        return f"how much is unknown for {_all(partitions)}"
    parts = []
    if upper:
        least = added["lower_bound_where_upper"] or 0
        among = _all(partitions) if upper == partitions else count(upper, "partition")
        parts.append(f"at least {number(least)}, at most {number(added['upper_bound'])} records for {among}")
    if upper < partitions:
        rest = (added["lower_bound"] or 0) - (added["lower_bound_where_upper"] or 0)
        others = _all(partitions) if not upper else count(partitions - upper, "other partition")
        parts.append(f"at least {number(rest)} for {others}, at most unknown")
        if lower < partitions:
            parts.append(f"nothing is known of {number(partitions - lower)} of them")
    text = "; ".join(parts)
    if added["estimate_known"]:
        text += f". Estimate, by the rate of the last healthy snapshot: {number(added['estimate'])} for {count(added['estimate_known'], 'partition')}"
    if truncated := truncation(added):
        text += f". {capital(truncated)}"
    if added["with_gaps"]:
        text += f". In {number(added['with_gaps'])} of them there may be fewer records than offsets (compaction, transactions)"
    return text


def truncation(added: Mapping[str, Any]) -> str:
    """Return how many records survivors truncate, as a part of a sentence; empty if none. `added`: as `total` returns it."""
    known, unknown = added["truncated_records"], added["truncated_unknown"]
    parts = [count(known, "record")] if known else []
    parts += [f"an unknown number on {count(unknown, 'replica')}"] if unknown else []
    return f"truncated from survivors: {' and '.join(parts)}" if parts else ""


def _all(partitions: int) -> str:
    return "the one partition" if partitions == 1 else f"all {number(partitions)} partitions"


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
        elected = totals["outcomes"].get("elected", 0)
        text = f"{_every(totals['partitions'])} a leader"
        if elected:
            text += f"; {number(elected)} {'was' if elected == 1 else 'were'} elected"
        following = f"{outlook}." if outlook and document["risk_is_newer"] else "Nothing is left to elect."
        return {"state": "recovered", "text": f"{text}.", "next": " ".join(filter(None, (following, downstream)))}
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


def what_if(counts: Sequence[Mapping[str, Any]]) -> str:
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


def capital(text: str) -> str:
    """Return a text with a capital first letter. The rest stays as it is, for example names of clusters."""
    return text[:1].upper() + text[1:]


def _still_offline(document: Mapping[str, Any]) -> dict[str, str]:
    totals = document["totals"]
    left, planned = totals["without_leader"], totals["outcomes"].get("planned", 0)
    has = verb(left, "has", "have")
    if left == totals["partitions"]:
        subject = "The one partition of this run" if left == 1 else f"All {number(left)} partitions of this run"
    else:
        subject = f"{number(left)} of {count(totals['partitions'], 'partition')}"
    elected = totals["outcomes"].get("elected", 0)
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
