# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each role has a molecule scenario that plays it, and each scenario has a run that must fail and a verification by another client."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from repository_root import ROOT

MOLECULE = ROOT / "extensions/molecule"
SCENARIOS = sorted(path.parent for path in MOLECULE.glob("*/molecule.yml"))
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())
# As playbooks name a role, and the tasks of another file of the collection.
ROLE = re.compile(r"(?:role|name): streamops\.kafka_recovery\.(\w+)|roles/(\w+)/tasks/")
PLAYBOOK = re.compile(r"import_playbook: streamops\.kafka_recovery\.(\w+)|^\s+playbook: (\w+)$", re.MULTILINE)
TASKS = re.compile(r"(?:import|include)_tasks: (\S+\.yml)")
# Roles that a playbook has on demand, and the variable that demands them.
ON_DEMAND = {
    "restore_redundancy": "kafka_recovery_restore_redundancy: true",
    "revive": "kafka_recovery_revive_empty",
    "replay": "kafka_recovery_replay_run_id",
}
STEPS = ("prepare", "converge", "verify")


def names(pattern: re.Pattern[str], text: str) -> set[str]:
    return {name for match in pattern.finditer(text) for name in match.groups() if name}


def with_tasks(path: Path) -> str:
    """The text of a playbook, and of the tasks that it has in files of their own."""
    text = path.read_text()
    return text + "".join(with_tasks(path.parent / name) for name in names(TASKS, text) if (path.parent / name).is_file())


def played(scenario: Path) -> set[str]:
    """The roles that a scenario plays, by name or through playbooks. Roles that a playbook has on demand count only if the scenario demands them."""
    text = "".join(path.read_text() for path in sorted(scenario.glob("*.yml")))
    of_playbooks = {role for name in names(PLAYBOOK, text) for role in names(ROLE, with_tasks(ROOT / "playbooks" / f"{name}.yml"))}
    return names(ROLE, text) | {role for role in of_playbooks if ON_DEMAND.get(role, "") in text}


@pytest.mark.parametrize("role", ROLES)
def test_a_role_has_a_scenario(role: str) -> None:
    assert [scenario.name for scenario in SCENARIOS if role in played(scenario)]


@pytest.mark.parametrize("scenario", [pytest.param(path, id=path.name) for path in SCENARIOS])
def test_a_scenario_has_all_steps(scenario: Path) -> None:
    steps = {step: (scenario / f"{step}.yml").read_text() for step in STEPS}
    assert "tasks/witness.yml" in steps["verify"]
    side_effect = scenario / "side_effect.yml"
    failing = steps["converge"] + steps["verify"] + (side_effect.read_text() if side_effect.exists() else "")
    assert re.search(r"^\s+code: (2|\"{{ 2 if)|failed_when: .* not in ", failing, re.MULTILINE)


def test_each_scenario_has_an_inventory() -> None:
    create = (MOLECULE / "default/create.yml").read_text()
    assert [scenario.name for scenario in SCENARIOS if f"\n      {scenario.name}: " not in create] == []
