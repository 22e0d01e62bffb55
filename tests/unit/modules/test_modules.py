# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules: what they document is what they accept, and the action group has all that take a connection."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from repository_root import ROOT

MODULES = sorted(path.stem for path in (ROOT / "plugins/modules").glob("*.py"))
CONNECTION = "streamops.kafka_recovery.connection"
# The documentation says "dict", "list" and so on; what AnsibleModule adds by itself is not compared.
COMPARED = ("type", "elements", "default", "choices", "required")


class Stop(BaseException):
    """Raised instead of running the module."""


@pytest.fixture(scope="module")
def documented() -> dict[str, Any]:
    """What ansible-doc shows of every module."""
    names = [f"streamops.kafka_recovery.{name}" for name in MODULES]
    command = [str(Path(sys.executable).parent / "ansible-doc"), "--json", *names]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {name.rpartition(".")[2]: doc for name, doc in json.loads(shown.stdout).items()}


def accepted(name: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The argument spec with which a module makes its PrintableModule, through which alone it speaks."""
    caught: dict[str, Any] = {}

    def catch(*_: Any, argument_spec: dict[str, Any], **__: Any) -> None:
        caught.update(argument_spec)
        raise Stop

    module = importlib.import_module(f"ansible_collections.streamops.kafka_recovery.plugins.modules.{name}")
    shared = importlib.import_module("ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module")
    for place in (module, shared):
        if hasattr(place, "PrintableModule"):
            monkeypatch.setattr(place, "PrintableModule", catch)
    with pytest.raises(Stop):
        module.main()
    return caught


def normal(options: dict[str, Any], nested: str) -> dict[str, Any]:
    """Options as the values that documentation and argument spec share."""
    shown = {}
    for name, option in options.items():
        values = {key: option[key] for key in COMPARED if option.get(key) not in (None, False)}
        values["type"] = option.get("type", "str")
        if option.get(nested):
            values["options"] = normal(option[nested], nested)
        shown[name] = values
    return shown


def test_every_page_can_be_shown() -> None:
    """Text takes more than JSON does: an unquoted colon makes a mapping of a sentence."""
    command = [str(Path(sys.executable).parent / "ansible-doc"), *(f"streamops.kafka_recovery.{name}" for name in MODULES)]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "PAGER": "cat"})
    assert shown.returncode == 0, shown.stderr
    assert "ERROR" not in shown.stderr


@pytest.mark.parametrize("name", MODULES)
def test_documentation_and_argument_spec_agree(name: str, documented: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert normal(documented[name]["doc"]["options"], "suboptions") == normal(accepted(name, monkeypatch), "options")


@pytest.mark.parametrize("name", MODULES)
def test_every_module_states_its_attributes_and_shows_examples_and_samples(name: str, documented: dict[str, Any]) -> None:
    doc = documented[name]
    assert {"check_mode", "diff_mode", "idempotent"} <= set(doc["doc"]["attributes"])
    tasks = yaml.safe_load(doc["examples"])
    assert tasks and all(f"streamops.kafka_recovery.{name}" in task or "ansible.builtin.debug" in task for task in tasks)
    assert all("sample" in value for value in doc["return"].values())


def test_the_action_group_has_every_module_that_takes_a_connection() -> None:
    runtime = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())
    connecting = [name for name in MODULES if CONNECTION in (ROOT / f"plugins/modules/{name}.py").read_text()]
    assert runtime["action_groups"]["kafka"] == connecting


# Each file costs every start of the module some milliseconds, and what it imports as well.
NOT_FOR_EVIDENCE = {
    "client.controllers", "decision.decide", "election", "evidence.isr_history", "formats.plan_file", "impact", "model.acls", "reassignment",
}  # fmt: skip


def test_collecting_evidence_loads_nothing_of_plans_elections_and_controllers() -> None:
    package = "ansible_collections.streamops.kafka_recovery.plugins"
    code = f"import sys, {package}.modules.kafka_replica_log_info; print(*sys.modules, sep='\\n')"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert f"{package}.module_utils.evidence.collect" in loaded
    assert not NOT_FOR_EVIDENCE & {name.removeprefix(f"{package}.module_utils.") for name in loaded}
