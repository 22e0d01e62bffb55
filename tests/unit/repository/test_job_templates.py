# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Job templates for AWX: their playbooks are there, and a survey asks only for variables of the roles, with their types, choices and defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from repository_root import ROOT

AWX = ROOT / "extensions/awx"
PREFIX = "streamops.kafka_recovery."
# How AWX calls the types of roles. A text is passed on as it is.
TYPES = {"int": "integer", "float": "float", "bool": "multiplechoice", "str": "text", "path": "text", "raw": "text"}
BOOLEANS = {"true", "false"}

(PLAY,) = yaml.safe_load((AWX / "job_templates.yml").read_text())
SHARED = PLAY["module_defaults"]["awx.awx.job_template"]
TEMPLATES = {task["name"]: SHARED | task["awx.awx.job_template"] for task in PLAY["tasks"]}
QUESTIONS = [
    pytest.param(question, id=f"{name} {question['variable']}")
    for name, row in TEMPLATES.items()
    for question in row["survey_spec"]["spec"]
]


def options() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the variables of all roles, with what the roles say of them."""
    for path in (ROOT / "roles").glob("*/meta/argument_specs.yml"):
        for entry in yaml.safe_load(path.read_text())["argument_specs"].values():
            yield from entry.get("options", {}).items()


OPTIONS = dict(options())


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_playbook_of_a_template_is_one_of_the_collection(name: str) -> None:
    (play,) = yaml.safe_load((AWX / "project" / TEMPLATES[name]["playbook"]).read_text())
    imported = play["ansible.builtin.import_playbook"]
    assert imported.startswith(PREFIX) and (ROOT / "playbooks" / f"{imported.removeprefix(PREFIX)}.yml").is_file()
    assert imported.removeprefix(PREFIX) + ".yml" == TEMPLATES[name]["playbook"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_a_variable_with_its_type_choices_and_default(question: dict[str, Any]) -> None:
    option = OPTIONS[question["variable"]]
    choices = set(question.get("choices", ()))
    assert question["type"] == ("multiplechoice" if "choices" in option else TYPES[option["type"]])
    assert choices == (set(option["choices"]) if "choices" in option else BOOLEANS if option["type"] == "bool" else set())
    default = option["default"]
    assert question["default"] == (str(default).lower() if option["type"] == "bool" else default)
    assert question["question_name"] and question["question_description"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_ansible_takes_every_answer(question: dict[str, Any]) -> None:
    name = question["variable"]
    validator = ArgumentSpecValidator({name: OPTIONS[name]})
    for answer in {question["default"], question.get("min", question["default"]), *question.get("choices", ())}:
        assert not validator.validate({name: answer}).error_messages, answer


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_elects_nothing_unless_somebody_chooses_it(name: str) -> None:
    template = TEMPLATES[name]
    assert set(template["extra_vars"]) == {"kafka_recovery_workdir"}
    for question in template["survey_spec"]["spec"]:
        assert question["variable"] != "kafka_recovery_allow_data_loss" or (question["default"], question["required"]) == ("false", True)
    assert template["playbook"] == "plan.yml" or template["job_type"] == "check"


@pytest.mark.parametrize("name", TEMPLATES)
def test_one_job_at_a_time_has_the_whole_fleet_within_its_limits(name: str) -> None:
    assert TEMPLATES[name]["allow_simultaneous"] is False
    assert TEMPLATES[name]["job_slice_count"] == 1
