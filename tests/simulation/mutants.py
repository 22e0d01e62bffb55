# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes (mutants.toml), each one put into a copy of the product: the simulation must find it.

`python -m simulation.mutants WORD` plays those with this word, without one all.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

import ansible_collections.streamops.kafka_recovery as collection

ROOT = Path(next(iter(collection.__path__))).resolve()
MUTANTS = Path(__file__).with_suffix(".toml")
MODULE_UTILS = "plugins/module_utils"
SEEDS = 1, 2000
SECONDS = 1800


class Mutant(NamedTuple):
    """A mistake: in `file` (below module_utils) `old` is replaced by `new`."""

    what: str
    file: str
    old: str
    new: str


def mutants() -> list[Mutant]:
    """Return all of them."""
    return [Mutant(**row) for row in tomllib.loads(MUTANTS.read_text())["mutant"]]


def main() -> int:
    """Play those that the arguments name. Return the exit code: 1 if one is not found."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    survivors = [mutant.what for mutant in mutants() if word in mutant.what and not is_found(mutant)]
    print("not found:", survivors or "none")
    return 1 if survivors else 0


def is_found(mutant: Mutant) -> bool:
    """Return whether a seed in SEEDS ends badly with this mistake. Raises ValueError if the product does not have the text any more."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "ansible_collections/streamops/kafka_recovery")
        shutil.copytree(ROOT / MODULE_UTILS, copy / MODULE_UTILS, ignore=shutil.ignore_patterns("__pycache__"))
        file = copy / MODULE_UTILS / mutant.file
        text = file.read_text()
        if text.count(mutant.old) != 1:
            raise ValueError(f"{mutant.what}: {mutant.file} has the text {text.count(mutant.old)} times")
        file.write_text(text.replace(mutant.old, mutant.new))
        command = [sys.executable, "-m", "simulation", *map(str, SEEDS), "--first-bad"]
        environment = {**os.environ, "PYTHONPATH": folder}
        played = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    found = re.search(r"^seed (\d+): (.*)", played.stdout, re.M)
    print(
        f"{'found' if found else 'NOT FOUND'}: {mutant.what}" + (f": seed {found[1]}: {found[2][:140]}" if found else played.stderr[-300:]),
        flush=True,
    )
    return found is not None


if __name__ == "__main__":
    sys.exit(main())
