# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One plan run serves all clusters of a play, so it starts only if all of them have recorded the same options."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from repository_root import ROOT

pytestmark = pytest.mark.slow
MODULES = {"kafka_recovery_plan": "kafka_recovery_wanted", "kafka_redundancy_plan": "kafka_recovery_wanted_redundancy"}
# The options that each of two clusters has recorded, None if it has recorded none.
RECORDED: dict[str, tuple[dict[str, Any] | None, dict[str, Any] | None]] = {
    "differ": ({"factor": 3, "workdir": "/w"}, {"factor": 2, "workdir": "/w"}),
    "same": ({"factor": 3}, {"factor": 3}),
    "none": (None, None),
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What plays print that plan two clusters each, by module and case."""
    folder = tmp_path_factory.mktemp("plans")
    groups: dict[str, Any] = {}
    plays: list[dict[str, Any]] = []
    for module, fact in MODULES.items():
        for case, recorded in RECORDED.items():
            name = f"{module}_{case}"
            hosts = {f"{name}_{number}": {} if options is None else {fact: options} for number, options in enumerate(recorded)}
            groups[name] = {"hosts": hosts}
            options = {"workdir": str(folder / "work"), "run_id": "1", "clusters": list(hosts)}
            task = {f"streamops.kafka_recovery.{module}": options, "run_once": True, "ignore_errors": True}
            plays.append({"name": name, "hosts": name, "gather_facts": False, "tasks": [task]})
    variables = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (folder / "inventory.yml").write_text(yaml.safe_dump({"all": {"children": groups, "vars": variables}}))
    (folder / "play.yml").write_text(yaml.safe_dump(plays))
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventory.yml", "play.yml"],
        cwd=folder,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache/collections"), "ANSIBLE_DISPLAY_FAILED_STDERR": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and done.stdout.count("...ignoring") == len(plays), done.stdout + done.stderr
    _before, *parts = re.split(r"PLAY \[(\w+)\]", done.stdout.partition("PLAY RECAP")[0])
    return {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


@pytest.mark.parametrize("module", MODULES)
def test_clusters_that_want_different_plans_are_refused(printed: dict[str, str], module: str) -> None:
    text = printed[f"{module}_differ"]
    assert "kafka_recovery_factor is not the same" in text and f"--limit {module}_differ_0, then the others" in text, text


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("case", ["same", "none"])
def test_clusters_that_want_the_same_plan_or_have_recorded_none_are_planned(printed: dict[str, str], module: str, case: str) -> None:
    text = printed[f"{module}_{case}"]
    assert "not the same" not in text and "of run 1 first" in text, "the module has run, and has found no file"
