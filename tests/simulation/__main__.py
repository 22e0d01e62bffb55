# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays simulated histories. `python -m simulation 1 1000` plays the seeds from 1 to 1000.

The first histories of each kind that end badly are shortened, kept and printed as stories.

`python -m simulation 5000 --minutes 60` plays seeds from 5000 on for an hour.

`python -m simulation FILE` plays one that was kept, and tells it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import closing
from itertools import count
from pathlib import Path

from simulation.drawn_script import drawn
from simulation.script import Script
from simulation.scripts_to_keep import MANY, keep, tell
from simulation.seed_pool import outcomes
from simulation.story_lines import names_of_runs, opening
from simulation.tally import Progress, Tally


def main() -> int:
    """Play what the arguments name. Return the exit code: 1 if a history ended badly."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", help="first seed, or a file with a script")
    parser.add_argument("last", type=int, nargs="?", help="last seed")
    parser.add_argument("--minutes", type=float, help="play seeds from the first one on for so long")
    parser.add_argument("--story", action="store_true", help="tell what happened in each history")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="histories that are played side by side")
    parser.add_argument(
        "--until",
        metavar="PHRASE",
        nargs="?",
        const="",
        help="stop at the first history with a violation that has this phrase, and keep none",
    )
    options = parser.parse_args()
    if not options.first.isdigit():
        try:
            script = Script.from_json(Path(options.first).read_text())
        except OSError as error:
            parser.error(f"cannot read the script {options.first}: {error.strerror}")
        except ValueError as error:
            parser.error(f"{options.first} is not a script of a history: {error}")
        return tell(script)
    first = int(options.first)
    last = first if options.last is None else options.last
    if last < first:
        parser.error(f"the last seed, {last}, is below the first one, {first}: no history would be played")
    if options.jobs < 1:
        parser.error("--jobs must be 1 or more")
    tally, progress = Tally(), Progress()
    try:
        _play(options, first, last, tally, progress)
    finally:  # also if a signal ends it
        print(*tally.summary(first), sep="\n", flush=True)
    for seed in tally.first_of_each_kind()[:MANY] if options.until is None else ():
        keep(seed, progress)
    return 1 if tally.bad else 0


def _play(options: argparse.Namespace, first: int, last: int, tally: Tally, progress: Progress) -> None:
    """Play seeds, to the last one, as long as the options say, or until one has the violation that they name."""
    until = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    seeds = range(first, last + 1) if until is None else count(first)
    with closing(outcomes(seeds, options.jobs, until)) as histories:
        for seed, outcome in histories:
            tally.add(seed, outcome)
            progress.show(tally.line())
            if options.story:
                print(opening(drawn(seed)), *names_of_runs(outcome.story), *outcome.story, "", sep="\n")
            if outcome.violations:
                wanted = [one for one in outcome.violations if options.until is not None and options.until in one]
                print(f"seed {seed}: {(wanted or outcome.violations)[0]}", flush=True)
                if wanted:
                    return


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is part of a history
        os.execve(sys.executable, [sys.executable, "-m", "simulation", *sys.argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"})
    sys.exit(main())
