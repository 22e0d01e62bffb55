# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role cleanup passes to the modules, and that nothing is removed without the option."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from role_plays import Case, role_play, role_values, variables_of

pytestmark = pytest.mark.slow
RUN = {"kafka_recovery_run_id": "2", "kafka_recovery_workdir": "/w", "inventory_dir": "/"}
NOTHING = {"summary": {"failed": 0, "removable": 0, "kept": 0, "removed": 0, "moving": 0}, "leftovers": []}
ANSWER: dict[str, Any] = {**NOTHING, "running": [], "unknown": [], "problems": []}
NAMED = {"kafka_recovery_remove_foreign_throttles": ["topic orders"], "kafka_recovery_cancel_moves": [{"topic": "orders", "partition": 3}]}


def test_a_dry_run_only_finds(tmp_path: Path) -> None:
    needed = {"cluster": "own", "workdir": "/w", "window": 10}
    found = role_play(
        tmp_path, ["common", "cleanup"], "kafka_recovery_leftovers_info", ["cleanup/tasks/find.yml"], {"own": Case(RUN, ANSWER, needed)}
    )
    assert not found["own"].failed and "nothing is left over" in found["own"].text


def test_what_is_named_reaches_the_module(tmp_path: Path) -> None:
    needed = {"cluster": "own", "run_id": "2", "foreign_throttles": ["topic orders"], "cancel_moves": [{"topic": "orders", "partition": 3}]}
    allowed = {**RUN, **NAMED, "kafka_recovery_remove_leftovers": "yes"}
    failing = {**ANSWER, "failed": True, "msg": "a journal is damaged", "problems": ["a journal is damaged"]}
    cases = {"own": Case(allowed, ANSWER, needed), "fails": Case(allowed, failing)}
    found = role_play(tmp_path, ["common", "cleanup"], "kafka_recovery_leftovers", ["cleanup/tasks/remove.yml"], cases)
    assert not found["own"].failed, found["own"].text
    assert found["fails"].failed and "Problem: a journal is damaged" in found["fails"].text


@pytest.mark.parametrize("value", ["false", "no", ""])
def test_without_the_option_the_dry_run_is_chosen(tmp_path: Path, value: str) -> None:
    expression = "'remove' if kafka_recovery_removal_allowed else 'find'"
    variables = {**variables_of("common", "cleanup"), "kafka_recovery_remove_leftovers": value or False}
    assert role_values(tmp_path, {"own": (expression, variables)}) == {"own": "find"}


def test_what_a_rulebook_starts_removes_only_if_the_inventory_allows_automatic_recoveries(tmp_path: Path) -> None:
    own = {**variables_of("common", "cleanup"), "kafka_recovery_remove_leftovers": True}
    started = {**own, "kafka_recovery_event_source": "0123abcd"}
    cases = {
        "by_hand": own,
        "not_allowed": started,
        "allowed": {**started, "kafka_recovery_allow_data_loss": "true"},
        "stopped": {**started, "kafka_recovery_allow_data_loss": True, "kafka_recovery_auto_max_per_hour": 0},
    }
    found = role_values(tmp_path, {name: ("kafka_recovery_removal_allowed", variables) for name, variables in cases.items()})
    assert {name for name, allowed in found.items() if allowed is True} == {"by_hand", "allowed"}, found
