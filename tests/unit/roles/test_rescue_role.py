# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which clusters the role rescue skips. No broker answers here: a cluster that is not skipped fails."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from repository_root import ROOT

pytestmark = pytest.mark.slow
DISK = {"kafka_broker_id": 1, "kafka_log_dirs": ["/mnt/1"], "kafka_give_up_partitions": [{"topic": "orders", "partition": 3}]}
ROLE: dict[str, Any] = {"name": "streamops.kafka_recovery.rescue", "rolespec_validate": False}


def played(folder: Path, disks: dict[str, dict[str, Any]], options: Sequence[str] = ()) -> str:
    """Play the entry points of the role on two clusters, and return the output."""
    variables = {"ansible_connection": "local", "kafka_bootstrap_servers": "127.0.0.1:1", "kafka_recovery_workdir": str(folder / "workdir")}
    clusters = {"hosts": {"east": {}, "west": {}}, "vars": variables}
    (folder / "inventory.yml").write_text(yaml.safe_dump({"kafka_clusters": clusters, "kafka_brokers": {"hosts": disks}}))
    plays = [
        {"hosts": "kafka_clusters", "gather_facts": False, "tasks": [{"ansible.builtin.import_role": {**ROLE, "tasks_from": entry}}]}
        for entry in ("main", "compare", "save")
    ]
    for each in plays:
        each["module_defaults"] = {"group/streamops.kafka_recovery.kafka": "{{ kafka_recovery_connection }}"}
    (folder / "play.yml").write_text(yaml.safe_dump(plays))
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventory.yml", "play.yml", *options],
        cwd=folder,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache/collections"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return " ".join((done.stdout + done.stderr).split())


def test_a_cluster_without_hosts_that_have_disks_is_skipped(tmp_path: Path) -> None:
    output = played(tmp_path, {"disk-1": {**DISK, "kafka_cluster": "east"}})
    assert "127.0.0.1:1" in output and "for each lost broker" not in output, output
    assert "fatal: [east]" in output and "fatal: [west]" not in output, output


@pytest.mark.parametrize(
    ("disks", "options"),
    [({}, ()), ({"disk-1": DISK}, ()), ({"disk-1": {**DISK, "kafka_cluster": "east"}}, ("--limit", "east"))],
    ids=["no host", "no cluster", "outside the limit"],
)
def test_a_run_without_any_disk_fails(tmp_path: Path, disks: dict[str, Any], options: Sequence[str]) -> None:
    output = played(tmp_path, disks, options)
    assert "for each lost broker of east" in output and "127.0.0.1:1" not in output, output
