# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of a cluster groups decisions by reason, the cheapest next step first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from evidence_documents import evidence
from partition_situations import FENCED, Log, Situation

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.current_status import (
    in_sync_on_return,
    status_groups,
    status_lines,
)

BROKERS = [{"broker_id": 1, "broker_state": "fenced"}, {"broker_id": 2, "broker_state": "unfenced"}]


def decisions() -> dict[tuple[str, int], Any]:
    """Decisions of which the status reads the action and the reason."""
    forked = {("orders", number): (Action.HOLD, "forked") for number in range(3)}
    others = {("goods", 0): (Action.ELECT, None), ("b", 1): (Action.HOLD, "no_survivor"), ("c", 0): (Action.LEAVE, None)}
    return {key: SimpleNamespace(action=action, reason=reason) for key, (action, reason) in {**forked, **others}.items()}


def test_partitions_are_grouped_by_their_next_step_the_cheapest_first() -> None:
    groups = status_groups(decisions(), "east", Playbooks(["hosts.yml"]))
    assert [(row["outcome"], row["reason_code"], row["count"], row["ranges"]) for row in groups] == [
        ("held", "no_survivor", 1, "b-1"),
        ("planned", None, 1, "goods-0"),
        ("held", "forked", 3, "orders-0..2"),
    ]
    assert all(row["why"] and row["remedy"] for row in groups)


@pytest.mark.parametrize(("require_commit", "playbook"), [(False, "recover"), (True, "propose")])
def test_what_a_plan_would_elect_is_looked_at_first(require_commit: bool, playbook: str) -> None:
    """By the strategy balanced: to name a partition consents to its loss under aggressive."""
    options = ["-e", "kafka_recovery_strategy=aggressive"]
    groups = status_groups(decisions(), "east", Playbooks(["hosts.yml"], run_options=options, require_commit=require_commit))
    command = groups[1]["command"]
    assert "kafka_recovery_strategy=balanced" in command and "aggressive" not in command
    assert command.endswith(f".{playbook}") and "{topic: goods, partition: 0}" in command
    assert ("--check --diff" in command) == ("allow_data_loss" in command) == (not require_commit)


def test_lines_count_partitions_and_brokers() -> None:
    groups = status_groups(decisions(), "east", Playbooks(["hosts.yml"]))
    lines = status_lines(groups, BROKERS, 0)
    assert lines[:3] == ["5 partitions have no live leader", "Brokers fenced: 1; unfenced: 2", "held (no_survivor), 1: b-1"]
    assert len(lines) == 2 + 3 * 3
    assert status_lines([], BROKERS, 0) == ["every partition that can be seen has a live leader", "Brokers fenced: 1; unfenced: 2"]
    assert status_lines(groups, BROKERS, 2)[0] == "5 partitions have no live leader; 2 requested ones are not in the cluster, or hidden"


def test_lost_brokers_that_would_lead_are_named_before_what_would_be_elected() -> None:
    """A partition that is held has its own advice."""
    logs = {1: FENCED, 2: Log.of((5, 0)), 3: FENCED}
    cases = [Situation("orders", logs, number, state={"isr": [1]}) for number in (1, 0)]
    cases += [Situation("gone", {1: FENCED}, state={"isr": [1]}), Situation("alone", logs)]
    decided = {(one.topic, one.partition): decide(evidence(one), Policy(), False) for one in cases}
    returns = in_sync_on_return(decided, False)
    assert returns == [{"broker_id": 1, "count": 2, "ranges": "orders-0,1"}]
    lines = status_lines([], BROKERS, 0, [{**row, "save_first": False} for row in returns])
    assert lines[2:] == ["Try first to start broker 1: if its log is whole, it leads orders-0,1 and loses nothing committed"]
