# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The answers at the top of the page, in the order in which an operator needs them, and the steps that its first section lists. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, lasting, number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import next_steps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import consumers, given_up, newer_knowledge
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.anchors import partition_anchor
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.moments import moment

Document = Mapping[str, Any]

STATES = {
    "offline": "Not over: partitions are offline",
    "planned": "Not over: planned, nothing elected yet",
    "dry_run": "Not over: a dry run, nothing elected",
    "unfinished": "Leaders are back. Consumers or producers are not done",
    "recovered": "Over: recovered",
    "at_risk": "Online, but one failure from offline",
    "calm": "Nothing is offline",
    "unknown": "Nothing is known yet",
}
# Of the partitions of a step, the page names so many topics, and of each so many partitions. The table below has all.
MOST_TOPICS, MOST_PARTITIONS = 5, 10
# In the order of the steps.
_KINDS = (
    ("Wait", next_steps.WAIT),
    ("Bring a broker or disk back", next_steps.DISK),
    ("Elect, or run again", next_steps.ELECT),
    ("Force, the last resort", next_steps.FORCE),
)


def state(doc: Document) -> str:
    """Return the key of STATES of the page: the headline's state, but `unfinished` while a recovery leaves consumers or producers something to do."""
    own: str = doc["headline"]["state"]
    return "unfinished" if own == "recovered" and consumers.next_step(doc["impact"]["totals"]) else own


def answers(doc: Document) -> list[dict[str, Any]]:
    """Return what the page answers, in its order: `anchor` of the section, `title`, `value`, `note`, and whether it is a `problem`."""
    return [
        {"anchor": anchor, "title": title, "value": value, "note": note, "problem": problem}
        for part in (_offline, _losses, _downstream, _next_failure, _refused)
        for anchor, title, value, note, problem in part(doc)
    ]


def _offline(doc: Document) -> Iterator[tuple[str, str, str, str, bool]]:
    totals, others = doc["totals"], sum(row["partitions"] for row in doc["others_offline"])
    if totals["partitions"] or others:
        since = totals["oldest_offline_since"]
        notes = [f"the longest for at least {lasting(_seconds(since, doc['generated_at']))}"] if since else []
        notes += [f"and {count(others, 'other partition')} that the run was not about"] if others else []
        value = f"{number(totals['without_leader'])} of {number(totals['partitions'])}"
        yield "todo", "Without a leader", value, "; ".join(notes), bool(totals["without_leader"] or others)


def _losses(doc: Document) -> Iterator[tuple[str, str, str, str, bool]]:
    for part, title in (("given_up", "Records given up"), ("at_stake", "Records at stake")):
        bounds = doc["loss"][part]
        if bounds["partitions"]:
            value = given_up.value(bounds)
            yield "loss", title, value, given_up.note(bounds), value not in ("0", "none")


def _downstream(doc: Document) -> Iterator[tuple[str, str, str, str, bool]]:
    if not doc["impact"]["looks"]:
        return
    totals = doc["impact"]["totals"]
    acts = sum(totals[name] for name in ("groups", "transactions_hanging", "transactions_records_lost"))
    due = f"not checked in {count(totals['due'], 'cluster')}" if totals["due"] else ""
    value = f"{number(acts)} to act" if acts else "not checked" if due else "none must act"
    note = f"{count(totals['groups'], 'consumer group')}, {count(acts - totals['groups'], 'transaction')}" if acts else ""
    yield "consumers", "Consumers and producers", value, "; ".join(filter(None, (note, due))), bool(acts or due)


def _next_failure(doc: Document) -> Iterator[tuple[str, str, str, str, bool]]:
    risk = doc["risk"]
    if not risk["snapshots"]:
        return
    newest = max(row["collected_at"] for row in risk["snapshots"])
    oldest = min(row["collected_at"] for row in risk["snapshots"])
    offline = f"{number(risk['totals']['offline'])} offline, " if risk["totals"]["offline"] else ""
    note = f"{offline}of {count(risk['totals']['partitions'], 'partition')}, seen {moment(newest)}"
    if oldest != newest:
        note += f"; one cluster was last seen {moment(oldest)}"
    problem = bool(risk["totals"]["one_failure"] or risk["totals"]["offline"])
    yield "risk", "One failure from offline", number(risk["totals"]["one_failure"]), note, problem


def _refused(doc: Document) -> Iterator[tuple[str, str, str, str, bool]]:
    if doc["quarantine"]["counts"]:
        files = sum(row["files"] for row in doc["quarantine"]["counts"])
        yield "quarantine", "Files refused", number(files), "they were not used", True


def _seconds(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def steps(doc: Document) -> list[dict[str, Any]]:
    """Return the next steps, the cheapest first: rows of `held` and `others_offline` with their `kind` and `topics`, and what newer snapshots show."""
    playbooks = Playbooks(doc["inventory"])
    by_step: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in doc["partitions"]:
        by_step.setdefault(_step_of(row), []).append(row)
    found = [{**row, "kind": _kind(row), **_topics(by_step.get(_step_of(row), []), row)} for row in doc["held"]]
    rest: dict[str, Any] = {"outcome": "", "reason_code": "", "topics": [], "more": "", "rescue": None}
    found += [
        {
            **{key: row[key] for key in ("cluster", "partitions", "next_step", "command")},
            **rest,
            "kind": "Plan for the rest",
            "about": f"had no leader when the run ended, at {moment(row['finished_at'])}, and the run was not about them",
        }
        for row in doc["others_offline"]
    ]
    if found:
        return found
    return [
        {
            **rest,
            "cluster": cluster,
            "partitions": partitions,
            "kind": "Look again",
            "about": about,
            "next_step": "read which partitions are offline now, and why. The command changes nothing, and shows the cheapest next step",
            "command": playbooks.line("status", cluster),
        }
        for cluster, partitions, about in _seen_offline(doc)
    ]


def _seen_offline(doc: Document) -> Iterator[tuple[str, int, str]]:
    """Yield the clusters that newer runs or snapshots saw with partitions without a leader."""
    if doc["headline"]["state"] != "offline":
        return
    taken, until = {row["cluster"]: row["collected_at"] for row in doc["risk"]["snapshots"]}, newer_knowledge.known_until(doc)
    runs = {row["cluster"]: row for row in doc["offline_later"] if row["seen_at"] > taken.get(row["cluster"], "")}
    for row in runs.values():
        yield row["cluster"], row["partitions"], f"had no leader in a newer run, at {moment(row['seen_at'])}"
    for row in doc["risk"]["clusters"]:
        seen_at = taken.get(row["cluster"], "")
        if row["offline"] and row["cluster"] not in runs and seen_at > until.get(row["cluster"], ""):
            yield row["cluster"], row["offline"], f"had no leader in the newest snapshot, at {moment(seen_at)}"


def _kind(row: Mapping[str, Any]) -> str:
    code = next_steps.first_with_step([row["reason_code"], row["outcome"]])
    return next((kind for kind, codes in _KINDS if code in codes), "Run again")


def _step_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what a step has in common with its partitions."""
    return row["cluster"], row["outcome"], row["reason_code"]


def _topics(partitions: Sequence[Mapping[str, Any]], step: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first of the partitions of a step by topic, each with its anchor, and a text that says how many are not named."""
    by_topic: dict[str, list[dict[str, Any]]] = {}
    for row in partitions:
        place = {"partition": row["partition"], "anchor": partition_anchor(row["cluster"], row["topic"], row["partition"])}
        by_topic.setdefault(row["topic"], []).append(place)
    shown: Sequence[tuple[str, list[dict[str, Any]]]] = sorted(by_topic.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_TOPICS]
    topics = [{"topic": topic, "partitions": places[:MOST_PARTITIONS]} for topic, places in shown]
    named = sum(len(topic["partitions"]) for topic in topics)
    more = count(step["partitions"] - named, "more partition") if named < step["partitions"] else ""
    return {"topics": topics, "more": more, "about": ""}


def nothing_to_do(doc: Document) -> str:
    """Return what stands in place of steps, if there are none."""
    if doc["totals"]["partitions"]:
        nothing = "" if consumers.next_step(doc["impact"]["totals"]) else "Nothing. "
        return f"{nothing}Give leadership back to the preferred replicas when it is calm: the playbook preferred, nothing is lost by it."
    return "Nothing."
