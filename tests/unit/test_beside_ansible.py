# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Ansible runs the collection's modules: from where they are installed, or packed where it has to be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
ACTION = "streamops.kafka_recovery.beside_ansible"
# Derives from it.
OWN_ACTIONS = {"kafka_partition_reassignment": "streamops.kafka_recovery.kafka_partition_reassignment"}


def test_every_module_takes_this_way() -> None:
    routing = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())["plugin_routing"]["modules"]
    modules = {path.stem for path in (ROOT / "plugins/modules").glob("kafka_*.py")}
    assert modules <= routing.keys()
    assert routing == {module: {"action_plugin": OWN_ACTIONS.get(module, ACTION)} for module in routing}


def test_a_module_runs_from_where_it_is_and_is_packed_for_another_interpreter(tmp_path: Path) -> None:
    """Both ways the module says the same, knows check mode and secrets, and sees the task's environment."""
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    other.chmod(0o755)
    hosts = {
        "here": {"ansible_python_interpreter": sys.executable},
        "packed": {"ansible_python_interpreter": str(other)},
    }
    (tmp_path / "inventory.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": {"ansible_connection": "local"}}}))
    task = {
        "streamops.kafka_recovery.kafka_partition_info": {"request_timeout": 0.1, "sasl_password": "not to be seen", "limit": 1},
        "environment": {"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"},
        "check_mode": True,
        "vars": {"ansible_remote_tmp": str(tmp_path / "{{ inventory_hostname }}")},
    }
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": [task]}]))
    played = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventory.yml", "play.yml"],
        cwd=tmp_path,
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache/collections"),
            "ANSIBLE_KEEP_REMOTE_FILES": "1",
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert played.returncode == 2, played
    said = {line.split("[")[1].split("]")[0]: json.loads(line.split("=> ", 1)[1]) for line in played.stdout.splitlines() if "=> {" in line}
    assert said["here"] == said["packed"], played
    assert said["here"]["msg"].startswith("no bootstrap server answered (request_timeout 0.1 s): 127.0.0.1:1")
    scripts = {host: next((tmp_path / host).rglob("AnsiballZ_*.py")).read_text() for host in hosts}
    assert "zip_data" in scripts["packed"] and "zip_data" not in scripts["here"]
    assert "not to be seen" not in played.stdout + played.stderr
