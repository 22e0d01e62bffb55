# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One plan run serves all clusters of a play, so it starts only if all of them have recorded the same options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from repository_root import ROOT

pytestmark = pytest.mark.slow
MODULES = [("kafka_recovery_plan", "kafka_recovery_wanted"), ("kafka_redundancy_plan", "kafka_recovery_wanted_redundancy")]


def planned(folder: Path, module: str, fact: str, recorded: dict[str, dict[str, Any] | None]) -> str:
    """What a play prints that plans these clusters. `recorded`: the options of each, None if it has recorded none."""
    hosts = {name: {} if options is None else {fact: options} for name, options in recorded.items()}
    inventory = {"all": {"hosts": hosts, "vars": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}}}
    (folder / "inventory.yml").write_text(yaml.safe_dump(inventory))
    options = {"workdir": str(folder / "work"), "run_id": "1", "clusters": list(recorded)}
    task = {f"streamops.kafka_recovery.{module}": options, "run_once": True}
    (folder / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": [task]}]))
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventory.yml", "play.yml"],
        cwd=folder,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache/collections")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    return " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize(("module", "fact"), MODULES)
def test_clusters_that_want_different_plans_are_refused(module: str, fact: str, tmp_path: Path) -> None:
    wants: dict[str, dict[str, Any] | None] = {"east": {"factor": 3, "workdir": "/w"}, "west": {"factor": 2, "workdir": "/w"}}
    said = planned(tmp_path, module, fact, wants)
    assert "kafka_recovery_factor is not the same" in said and "--limit east, then the others" in said, said


@pytest.mark.parametrize(("module", "fact"), MODULES)
@pytest.mark.parametrize("recorded", [{"factor": 3}, None])
def test_clusters_that_want_the_same_plan_or_have_recorded_none_are_planned(
    module: str, fact: str, recorded: dict[str, Any] | None, tmp_path: Path
) -> None:
    said = planned(tmp_path, module, fact, {"east": recorded, "west": recorded})
    assert "not the same" not in said and "of run 1 first" in said, "the module has run, and has found no file"
