# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How two plans of a cluster differ."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import plan_comparison
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.plan_comparison import (
    change_lines,
    change_rows,
    changes,
)


def plan(
    elected: dict[int, tuple[int, int | None]] | None = None, held: dict[int, str] | None = None, topic: str = "orders"
) -> dict[str, Any]:
    """A plan. `elected`: leader and upper bound of the loss by partition; `held`: reason codes."""
    return {
        "partitions": [
            {
                "topic": topic,
                "partition": partition,
                "designatedLeader": leader,
                "evidence": "prefix",
                "loss": {"lower_bound": 0, "upper_bound": upper},
            }
            for partition, (leader, upper) in (elected or {}).items()
        ],
        "held": [{"topic": topic, "partition": partition, "reason_code": code} for partition, code in (held or {}).items()],
        "online": [],
    }


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
