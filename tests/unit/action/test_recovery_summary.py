# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A summary is shown as plain lines, so that its commands can be copied, and returned as data, as ansible-playbook does it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from role_plays import local_play

pytestmark = pytest.mark.slow

MODULE = "streamops.kafka_recovery.kafka_recovery_summary"
COMMAND = """ansible-playbook -i hosts.yml -e '{"a": "b\\\\c"}' streamops.kafka_recovery.plan"""
LINES = ["2 elected, 1 held", COMMAND, "a line\nthat a broker \x1b[2J has sent"]
SHOWN = f"east: 2 elected, 1 held\n{COMMAND}\na line\\nthat a broker \\x1b[2J has sent\n"


def show(folder: Path, *options: str, **summary: Any) -> Any:
    """Show a summary on the clusters east and west, and keep the result of each in a file."""
    keep = {"content": "{{ shown | to_json }}", "dest": f"{folder}/{{{{ inventory_hostname }}}}.json"}
    tasks = [
        {MODULE: summary, "register": "shown", "ignore_errors": True},
        {"ansible.builtin.copy": keep, "check_mode": False},
    ]
    return local_play(folder, {"east": {}, "west": {}}, tasks, options)


def test_lines_are_shown_as_they_are_for_each_cluster_and_returned_as_data(tmp_path: Path) -> None:
    done = show(tmp_path, "--check", lines=LINES, summary={"counts": {"elected": 2}})
    assert SHOWN in done.stdout and SHOWN.replace("east", "west") in done.stdout and COMMAND not in done.stderr, done
    result = json.loads((tmp_path / "east.json").read_text())
    assert (result["lines"][1], result["summary"], result["changed"]) == (COMMAND, {"counts": {"elected": 2}}, False)


@pytest.mark.parametrize("on_stderr", [True, False])
def test_lines_are_on_stderr_if_that_is_wanted_or_with_another_callback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_stderr: bool
) -> None:
    """The standard output of another callback may be JSON."""
    if not on_stderr:
        monkeypatch.setenv("ANSIBLE_STDOUT_CALLBACK", "ansible.builtin.minimal")
    done = show(tmp_path, lines=LINES, on_stderr=on_stderr)
    assert SHOWN in done.stderr and SHOWN not in done.stdout, done


def test_a_failure_is_one_line_and_shows_nothing_else(tmp_path: Path) -> None:
    done = show(tmp_path, lines=LINES, failure="3 partitions of east have no leader")
    assert "Action failed: 3 partitions of east have no leader" in done.stderr + done.stdout and COMMAND not in done.stdout, done
    assert json.loads((tmp_path / "east.json").read_text())["msg"] == "3 partitions of east have no leader"


def test_nothing_is_shown_without_lines(tmp_path: Path) -> None:
    done = show(tmp_path, lines=[], failure=" \n")
    assert "east: \n" not in done.stdout and "Action failed" not in done.stderr + done.stdout, done
