# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Ansible runs the collection's modules: from where they are installed, or packed where it has to be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from repository_root import ROOT

pytestmark = pytest.mark.slow

ACTION = "streamops.kafka_recovery.beside_ansible"
# Two derive from it, the other runs within Ansible.
OWN_ACTIONS = {
    name: f"streamops.kafka_recovery.{name}"
    for name in ("kafka_designated_election", "kafka_partition_reassignment", "kafka_recovery_options_info")
}


def test_every_module_takes_this_way() -> None:
    routing = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())["plugin_routing"]["modules"]
    modules = {path.stem for path in (ROOT / "plugins/modules").glob("kafka_*.py")}
    assert modules <= routing.keys()
    assert routing == {module: {"action_plugin": OWN_ACTIONS.get(module, ACTION)} for module in routing}


def played(folder: Path, hosts: dict[str, dict[str, str]], tasks: list[dict[str, Any]], *options: str, **environment: str) -> str:
    """What ansible-playbook says of a play of local hosts in which some task fails."""
    (folder / "inventory.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": {"ansible_connection": "local"}}}))
    (folder / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventory.yml", "play.yml", *options],
        cwd=folder,
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache/collections"),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done
    assert "not to be seen" not in done.stdout + done.stderr
    return done.stdout


def test_a_module_runs_from_where_it_is_and_is_packed_for_another_interpreter(tmp_path: Path) -> None:
    """Both ways the module says the same, knows check mode and secrets, and sees the task's environment."""
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    other.chmod(0o755)
    hosts = {
        "here": {"ansible_python_interpreter": sys.executable},
        "packed": {"ansible_python_interpreter": str(other)},
    }
    task = {
        "streamops.kafka_recovery.kafka_partition_info": {"request_timeout": 0.1, "sasl_password": "not to be seen", "limit": 1},
        "environment": {"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"},
        "check_mode": True,
        "vars": {"ansible_remote_tmp": str(tmp_path / "{{ inventory_hostname }}")},
    }
    output = played(tmp_path, hosts, [task], ANSIBLE_KEEP_REMOTE_FILES="1")
    said = {line.split("[")[1].split("]")[0]: json.loads(line.split("=> ", 1)[1]) for line in output.splitlines() if "=> {" in line}
    assert said["here"] == said["packed"], output
    assert said["here"]["msg"].startswith("no bootstrap server answered (request_timeout 0.1 s): 127.0.0.1:1")
    scripts = {host: next((tmp_path / host).rglob("AnsiballZ_*.py")).read_text() for host in hosts}
    assert "zip_data" in scripts["packed"] and "zip_data" not in scripts["here"]


def test_modules_of_several_hosts_are_forked_and_say_the_same(tmp_path: Path) -> None:
    """But for those whose environment is another than Ansible's. The server ends with the playbook."""
    hosts = {name: {"ansible_python_interpreter": str(Path(sys.executable).with_name("python3"))} for name in ("one", "other")}
    module = {"bootstrap_servers": ["127.0.0.1:1"], "request_timeout": 0.1, "sasl_password": "not to be seen"}
    task = {"streamops.kafka_recovery.kafka_partition_info": module, "ignore_errors": True}
    up = {
        "name": "up",
        "ansible.builtin.command": f"sh -c 'until ls {tmp_path}/ansible-local-*/forks; do sleep 0.1; done'",
        "run_once": True,
    }
    tasks = [{"name": "first", **task}, up, {"name": "forked", **task}, {"name": "not", **task, "environment": {"SOME": "where"}}]
    tasks.append({"name": "failed", **task, "ignore_errors": False, "check_mode": True})
    output = played(tmp_path, hosts, tasks, "-vvv", ANSIBLE_LOCAL_TEMP=str(tmp_path))
    parts = {part.split("]")[0]: part for part in output.split("TASK [")[1:]}
    forked = {name: part.count("FORKED") for name, part in parts.items()}
    assert (forked["forked"], forked["not"], forked["failed"]) == (2, 0, 2)
    messages = [line for name, part in parts.items() for line in part.splitlines() if '"msg": "no bootstrap' in line]
    assert len(messages) == 2 * (len(tasks) - 1) and len(set(messages)) == 1, messages
    deadline = time.monotonic() + 10
    while any(str(tmp_path) in part for process in psutil.process_iter(["cmdline"]) for part in process.info["cmdline"] or ()):
        assert time.monotonic() < deadline, "the fork server is still there"
        time.sleep(0.1)
