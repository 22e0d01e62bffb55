# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the page for reviewers that has the plans: elected leaders, evidence, loss, and held partitions. Pure.

The same plans give the same page, byte for byte. It stays readable with thousands of partitions: it counts topics, shows some partitions, and
states how many more are in the plan file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import phrases
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.markdown import block, code, table, text
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, number, spaced
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import next_steps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.page_parts import MIN_ROWS, Document, Row, limited, more
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import in_recovery_order

MAX_TOPICS = 50
MAX_PARTITIONS = 50
MAX_HELD = 20  # for one reason code: their explanations are long
MAX_ROWS_OF_TOPIC = 5
MAX_NAMED = 20

Plan = Document


def heading(plans: Sequence[Plan]) -> list[str]:
    """Return what the merge approves, and a table of the clusters. `plans`: checked files, in the order of the page."""
    elect, held = (sum(len(plan[section]) for plan in plans) for section in ("partitions", "held"))
    return [
        f"**Merging this approves the election of {count(elect, 'partition')} in {count(len(plans), 'cluster')}.** "
        f"{count(held, 'partition')} {'is' if held == 1 else 'are'} held and stay{'s' if held == 1 else ''} without a leader.",
        "What the elected replicas do not hold is given up. The figures below are those of the plan files; nothing else is applied.",
        "",
        *table(["cluster", "elect", "held", "online already", "loss by electing"], map(_overview, plans), numbers=(1, 2, 3)),
        "",
    ]


def _overview(plan: Plan) -> list[str]:
    sizes = [number(len(plan[section])) for section in ("partitions", "held", "online")]
    return [code(plan["cluster"]), *sizes, text(_loss(plan["partitions"]))]


def cluster_lines(plan: Plan, clusters: int) -> list[str]:
    """Return the section of one cluster's plan. `clusters`: how many share the page."""
    name = f"plans/{plan['cluster']}.json"
    facts = {key: plan[key] for key in ("cluster_id", "plan_id", "sha256", "created_at", "strategy", "ranking", "backend")}
    offline = [row for row in plan["brokers"] if row["broker_state"] != UNFENCED]
    lines = [f"## Cluster {code(plan['cluster'])}", ""]
    lines += table(["", ""], [[text(spaced(key)), code(str(value))] for key, value in facts.items()])
    lines += _topic_strategies(plan, name, clusters)
    if Strategy.AGGRESSIVE in {plan["strategy"], *(row["strategy"] for row in plan["topic_strategies"])}:
        lines += ["", f"**It is applied only where `kafka_recovery_allowed_strategies` has {code(Strategy.AGGRESSIVE)}.**"]
    if plan["ranking"] != Ranking.LAST_WRITTEN_EPOCH:
        lines += ["", f"**It is applied only where `kafka_recovery_allowed_rankings` has {code(plan['ranking'])}.**"]
    if offline:
        states = ", ".join(f"{row['broker_id']} ({spaced(row['broker_state'])})" for row in offline)
        lines += ["", f"Brokers that are not there: {text(states)}."]
    lines += ["", *_elected(plan, name, clusters), *_held(plan, name, clusters)]
    if plan["online"]:
        lines += [f"{count(len(plan['online']), 'partition')} {'has' if len(plan['online']) == 1 else 'have'} a leader already.", ""]
    return lines


def _topic_strategies(plan: Plan, name: str, clusters: int) -> list[str]:
    """Return the strategies of single topics, `aggressive` first: it can elect partitions that the strategy of the plan would hold."""
    rows = sorted(plan["topic_strategies"], key=lambda row: (row["strategy"], row["topic"]))
    if not rows:
        return []
    shown = limited(rows, MAX_TOPICS, clusters)
    counts = _counted(rows, "strategy")
    lines = ["", f"**Strategies of single topics, in the place of {code(plan['strategy'])}:** {counts}.", ""]
    lines += table(["topic", "its strategy"], [[code(row["topic"]), code(row["strategy"])] for row in shown])
    return [*lines, *more(len(rows) - len(shown), "topic", name)]


def _named(rows: Sequence[Row]) -> list[str]:
    """Return the partitions to elect that the operator named: naming consents to an election that a plan would otherwise hold."""
    named = [code(f"{row['topic']}-{row['partition']}") for row in rows if row["named"]]
    if not named:
        return []
    others = [f"and {number(len(named) - MAX_NAMED)} more"] if len(named) > MAX_NAMED else []
    return [
        f"**Named by the operator: {number(len(named))} of {count(len(rows), 'partition')}:** {', '.join([*named[:MAX_NAMED], *others])}.",
        "",
    ]


def _elected(plan: Plan, name: str, clusters: int) -> list[str]:
    rows = _ordered(plan["partitions"])
    if not rows:
        return ["### To be elected: nothing", ""]
    lines = [f"### To be elected: {count(len(rows), 'partition')}", "", f"Loss: {text(phrases.capital(_loss(rows)))}.", ""]
    lines += _named(rows)
    by_topic = _by_topic(rows)
    if len(rows) > len(by_topic):
        lines += table(
            ["topic", "partitions", "leaders", "evidence", "loss"], map(_topic, list(by_topic.values())[:MAX_TOPICS]), numbers=(1,)
        )
        lines += [*more(len(by_topic) - MAX_TOPICS, "topic", name), ""]
    shown = _shown(by_topic, max(MIN_ROWS, MAX_PARTITIONS // clusters))
    head = ["partition", "leader", "evidence", "logs of the survivors", "lost at least", "lost at most", "truncated"]
    lines += table(head, map(_election, shown), numbers=(1, 4, 5))
    return [*lines, *more(len(rows) - len(shown), "partition", name), ""]


def _topic(rows: Sequence[Row]) -> list[str]:
    leaders = Counter(row["designatedLeader"] for row in rows)
    who = ", ".join(f"broker {broker}: {number(leaders[broker])}" for broker in sorted(leaders))
    return [code(rows[0]["topic"]), number(len(rows)), who, _counted(rows, "evidence"), text(_loss(rows))]


def _election(row: Row) -> list[str]:
    cut = ", ".join(f"broker {one['broker_id']}: {_truncated(one)}" for one in row["truncated"]) or "nothing"
    loss = row["loss"]
    name, leader = code(f"{row['topic']}-{row['partition']}"), str(row["designatedLeader"])
    return [
        name,
        leader,
        text(spaced(row["evidence"])),
        _logs(row["guards"]["survivors"]),
        _bound(loss, "lower"),
        _bound(loss, "upper"),
        text(cut),
    ]


def _held(plan: Plan, name: str, clusters: int) -> list[str]:
    rows = _ordered(plan["held"])
    if not rows:
        return []
    lines = [f"### Held back: {count(len(rows), 'partition')}", ""]
    codes = sorted({row["reason_code"] for row in rows}, key=lambda code: (next_steps.order(code), code))
    for reason_code in codes:
        same = [row for row in rows if row["reason_code"] == reason_code]
        keys = [(row["topic"], row["partition"]) for row in same]
        step = next_steps.next_step([reason_code], name, require_commit=True)
        lines += [f"#### {text(phrases.capital(spaced(reason_code)))}: {count(len(same), 'partition')}", "", f"Next: {text(step)}.", ""]
        if command := next_steps.command([reason_code], plan["cluster"], keys, name, Playbooks(require_commit=True)):
            lines += [*block(command), ""]
        shown = _shown(_by_topic(same), max(MIN_ROWS, MAX_HELD // clusters))
        lines += table(["partition", "evidence", "logs of the survivors", "why"], map(_holding, shown))
        lines += [*more(len(same) - len(shown), "partition", name), ""]
    return lines


def _holding(row: Row) -> list[str]:
    return [code(f"{row['topic']}-{row['partition']}"), text(spaced(row["evidence"])), _logs(row["survivors"]), text(row["explanation"])]


def _ordered(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: in_recovery_order((row["topic"], row["partition"])))


def _by_topic(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["topic"], []).append(row)
    return found


def _shown(by_topic: Mapping[str, Sequence[Row]], most: int) -> list[Row]:
    """Return all partitions if they are at most `most`, else some of each topic."""
    everything = [row for rows in by_topic.values() for row in rows]
    if len(everything) <= most:
        return everything
    return [row for rows in by_topic.values() for row in rows[:MAX_ROWS_OF_TOPIC]][:most]


def _counted(rows: Sequence[Row], key: str) -> str:
    counts = Counter(row[key] for row in rows)
    return text(", ".join(f"{spaced(word)}: {number(counts[word])}" for word in sorted(counts)))


def _logs(survivors: Sequence[Row]) -> str:
    ends = (f"broker {row['broker_id']} to {number(row['log_end_offset'])}, {_epoch(row['last_written_epoch'])}" for row in survivors)
    return text("; ".join(ends) or "none")


def _epoch(epoch: int | None) -> str:
    return "epoch unknown" if epoch is None else "empty" if epoch < 0 else f"epoch {epoch}"


def _truncated(cut: Row) -> str:
    return (
        "from where is not known" if cut["offset"] is None else f"{count(cut['records'], 'record')} from offset {number(cut['offset'])} on"
    )


def _bound(loss: Row, side: str) -> str:
    value = loss[f"{side}_bound"]
    return "unknown" if value is None else number(value)


def _loss(rows: Sequence[Row]) -> str:
    """Return the bounds of the loss of some partitions in one sentence, as the report has it."""
    return phrases.loss(phrases.total([_counts(row["loss"], row["truncated"]) for row in rows]))


def _counts(loss: Row, truncated: Sequence[Row]) -> dict[str, Any]:
    known = {f"{name}_known": int(loss[name] is not None) for name in ("upper_bound", "estimate")}
    known["lower_bound_known"] = int(loss["lower_bound"] is not None or loss["upper_bound"] is not None)
    values = {name: loss[name] for name in ("lower_bound", "upper_bound", "estimate")}
    least = loss["lower_bound"] if loss["upper_bound"] is not None else None
    return {
        "partitions": 1,
        **known,
        **values,
        "lower_bound_where_upper": least,
        "truncated_records": sum(cut["records"] or 0 for cut in truncated),
        "truncated_unknown": sum(cut["records"] is None for cut in truncated),
        "with_gaps": int(bool(loss["gaps"])),
        "beyond_consumers": 0,
    }
