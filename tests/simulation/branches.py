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

FOLDER = Path(".cache/coverage")
# Each part: patterns of its files, below module_utils. Files that no history imports are not counted.
PARTS = {
    "collect": ("evidence/*",),
    "decide": ("decision/*",),
    "save": ("saved_records/[!r]*", "saved_records/r[!e]*", "saved_records/re[!p]*", "saved_records/repli*", "election/saved_tails.py"),
    "replay": ("saved_records/replay*",),
    "elect": ("election/*",),
    "journal": ("common/journal_file.py", "election/reorder_journal.py", "election/replica_orders.py"),
    "reassign": ("reassignment/*", "reassignment/throttle/*"),
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
    """Return the lines of the table: each part, and the files of it that are reached least. `files`: as coverage.py reports them."""
    lines = []
    for part, patterns in PARTS.items():
        total: Counter[str] = Counter()
        for path, report in files.items():
            name = path.partition("module_utils/")[2]
            if any(fnmatch(name, pattern) for pattern in patterns):
                total.update({key: report["summary"][key] for key in ("covered_branches", "num_branches")})
                lines.append(_line(f"  {name}", report["summary"]))
        lines.append(_line(part, total))
    return lines


def _line(name: str, counts: dict[str, int]) -> str:
    reached, number = counts["covered_branches"], counts["num_branches"]
    return f"{name:50} {reached:5} of {number:5} branches" + (f" {100 * reached // number:4} %" if number else "")


if __name__ == "__main__":
    sys.exit(main())
