# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan that the role respond checks is the one that it elects: both tasks get the sha256 that it had when it was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from role_plays import Case, role_play

pytestmark = pytest.mark.slow
DIGEST = "7c1f" * 16
ANSWER: dict[str, Any] = {"automatic": False, "reasons": [], "elect": 0, "held": 0, "next_steps": []}


def test_the_plan_is_checked_with_the_sha256_of_the_task_that_has_made_it(tmp_path: Path) -> None:
    made = {"plans": [{"cluster": "own", "path": "/w/plans/1/own.json", "file_sha256": DIGEST}]}
    variables = {
        "kafka_recovery_workdir": "/w",
        "kafka_recovery_run_id": "1",
        "kafka_recovery_incident": "incident-1",
        "kafka_recovery_planned": made,
    }
    cases = {
        "own": Case(variables, ANSWER, {"plan_sha256": DIGEST}),
        # A plan of another run has none here, which the module refuses.
        "other": Case(variables, ANSWER, {"plan_sha256": ""}),
    }
    found = role_play(tmp_path, ["common", "plan", "elect", "respond"], "kafka_recovery_incident", ["respond/tasks/main.yml"], cases)
    assert not found["own"].failed, found["own"].text
    assert not found["other"].failed, found["other"].text
