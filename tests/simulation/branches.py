# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many branches of the product simulated histories alone reach, by part: `python -m simulation.branches 1 400`.

pyproject.toml has the options of coverage.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(".cache/coverage")


class Part(NamedTuple):
    """A part of the product: patterns of its `files` below module_utils, `without` those that another part counts."""

    files: tuple[str, ...]
    without: str = ""


# Files that no history imports count, too.
PARTS = {
    "collect": Part(("evidence/*",)),
    "decide": Part(("decision/*",)),
    "save": Part(("saved_records/*", "election/saved_tails.py"), without="saved_records/replay*"),
    "replay": Part(("saved_records/replay*",)),
    "elect": Part(("election/*",)),
    "journal": Part(("common/journal_file.py", "election/reorder_journal.py", "election/replica_orders.py")),
    "reassign": Part(("reassignment/*",)),
}


def main() -> int:
    """Play the seeds that the arguments name, and print the table. Return the exit code of the histories."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    # The order of sets is part of a history. Otherwise the simulation would start itself again, without coverage.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    coverage = [sys.executable, "-m", "coverage"]
    subprocess.run([*coverage, "erase"], env=environment, check=True)
    played = subprocess.run([*coverage, "run", "-m", "simulation", *sys.argv[1:]], env=environment, check=False)
    subprocess.run([*coverage, "combine", "--quiet"], env=environment, check=True)
    report = FOLDER / "report.json"
    subprocess.run([*coverage, "json", "--quiet", "-o", str(report)], env=environment, check=True)
    for line in table(json.loads(report.read_text())["files"]):
        print(line)
    return played.returncode


def table(files: dict[str, dict[str, dict[str, int]]]) -> list[str]:
    """Return the lines of the table: the files of each part, and then the part. `files`: as coverage.py reports them."""
    lines = []
    for name, part in PARTS.items():
        total: Counter[str] = Counter()
        for path, report in files.items():
            file = path.partition("module_utils/")[2]
            if any(fnmatch(file, pattern) for pattern in part.files) and not fnmatch(file, part.without):
                total.update({key: report["summary"][key] for key in ("covered_branches", "num_branches")})
                lines.append(_line(f"  {file}", report["summary"]))
        lines.append(_line(name, total))
    return lines


def _line(name: str, counts: dict[str, int]) -> str:
    reached, number = counts["covered_branches"], counts["num_branches"]
    return f"{name:50} {reached:5} of {number:5} branches" + (f" {100 * reached // number:4} %" if number else "")


if __name__ == "__main__":
    sys.exit(main())
