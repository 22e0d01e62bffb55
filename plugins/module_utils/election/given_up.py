# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run gives up: records that survivors truncate, bounds of the records that lost brokers held, and leaders that may lack records. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, number, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.offline_list import short_list
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import ONLINE, Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import in_recovery_order
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.previews import one_of_each_kind_first
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import DOUBTFUL

SHOWN = 5  # truncations, and leaders that may lack records, that the text names


def given_up(results: Sequence[Result], preview: int) -> dict[str, Any]:
    """Return what the elected partitions among `results` give up, in records, as sums, rows and `text` (lines for people).

    `truncations`: the first `preview` rows of topic, partition, broker_id, offset, records (the last two are None if they are not known).
    `lower_bound`, `upper_bound`: of all partitions together; the upper bound is None if that of any partition is not known.
    `doubtful_leaders`: the `count` of leaders that the plan did not choose and that may lack records, and the first `preview` of their `partitions`.
    """
    elected = [result for result in results if result.outcome == Outcome.ELECTED]
    rows = [{"topic": result.topic, "partition": result.partition, **cut} for result in elected for cut in result.truncated]
    bounds = [result.loss or {} for result in elected]
    uppers = [bound.get("upper_bound") for bound in bounds]
    sums: dict[str, Any] = {
        "partitions": len(elected),
        "truncated_partitions": len({(row["topic"], row["partition"]) for row in rows}),
        "truncated_records": sum(row["records"] or 0 for row in rows),
        "truncated_unknown": sum(1 for row in rows if row["records"] is None),
        "lower_bound": sum(bound.get("lower_bound") or 0 for bound in bounds),
        "upper_bound": None if None in uppers else sum(uppers),
        "truncations": rows[:preview],
    }
    doubtful = [result for result in results if result.outcome in ONLINE and result.reason_code in DOUBTFUL]
    sums["doubtful_leaders"] = {"count": len(doubtful), "partitions": [_doubtful(result) for result in doubtful[:preview]]}
    planned = any(result.loss is not None for result in elected)
    return {**sums, "text": [*_text(sums, rows, planned), *_doubtful_text(doubtful)]}


def _doubtful(result: Result) -> dict[str, Any]:
    return {name: getattr(result, name) for name in ("topic", "partition", "outcome", "reason_code", "reason")}


def _doubtful_text(doubtful: Sequence[Result]) -> list[str]:
    if not doubtful:
        return []
    have = f"{count(len(doubtful), 'partition')} {verb(len(doubtful), 'has', 'have')}"
    more = [f"and {number(len(doubtful) - SHOWN)} more"] if len(doubtful) > SHOWN else []
    return [
        f"{have} a leader that this run's plan did not choose, and that may lack the last committed records:",
        *(f"{result.outcome}: {result.topic}-{result.partition}. {result.reason}" for result in doubtful[:SHOWN]),
        *more,
    ]


def _text(sums: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], planned: bool) -> list[str]:
    """Return lines about the elections for people, none if nothing is elected. `planned`: whether a plan has bounds of any loss."""
    if not sums["partitions"]:
        return []
    lines = []
    if rows:
        unknown = f" and an unknown number on {count(sums['truncated_unknown'], 'replica')}" if sums["truncated_unknown"] else ""
        partitions = count(sums["truncated_partitions"], "partition")
        records = count(sums["truncated_records"], "record")
        are = verb(sums["truncated_records"], "is", "are")
        lines.append(f"{records}{unknown} of {partitions} {are} truncated from survivors: {_named(rows)}")
    if not planned:
        # The evidence of leaders that were designated by hand is damaged. A lower bound of 0 would look like an assurance.
        return [
            *lines,
            "How many committed records the lost brokers held beyond these leaders is not known, because their evidence is damaged",
        ]
    upper = "no upper bound is known" if sums["upper_bound"] is None else f"at most {number(sums['upper_bound'])}"
    least = f"at least {number(sums['lower_bound'])}, as far as they are proven, {upper}"
    return [*lines, f"Committed records lost with lost brokers by {count(sums['partitions'], 'election')}: {least}"]


def _named(rows: Sequence[Mapping[str, Any]]) -> str:
    more = [f"and {number(len(rows) - SHOWN)} more"] if len(rows) > SHOWN else []
    return "; ".join([*map(_truncation, rows[:SHOWN]), *more])


def _truncation(row: Mapping[str, Any]) -> str:
    what = "an unknown part" if row["offset"] is None else f"{number(row['records'])} from offset {row['offset']} on"
    return f"{row['topic']}-{row['partition']} on broker {row['broker_id']}, {what}"


def without_leader(results: Iterable[Result], outcomes: Sequence[str], shown: int = SHOWN) -> list[dict[str, Any]]:
    """Return the results with one of these `outcomes`, grouped by outcome and reason code: in the order of `outcomes`, large groups first.

    Each group: outcome, reason_code, `count` of all its partitions, `ranges` (`short_list` of them), the first `shown` of `partitions`, and the `reason`
    of the first.
    """
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if result.outcome in outcomes:
            groups.setdefault((result.outcome, result.reason_code or ""), []).append(result)
    ordered = sorted(groups.items(), key=lambda item: (outcomes.index(item[0][0]), -len(item[1]), item[0][1]))
    return [
        {
            "outcome": outcome,
            "reason_code": code,
            "count": len(rows),
            "ranges": short_list((row.topic, row.partition) for row in rows),
            "partitions": [{"topic": row.topic, "partition": row.partition} for row in rows[:shown]],
            "reason": rows[0].reason,
        }
        for (outcome, code), rows in ordered
    ]


def each_kind_first(results: Sequence[Result]) -> list[Result]:
    """Return the results sorted worst first, then in recovery order, but the first of each outcome and reason code before all others."""
    worst_first: list[str] = list(Outcome)
    ordered = sorted(results, key=lambda result: (worst_first.index(result.outcome), *in_recovery_order((result.topic, result.partition))))
    return one_of_each_kind_first(ordered, lambda result: (result.outcome, result.reason_code))
