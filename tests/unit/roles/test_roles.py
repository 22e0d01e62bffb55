# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles and playbooks: what is documented is what is there, and the inventory's variables reach the modules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import CONNECTION_ARGUMENTS

SHARED = "common"
SELECTED = "{{ 'kafka_clusters' | streamops.kafka_recovery.selected_clusters(groups, hostvars | default({})) }}"
# Of the play that moves replicas, after the elections of all batches.
WANTED = SELECTED.replace("default({}))", "default({}), 'kafka_recovery_redundancy_wanted')")
# Hosts with the disks of lost brokers.
DISKS = "kafka_brokers"
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())
PLAYBOOKS = sorted((ROOT / "playbooks").glob("*.yml"))
ELECTION_MODULES = {f"streamops.kafka_recovery.kafka_{kind}_election" for kind in ("designated", "leader")}
# Shared defaults that no operator is meant to set, or that are made of other variables.
DERIVED = {
    "ansible_pipelining",
    "ansible_python_interpreter",
    "kafka_recovery_connection",
}


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


@pytest.mark.parametrize("role", ROLES)
def test_defaults_are_documented(role: str) -> None:
    defaults_file = ROOT / "roles" / role / "defaults/main.yml"
    defaults = load(defaults_file) if defaults_file.exists() else {}
    options = load(ROOT / "roles" / role / "meta/argument_specs.yml")["argument_specs"]["name" if role == SHARED else "main"]["options"]
    documented = {name: option["default"] for name, option in options.items() if "default" in option}
    assert documented == {name: value for name, value in defaults.items() if name not in DERIVED}


def test_every_role_gets_the_shared_variables_and_none_has_its_own_copy() -> None:
    shared = set(load(ROOT / "roles" / SHARED / "defaults/main.yml"))
    for role in set(ROLES) - {SHARED}:
        meta = load(ROOT / "roles" / role / "meta/main.yml")
        assert meta["dependencies"] == [{"role": f"streamops.kafka_recovery.{SHARED}"}]
        defaults_file = ROOT / "roles" / role / "defaults/main.yml"
        assert not shared & set(load(defaults_file) if defaults_file.exists() else {})


def test_every_connection_option_has_an_inventory_variable() -> None:
    connection = load(ROOT / "roles" / SHARED / "defaults/main.yml")["kafka_recovery_connection"]
    assert connection.pop("require_commit") == "{{ kafka_recovery_require_commit }}"
    assert connection == {option: f"{{{{ kafka_{option} | default(omit) }}}}" for option in CONNECTION_ARGUMENTS}


def tasks_of(content: Any) -> Iterator[dict[str, Any]]:
    """The tasks of a file, those in blocks too."""
    for task in content or []:
        yield task
        for part in ("block", "rescue", "always"):
            yield from tasks_of(task.get(part))


def test_elections_of_all_roles_are_tried_again_as_the_operator_says() -> None:
    tries = {"duration": "{{ kafka_recovery_duration }}", "election_attempts": "{{ kafka_recovery_election_attempts }}"}
    found = {}
    for path in (ROOT / "roles").glob("*/tasks/*.yml"):
        for task in tasks_of(load(path)):
            for module in ELECTION_MODULES & task.keys():
                found[path.relative_to(ROOT / "roles").parts[0]] = {name: task[module].get(name) for name in tries}
    assert found == dict.fromkeys(("elect", "preferred", "restore_redundancy"), tries)


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=lambda path: path.stem)
def test_plays_on_clusters_run_here_and_know_the_connection(playbook: Path) -> None:
    plays = [play for play in load(playbook) if play["hosts"] != "localhost"]
    assert plays
    for play in plays:
        assert play["gather_facts"] is False
        if play["hosts"] == DISKS:
            assert not {"connection", "module_defaults", "roles"} & play.keys(), "hosts with disks do not run here, and know no cluster"
            continue
        assert play["hosts"] in ("kafka_clusters", SELECTED, WANTED)
        assert play["connection"] == "local"
        assert play["module_defaults"] == {"group/streamops.kafka_recovery.kafka": "{{ kafka_recovery_connection }}"}


@pytest.mark.parametrize("playbook", ["recover", "apply", "apply_merged", "reassign"])
def test_playbooks_that_change_clusters_work_in_batches_with_the_stop_rule(playbook: str) -> None:
    first = next(play for play in load(ROOT / "playbooks" / f"{playbook}.yml") if play["hosts"] != "localhost")
    assert first["serial"] == "{{ kafka_recovery_batches }}" and first["vars"]["kafka_recovery_in_batches"] is True
    assert first.get("strategy", "linear") == "linear", "all clusters of a batch are checked before the first change to one of them"


@pytest.mark.parametrize("tasks", sorted((ROOT / "roles").glob("*/tasks/*.yml")), ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_task_files_stay_short(tasks: Path) -> None:
    assert len(tasks.read_text().splitlines()) < 100


@pytest.mark.parametrize("file", sorted((ROOT / "roles").glob("*/*/*.yml")), ids=lambda path: "-".join(path.parts[-3:]))
def test_roles_read_options_as_modules_read_them(file: Path) -> None:
    """Ansible's filter bool reads `y` as false, a module reads it as true. A play without options.yml is not told to write `true`."""
    assert "| bool" not in file.read_text()
