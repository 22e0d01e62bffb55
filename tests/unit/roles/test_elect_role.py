# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role elect passes to the module that elects: which strategies a plan may have, and which plans are decided again."""

from __future__ import annotations

from typing import Any

import pytest
from role_plays import Case, Played, role_play

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy

pytestmark = pytest.mark.slow
ALL = [strategy.value for strategy in Strategy]
NAMED = {"kafka_recovery_plan_dir": "/reviewed"}
MERGED = {"kafka_recovery_approved_plan": "/w/merged/1/east.json"}
PATHS = ("/w/plans/1/west.json", "/w/plans/1/{{ inventory_hostname }}.json")
DIGEST = "7c1f" * 16
PLANNED = {"kafka_recovery_planned": {"plans": [{"cluster": "any", "path": path, "file_sha256": DIGEST} for path in PATHS]}}
AGAIN = {"kafka_recovery_decide_again": True}
# Variables, and the option of the module that they lead to. None: the module allows only the strategies that prove the leader.
STRATEGIES: dict[str, tuple[dict[str, Any], list[str] | None]] = {
    "own": ({}, ALL),
    "named": (NAMED, ALL),
    "merged": (MERGED, None),
    "merged_and_allowed": ({**MERGED, "kafka_recovery_allowed_strategies": ALL}, ALL),
    "limited": ({"kafka_recovery_allowed_strategies": ["balanced"]}, ["balanced"]),
}
RANKINGS: dict[str, tuple[dict[str, Any], list[str] | None]] = {
    "ranking_named": (NAMED, ["last_written_epoch", "kip1275"]),
    "ranking_merged": (MERGED, None),
}
DECIDED_AGAIN: dict[str, tuple[dict[str, Any], bool]] = {
    "again_own": ({**AGAIN, **PLANNED}, True),
    "again_same_file": ({"kafka_recovery_decide_again": "true", "kafka_recovery_workdir": "/w/../w/", **PLANNED}, True),
    "again_not_asked_for": (PLANNED, False),
    "again_no_plan_of_this_run": (AGAIN, False),
    "again_another_plan": ({**AGAIN, **NAMED, **PLANNED}, False),
    "again_merged": ({**AGAIN, "kafka_recovery_require_commit": True, **PLANNED}, False),
}
SAME_FILE: dict[str, tuple[dict[str, Any], Any]] = {
    "digest_own": (PLANNED, DIGEST),
    "digest_no_plan_of_this_run": ({}, None),
    "digest_another_plan": ({**NAMED, **PLANNED}, None),
}
LIMITS = ("max_saved_bytes", "max_saved_partition_bytes", "max_saved_run_bytes", "saved_bytes_per_second")
# The module refuses 0. Without the option it would save without a limit.
SAVING: dict[str, tuple[str, dict[str, Any], Any]] = {
    **{f"zero_{option}": (option, {f"kafka_recovery_{option}": 0}, 0) for option in LIMITS},
    **{f"empty_{option}": (option, {f"kafka_recovery_{option}": ""}, "") for option in LIMITS},
    **{f"null_{option}": (option, {f"kafka_recovery_{option}": None}, None) for option in LIMITS},
    "save_timeout": ("save_timeout", {"kafka_recovery_save_timeout": 1200}, 1200),
    "default_save_timeout": ("save_timeout", {}, 600),
}


@pytest.fixture(scope="module")
def elected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Played]:
    """The role's task on each cluster. The module fails without the option that is expected, and on the cluster `wrong` without one that is not."""
    options: dict[str, dict[str, tuple[dict[str, Any], Any]]] = {
        "allowed_strategies": STRATEGIES,
        "allowed_rankings": RANKINGS,
        "decide_again": DECIDED_AGAIN,
        "plan_sha256": SAME_FILE,
    }
    expected = {name: (option, *case) for option, cases in options.items() for name, case in cases.items()}
    expected |= SAVING
    expected["wrong"] = ("decide_again", {}, True)
    given = {"kafka_recovery_workdir": "/w", "kafka_recovery_run_id": "1"}
    answer = {"summary": {"elected": 1}, "changed": True}
    cases = {name: Case({**given, **variables}, answer, {option: value}) for name, (option, variables, value) in expected.items()}
    folder = tmp_path_factory.mktemp("elect")
    return role_play(folder, ["common", "elect"], "kafka_designated_election", ["elect/tasks/elect.yml"], cases)


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_merged_plan_may_not_choose_aggressive_unless_the_inventory_allows_it(elected: dict[str, Played], name: str) -> None:
    assert not elected[name].failed, elected[name].text


@pytest.mark.parametrize("name", RANKINGS)
def test_a_merged_plan_may_not_choose_the_ranking_kip1275(elected: dict[str, Played], name: str) -> None:
    assert not elected[name].failed, elected[name].text


@pytest.mark.parametrize("name", DECIDED_AGAIN)
def test_only_a_plan_that_the_same_run_has_made_is_decided_again(elected: dict[str, Played], name: str) -> None:
    assert not elected[name].failed, elected[name].text


@pytest.mark.parametrize("name", SAME_FILE)
def test_the_module_gets_the_digest_of_a_plan_that_the_same_run_has_made(elected: dict[str, Played], name: str) -> None:
    assert not elected[name].failed, elected[name].text


@pytest.mark.parametrize("name", SAVING)
def test_the_module_gets_limits_of_what_is_saved_as_they_are(elected: dict[str, Played], name: str) -> None:
    assert not elected[name].failed, elected[name].text


def test_an_option_that_is_not_expected_fails(elected: dict[str, Played]) -> None:
    assert elected["wrong"].failed and "decide_again" in elected["wrong"].text
