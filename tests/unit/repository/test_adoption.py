# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What others adopt: the artifact, the releases that it is judged on, the changelog and the workflows agree with each other."""

from __future__ import annotations

import re
import sys
import tarfile
from pathlib import Path
from typing import Any

import yaml
from adoption import trees
from adoption.cells import CELLS, HERE, Cell
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import page_files


def load(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text())


def pins(path: Path) -> dict[str, str]:
    """The releases that a file of requirements pins, by the library."""
    return dict(re.findall(r"(?m)^([\w.-]+(?:\[\w+\])?)==([\w.]+)", path.read_text()))


def test_the_oldest_cell_has_the_oldest_ansible_core_that_is_allowed() -> None:
    assert load("meta/runtime.yml")["requires_ansible"] == f">={Cell('3.11', 'minimum').release}"


def test_libraries_have_the_releases_of_development() -> None:
    developed, judged = pins(ROOT / "requirements-dev.txt"), {name: pin for path in HERE.glob("*.txt") for name, pin in pins(path).items()}
    shared = developed.keys() & judged.keys() - {"ansible-core"}
    assert len(shared) > 10
    assert {name: judged[name] for name in shared} == {name: developed[name] for name in shared}
    assert pins(HERE / "core-2.19.txt")["ansible-core"] == developed["ansible-core"]


def test_what_ships_is_the_collection_and_nothing_else(tmp_path: Path) -> None:
    artifact = trees.build(trees.checkout(tmp_path / "tree"), tmp_path / "artifact", Path(sys.executable).parent)
    with tarfile.open(artifact) as opened:
        names = {name for name in opened.getnames() if opened.getmember(name).isfile()}
    folders = {name.split("/")[0] for name in names if "/" in name}
    assert folders == {"changelogs", "docs", "extensions", "meta", "playbooks", "plugins", "roles", "tests"}
    assert {"README.md", "COPYING", "CHANGELOG.md", "requirements.txt", "bindep.txt", "meta/execution-environment.yml"} <= names
    assert {name for name in names if name.startswith("tests/")} == {"tests/config.yml"}
    # Of the report page, what Python does not compile.
    place = "plugins/module_utils/report/page/"
    assert {name for name in names if name.startswith(place)} == {
        place + name for name in (page_files.TEMPLATE, page_files.DRAWING, *page_files.STYLES, page_files.SCRIPT)
    }
    # With the settings of the linters it passes wherever it is installed.
    assert {name for name in names if re.search(r"^\.|^(?!extensions/).*/\.|__pycache__|\.log$|/molecule/", name)} == {
        ".ansible-lint",
        ".yamllint",
    }


def test_what_the_execution_environment_names_is_there() -> None:
    named = load("meta/execution-environment.yml")["dependencies"]
    assert all((ROOT / path).is_file() for path in named.values())


def test_the_changelog_begins_with_this_release() -> None:
    version = load("galaxy.yml")["version"]
    assert version in load("changelogs/changelog.yaml")["releases"]
    assert f"streamops-kafka_recovery-{version}.tar.gz" in (ROOT / "README.md").read_text()


def test_workflows_run_targets_that_exist_on_every_cell() -> None:
    targets = set(re.findall(r"(?m)^([\w-]+):", (ROOT / "Makefile").read_text()))
    nightly = load(".github/workflows/nightly.yml")["jobs"]
    cells = nightly["adoption"]["strategy"]["matrix"]["include"]
    assert {(row["cell"], row["python"]) for row in cells} == {(cell.name, cell.python) for cell in CELLS}
    assert set(nightly["long"]["strategy"]["matrix"]["target"]) <= targets
    for path in (ROOT / ".github").rglob("*.yml"):
        text = path.read_text()
        assert set(re.findall(r"run: make ([\w-]+)", text)) <= targets
        assert all(re.fullmatch(r"\./.*|[\w/-]+@[0-9a-f]{40}", used) for used in re.findall(r"uses: (\S+)", text)), path
