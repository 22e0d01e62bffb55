# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How two plans of a cluster differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from plan_samples import ELECTED, HELD, LOSS, content

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import plan_comparison
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.plan_comparison import (
    change_lines,
    change_rows,
    changes,
    setting_rows,
    skipped_lines,
)


def plan(
    elected: dict[int, tuple[int, int | None]] | None = None, held: dict[int, str] | None = None, topic: str = "orders"
) -> dict[str, Any]:
    """A plan. `elected`: leader and upper bound of the loss by partition; `held`: reason codes."""
    made = content()
    loss = {**LOSS, "lower_bound": 0}
    made["partitions"] = [
        {**ELECTED, "topic": topic, "partition": partition, "designatedLeader": leader, "loss": {**loss, "upper_bound": upper}}
        for partition, (leader, upper) in (elected or {}).items()
    ]
    made["held"] = [{**HELD, "topic": topic, "partition": partition, "reason_code": code} for partition, code in (held or {}).items()]
    return {**made, "online": []}


def test_only_what_differs_is_a_change() -> None:
    before = plan({0: (2, 40), 1: (2, 40), 5: (1, None)}, {2: "no_survivor", 3: "no_survivor", 4: "forked"})
    after = plan({0: (2, 40), 1: (2, 0), 2: (3, None), 3: (3, None)}, {4: "forked", 5: "forked"})
    found = changes(before, after)
    assert change_lines(found, "run-1") == [
        "Compared with the plan run-1: 4 partitions changed",
        "held (no_survivor) -> broker 3 (prefix), 2: orders-2,3",
        "broker 1 (prefix) -> held (forked), 1: orders-5",
        "broker 2 (prefix) -> another loss, 1: orders-1",
    ]
    assert [(row["partition"], row["before"], row["loss_before"], row["after"], row["loss_after"]) for row in change_rows(found)] == [
        (1, "broker 2 (prefix)", "0 to 40", "broker 2 (prefix)", "0"),
        (2, "held (no_survivor)", None, "broker 3 (prefix)", "0 or more"),
        (3, "held (no_survivor)", None, "broker 3 (prefix)", "0 or more"),
        (5, "broker 1 (prefix)", "0 or more", "held (forked)", None),
    ]


def _truncated(row: dict[str, Any]) -> None:
    row["truncated"] = [{"broker_id": 3, "offset": 0, "records": 5_000_000}]


def _recreated(row: dict[str, Any]) -> None:
    row["guards"]["topic_id"] = "anotherTopicOfThisName"


def _later(row: dict[str, Any]) -> None:
    row["guards"]["leader_epoch"] += 7


def _reordered(row: dict[str, Any]) -> None:
    row["replicas_best_first"] = [2, 1, 3]


def _named(row: dict[str, Any]) -> None:
    row["named"] = not row["named"]


def _longer(row: dict[str, Any]) -> None:
    first, second = row["guards"]["survivors"]
    row["guards"]["survivors"] = [first, {**second, "log_end_offset": second["log_end_offset"] + 1}]


def _chosen(row: dict[str, Any]) -> None:
    row["isr"] = [3]


def _configured(row: dict[str, Any]) -> None:
    row["unclean_leader_election_enable"] = True


def _fenced(row: dict[str, Any]) -> None:
    row["fenced_truncated"] = [{"broker_id": 1, "offset": 0, "records": 1, "log_end_offset": 1}]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (_truncated, "truncation"),
        (_recreated, "topic id"),
        (_later, "leader epoch"),
        (_reordered, "order of replicas"),
        (_named, "request by name"),
        (_longer, "survivors"),
        (_chosen, "choice of the controller"),
        (_configured, "topic config"),
        (_fenced, "truncation of fenced brokers"),
    ],
)
def test_the_same_leader_by_another_election_is_a_change(change: Callable[[dict[str, Any]], None], name: str) -> None:
    before, after = content(), content()
    change(after["partitions"][0])
    found = changes(before, after)
    assert change_lines(found, "r") == [
        "Compared with the plan r: 1 partition changed",
        f"broker 2 (prefix) -> another {name}, 1: orders-0",
    ]
    assert [row["differences"] for row in change_rows(found)] == [[name]]


def test_all_that_differs_of_an_election_is_named() -> None:
    before, after = content(), content()
    for change in (_recreated, _later):
        change(after["partitions"][0])
    after["partitions"][0]["loss"]["upper_bound"] = 900
    _named(after["held"][0])
    assert change_lines(changes(before, after), "r")[1:] == [
        "broker 2 (prefix) -> another loss and topic id and leader epoch, 1: orders-0",
        "held (forked) -> another request by name, 1: orders-1",
    ]


def test_settings_of_the_plan_are_compared() -> None:
    before, after = content(), content()
    before["topic_strategies"] = [{"topic": "a\x1b[2J", "strategy": "none"}, {"topic": "b", "strategy": "none"}]
    after |= {"strategy": "aggressive", "ranking": "kip1275", "dry_run": True, "backend": "reassignment"}
    after["topic_strategies"] = [{"topic": "b", "strategy": "balanced"}]
    found = changes(before, after)
    lines = change_lines(found, "r")
    assert [line for line in lines if "\x1b" not in line] == lines
    assert lines[:5] == [
        "Compared with the plan r: 6 settings and no partition changed",
        "backend: native -> reassignment",
        "strategy: balanced -> aggressive",
        "ranking: last_written_epoch -> kip1275",
        "dry_run: False -> True",
    ]
    assert lines[5].endswith(": none -> that of the plan") and lines[6:] == ["strategy of b: none -> balanced"]
    assert setting_rows(found)[1] == {"name": "strategy", "before": "balanced", "after": "aggressive"}
    _named(after["partitions"][0])
    assert change_lines(changes(before, after), "r")[0].endswith("6 settings and 1 partition changed")


def test_many_settings_and_many_skipped_plans_are_counted() -> None:
    before, after = content(), content()
    after["topic_strategies"] = [{"topic": f"t{number}", "strategy": "none"} for number in range(11)]
    assert change_lines(changes(before, after), "r")[-1] == "3 more settings: see the plans"
    lines = skipped_lines([(f"r{number}\n", "x" * 1000) for number in range(10)])
    assert lines[-1] == "Skipped 2 more plans" and len(lines) == 9
    assert all(len(line) < 450 and "\n" not in line for line in lines)


def test_equal_plans_are_said_to_be_equal() -> None:
    one = plan({0: (2, 40)}, {1: "forked"})
    assert change_lines(changes(one, one), "run-1") == ["Compared with the plan run-1: the same for each partition"]


def test_partitions_of_one_plan_only_are_changes_and_hostile_names_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_comparison, "MOST_ROWS", 1)
    found = changes(plan(), plan(held={0: "forked", 1: "forked", 2: "forked"}, topic="a\x1b[2J"))
    lines = change_lines(found, "run\n1")
    assert lines[1].startswith("not in the plan -> held (forked), 3: ")
    rows = change_rows(found)
    assert [(row["before"], row["after"]) for row in rows] == [(None, "held (forked)")]
    assert "\x1b" not in "".join(lines) and "\n" not in lines[0]
