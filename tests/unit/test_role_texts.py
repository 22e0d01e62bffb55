# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles say at the end of a run: true in check mode, too, and with counts of all partitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from role_plays import role_text

pytestmark = pytest.mark.slow
REPORTED: dict[str, Any] = {
    "headline": {"text": "2 partitions have no leader", "next": ""},
    "next_steps": [],
    "steps_left_out": 0,
    "html_path": "/w/report.html",
    "textfile": "/prom/x.prom",
}


@pytest.mark.parametrize("options", [[], ["--check"]], ids=["run", "check"])
def test_a_report_says_of_all_its_files_that_check_mode_writes_none(tmp_path: Path, options: list[str]) -> None:
    lines = role_text(tmp_path, ["report"], "kafka_recovery_report_lines", {"kafka_recovery_reported": REPORTED}, options)
    without = ", not written in check mode" if options else ""
    assert lines == ["2 partitions have no leader", f"Report{without}: /w/report.html", f"Metrics{without}: /prom/x.prom"]


def test_a_report_says_how_many_steps_are_left_out(tmp_path: Path) -> None:
    step = {"cluster": "east", "word": "weak", "partitions": 1, "step": "look", "command": None}
    reported = {**REPORTED, "next_steps": [step], "steps_left_out": 3}
    lines = role_text(tmp_path, ["report"], "kafka_recovery_report_lines", {"kafka_recovery_reported": reported})
    assert lines[1:3] == ["Next, for 1 partition in cluster east: look", "and 3 more steps, see the report"]
