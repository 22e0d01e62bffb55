# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The groups of a plan: what is elected by leader and evidence, what is held by reason."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import range_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import MOST_NAMED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import plan_groups
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery.plan_groups import PlanGroups


def loss(lower: int | None, upper: int | None) -> dict[str, Any]:
    return {"lower_bound": lower, "upper_bound": upper}


def test_elections_that_may_lose_most_come_first() -> None:
    groups = PlanGroups()
    for number in range(4):
        groups.elect(("orders", number), 2, "prefix", loss(0, 0), [])
    groups.elect(("audit", 0), 3, "prefix", loss(5, 40), [])
    groups.elect(("audit", 1), 3, "prefix", loss(0, 2), [])
    groups.elect(("logs", 0), 2, "weak", loss(None, None), [])
    rows = groups.rows()["elections"]
    assert [(row["leader"], row["evidence"], row["count"], row["ranges"], range_of(row["loss"])) for row in rows] == [
        (2, "weak", 1, "logs-0", "unknown"),
        (3, "prefix", 2, "audit-0,1", "5 to 42"),
        (2, "prefix", 4, "orders-0..3", "0"),
    ]


def test_brokers_that_would_lead_if_they_came_back_are_named_those_of_most_partitions_first() -> None:
    groups = PlanGroups()
    for number in range(3):
        groups.elect(("orders", number), 2, "prefix", loss(0, 0), [5, 6])
    groups.elect(("audit", 0), 3, "prefix", loss(5, 40), [6])
    assert groups.rows()["in_sync_on_return"] == [
        {"broker_id": 6, "count": 4, "ranges": "audit-0 orders-0..2"},
        {"broker_id": 5, "count": 3, "ranges": "orders-0..2"},
    ]


def test_held_partitions_are_grouped_by_reason_and_a_group_names_no_more_than_a_command_may() -> None:
    groups = PlanGroups()
    for number in range(30):
        groups.hold(("orders", number), "no_survivor" if number < 25 else "forked")
    forked, gone = groups.rows()["held_reasons"]
    assert (forked["reason_code"], forked["count"], forked["ranges"]) == ("forked", 5, "orders-25..29")
    assert (gone["count"], gone["ranges"], len(gone["partitions"])) == (25, "orders-0..24", MOST_NAMED)


def test_partitions_beyond_what_is_kept_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_groups, "MOST_KEYS", 3)
    groups = PlanGroups()
    for number in range(10):
        groups.hold(("orders", number), "forked")
    (row,) = groups.rows()["held_reasons"]
    assert (row["count"], row["ranges"]) == (10, "orders-0..2 and 7 others")
