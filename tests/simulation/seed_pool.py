# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays seeds in processes side by side."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from simulation.drawn_script import drawn
from simulation.history import Outcome, play
from simulation.script import Script

AHEAD = 4  # seeds that wait for each process: one may take much longer than others
# New objects after which Python looks for cycles of them. With its own number, that takes a quarter of the time.
MANY_OBJECTS = 200_000

Played = tuple[int, Outcome]


def outcomes(seeds: Iterable[int], jobs: int, until: float | None = None) -> Generator[Played, None, None]:
    """Yield the outcomes of histories, in the order of their seeds. `until`: when no other one begins, in seconds of the monotonic clock."""
    waiting = deque[Future[Played]]()
    with ProcessPoolExecutor(jobs, initializer=_begin) as pool, _ending_with_processes(pool):
        for seed in seeds:
            if until is not None and time.monotonic() >= until:
                break
            waiting.append(pool.submit(_played_seed, seed))
            if len(waiting) == AHEAD * jobs:
                yield waiting.popleft().result()
        for future in waiting:
            if until is None or not future.cancel():
                yield future.result()


def exit_by_signal(number: int, _frame: Any) -> None:
    """Handle a signal: exit as a shell says of it, so that what is open is closed."""
    sys.exit(128 + number)


@contextmanager
def _ending_with_processes(pool: ProcessPoolExecutor) -> Iterator[None]:
    """End the processes that play histories if a signal ends this one, or if no more outcomes are wanted: they would play all that waits."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, exit_by_signal)
    try:
        yield
    except (SystemExit, GeneratorExit):
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _begin() -> None:
    """Get ready to play many histories. A terminal sends SIGINT to all processes: the first one ends these."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, exit_by_signal)
    be_quiet()
    gc.freeze()
    gc.set_threshold(MANY_OBJECTS)


def be_quiet() -> None:
    """Write no logs: kafka-python's say what the story says."""
    logging.disable(logging.CRITICAL)


def _played_seed(seed: int) -> Played:
    try:
        return seed, played(drawn(seed))
    except SystemExit as stopped:  # the folder of the history is removed by now; the pool would go on with other seeds
        os._exit(int(str(stopped.code)))


def played(script: Script) -> Outcome:
    """Return the outcome of a history. An error of the simulation, or of the product, is a violation too."""
    try:
        return play(script)
    except Exception as error:
        return Outcome([f"{type(error).__name__}: {error}"], traceback.format_exc().splitlines())
