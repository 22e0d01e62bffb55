# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The execution environment: ansible-builder accepts its definition, and the steps of the build that need no container engine get what the image needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from adoption import trees
from adoption.cells import HERE, MissingPythonError, virtual_environment
from repository_root import ROOT

DEFINITION = ROOT / "extensions/execution_environment/execution-environment.yml"
DEFINED = yaml.safe_load(DEFINITION.read_text())
(COLLECTION,) = DEFINED["dependencies"]["galaxy"]["collections"]


def test_it_has_this_release_of_the_collection() -> None:
    galaxy = yaml.safe_load((ROOT / "galaxy.yml").read_text())
    assert {"name": f"{galaxy['repository']}.git", "type": "git", "version": galaxy["version"]} == COLLECTION


@pytest.fixture(scope="module")
def builder() -> Path:
    """The program ansible-builder, in an environment of its own that later runs use again."""
    try:
        return virtual_environment(ROOT / ".cache/ansible-builder", "3.12", [HERE / "builder.txt"]) / "ansible-builder"
    except MissingPythonError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def context(builder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build context, as `ansible-builder build` makes it first."""
    folder = tmp_path_factory.mktemp("image") / "context"
    subprocess.run([builder, "create", "--file", DEFINITION, "--context", folder], capture_output=True, text=True, check=True)
    return folder


@pytest.fixture(scope="module")
def collections(context: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The collections that the build installs into the image, from this checkout instead of the repository on the Internet."""
    tree, folder = trees.checkout(tmp_path_factory.mktemp("repository")), tmp_path_factory.mktemp("collections")
    who = ["-c", "user.name=Builder", "-c", "user.email=builder@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, "commit", "--quiet", "--message", "As it stands"], cwd=tree, check=True)
    subprocess.run(["git", "tag", COLLECTION["version"]], cwd=tree, check=True)
    instead = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.file://{tree}.insteadOf", "GIT_CONFIG_VALUE_0": COLLECTION["name"]}
    (step,) = re.findall(r"(?m)^RUN .*(ansible-galaxy collection install .*)$", (context / "Dockerfile").read_text())
    command = step.replace("$ANSIBLE_GALAXY_CLI_COLLECTION_OPTS", "").replace("/usr/share/ansible/collections", str(folder))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **instead, "PATH": path, "ANSIBLE_HOME": str(folder / "home"), "ANSIBLE_COLLECTIONS_PATH": str(folder)}
    done = subprocess.run(["/bin/sh", "-c", command], cwd=context / "_build", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_git_is_there_before_the_collection_is_installed(context: Path) -> None:
    steps = (context / "Dockerfile").read_text()
    assert steps.index("install -y git-core") < steps.index("ansible-galaxy collection install")


@pytest.mark.slow
def test_the_image_gets_what_the_collection_needs(builder: Path, collections: Path) -> None:
    introspect = subprocess.run([builder, "introspect", collections], capture_output=True, text=True, check=True)
    found = yaml.safe_load(introspect.stdout)
    wanted = {line.partition("#")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines()} - {""}
    assert {line.partition("#")[0].strip() for line in found["python"]} == wanted
    assert {line.partition(" ")[0] for line in found["system"]} >= {"java-21-openjdk-headless", "git-core", "openssh-clients"}
