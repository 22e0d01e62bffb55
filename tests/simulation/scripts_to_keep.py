# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the shortened scripts of histories that end badly, and plays scripts again."""

from __future__ import annotations

import sys
import time
from itertools import count
from pathlib import Path

from simulation.drawn_script import drawn
from simulation.script import Script
from simulation.seed_pool import be_quiet, played
from simulation.shorten import kind_of, shortened
from simulation.story_lines import names_of_runs, opening
from simulation.tally import Progress

SHORTENED = Path(".cache/simulation")
MANY = 3  # scripts that are kept, each of another kind
SECONDS = 300.0  # for the shortening of each one


def keep(seed: int, progress: Progress) -> None:
    """Shorten a history that ended badly as far as the time allows, keep its script in a file, and tell it.

    The file has the whole script before, and then each shorter one: a process that is killed meanwhile has kept what it found.
    """
    be_quiet()
    print(f"shortening seed {seed}", file=sys.stderr, flush=True)
    script = drawn(seed)
    first = played(script).violations
    if not first:
        print(f"seed {seed} ends well when it is played again: something in it is not decided by the seed")
        return
    SHORTENED.mkdir(parents=True, exist_ok=True)
    file = SHORTENED / f"{seed}.json"
    file.write_text(script.to_json())
    numbers, until = count(1), time.monotonic() + SECONDS

    def is_bad(shorter: Script) -> bool:
        if time.monotonic() > until:
            return False
        progress.show(f"shortening seed {seed}: {next(numbers)} scripts tried")
        if kind_of(first[0]) not in map(kind_of, played(shorter).violations):
            return False
        file.write_text(shorter.to_json())
        return True

    script = shortened(script, is_bad)
    if time.monotonic() > until:
        print(f"seed {seed} could be shorter: {SECONDS:.0f} s were over", file=sys.stderr, flush=True)
    print(f"\nseed {seed}, shortened; play it again on this commit with: {_python()} -m simulation {file}", flush=True)
    tell(script)


def _python() -> Path:
    """Return the Python of now as a shell in this folder finds it."""
    python = Path(sys.executable)
    return python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python


def tell(script: Script) -> int:
    """Play a script, and print what happens. Return the exit code: 1 if it ends badly."""
    be_quiet()
    outcome = played(script)
    print(opening(script), *names_of_runs(outcome.story), *outcome.story, *(f"violation: {one}" for one in outcome.violations), sep="\n")
    return 1 if outcome.violations else 0
