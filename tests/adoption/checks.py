# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges: each a command that is run on the copy of the checkout or on what the artifact installs."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adoption.cells import Cell

# ansible-test fetches a script that installs pip from a host that not every network reaches. Python brings its own.
PIP_SCRIPT = """\
import subprocess
import sys

wanted = [argument for argument in sys.argv[1:] if argument not in ("--no-setuptools", "--no-wheel")]
subprocess.run([sys.executable, "-m", "ensurepip"], check=True)
subprocess.run([sys.executable, "-m", "pip", "install", *wanted], check=True)
"""
PIP_SCRIPTS = ("get_pip_24_2.py", "get_pip_25_2.py")  # of ansible-core 2.19 and 2.21


@dataclass(frozen=True)
class Stage:
    """What is judged: the copy of the checkout, the artifact, what it installs; `tools`: the folder bin of the cell's environment."""

    cell: Cell
    tools: Path
    tree: Path
    artifact: Path
    shipped: Path


@dataclass(frozen=True)
class Check:
    """A judge: its command, the folder that it is run in, the variables that it needs, and words that have to be in what it says."""

    command: Callable[[Stage], list[str]]
    folder: Callable[[Stage], Path]
    newest: bool = False
    variables: Callable[[Stage], dict[str, str]] = lambda _stage: {}
    says: tuple[str, ...] = ()
    never_says: tuple[str, ...] = ()


def _ansible_test(kind: str) -> Callable[[Stage], list[str]]:
    return lambda stage: ["ansible-test", kind, "--local", "--python", stage.cell.python, "--color", "no"]


CHECKS = {
    "lint": Check(
        lambda _stage: ["ansible-lint", "--offline", "--profile", "production"],
        lambda stage: stage.tree,
        variables=lambda stage: {"ANSIBLE_COLLECTIONS_PATH": str(stage.tree.parents[2])},
    ),
    "docs": Check(
        lambda _stage: ["antsibull-docs", "lint-collection-docs", "--plugin-docs", "--validate-collection-refs", "self", "."],
        lambda stage: stage.tree,
    ),
    "sanity": Check(_ansible_test("sanity"), lambda stage: stage.shipped, says=('Running sanity test "validate-modules"',)),
    "units": Check(_ansible_test("units"), lambda stage: stage.tree, says=(" passed",)),
    "importer": Check(
        lambda stage: ["python", "-m", "galaxy_importer.main", str(stage.artifact)],
        lambda stage: stage.artifact.parent,
        newest=True,
        variables=lambda stage: {
            "GALAXY_IMPORTER_CHECK_REQUIRED_TAGS": "True",
            "GALAXY_IMPORTER_TMP_ROOT_DIR": str(stage.artifact.parent),
        },
        says=("Importer processing completed successfully",),
        # Its own errors, at the beginning of a line. Those that ansible-lint has there are warnings to it: it finds no playbook by its full name.
        never_says=("\nERROR",),
    ),
    "environment": Check(
        lambda stage: ["ansible-builder", "introspect", str(stage.shipped.parents[2])],
        lambda stage: stage.shipped,
        newest=True,
        says=("pyspark", "kafka-python", "java-21-openjdk-headless"),
    ),
}


def home(folder: Path) -> Path:
    """A home for ansible-test, with the script that it would fetch. Configuration and caches are those of the user."""
    scripts = folder / ".ansible/test/cache"
    scripts.mkdir(parents=True, exist_ok=True)
    for name in PIP_SCRIPTS:
        (scripts / name).write_text(PIP_SCRIPT)
    for name in (".config", ".cache"):
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(Path.home() / name)
    return folder


def environment(check: Check, stage: Stage, own_home: Path) -> dict[str, str]:
    """The variables of a check's process."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHON", "VIRTUAL_ENV"))}
    return {
        **inherited,
        "HOME": str(own_home),
        "PATH": f"{stage.tools}{os.pathsep}{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
        **check.variables(stage),
    }
