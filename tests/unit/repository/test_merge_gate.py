# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays that use the role elect without the role preflight: with kafka_recovery_require_commit no broker is asked for a plan that is not merged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from repository_root import ROOT

pytestmark = pytest.mark.slow
REFUSED = "is not known to be merged, so nothing is elected"
# The address of the brokers. It is in the error of a module that has tried to connect.
ASKED = "127.0.0.1:1"


def played(folder: Path, *pre_tasks: dict[str, Any], **variables: Any) -> str:
    """The output of a play of the role with these variables (kafka_recovery_) in its inventory. No broker listens."""
    given = {f"kafka_recovery_{name}": value for name, value in {"workdir": str(folder), "run_id": "r1", **variables}.items()}
    host = {"ansible_connection": "local", "kafka_bootstrap_servers": ASKED, "kafka_request_timeout": 1, **given}
    (folder / "inventory.yml").write_text(yaml.safe_dump({"kafka_clusters": {"hosts": {"east": host}}}))
    play = {
        "hosts": "all",
        "gather_facts": False,
        "module_defaults": {"group/streamops.kafka_recovery.kafka": "{{ kafka_recovery_connection }}"},
        "pre_tasks": list(pre_tasks),
        "roles": ["streamops.kafka_recovery.elect"],
    }
    (folder / "play.yml").write_text(yaml.safe_dump([play]))
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventory.yml", "play.yml"],
        cwd=folder,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache/collections"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done
    return done.stdout


@pytest.mark.parametrize("spelling", ["y", *(pytest.param(word, marks=pytest.mark.long) for word in ("T", " true", True))])
def test_whatever_the_module_takes_for_true_closes_the_gate(spelling: Any, tmp_path: Path) -> None:
    said = played(tmp_path, require_commit=spelling, allow_data_loss=spelling)
    assert REFUSED in said and ASKED not in said, said


def test_without_the_gate_the_module_is_reached(tmp_path: Path) -> None:
    assert ASKED in played(tmp_path, require_commit="n", allow_data_loss=True)


@pytest.mark.parametrize("approved", ["{{ kafka_recovery_plan_path }}", "{{ [kafka_recovery_plan_dir, 'east.json'] | path_join }}"])
def test_an_inventory_cannot_approve_a_plan(approved: str, tmp_path: Path) -> None:
    said = played(tmp_path, require_commit=True, allow_data_loss=True, approved_plan=approved)
    assert REFUSED in said and ASKED not in said, said


def test_the_plan_that_the_check_of_the_merge_sets_is_elected(tmp_path: Path) -> None:
    plan = str(tmp_path / "merged/r1/east.json")
    checked = {"ansible.builtin.set_fact": {"kafka_recovery_plan_path": plan, "kafka_recovery_approved_plan": plan}}
    assert ASKED in played(tmp_path, checked, require_commit=True, allow_data_loss=True)
