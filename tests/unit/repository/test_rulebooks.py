# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rulebooks: what ansible-rulebook makes of them, that all they name is there, and how little of an event gets into a playbook."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_rulebook.validators import Validate
from event_sources import SOURCES, loaded
from repository_root import ROOT

RULEBOOKS = sorted((ROOT / "extensions/eda/rulebooks").glob("*.yml"))
OURS = "streamops.kafka_recovery."
# Of an event: names and ids that were checked where it was made.
HARMLESS = {"event.cluster", "event.run_id", "event.incident", "event.watcher"}


def rulesets(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(path.read_text())
    return found


def playbooks(path: Path) -> list[dict[str, Any]]:
    actions = [rule["action"] for ruleset in rulesets(path) for rule in ruleset["rules"]]
    return [action["run_playbook"] for action in actions if "run_playbook" in action]


@pytest.mark.parametrize("path", RULEBOOKS, ids=lambda path: path.stem)
def test_ansible_rulebook_takes_it_and_what_it_names_is_there(path: Path) -> None:
    Validate.rulebook(rulesets(path))
    (ruleset,) = rulesets(path)
    for source in ruleset["sources"]:
        ((named, args),) = ((key, value) for key, value in source.items() if key != "name")
        name = named.removeprefix(OURS)
        assert (SOURCES / f"{name}.py").is_file()
        assert set(args) <= set(yaml.safe_load(loaded(name)["DOCUMENTATION"])["options"])
    assert playbooks(path)
    for playbook in playbooks(path):
        assert (ROOT / "playbooks" / f"{playbook['name'].removeprefix(OURS)}.yml").is_file()


@pytest.mark.parametrize("path", RULEBOOKS, ids=lambda path: path.stem)
def test_of_an_event_only_checked_names_get_into_a_playbook(path: Path) -> None:
    for playbook in playbooks(path):
        used = set(re.findall(r"{{\s*(event\.[\w.]+)", str(playbook)))
        assert used <= HARMLESS
        assert "allow_data_loss" not in str(playbook), "that is the inventory's to say"


def test_what_is_by_cluster_runs_side_by_side_and_one_at_a_time_for_each() -> None:
    for path in RULEBOOKS:
        for ruleset in rulesets(path):
            if any("partitions_offline" in rule["condition"] for rule in ruleset["rules"]):
                assert ruleset["execution_strategy"] == "parallel"
                assert {playbook["lock"] for playbook in playbooks(path)} == {"{{ event.cluster }}"}


def test_only_respond_cleans_up_and_it_removes_nothing_that_an_operator_must_name() -> None:
    cleanups = {path.stem: playbook for path in RULEBOOKS for playbook in playbooks(path) if playbook["name"] == f"{OURS}cleanup"}
    variables = cleanups["respond"]["extra_vars"]
    assert cleanups.keys() == {"respond"}
    assert variables["kafka_recovery_remove_leftovers"] is True and variables["kafka_recovery_event_source"] == "{{ event.watcher }}"
    assert variables["kafka_recovery_cancel_moves"] == variables["kafka_recovery_remove_foreign_throttles"] == []


@pytest.mark.parametrize("name", ["fleet", "webhook"])
def test_every_source_is_documented_as_it_is(name: str) -> None:
    source = loaded(name)
    documented = yaml.safe_load(source["DOCUMENTATION"])
    assert documented["short_description"] and all("description" in option for option in documented["options"].values())
    for example in yaml.safe_load(source["EXAMPLES"]):
        ((named, args),) = example.items()
        assert named == OURS + name and set(args) <= set(documented["options"])
    if name == "fleet":
        defaults = {option: spec.get("default") for option, spec in documented["options"].items()}
        assert {option: number for option, (_, _, number) in source["NUMBERS"].items()} == {
            option: defaults[option] for option in source["NUMBERS"]
        }
