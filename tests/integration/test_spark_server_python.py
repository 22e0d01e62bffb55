# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Spark Connect server whose workers have the wrong Python: one line says what is wrong and where to correct it, and nothing is planned."""

from __future__ import annotations

import shutil
import sys
import venv
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from adoption.cells import MissingPythonError, find
from integration.spark import connect_server, worker_python
from integration.support import failure, run_module
from unit.partition_situations import FENCED, RUN, Log, Situation, broker_rows, land

pytestmark = pytest.mark.long

OWN = f"{sys.version_info.major}.{sys.version_info.minor}"
WHERE = "PYSPARK_PYTHON"
# A worker that ends before the server has sent all of its input cannot report why.
UNREPORTED = f"did not report why: they need Python {OWN}, as this one is, with PySpark and pyarrow"


class Server(NamedTuple):
    """A server that starts the program `python` for each of its workers, so that a test can replace it."""

    remote: str
    python: Path

    def use(self, command: str) -> None:
        """Let workers run this command of a shell, with their arguments."""
        new = self.python.with_suffix(".new")
        new.write_text(f"#!/bin/sh\n{command}\n")
        new.chmod(0o700)
        new.replace(self.python)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("spark")
    python = folder / "python"
    with connect_server(folder, python) as remote:
        yield Server(remote, python)


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    land(tmp_path, "east", [*broker_rows(2, {1: 2.0}), *Situation("orders", {1: FENCED, 2: Log.of((5, 0))}).rows()])
    return tmp_path


def error(server: Server, workdir: Path) -> str:
    """The line with which the module that plans fails. It has planned nothing."""
    message = failure("kafka_recovery_plan", {"workdir": str(workdir), "run_id": RUN, "spark_remote": server.remote})
    assert not list((workdir / "plans").rglob("*.json"))
    return message


def python_of_another_version() -> tuple[str, Path]:
    """Return version and path of one on this machine."""
    for version in ("3.13", "3.12", "3.11", "3.10"):
        if version != OWN:
            with suppress(MissingPythonError):
                return version, find(version)
    pytest.skip("a Python of another minor version is missing: install one, or name it with PYTHONS=/path/to/python")


def test_workers_of_another_version_are_named_with_both_versions(server: Server, workdir: Path) -> None:
    other, python = python_of_another_version()
    server.use(f'exec {python} "$@"')
    message = error(server, workdir)
    reported = f"the workers of Spark have Python {other}, which is of another version of Python than this one ({OWN})"
    assert reported in message or UNREPORTED in message, message
    assert f"{WHERE} (where a Spark Connect server is started" in message


def test_workers_without_pyarrow_are_told_to_install_it(server: Server, workdir: Path) -> None:
    """Of the right version, with the PySpark that the server gives to its workers."""
    venv.create(workdir / "bare", with_pip=False)
    server.use(f'exec {workdir / "bare/bin/python"} "$@"')
    message = error(server, workdir)
    assert "pyarrow is missing for the Python of Spark's workers" in message or UNREPORTED in message, message
    assert WHERE in message


def test_workers_without_pyspark_are_told_to_install_it(server: Server, workdir: Path) -> None:
    """As the Python of the service does: it does not use the PySpark that the server gives to its workers."""
    venv.create(workdir / "bare", with_pip=False)
    server.use(f'unset PYTHONPATH; exec {workdir / "bare/bin/python"} "$@"')
    message = error(server, workdir)
    assert "PySpark is missing for the Python of Spark's workers" in message or UNREPORTED in message, message
    assert WHERE in message


def test_a_server_without_the_python_of_its_workers_names_its_path(server: Server, workdir: Path) -> None:
    server.python.unlink(missing_ok=True)
    message = error(server, workdir)
    assert f"the workers of Spark cannot run {server.python}" in message and WHERE in message


def test_with_the_right_python_the_same_server_plans(server: Server, workdir: Path) -> None:
    shutil.copy(worker_python(workdir), server.python)
    planned = run_module("kafka_recovery_plan", {"workdir": str(workdir), "run_id": RUN, "spark_remote": server.remote})
    assert planned.returncode == 0 and planned.result["summary"]["elect"] == 1, planned
