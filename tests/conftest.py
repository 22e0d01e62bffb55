# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all tests share."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from rig.object_store import ObjectStore

HERE = Path(__file__).parent
# `ansible-test units` runs each test in a process of its own, imports it under the collection's name, and reads no pyproject.toml.
ANSIBLE_TEST = "ansible_forked" in os.environ.get("PYTEST_PLUGINS", "")

# No test judges by the clock: this machine may be busy with brokers at the same time.
settings.register_profile("thorough", deadline=None)
# Every change gets fewer examples than Hypothesis takes by itself. `make test-long` has the profile thorough.
settings.register_profile("quick", deadline=None, max_examples=30)
settings.load_profile("quick")

if ANSIBLE_TEST:
    sys.path += [str(HERE), str(HERE / "unit")]  # what tests import from each other
    os.environ["PYTHONPATH"] += f"{os.pathsep}{HERE.parents[3]}"  # modules that tests run


def pytest_configure(config: pytest.Config) -> None:
    if ANSIBLE_TEST:
        for marker in tomllib.loads((HERE.parent / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]:
            config.addinivalue_line("markers", marker)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs the embedded Spark, a browser or an S3 server, where every test has a process of its own: each of them would start them again."""
    if ANSIBLE_TEST:
        costly = [item for item in items if {"spark", "browser", "object_store"} & set(getattr(item, "fixturenames", ()))]
        config.hook.pytest_deselected(items=costly)
        items[:] = [item for item in items if item not in costly]


@pytest.fixture(scope="session")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """An S3 server that many tests share, each with a bucket of its own."""
    from rig.object_store import object_store as running  # `ansible-test units` finds it only after its path was added

    with running(tmp_path_factory.mktemp("object-store")) as server:
        yield server
