# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of the report page's template: sections and sentences. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import answers, consumers, terms
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.recovery_queries import RECOVERED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import lost_records

Document = Mapping[str, Any]

# Titles of `pipeline.history.risk_rules.RISKS`.
RISK_TITLES = {
    "offline": "offline: no leader",
    "no_eligible_leader": "one failure from offline: no other replica may lead",
    "last_in_sync": "one in-sync replica left",
    "below_min_isr": "below min.insync.replicas: acks=all is refused",
    "same_rack": "all in-sync replicas in one rack",
    "far_behind": "a replica outside the ISR is far behind",
    "under_replicated": "not all replicas in sync",
}


def signed(value: int) -> str:
    """Return a change as text, with its sign."""
    return "no change" if value == 0 else f"{value:+,}"


def cut(shown: Sequence[Any], known: int, what: str) -> str:
    """Return a sentence that says how many of `known` rows are shown, or an empty text if all are. `what`: plural of the rows' noun."""
    return f"Shown are the first {number(len(shown))} of {number(known)} {what}." if len(shown) < known else ""


def kinds(doc: Document) -> list[dict[str, Any]]:
    """Return risks over all clusters, worst first, with partitions and change, which is null unless every cluster has an earlier snapshot."""
    added: dict[str, dict[str, Any]] = {}
    for row in doc["risk"]["kinds"]:
        own = added.setdefault(row["risk"], {"risk": row["risk"], "partitions": 0, "change": 0})
        own["partitions"] += row["partitions"]
        known = own["change"] is not None and row["before"] is not None
        own["change"] = own["change"] + row["partitions"] - row["before"] if known else None
    order = list(RISK_TITLES)
    return sorted(added.values(), key=lambda row: (order.index(row["risk"]) if row["risk"] in order else len(order), row["risk"]))


def context(doc: Document) -> dict[str, Any]:
    """Return the variables of the template that are not in the document."""
    risk = doc["risk"]
    # In the order in which an operator asks: what is down, what is lost, who must act, what fails next. Then everything else.
    sections = {"todo": "What to do", "loss": "Records lost", "consumers": "Consumers and producers", "risk": "At risk"}
    sections |= {"what-if": "What if", "partitions": "Partitions", "clusters": "Clusters", "drawings": "Drawings"}
    sections |= {"history": "Timeline", "quarantine": "Refused files", "terms": "Terms"}
    absent = set() if doc["totals"]["partitions"] else {"partitions", "clusters", "loss"}
    absent |= set() if doc["totals"]["partitions"] or doc["impact"]["looks"] else {"consumers"}
    absent |= set() if doc["drawings"] else {"drawings"}
    absent |= set() if doc["what_if"] else {"what-if"}
    return {
        "state": answers.state(doc),
        "states": answers.STATES,
        "sections": {anchor: title for anchor, title in sections.items() if anchor not in absent},
        "answers": answers.answers(doc),
        "steps": answers.steps(doc),
        "nothing_to_do": answers.nothing_to_do(doc),
        "terms": terms.terms(doc),
        "beyond": consumers.offsets_beyond_log_end(doc),
        "downstream": consumers.summary(doc),
        "downstream_next": consumers.next_step(doc["impact"]["totals"]),
        "kinds": kinds(doc),
        "lost_records": lost_records.sentence(doc["lost_records"]["totals"]),
        "risk_summary": _risk_summary(doc),
        "at_risk_total": risk["totals"]["at_risk"],
        "refused_total": sum(row["files"] for row in doc["quarantine"]["counts"]),
        "timeline": _timeline(doc),
    }


def _risk_summary(doc: Document) -> str:
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
        ended = "elected and verified" if run["mode"] == RECOVERED else "ended, nothing was elected"
        for key, text in (("collected_at", "evidence collected"), ("planned_at", "leaders planned"), ("finished_at", ended)):
            if run[key]:
                steps.append({"at": run[key], "text": f"{text}, run {run['run_id']}"})
    if not steps:
        return []
    return [*sorted(steps, key=lambda step: step["at"]), {"at": doc["generated_at"], "text": "this report"}]
