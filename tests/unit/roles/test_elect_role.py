# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role elect passes to the module that elects: which strategies a plan may have, and which plans are decided again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from role_plays import ROOT, collection_of, role_play

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy

pytestmark = pytest.mark.slow
SUMMARY: dict[str, Any] = {"summary": {"elected": 1}, "changed": True}
ALL = [strategy.value for strategy in Strategy]


def elected(tmp_path: Path, needed: dict[str, Any], **variables: Any) -> str:
    """The output of the role's task if the module fails without the options `needed`."""
    collections = collection_of(tmp_path / "collections", "kafka_designated_election", SUMMARY, **needed)
    task = {"ansible.builtin.include_tasks": str(ROOT / "roles/elect/tasks/elect.yml")}
    given = {"kafka_recovery_workdir": "/w", "kafka_recovery_run_id": "1", **variables}
    done = role_play(tmp_path, ["common", "elect"], given, [task], collections=collections)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.parametrize(
    ("variables", "allowed"),
    [
        ({}, ALL),
        ({"kafka_recovery_plan_dir": "/reviewed"}, ALL),
        ({"kafka_recovery_approved_plan": "/w/merged/1/east.json"}, None),
        ({"kafka_recovery_approved_plan": "/w/merged/1/east.json", "kafka_recovery_allowed_strategies": ALL}, ALL),
        ({"kafka_recovery_allowed_strategies": ["balanced"]}, ["balanced"]),
    ],
    ids=["own", "named", "merged", "merged, and allowed", "limited"],
)
def test_a_merged_plan_may_not_choose_aggressive_unless_the_inventory_allows_it(
    tmp_path: Path, variables: dict[str, Any], allowed: list[str] | None
) -> None:
    """Without the option (None) the module allows a plan outside of the folder `plans` only the strategies that prove the leader."""
    assert elected(tmp_path, {"allowed_strategies": allowed}, **variables) == ""


@pytest.mark.parametrize(
    ("variables", "allowed"),
    [
        ({"kafka_recovery_plan_dir": "/reviewed"}, ["last_written_epoch", "kip1275"]),
        ({"kafka_recovery_approved_plan": "/w/merged/1/east.json"}, None),
    ],
    ids=["named", "merged"],
)
def test_a_merged_plan_may_not_choose_the_ranking_kip1275(tmp_path: Path, variables: dict[str, Any], allowed: list[str] | None) -> None:
    assert elected(tmp_path, {"allowed_rankings": allowed}, **variables) == ""


PLANNED = {
    "kafka_recovery_planned": {
        "plans": [{"cluster": "west", "path": "/w/plans/1/west.json"}, {"cluster": "east", "path": "/w/plans/1/east.json"}]
    }
}


@pytest.mark.parametrize(
    ("variables", "again"),
    [
        ({"kafka_recovery_decide_again": True, **PLANNED}, True),
        ({"kafka_recovery_decide_again": "true", "kafka_recovery_workdir": "/w/../w/", **PLANNED}, True),
        (PLANNED, False),
        ({"kafka_recovery_decide_again": True}, False),
        ({"kafka_recovery_decide_again": True, "kafka_recovery_plan_dir": "/reviewed", **PLANNED}, False),
        ({"kafka_recovery_decide_again": True, "kafka_recovery_require_commit": True, **PLANNED}, False),
    ],
    ids=["own", "same file", "not asked for", "no plan of this run", "another plan", "merged"],
)
def test_only_a_plan_that_the_same_run_has_made_is_decided_again(tmp_path: Path, variables: dict[str, Any], again: bool) -> None:
    assert elected(tmp_path, {"decide_again": again}, **variables) == ""
