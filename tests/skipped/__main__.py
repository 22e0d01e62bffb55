# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m skipped FOLDER`: show which tests were skipped, by the JUnit files of a folder."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from skipped.results import read


def main() -> int:
    """Print the table, and the counts of all tests as the last line. Fail if the folder holds no results."""
    folder = Path(sys.argv[1])
    results = read(sorted(folder.glob("*.xml")))
    console = Console()
    if not results.passed + results.failed:
        console.print(f"{folder} holds no test results: run make test", style="red")
        return 1
    if results.skipped:
        table = Table("tests", "file", "reason", title="Skipped tests")
        for (module, reason), number in sorted(results.skipped.items()):
            table.add_row(str(number), module, reason)
        console.print(table)
    console.print(results.sentence(), highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
