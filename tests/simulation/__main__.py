# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays simulated histories. `python -m simulation 1 1000` plays the seeds from 1 to 1000; a history that ends badly is shortened, kept and told.

`python -m simulation 5000 --minutes 60` plays seeds from 5000 on for an hour.

`python -m simulation FILE` plays one that was kept, and tells it.
"""

from __future__ import annotations

import argparse
import gc
import logging
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import Any

from simulation.drawn_script import drawn
from simulation.history import Outcome, play
from simulation.script import Script
from simulation.shorten import kind_of, shortened
from simulation.story_lines import names_of_runs, opening

KEPT = Path(".cache/simulation")
PIECE = 20  # seeds that a process plays at a time
PIECES = 10  # between two looks at the clock, if the time is limited
# New objects after which Python looks for cycles of them. With its own number, that takes a quarter of the time.
MANY_OBJECTS = 200_000


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
            return _tell(Script.from_json(Path(options.first).read_text()))
        except OSError as error:
            parser.error(f"cannot read the script {options.first}: {error.strerror}")
    first = int(options.first)
    last = first if options.last is None else options.last
    if last < first:
        parser.error(f"the last seed, {last}, is below the first one, {first}: no history would be played")
    if options.jobs < 1:
        parser.error("--jobs must be 1 or more")
    until = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    counts: Counter[str] = Counter()
    bad: list[int] = []
    is_found = False
    histories = 0
    began = time.perf_counter()
    with ProcessPoolExecutor(options.jobs, initializer=_begin) as pool, ending_with_processes():
        for outcomes in chain.from_iterable(pool.map(_play_all, pieces) for pieces in _turns(first, last, until)):
            for seed, outcome in outcomes:
                histories += 1
                counts += outcome.counts
                if options.story:
                    print(opening(drawn(seed)), *names_of_runs(outcome.story), *outcome.story, "", sep="\n")
                if outcome.violations:
                    bad.append(seed)
                    wanted = [one for one in outcome.violations if options.until is not None and options.until in one]
                    is_found = is_found or bool(wanted)
                    print(f"seed {seed}: {(wanted or outcome.violations)[0]}", flush=True)
            if is_found:
                pool.shutdown(cancel_futures=True)
                return 1
    for kind, number in sorted(counts.items()):
        print(f"{number:9} {kind}")
    seconds = time.perf_counter() - began
    hourly = counts["recoveries"] / seconds * 3600
    print(f"{histories} histories from seed {first} on in {seconds:.0f} s, {hourly:.0f} recoveries per hour, {len(bad)} ended badly")
    for seed in bad[:3] if options.until is None else ():
        _keep(seed)
    return 1 if bad else 0


def _turns(first: int, last: int, until: float | None) -> Iterator[list[range]]:
    """Yield the seeds to play, in pieces. `until`: when to stop, in seconds of the monotonic clock; None: behind the seed `last`."""
    if until is None:
        yield [range(at, min(at + PIECE, last + 1)) for at in range(first, last + 1, PIECE)]
        return
    for at in count(first, PIECES * PIECE):
        if time.monotonic() >= until:
            return
        yield [range(at + number * PIECE, at + (number + 1) * PIECE) for number in range(PIECES)]


def exit_by_signal(number: int, _frame: Any) -> None:
    """Handle a signal: exit as a shell says of it, so that what is open is closed."""
    sys.exit(128 + number)


@contextmanager
def ending_with_processes() -> Iterator[None]:
    """End the processes that play histories if a signal ends this one in the block: they would play all that waits."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, exit_by_signal)
    try:
        yield
    except SystemExit:
        for process in multiprocessing.active_children():
            process.terminate()
        raise


def _begin() -> None:
    """Get ready to play many histories. A terminal sends SIGINT to all processes: the first one ends these."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, exit_by_signal)
    _be_quiet()
    gc.freeze()
    gc.set_threshold(MANY_OBJECTS)


def _be_quiet() -> None:
    logging.disable(logging.CRITICAL)  # kafka-python's log says what the story says


def _play_all(seeds: range) -> list[tuple[int, Outcome]]:
    try:
        return [(seed, played(drawn(seed))) for seed in seeds]
    except SystemExit as stopped:  # the folder of the history is removed by now; the pool would go on with other seeds
        os._exit(int(str(stopped.code)))


def played(script: Script) -> Outcome:
    """Return the outcome of a history. An error of the simulation, or of the product, is a violation too."""
    try:
        return play(script)
    except Exception as error:
        return Outcome([f"{type(error).__name__}: {error}"], traceback.format_exc().splitlines())


def _keep(seed: int) -> None:
    """Shorten a history, keep its script in a file, and tell it."""
    _be_quiet()
    first = played(drawn(seed)).violations
    if not first:
        print(f"seed {seed} ends well when it is played again: something in it is not decided by the seed")
        return
    script = shortened(drawn(seed), lambda one: kind_of(first[0]) in map(kind_of, played(one).violations))
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / f"{seed}.json"
    file.write_text(script.to_json())
    print(f"\nseed {seed}, shortened; play it again with: python -m simulation {file}")
    _tell(script)


def _tell(script: Script) -> int:
    _be_quiet()
    outcome = played(script)
    print(opening(script), *names_of_runs(outcome.story), *outcome.story, *(f"violation: {one}" for one in outcome.violations), sep="\n")
    return 1 if outcome.violations else 0


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is part of a history
        os.execve(sys.executable, [sys.executable, "-m", "simulation", *sys.argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"})
    sys.exit(main())
