# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of skipped tests, from results that pytest itself has written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repository_root import ROOT

TESTS = """
import pytest

def test_good():
    pass

@pytest.mark.parametrize("number", [1, 2])
def test_without_a_tool(number):
    pytest.skip("promtool is missing: install prometheus")

def test_bad():
    assert False

@pytest.fixture
def broken():
    raise OSError

def test_with_a_broken_fixture(broken):
    pass
"""


def show(folder: Path) -> subprocess.CompletedProcess[str]:
    """What `python -m skipped` prints on a wide terminal."""
    return subprocess.run(
        [sys.executable, "-m", "skipped", str(folder)], capture_output=True, text=True, check=False, env={"COLUMNS": "200"}
    )


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder with the results of TESTS, and nothing of this repository's configuration."""
    (tmp_path / "test_it.py").write_text(TESTS)
    folder = tmp_path / "junit"
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        f"--junitxml={folder}/it.xml",
        "test_it.py",
    ]
    assert subprocess.run(argv, cwd=tmp_path, capture_output=True, check=False).returncode == 1
    return folder


def test_each_reason_is_shown_with_the_number_of_its_tests(results: Path) -> None:
    shown = show(results)
    row = next(line for line in shown.stdout.splitlines() if "promtool" in line)
    assert "2" in row and "test_it" in row and "install prometheus" in row
    assert shown.stdout.splitlines()[-1] == "1 passed, 2 failed, 2 skipped"
    assert shown.returncode == 0


def test_a_folder_without_results_fails(tmp_path: Path) -> None:
    assert show(tmp_path).returncode == 1


# What stands for pytest in the runs below: it leaves a test that passed and one that was skipped (in the part FAILING: failed) where --junitxml says.
FAKE_PYTEST = """#!/bin/sh
for argument; do case "$argument" in --junitxml=*) file="${argument#*=}"; part="$(basename "$file" .xml)";; esac; done
mkdir -p "$(dirname "$file")"
if [ "$part" = "$FAILING" ]; then outcome='<failure/>'; else outcome='<skipped message="no tool"/>'; fi
echo "<testsuite><testcase/><testcase classname='$part'>$outcome</testcase></testsuite>" > "$file"
[ "$part" != "$FAILING" ]
"""
# What stands for python notes the simulation, which then ends badly.
FAKE_PYTHON = """#!/bin/sh
[ "$2" = simulation ] && {{ echo "$@" > simulated; exit 1; }}
[ "$2" = skipped ] || exit 0
exec {python} "$@"
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with this repository's Makefile, and programs of which only the table is real."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    programs = {"pytest": FAKE_PYTEST, "python": FAKE_PYTHON.format(python=sys.executable)}
    programs |= dict.fromkeys(("ruff", "mypy", "lint-imports", "djlint", "deno", "yamllint", "ansible-lint", "molecule"), "#!/bin/sh\n")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    fetched = (".cache/witness/witness", ".cache/axe/node_modules/axe-core/axe.min.js")
    for name in ("requirements.txt", "requirements-dev.txt", ".venv/.ready", *fetched):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for name, text in programs.items():
        (tmp_path / ".venv" / "bin" / name).write_text(text)
        (tmp_path / ".venv" / "bin" / name).chmod(0o755)
    return tmp_path


def make(checkout: Path, target: str, failing: str) -> subprocess.CompletedProcess[str]:
    """Run make, with the part `failing` whose test fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", target], cwd=checkout, env={**environment, "FAILING": failing}, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(
    ("target", "failing", "counts"),
    [
        ("test", "", "10 passed, 0 failed, 10 skipped"),
        ("test", "unit-plain", "1 failed"),
        ("test", "on-docs", "1 failed"),
        ("test-long", "on-long", "1 passed, 1 failed, 0 skipped"),
    ],
)
def test_the_table_ends_a_run_in_which_a_part_fails_too(checkout: Path, target: str, failing: str, counts: str) -> None:
    done = make(checkout, target, failing)
    assert counts in done.stdout.splitlines()[-1], done
    assert (done.returncode != 0) is bool(failing), done


@pytest.mark.parametrize(("failing", "counts"), [("on-long", "1 passed, 1 failed, 0 skipped"), ("", "3 passed, 0 failed, 3 skipped")])
def test_the_hour_of_simulation_is_played_whatever_failed_before(checkout: Path, failing: str, counts: str) -> None:
    done = make(checkout, "test-long", failing)
    assert "--minutes 60" in (checkout / "simulated").read_text()
    assert counts in done.stdout.splitlines()[-1] and done.returncode != 0, done
