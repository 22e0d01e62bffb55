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
