# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles say at the end of a run: true in check mode, too, and with counts of all partitions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from role_plays import ROOT, collection_of, role_play, role_text

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


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (
            {"changed": True, "summary": {"brokers": 3, "topics": 2, "replicas": 12, "others": 0}},
            "Removed the replication throttle that had expired from east: rates of brokers: 3, entries in lists of topics: 12",
        ),
        ({"failed": True, "msg": "broker 3 does not answer"}, "expired could not be removed from east: broker 3 does not answer"),
        ({"changed": False, "summary": {"brokers": 0, "topics": 0, "replicas": 0, "others": 0}}, None),
    ],
    ids=["removed", "failed", "gone"],
)
def test_a_recovery_says_what_became_of_a_throttle_that_had_expired(tmp_path: Path, answer: dict[str, Any], text: str | None) -> None:
    task = {"ansible.builtin.include_tasks": str(ROOT / "roles/elect/tasks/expired_throttle.yml")}
    collections = collection_of(tmp_path / "collections", "kafka_replication_throttle", answer)
    done = role_play(tmp_path, [], {"kafka_recovery_workdir_path": "/w"}, [task], collections=collections)
    assert done.returncode == 0, done.stdout + done.stderr
    messages = " ".join(line for line in done.stdout.splitlines() if '"msg": ' in line)
    assert text is None or text in messages, done.stdout
    assert ("could not be removed" in done.stdout) == ("failed" in answer)
    assert ("Removed the" in messages) == answer.get("changed", False)
