# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles say when they stop a run: at most two lines for each problem, with the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from repository_root import ROOT
from role_plays import local_play, played, variables_of

from ansible_collections.streamops.kafka_recovery.plugins.filter.lost_brokers import lost_brokers

ROLES = ROOT / "roles"
FILES = [{"path": f"landing/1/{number}.json", "reason": "it is not sealed"} for number in range(40)]


def trusted(value: Any) -> Any:
    """Variables as Ansible reads them from a file of a role."""
    if isinstance(value, dict):
        return {name: trusted(one) for name, one in value.items()}
    return [trusted(one) for one in value] if isinstance(value, list) else trust_as_template(value) if isinstance(value, str) else value


def said(role: str, text: str, **variables: Any) -> list[str]:
    """The lines of a text with the variables of its role."""
    file = ROLES / role / "vars" / "main.yml"
    own = yaml.safe_load(file.read_text()) if file.is_file() else {}
    templar = Templar(DataLoader(), variables={**trusted(own), "inventory_hostname": "east", **trusted(variables)})
    return str(templar.template(trust_as_template(text))).splitlines()


def refusal(role: str, file: str, task: str, **variables: Any) -> list[str]:
    """The lines with which a task fails."""
    (found,) = (one for one in yaml.safe_load((ROLES / role / "tasks" / file).read_text()) if one["name"] == task)
    (text,) = (
        text
        for action in found.values()
        if isinstance(action, dict)
        for name, text in action.items()
        if name in ("msg", "fail_msg", "failure")
    )
    return said(role, text, **{**found.get("vars", {}), **variables})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"east": [1], "west": []}, {"east": [1], "west": []}),
        ({"west": []}, {"west": []}),
        ([], {"east": [], "west": []}),
        ([2], {"east": [2], "west": [2]}),
        ({}, None),
        ("", None),
    ],
)
def test_an_empty_list_of_lost_brokers_is_not_left_out_of_the_plan(given: Any, expected: dict[str, list[int]] | None) -> None:
    tasks = {task["name"]: task for task in yaml.safe_load((ROLES / "restore_redundancy" / "tasks" / "plan.yml").read_text())}
    noted = tasks["Record the plan options of each cluster"]["ansible.builtin.set_fact"]["kafka_recovery_given_up"]
    choose = tasks["Plan replica placement for the whole fleet"]
    clusters = ["east", "west"]

    def value(text: str, **variables: Any) -> Any:
        return Templar(DataLoader(), variables={**trusted(choose.get("vars", {})), **variables}).template(trust_as_template(text))

    here = {name: lost_brokers(given, name, clusters) for name in clusters}
    hostvars = {
        name: {"kafka_recovery_given_up": value(noted, inventory_hostname=name, kafka_recovery_lost_here=here[name])} for name in clusters
    }
    passed = choose["streamops.kafka_recovery.kafka_redundancy_plan"]["lost_brokers"].replace("omit", "none")
    assert value(passed, ansible_play_batch=clusters, hostvars=hostvars) == expected


@pytest.mark.parametrize(
    ("role", "file", "task", "variable"),
    [
        ("restore_redundancy", "plan.yml", "Fail if no plan was made", "kafka_recovery_redundancy"),
        ("plan", "finish.yml", "Show what is planned", "kafka_recovery_planned"),
        ("revive", "plan.yml", "Fail if no plan was made", "kafka_recovery_revival_plan"),
    ],
)
def test_files_that_cannot_be_used_take_a_line_each_after_the_remedy(role: str, file: str, task: str, variable: str) -> None:
    head, *rows = refusal(role, file, task, **{variable: {"quarantine": FILES, "plans": []}, "kafka_recovery_manual_output_path": "x"})
    assert "east" in head and "another kafka_recovery_run_id" in head
    assert rows == [f"{one['path']}: it is not sealed" for one in FILES[:5]]


def test_a_refused_merge_names_the_folder_without_which_later_runs_go_on() -> None:
    (block,) = yaml.safe_load((ROOT / "playbooks/apply_merged.yml").read_text())[1]["tasks"]
    (task,) = (one for one in block["block"] if one["name"] == "Fail if a merged plan must not be applied")
    row = {"cluster": "east", "state": "unsigned", "reason": "it needs signatures of 2 people"}
    files = [{**row, "path": f"ops/recoveries/r1/{kind}/east.json"} for kind in ("plans", "moves")]
    reason, repeated, remedy = said("common", task["ansible.builtin.fail"]["msg"], **task["vars"], kafka_recovery_merged_files=files)
    assert reason == repeated == row["reason"]
    assert "each later apply_merged fails" in remedy and remedy.endswith(
        "remove its folder from the protected branch by a reviewed merge: ops/recoveries/r1"
    )


@pytest.mark.slow
def test_moves_and_revivals_that_are_not_named_are_refused(tmp_path: Path) -> None:
    own: dict[str, dict[str, Any]] = {
        "restore_redundancy": {"kafka_recovery_reassignment_dir": str(tmp_path / "nowhere")},
        "revive": {"kafka_recovery_lost_here": {"brokers": [1]}},
    }
    hosts = {role: {**variables_of("common", role), **variables} for role, variables in own.items()}
    found = played(local_play(tmp_path, hosts, [{"ansible.builtin.include_tasks": f"{ROLES}/{{{{ inventory_hostname }}}}/tasks/main.yml"}]))
    assert found["restore_redundancy"].failed and "into kafka_recovery_reassignment_dir" in found["restore_redundancy"].text
    assert found["revive"].failed and "kafka_recovery_revive_empty must name" in found["revive"].text
