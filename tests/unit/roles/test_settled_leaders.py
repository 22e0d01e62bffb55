# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Preferred leaders of merged moves: the file of moved partitions is in the workdir, where others may write, so the module compares it with the merge."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from repository_root import ROOT
from role_plays import local_play, played

pytestmark = pytest.mark.slow
MERGED, NONE = {"kafka_recovery_approved_moves": "/w/merged_moves/r1/east.json"}, {"kafka_recovery_approved_moves": ""}


def test_only_leaders_of_merged_moves_are_elected(tmp_path: Path) -> None:
    (elect, *_others) = yaml.safe_load((ROOT / "roles/restore_redundancy/tasks/settle.yml").read_text())
    hosts = {
        "merged": {**MERGED, "kafka_recovery_require_commit": False},
        "required": {**NONE, "kafka_recovery_require_commit": True},
        "own": {**NONE, "kafka_recovery_require_commit": "false"},
    }
    required = elect["streamops.kafka_recovery.kafka_leader_election"].get("require_commit", "not compared")
    done = played(local_play(tmp_path, hosts, [{"ansible.builtin.debug": {"msg": f"compared: {required}"}}]))
    assert {name: "compared: True" in one.text for name, one in done.items()} == {"merged": True, "required": True, "own": False}


def test_tasks_after_the_moves_get_the_sha256_of_the_file_that_this_run_has_made(tmp_path: Path) -> None:
    tasks = yaml.safe_load((ROOT / "roles/restore_redundancy/tasks/settle.yml").read_text())
    options = {name: value for task in tasks for module in task.values() if isinstance(module, dict) for name, value in module.items()}
    wanted = ("partitions_file_sha256", "reassignment_file_sha256")
    shown = [{"ansible.builtin.debug": {"msg": f"{name}: {options.get(name, 'none')}"}} for name in wanted]
    made = {"kafka_recovery_moves": {"path": "/w/reassignments/r1/own.json", "file_sha256": "7c1f" * 16}}
    done = played(local_play(tmp_path, {"own": {**NONE, **made}}, shown))
    assert all(f"{name}: {'7c1f' * 16}" in done["own"].text for name in wanted), done["own"].text
