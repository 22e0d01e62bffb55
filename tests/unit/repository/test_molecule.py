# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each role has a molecule scenario that plays it, and a run that it refuses. Each scenario has a run that must fail and a verification by another client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
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
# It has the variables that roles share, and names runs: the roles that use it refuse.
REFUSES_NOTHING = {"common"}


class Loader(yaml.SafeLoader):
    """Reads files of Ansible, whose values may be templates for another run."""


Loader.add_constructor("!unsafe", lambda _loader, node: node.value)


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


def tasks(node: Any) -> Iterator[dict[str, Any]]:
    """The tasks of plays, and of blocks in them."""
    for entry in node if isinstance(node, list) else []:
        yield entry
        for part in ("pre_tasks", "tasks", "post_tasks", "block", "rescue", "always"):
            yield from tasks(entry.get(part))


def refusals(scenario: Path) -> Iterator[tuple[str, str | None]]:
    """Playbooks that a scenario runs and that must fail, with the role that `refused_by` names. tasks/play.yml checks that this role has refused."""
    for path in sorted(scenario.glob("*.yml")):
        for task in tasks(yaml.load(path.read_text(), Loader)):
            given = task.get("vars") or {}
            if "2" in str(given.get("code")):
                yield given["playbook"], given.get("refused_by")


@pytest.mark.parametrize("role", [role for role in ROLES if role not in REFUSES_NOTHING])
def test_a_role_refuses_a_run_that_must_fail(role: str) -> None:
    assert [playbook for scenario in SCENARIOS for playbook, refused_by in refusals(scenario) if refused_by == role]


def test_a_run_that_must_fail_is_refused_by_a_role_of_its_playbook() -> None:
    """A task of the playbook apply_merged refuses plans, too."""
    for scenario in SCENARIOS:
        for playbook, refused_by in refusals(scenario):
            path = scenario / Path(playbook).name if "/" in playbook else ROOT / "playbooks" / f"{playbook}.yml"
            by_a_role = refused_by in names(ROLE, with_tasks(path))
            assert by_a_role or (playbook, refused_by) == ("apply_merged", None), (scenario.name, playbook)


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
