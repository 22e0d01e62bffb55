# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands where in the report page: its tables, tiles and sentences. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.report import SHOWN_FIRST
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.sentences import (
    OUTCOME_WORDS,
    count,
    lasting,
    number,
)

Document = Mapping[str, Any]
# (key, title, kind); kinds are those of the page's script.
Columns = Sequence[tuple[str, str, str]]

# What each risk means, as `pipeline.risk` tells them apart.
RISK_WORDS = {
    "offline": "offline: no leader",
    "no_eligible_leader": "one failure from offline: only its leader may lead",
    "last_in_sync": "one in-sync replica left",
    "below_min_isr": "below min.insync.replicas: acks=all is refused",
    "same_rack": "all in-sync replicas in one rack",
    "far_behind": "a replica outside the ISR is far behind",
    "under_replicated": "not all replicas in sync",
}

STATES = {
    "offline": "Partitions are offline",
    "planned": "Planned, nothing elected yet",
    "recovered": "Recovered",
    "at_risk": "Online, but one failure from offline",
    "calm": "Nothing is offline",
    "unknown": "Nothing is known yet",
}

PARTITIONS: Columns = (
    ("cluster", "Cluster", "text"),
    ("topic", "Topic", "text"),
    ("partition", "Partition", "number"),
    ("outcome", "Outcome", "outcome"),
    ("why", "Evidence", "text"),
    ("leader", "Leader", "number"),
    ("lower_bound", "Lost at least", "bound"),
    ("upper_bound", "at most", "bound"),
    ("estimate", "Estimate", "number"),
    ("detail", "", "hidden"),
    ("next_step", "", "hidden"),
    ("command", "", "hidden"),
)
CLUSTERS: Columns = (
    ("cluster", "Cluster", "text"),
    ("partitions", "Partitions", "number"),
    ("without_leader", "Without a leader", "number"),
    ("offline_since", "No leader since", "time"),
    ("given_up_range", "Records given up", "text"),
    ("at_stake_range", "At stake", "text"),
    ("snapshot_at", "Newest snapshot", "time"),
    ("one_failure", "One failure from offline", "number"),
)
TOPICS: Columns = (
    ("cluster", "Cluster", "text"),
    ("topic", "Topic", "text"),
    ("partitions", "Partitions", "number"),
    ("without_leader", "Without a leader", "number"),
    *((outcome, OUTCOME_WORDS[outcome].split(",")[0].capitalize(), "number") for outcome in ("elected", "already_online", "held")),
    ("lower_bound", "Lost at least", "bound"),
    ("upper_bound_all", "at most", "bound"),
)
RUNS: Columns = (
    ("run_id", "Run", "text"),
    ("last_at", "Ended", "time"),
    ("strategy", "Strategy", "text"),
    ("cluster_names", "Clusters", "text"),
    *((outcome, OUTCOME_WORDS[outcome].split(",")[0].capitalize(), "number") for outcome in SHOWN_FIRST if outcome != "planned"),
)
RISK_PARTITIONS: Columns = (
    ("cluster", "Cluster", "text"),
    ("topic", "Topic", "text"),
    ("partition", "Partition", "number"),
    ("risk_words", "Risks", "text"),
    ("change", "Change", "text"),
    ("leader", "Leader", "number"),
    ("isr_words", "ISR of replicas", "text"),
    ("depends", "Depends on broker", "text"),
    ("score", "Score", "number"),
)
RISK_CLUSTERS: Columns = (
    ("cluster", "Cluster", "text"),
    ("offline", "Offline", "number"),
    ("one_failure", "One failure from it", "number"),
    ("at_risk", "At any risk", "number"),
    ("new", "New", "number"),
    ("score", "Score", "number"),
)
RISK_TOPICS: Columns = (("cluster", "Cluster", "text"), ("topic", "Topic", "text"), *RISK_CLUSTERS[1:4], RISK_CLUSTERS[5])
RISK_BROKERS: Columns = (("cluster", "Cluster", "text"), ("broker_id", "Broker", "number"), ("partitions", "Partitions", "number"))
REFUSED: Columns = (
    ("refused_at", "When", "time"),
    ("cluster", "Cluster", "text"),
    ("kind", "Kind", "text"),
    ("path", "File", "text"),
    ("reason", "Why", "text"),
)
WHAT_IF: Columns = (
    ("cluster", "Cluster", "text"),
    ("topic", "Topic", "text"),
    ("partition", "Partition", "number"),
    ("effect", "What happens", "text"),
    ("next_leader", "Next leader", "number"),
    ("lost_offsets", "Lost at most", "bound"),
    ("reason", "Note", "text"),
)


def spaced(word: str) -> str:
    """A word of the files as people write it."""
    return word.replace("_", " ")


def signed(value: int) -> str:
    """A change."""
    return "no change" if value == 0 else f"{value:+,}"


def cut(shown: Sequence[Any], known: int, what: str) -> str:
    """Says that a list is not whole; empty where it is."""
    return f"Shown are the first {number(len(shown))} of {number(known)} {what}." if len(shown) < known else ""


def _table(columns: Columns, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "columns": [{"key": key, "title": title, "kind": kind} for key, title, kind in columns],
        "rows": [[row.get(key) for key, _, _ in columns] for row in rows],
    }


def _brokers(ids: Sequence[int] | None) -> str:
    return ", ".join(map(str, ids or ()))


def tables(doc: Document) -> dict[str, Any]:
    """The tables of the page by name: `columns` and `rows` (arrays in the order of the columns)."""
    risk = doc["risk"]
    change = {True: "new", False: "known", None: ""}
    at_risk = [
        {
            **row,
            "risk_words": ", ".join(spaced(word) for word in row["risks"] or ()),
            "change": change[row["is_new"]],
            "isr_words": f"[{_brokers(row['isr'])}] of [{_brokers(row['replicas'])}]",
            "depends": _brokers(row["depends_on"]),
        }
        for row in risk["partitions"]
    ]
    clusters = [
        {
            **row,
            "given_up_range": _range(row["given_up"]),
            "at_stake_range": _range(row["at_stake"]),
        }
        for row in doc["clusters"]
    ]
    # An upper bound of some of a topic's partitions is none of the topic.
    topics = [
        {**row, "upper_bound_all": row["upper_bound"] if row["upper_bound_known"] == row["partitions"] else None} for row in doc["topics"]
    ]
    runs = [{**row, "cluster_names": ", ".join(row["clusters"][:8]) + (" …" if len(row["clusters"]) > 8 else "")} for row in doc["runs"]]
    found = {
        "partitions": _table(PARTITIONS, [{**row, "why": spaced(row["word"] or row["evidence"] or "")} for row in doc["partitions"]]),
        "clusters": _table(CLUSTERS, clusters),
        "topics": _table(TOPICS, topics),
        "runs": _table(RUNS, runs),
        "risk_clusters": _table(RISK_CLUSTERS, risk["clusters"]),
        "risk_partitions": _table(RISK_PARTITIONS, at_risk),
        "risk_topics": _table(RISK_TOPICS, risk["topics"]),
        "risk_brokers": _table(RISK_BROKERS, risk["brokers"]),
        "refused": _table(REFUSED, doc["quarantine"]["files"]),
    }
    if doc["what_if"]:
        found["what_if"] = _table(WHAT_IF, [{**row, "effect": _effect(row)} for row in doc["what_if"]["partitions"]])
    return found


def _effect(row: Mapping[str, Any]) -> str:
    words = {
        "offline": "goes offline",
        "already_offline": "is offline already",
        "new_leader": "another leader",
        "same_leader": "keeps its leader",
    }
    text = words[row["outcome"]]
    return f"{text}, not writable" if row["writable"] is False and row["next_leader"] is not None else text


def kinds(doc: Document) -> list[dict[str, Any]]:
    """Risks over all clusters, worst first: partitions, and the change, which is null unless every cluster has an earlier snapshot."""
    added: dict[str, dict[str, Any]] = {}
    for row in doc["risk"]["kinds"]:
        own = added.setdefault(row["risk"], {"risk": row["risk"], "partitions": 0, "change": 0})
        own["partitions"] += row["partitions"]
        known = own["change"] is not None and row["before"] is not None
        own["change"] = own["change"] + row["partitions"] - row["before"] if known else None
    order = list(RISK_WORDS)
    return sorted(added.values(), key=lambda row: (order.index(row["risk"]) if row["risk"] in order else len(order), row["risk"]))


def words(doc: Document) -> dict[str, Any]:
    """Everything of the page that is a sentence, by the names that the template has for it."""
    risk = doc["risk"]
    sections = {"todo": "What to do", "partitions": "Partitions", "clusters": "Clusters and topics", "loss": "Records lost"}
    sections |= {"risk": "At risk", "what-if": "What if", "history": "Timeline", "quarantine": "Refused files", "words": "Words"}
    absent = set() if doc["totals"]["partitions"] else {"partitions", "clusters", "loss"}
    absent |= set() if doc["what_if"] else {"what-if"}
    return {
        "state": STATES[doc["headline"]["state"]],
        "sections": {anchor: title for anchor, title in sections.items() if anchor not in absent},
        "tiles": _tiles(doc),
        "nothing_to_do": _nothing_to_do(doc),
        "beyond": sum(doc["loss"][part]["beyond_consumers"] for part in ("given_up", "at_stake")),
        "kinds": kinds(doc),
        "risk_words": _risk_words(doc),
        "at_risk_total": risk["totals"]["at_risk"],
        "refused_total": sum(row["files"] for row in doc["quarantine"]["counts"]),
        "steps": _timeline(doc),
    }


def _nothing_to_do(doc: Document) -> str:
    if doc["risk"]["totals"]["offline"]:
        return "Recover what the newest snapshots show as offline, with the playbook recover."
    if doc["totals"]["partitions"]:
        return "Nothing. Give leadership back to the preferred replicas when it is calm: the playbook preferred, nothing is lost by it."
    return "Nothing."


def _seconds(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def _range(bounds: Mapping[str, Any]) -> str:
    """The bounds in a few characters; `unknown` wherever the sum would hide that some are."""
    if not bounds["partitions"]:
        return "none"
    if not bounds["lower_bound_known"] and not bounds["upper_bound_known"]:
        return "unknown"
    least = number(bounds["lower_bound"] or 0)
    if bounds["upper_bound_known"] < bounds["partitions"]:
        return f"{least} or more"
    return least if bounds["upper_bound"] == bounds["lower_bound"] else f"{least} to {number(bounds['upper_bound'])}"


def _known(bounds: Mapping[str, Any]) -> str:
    """Of how many partitions the bounds of a sum are known."""
    upper, partitions = bounds["upper_bound_known"], bounds["partitions"]
    text = "an upper bound is known for " + (
        "all" if upper == partitions else f"{number(upper)} of {number(partitions)}" if upper else "none"
    )
    return text + (f"; estimate {number(bounds['estimate'])} for {number(bounds['estimate_known'])}" if bounds["estimate_known"] else "")


def _tiles(doc: Document) -> list[dict[str, str]]:
    totals, loss, risk = doc["totals"], doc["loss"], doc["risk"]
    tiles = []
    if totals["partitions"]:
        since = totals["oldest_offline_since"]
        note = f"the longest for {lasting(_seconds(since, doc['generated_at']))}, as far as was seen" if since else ""
        tiles.append(
            {"title": "Without a leader", "value": f"{number(totals['without_leader'])} of {number(totals['partitions'])}", "note": note}
        )
        for part, title in (("given_up", "Records given up"), ("at_stake", "Records at stake")):
            if loss[part]["partitions"]:
                tiles.append({"title": title, "value": _range(loss[part]), "note": _known(loss[part])})
    if risk["snapshots"]:
        newest = max(row["collected_at"] for row in risk["snapshots"])
        oldest = min(row["collected_at"] for row in risk["snapshots"])
        offline = f"{number(risk['totals']['offline'])} offline, " if risk["totals"]["offline"] else ""
        note = f"{offline}of {count(risk['totals']['partitions'], 'partition')}, seen {newest}"
        if oldest != newest:
            note += f"; one cluster was last seen {oldest}"
        tiles.append({"title": "One failure from offline", "value": number(risk["totals"]["one_failure"]), "note": note})
    if doc["quarantine"]["counts"]:
        refused = sum(row["files"] for row in doc["quarantine"]["counts"])
        tiles.append({"title": "Files refused", "value": number(refused), "note": "nothing was decided on them"})
    return tiles


def _risk_words(doc: Document) -> str:
    totals, snapshots = doc["risk"]["totals"], doc["risk"]["snapshots"]
    compared = sum(1 for row in snapshots if row["before_run_id"])
    text = f"Of {count(totals['partitions'], 'partition')} in the newest snapshots of {count(len(snapshots), 'cluster')} {number(totals['offline'])} "
    text += f"{'is' if totals['offline'] == 1 else 'are'} offline, {number(totals['one_failure'])} one failure from it, and "
    text += f"{number(totals['at_risk'] - totals['offline'] - totals['one_failure'])} weakened otherwise."
    if compared:
        text += f" {number(totals['new'])} of them were sound in the snapshots before."
    return text


def _timeline(doc: Document) -> list[dict[str, str]]:
    steps = []
    if since := doc["totals"]["oldest_offline_since"]:
        steps.append({"at": since, "text": "the first partition that still has no leader was seen without one"})
    for run in doc["runs"]:
        if run["run_id"] not in doc["run_ids"]:
            continue
        for key, text in (
            ("collected_at", "evidence gathered"),
            ("planned_at", "leaders planned"),
            ("finished_at", "elected and verified"),
        ):
            if run[key]:
                steps.append({"at": run[key], "text": f"{text}, run {run['run_id']}"})
    if not steps:
        return []
    return [*sorted(steps, key=lambda step: step["at"]), {"at": doc["generated_at"], "text": "this report"}]
