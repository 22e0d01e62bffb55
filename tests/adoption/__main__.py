# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make adoption`: what Ansible's own tools say of the collection, on every ansible-core that it supports."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from adoption import trees
from adoption.cells import CELLS, Cell, MissingPythonError
from adoption.checks import CHECKS, Check, Stage, environment, home

WORK = trees.CHECKOUT / ".cache/adoption"
# Reaches from one checkout to the next, and its path is short: the paths of ansible-test's own environments stand in first lines of scripts.
HOME = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "streamops-kafka-recovery/ansible-test"
LAST_LINES = 40


def main() -> int:
    """Run the checks, print a table of seconds, and fail if any of them does."""
    cli = argparse.ArgumentParser(prog="make adoption", description=__doc__)
    cli.add_argument(
        "--cells", nargs="*", default=[], help=f"of {', '.join(cell.name for cell in CELLS)}; default: those whose Python is there"
    )
    cli.add_argument("--checks", nargs="*", default=[], help=f"of {', '.join(CHECKS)}; default: all")
    asked = cli.parse_args()
    for name in (*(set(asked.cells) - {cell.name for cell in CELLS}), *(set(asked.checks) - set(CHECKS))):
        cli.error(f"{name} is none of these: see --help")
    checks = {name: check for name, check in CHECKS.items() if name in (asked.checks or CHECKS)}
    cells = [cell for cell in CELLS if cell.name in (asked.cells or [cell.name])]
    console = Console(highlight=False, width=max(140, Console().width))
    table = Table("Python", "ansible-core", *checks)
    judged = {cell: _judge(cell, checks, console, must=bool(asked.cells)) for cell in cells}
    for cell, row in judged.items():
        table.add_row(cell.python, cell.release, *(row.get(name, "") for name in checks))
    console.print(table)
    results = [result for answers in judged.values() for result in answers.values()]
    failed = [result for result in results if result.startswith("FAILED")]
    console.print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed or not results else 0


def _judge(cell: Cell, checks: dict[str, Check], console: Console, must: bool) -> dict[str, str]:
    """What each check says on this cell, by its name."""
    try:
        console.print(f"[dim]{cell.name}: virtual environment ...[/]")
        tools = cell.environment(WORK / "environments")
    except MissingPythonError as error:
        console.print(f"{cell.name} skipped: {error}")
        return {"lint": f"FAILED: no Python {cell.python}"} if must else {}
    folder = WORK / cell.name
    tree = trees.checkout(folder / "checkout")
    artifact = trees.build(tree, folder / "artifact", tools)
    stage = Stage(cell, tools, tree, artifact, trees.installed(artifact, folder / "installed", tools))
    return {name: _run(name, check, stage, console) for name, check in checks.items() if cell.newest or not check.newest}


def _run(name: str, check: Check, stage: Stage, console: Console) -> str:
    log = WORK / stage.cell.name / f"{name}.log"
    began = time.monotonic()
    with log.open("w") as file:
        process = subprocess.run(
            check.command(stage),
            cwd=check.folder(stage),
            env=environment(check, stage, home(HOME)),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    seconds = time.monotonic() - began
    said = log.read_text(errors="replace")
    problems = _problems(process.returncode, said, check)
    console.print(f"{stage.cell.name} {name}: {'; '.join(problems) or 'passed'}, {seconds:.0f} s, {log.relative_to(trees.CHECKOUT)}")
    if problems:
        console.print("\n".join(said.splitlines()[-LAST_LINES:]), markup=False)
    return f"{'FAILED, ' if problems else ''}{seconds:.0f} s"


def _problems(returncode: int, said: str, check: Check) -> Sequence[str]:
    found = [f"exit code {returncode}"] if returncode else []
    found += [f'"{words}" is missing' for words in check.says if words not in said]
    return found + [f'"{words}" is there' for words in check.never_says if words in said]


if __name__ == "__main__":
    sys.exit(main())
