# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes that Cosmic Ray makes of one file of the product, each tried with the unit tests of that file, and then with the simulation.

`python -m simulation.mechanical_mutants decision/decide.py` lists those that neither finds. What was tried is kept: the same command goes on.
A copy of the product has the mistakes.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from simulation.mutants import copy_product

FOLDER = Path(".cache/mutants")
SEEDS = 1, 100
SECONDS = 900.0  # of one mistake: some make endless loops
# The unit tests of each file, below tests/unit.
TESTS = {
    "decision/decide.py": (
        "decision/test_decide.py",
        "decision/test_designation.py",
        "decision/test_failed_comparisons.py",
        "decision/test_decide_against_model_rule.py",
    ),
    "decision/controller.py": ("decision/test_controller.py", "decision/test_forecast.py"),
    "decision/loss.py": ("decision/test_loss.py", "decision/test_lost_members.py"),
    "election/guards.py": ("election/test_guards.py", "election/test_designated_election.py"),
    "common/journal_file.py": ("election/test_reorder_journal.py", "election/test_stalled_runs.py"),
    "election/reorder_journal.py": ("election/test_reorder_journal.py", "election/test_replica_orders.py"),
    "saved_records/save.py": ("saved_records/test_save.py", "election/test_saved_tails.py"),
}
# In most places this operator is a type, `X | None`, which nothing evaluates.
LEFT_OUT = ["core/ReplaceBinaryOperator_BitOr_.*"]


def main() -> int:
    """Try all mistakes of the file that the argument names. Return the exit code: 1 if some are not found."""
    if len(sys.argv) != 2 or sys.argv[1] not in TESTS:
        print(f"usage: python -m simulation.mechanical_mutants FILE, which is one of {', '.join(TESTS)}")
        return 2
    file = sys.argv[1]
    folder = (FOLDER / file.replace("/", ".")).absolute()
    config, session = folder / "config.toml", folder / "session.sqlite"
    if not session.exists():
        _begin(folder, file)
    _call(["cosmic-ray", "exec", str(config), str(session)], folder)
    _call(["cr-report", "--surviving-only", "--show-diff", str(session)], folder)
    return _call(["cr-rate", "--fail-over", "0", str(session)], folder)


def _begin(folder: Path, file: str) -> None:
    """Copy the product, write the configuration, and list the mistakes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    mutated = copy_product(folder) / file
    config, session = folder / "config.toml", folder / "session.sqlite"
    tests = " ".join(f"tests/unit/{name}" for name in TESTS[file])
    python = shlex.quote(sys.executable)
    command = f"{python} -m pytest -x -q -p no:cacheprovider {tests} && {python} -m simulation {SEEDS[0]} {SEEDS[1]} --until --jobs 1"
    config.write_text(
        f"[cosmic-ray]\nmodule-path = {str(mutated)!r}\ntimeout = {SECONDS}\ntest-command = {f'sh -c {shlex.quote(command)}'!r}\n"
        f'[cosmic-ray.distributor]\nname = "local"\n[cosmic-ray.filters.operators-filter]\nexclude-operators = {LEFT_OUT}\n'
    )
    if _call(["cosmic-ray", "baseline", str(config)], folder):
        raise SystemExit("the tests fail without a mistake")
    _call(["cosmic-ray", "init", str(config), str(session)], folder)
    _call(["cr-filter-operators", str(session), str(config)], folder)


def _call(command: list[str], folder: Path) -> int:
    """Run a command of Cosmic Ray with the copy of the product, and without slow tests. Return its exit code."""
    program = str(Path(sys.executable).with_name(command[0]))
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTEST_ADDOPTS": "-m 'not slow and not long'"}
    return subprocess.run([program, *command[1:]], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
