# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of the report page: their columns and rows. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import number, spaced
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.shared_sentences import disk_failed
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import consumers, given_up
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.anchors import partition_anchor
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.moments import moment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.recovery_queries import (
    OUTCOME_LABELS,
    SHOWN_FIRST,
    WITHOUT_LEADER,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.lost_records import sums

Document = Mapping[str, Any]
# (key, title, kind); kinds are those of the page's script.
Columns = Sequence[tuple[str, str, str]]


def _outcomes(*outcomes: str) -> Columns:
    """Return a column for each of these outcomes."""
    return [
        (outcome, OUTCOME_LABELS[outcome].split(",", maxsplit=1)[0].capitalize(), "problem" if outcome in WITHOUT_LEADER else "number")
        for outcome in outcomes
    ]


PARTITIONS: Columns = (
    ("cluster", "Cluster", "text"),
    ("topic", "Topic", "text"),
    ("partition", "Partition", "place"),
    ("outcome", "Outcome", "outcome"),
    ("reason_code", "Why", "term"),
    ("evidence", "Evidence", "term"),
    ("leader", "Leader", "number"),
    ("lower_bound", "Lost at least", "bound"),
    ("upper_bound", "Lost at most", "bound"),
    ("estimate", "", "hidden"),
    ("detail", "", "hidden"),
    ("next_step", "", "hidden"),
    ("command", "", "hidden"),
    ("anchor", "", "hidden"),
    ("online_at", "", "hidden"),
)
CLUSTERS: Columns = (
    ("cluster", "Cluster", "text"),
    ("partitions", "Partitions", "number"),
    ("without_leader", "Without a leader", "problem"),
    ("offline_since", "No leader since", "time"),
    ("given_up_range", "Records given up", "text"),
    ("at_stake_range", "At stake", "text"),
    ("snapshot_at", "Newest snapshot", "time"),
    ("one_failure", "One failure from offline", "problem"),
)
TOPICS: Columns = (
    ("cluster", "Cluster", "text"),
    ("topic", "Topic", "text"),
    ("partitions", "Partitions", "number"),
    ("without_leader", "Without a leader", "problem"),
    *_outcomes(Outcome.ELECTED),
    ("lower_bound", "Lost at least", "bound"),
    ("upper_bound_all", "Lost at most", "bound"),
)
RUNS: Columns = (
    ("run_id", "Run", "text"),
    ("last_at", "Ended", "time"),
    ("mode_text", "What it was", "text"),
    ("strategy", "Strategy", "text"),
    ("cluster_names", "Clusters", "text"),
    *_outcomes(*(outcome for outcome in SHOWN_FIRST if outcome != "planned")),
)
RISK_PARTITIONS: Columns = (
    ("cluster", "Cluster", "text"),
    ("topic", "Topic", "text"),
    ("partition", "Partition", "number"),
    ("risk_text", "Risks", "prose"),
    ("change", "Change", "text"),
    ("leader", "Leader", "number"),
    ("isr_text", "ISR of replicas", "text"),
    ("depends", "Depends on broker", "text"),
    ("score", "Score", "number"),
)
RISK_CLUSTERS: Columns = (
    ("cluster", "Cluster", "text"),
    ("offline", "Offline", "problem"),
    ("one_failure", "One failure from it", "problem"),
    ("at_risk", "At any risk", "problem"),
    ("new", "New", "problem"),
    ("score", "Score", "number"),
)
RISK_TOPICS: Columns = (("cluster", "Cluster", "text"), ("topic", "Topic", "text"), *RISK_CLUSTERS[1:4], RISK_CLUSTERS[5])
RISK_BROKERS: Columns = (("cluster", "Cluster", "text"), ("broker_id", "Broker", "number"), ("partitions", "Partitions", "number"))
REFUSED: Columns = (
    ("refused_at", "When", "time"),
    ("cluster", "Cluster", "text"),
    ("kind", "Kind", "text"),
    ("path", "File", "text"),
    ("reason", "Why", "prose"),
)
LOST_RECORDS: Columns = (
    ("cluster", "Cluster", "text"),
    ("topic", "Topic", "text"),
    ("partition", "Partition", "number"),
    ("replayed", "Replayed", "number"),
    ("saved", "Saved", "number"),
    ("on_disk", "Only on a disk", "problem"),
    ("gone", "Gone", "problem"),
    ("total", "All", "number"),
    ("note", "Note", "prose"),
)
LOST_BY_CLUSTER: Columns = (
    LOST_RECORDS[0],
    ("run_id", "Run", "text"),
    *LOST_RECORDS[3:8],
    ("not_known", "Partitions not known", "problem"),
    ("unread", "Partitions with an unread disk", "problem"),
    ("rescue", "Save the disks", "command"),
)
LOST_BY_TOPIC: Columns = (
    *LOST_RECORDS[:2],
    ("partitions", "Partitions", "number"),
    *LOST_RECORDS[3:8],
    *LOST_BY_CLUSTER[7:9],
)
LOOKS: Columns = (
    ("cluster", "Cluster", "text"),
    ("run_id", "Run", "text"),
    ("partitions", "Partitions given a leader", "number"),
    ("looked", "Checked at", "text"),
    ("command", "Next command", "command"),
)
HIT_GROUPS: Columns = (
    ("cluster", "Cluster", "text"),
    ("group_id", "Group", "text"),
    ("group_state", "State", "text"),
    ("partitions", "Partitions to reset", "number"),
    ("in_doubt", "In doubt", "problem"),
    ("offsets_read_and_lost", "Offsets read and lost", "problem"),
    ("must_stop", "Stop it first", "text"),
    ("command", "Command", "command"),
)
TRANSACTIONS: Columns = (
    ("cluster", "Cluster", "text"),
    ("topic", "Topic", "text"),
    ("partition", "Partition", "number"),
    ("state", "State", "text"),
    ("transactional_id", "Transactional id", "text"),
    ("explanation", "Why", "prose"),
    ("command", "Command", "command"),
)
UNUSABLE: Columns = (
    ("cluster", "Cluster", "text"),
    ("topic", "Topic", "text"),
    ("partition", "Partition", "number"),
    ("leader", "Leader", "number"),
    ("readable", "Readable", "text"),
    ("writable", "Writable, acks=all", "text"),
    ("explanation", "Why", "prose"),
)
CANARIES: Columns = (
    ("cluster", "Cluster", "text"),
    ("topic", "Topic", "text"),
    ("partition", "Partition", "number"),
    ("became", "Result", "prose"),
)
UNKNOWN: Columns = (("cluster", "Cluster", "text"), ("run_id", "Run", "text"), ("explanation", "Not known", "prose"))
WHAT_IF: Columns = (
    ("cluster", "Cluster", "text"),
    ("topic", "Topic", "text"),
    ("partition", "Partition", "number"),
    ("effect", "What happens", "prose"),
    ("next_leader", "Next leader", "number"),
    ("lost_offsets", "Lost at most", "bound"),
    ("reason", "Note", "prose"),
)

# Titles of the modes of `recovery_queries.runs`.
MODE_TITLES = {"recovery": "recovery", "plan": "plan, nothing elected", "dry_run": "dry run, nothing elected"}


def _names(clusters: Sequence[str]) -> str:
    return ", ".join(clusters[:8]) + (" …" if len(clusters) > 8 else "")


def _table(columns: Columns, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "columns": [{"key": key, "title": title, "kind": kind} for key, title, kind in columns],
        "rows": [[row.get(key) for key, _title, _kind in columns] for row in rows],
    }


def _brokers(ids: Sequence[int] | None) -> str:
    return ", ".join(map(str, ids or ()))


def tables(doc: Document) -> dict[str, Any]:
    """Return the tables of the page by name, each with `columns` and `rows` (arrays in the order of the columns)."""
    risk = doc["risk"]
    change = {True: "new", False: "known", None: ""}
    at_risk = [
        {
            **row,
            "risk_text": "; ".join([", ".join(map(spaced, row["risks"] or ())), *map(disk_failed, row["failed_disks"] or ())]),
            "change": change[row["is_new"]],
            "isr_text": f"[{_brokers(row['isr'])}] of [{_brokers(row['replicas'])}]",
            "depends": _brokers(row["depends_on"]),
        }
        for row in risk["partitions"]
    ]
    clusters = [
        {
            **row,
            "given_up_range": given_up.value(row["given_up"]),
            "at_stake_range": given_up.value(row["at_stake"]),
        }
        for row in doc["clusters"]
    ]
    # A topic has an upper bound only if all of its partitions have one.
    topics = [
        {**row, "upper_bound_all": row["upper_bound"] if row["upper_bound_known"] == row["partitions"] else None} for row in doc["topics"]
    ]
    runs = [{**row, "cluster_names": _names(row["clusters"]), "mode_text": MODE_TITLES[row["mode"]]} for row in doc["runs"]]
    found = {
        "partitions": _table(
            PARTITIONS,
            [{**row, "anchor": partition_anchor(row["cluster"], row["topic"], row["partition"])} for row in doc["partitions"]],
        ),
        "clusters": _table(CLUSTERS, clusters),
        "topics": _table(TOPICS, topics),
        "runs": _table(RUNS, runs),
        "risk_clusters": _table(RISK_CLUSTERS, risk["clusters"]),
        "risk_partitions": _table(RISK_PARTITIONS, at_risk),
        "risk_topics": _table(RISK_TOPICS, risk["topics"]),
        "risk_brokers": _table(RISK_BROKERS, risk["brokers"]),
        "refused": _table(REFUSED, doc["quarantine"]["files"]),
    }
    lost = doc["lost_records"]
    found["lost_records"] = _table(LOST_BY_TOPIC, _by_topic(lost["partitions"]))
    found["lost_partitions"] = _table(LOST_RECORDS, [{**row, "note": _lost_note(row)} for row in lost["partitions"]])
    found["lost_by_cluster"] = _table(LOST_BY_CLUSTER, lost["clusters"])
    found["lost_unknown"] = _table(UNKNOWN, lost["warnings"])
    found |= _impact(doc["impact"])
    if doc["what_if"]:
        found["what_if"] = _table(WHAT_IF, [{**row, "effect": _effect(row)} for row in doc["what_if"]["partitions"]])
    return found


def _by_topic(partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the lost records of the topics, in the order of their worst partitions."""
    topics: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in partitions:
        topics.setdefault((row["cluster"], row["topic"]), []).append(row)
    return [{"cluster": cluster, "topic": topic, **sums(rows)} for (cluster, topic), rows in topics.items()]


def _lost_note(row: Mapping[str, Any]) -> str:
    """Return why the numbers of a partition are not known, and which disks may have more."""
    brokers = row["unread_brokers"]
    disks = "lost brokers are not known" if brokers is None else f"disks not read: {_brokers(brokers)}" if brokers else ""
    return "; ".join(filter(None, (row["reason"] and f"not known: {row['reason']}", disks)))


def _impact(impact: Mapping[str, Any]) -> dict[str, Any]:
    yes = {True: "yes", False: "no", None: "not known"}
    states = {
        consumers.LOOKED: "{at}",
        consumers.OUTDATED: "{at}, before its results were written: check again",
        consumers.NOT_LOOKED: "not checked",
    }
    looks = [{**row, "looked": states[row["state"]].format(at=moment(row["observed_at"]))} for row in impact["looks"]]
    groups = [{**row, "must_stop": yes[row["must_stop"]]} for row in impact["groups"]]
    unusable = [{**row, "readable": yes[row["readable"]], "writable": yes[row["writable"]]} for row in impact["partitions"]]
    return {
        "looks": _table(LOOKS, looks),
        "hit_groups": _table(HIT_GROUPS, groups),
        "transactions": _table(TRANSACTIONS, [{**row, "state": spaced(row["state"])} for row in impact["transactions"]]),
        "unusable": _table(UNUSABLE, unusable),
        "canaries": _table(CANARIES, [{**row, "became": _canary(row)} for row in impact["canaries"]]),
        "unknown": _table(UNKNOWN, impact["warnings"]),
    }


def _canary(row: Mapping[str, Any]) -> str:
    if row["offset"] is None:
        return f"not written: {row['error']}" if row["error"] else "not written, in check mode"
    back = "fetched back" if row["read_back"] else "not fetched back"
    return f"written at offset {number(row['offset'])}, {back}" + (f": {row['error']}" if row["error"] else "")


def _effect(row: Mapping[str, Any]) -> str:
    effects = {
        "offline": "goes offline",
        "already_offline": "is offline already",
        "new_leader": "another leader",
        "same_leader": "keeps its leader",
    }
    text = effects[row["outcome"]]
    return f"{text}, not writable" if row["writable"] is False and row["next_leader"] is not None else text
