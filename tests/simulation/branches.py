# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many branches and lines of the product simulated histories alone reach, by part: `python -m simulation.branches 1 400`.

pyproject.toml has the options of coverage.py. Branches that no history can reach are left out: not_reached.toml names them, and says why.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(".cache/coverage")
NOT_REACHED = Path(__file__).with_name("not_reached.toml")
PRODUCT = Path(__file__).parents[2] / "plugins" / "module_utils"


class Part(NamedTuple):
    """A part of the product: patterns of its `files` below module_utils, `without` those that another part counts, or that the simulation replaces."""

    files: tuple[str, ...]
    without: tuple[str, ...] = ()

    def has(self, file: str) -> bool:
        """Return whether a file is counted."""
        return any(fnmatch(file, pattern) for pattern in self.files) and not any(fnmatch(file, pattern) for pattern in self.without)


class Place(NamedTuple):
    """Branches that no history can reach: those that begin in a line of `file`, below module_utils, which has `line`, or in its class or function `within`."""

    file: str
    line: str
    within: str
    why: str


# How connections to nodes are made, and how answers arrive there in parts. The simulation has its own.
REPLACED = (
    "addresses", "answer_memory", "connection", "connection_diagnosis", "connection_probe", "kafka_python", "loopback_peers", "oauth", "sasl", "scram", "tls",
)  # fmt: skip
# Files that no history imports count, too.
PARTS = {
    "collect": Part(("evidence/*",)),
    "decide": Part(("decision/*",)),
    "save": Part(("saved_records/*", "election/saved_tails.py"), without=("saved_records/replay*",)),
    "replay": Part(("saved_records/replay*",)),
    "elect": Part(("election/*",)),
    "journal": Part(("common/journal_file.py", "election/reorder_journal.py", "election/replica_orders.py")),
    "reassign": Part(("reassignment/*",)),
    "client": Part(("client/*",), without=tuple(f"client/transport/{name}.py" for name in REPLACED)),
}
LEAST_PERCENT = 90
# Parts of whose branches at least so many must be reached.
RECOVERY = "collect", "decide", "save", "elect", "journal", "reassign"
COUNTS = "covered_branches", "num_branches", "covered_lines", "num_statements"


def main() -> int:
    """Play the seeds that the arguments name, and print the table. Return the exit code of the histories, 1 if they reach too few branches."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    # The order of sets is part of a history. Otherwise the simulation would start itself again, without coverage.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    coverage = [sys.executable, "-m", "coverage"]
    subprocess.run([*coverage, "erase"], env=environment, check=True)
    played = subprocess.run([*coverage, "run", "-m", "simulation", *sys.argv[1:]], env=environment, check=False)
    if played.returncode not in (0, 1):  # it was asked for nothing that can be played, or was stopped
        return played.returncode
    subprocess.run([*coverage, "combine", "--quiet"], env=environment, check=True)
    report = FOLDER / "report.json"
    subprocess.run([*coverage, "json", "--quiet", "-o", str(report)], env=environment, check=True)
    files = json.loads(report.read_text())["files"]
    for line in table(files):
        print(line)
    for name in (few := too_few(files)):
        print(f"{name}: less than {LEAST_PERCENT} % of the branches are reached", file=sys.stderr)
    return played.returncode or bool(few)


def places() -> list[Place]:
    """Return what not_reached.toml names."""
    groups = tomllib.loads(NOT_REACHED.read_text())["group"]
    return [Place(row["file"], row.get("line", ""), row.get("within", ""), group["why"]) for group in groups for row in group["places"]]


def counted(files: dict[str, dict[str, Any]]) -> dict[str, dict[str, Counter[str]]]:
    """Return the counts of each file of each part. `files`: as coverage.py reports them."""
    left_out = places()
    found: dict[str, dict[str, Counter[str]]] = {name: {} for name in PARTS}
    for path, report in files.items():
        file = path.partition("module_utils/")[2]
        counts = Counter({key: report["summary"][key] for key in COUNTS})
        counts["num_branches"] -= len(missing(report, file, left_out))
        for name in (name for name, part in PARTS.items() if part.has(file)):
            found[name][file] = counts
    return found


def table(files: dict[str, dict[str, Any]]) -> list[str]:
    """Return the lines of the table: the files of each part, and then the part."""
    lines = []
    for name, of_files in counted(files).items():
        lines += [_line(f"  {file}", counts) for file, counts in of_files.items()]
        lines.append(_line(name, _total(of_files)))
    return lines


def too_few(files: dict[str, dict[str, Any]]) -> list[str]:
    """Return the parts of the recovery of whose branches less than LEAST_PERCENT are reached."""
    totals = {name: _total(of_files) for name, of_files in counted(files).items() if name in RECOVERY}
    return [name for name, total in totals.items() if 100 * total["covered_branches"] < LEAST_PERCENT * total["num_branches"]]


def _total(of_files: Mapping[str, Counter[str]]) -> Counter[str]:
    return sum(of_files.values(), Counter[str]())


def missing(report: dict[str, Any], file: str, left_out: list[Place]) -> set[tuple[int, int]]:
    """Return the branches of a file that are not reached, and named in `left_out`. `report`: of coverage.py on this file."""
    own = [place for place in left_out if place.file == file]
    source = (PRODUCT / file).read_text().splitlines() if own else []
    found: set[tuple[int, int]] = set()
    for place in own:
        branches = [(begin, end) for begin, end in _region(report, place.within)["missing_branches"]]
        found |= {branch for branch in branches if place.line in source[branch[0] - 1]}
    return found


def _region(report: dict[str, Any], within: str) -> dict[str, Any]:
    """Return the report of a class or function, of the whole file without a name."""
    if not within:
        return report
    regions: Iterator[dict[str, Any]] = (report[kind][within] for kind in ("classes", "functions") if within in report[kind])
    return next(regions, {"missing_branches": []})


def _line(name: str, counts: Mapping[str, int]) -> str:
    shares = [
        _share(counts[reached], counts[number], what)
        for reached, number, what in (("covered_branches", "num_branches", "branches"), ("covered_lines", "num_statements", "lines"))
    ]
    return f"{name:50} {'  '.join(shares)}"


def _share(reached: int, number: int, what: str) -> str:
    return f"{reached:5} of {number:5} {what}" + (f" {100 * reached // number:4} %" if number else 7 * " ")


if __name__ == "__main__":
    sys.exit(main())
