# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What came of the histories that were played, while they are played and at the end."""

from __future__ import annotations

import sys
import time
from collections import Counter

from simulation.history import Outcome
from simulation.shorten import kind_of

LINE_SECONDS = 60.0  # between two lines on how far it is


class Tally:
    """Counts outcomes. `histories`: how many. `bad`: the violations of those that ended badly, by seed."""

    def __init__(self) -> None:
        self.histories, self.bad = 0, dict[int, list[str]]()
        self._counts: Counter[str] = Counter()
        self._began = time.perf_counter()

    def add(self, seed: int, outcome: Outcome) -> None:
        """Count the outcome of a history."""
        self.histories += 1
        self._counts += outcome.counts
        if outcome.violations:
            self.bad[seed] = outcome.violations

    def line(self) -> str:
        """Return how far it is."""
        minutes = (time.perf_counter() - self._began) / 60
        return f"{minutes:.0f} minutes: {self.histories} histories played, {len(self.bad)} ended badly"

    def summary(self, first: int) -> list[str]:
        """Return what happened, and how often. `first`: the first seed."""
        seconds = time.perf_counter() - self._began
        hourly = self._counts["recoveries"] / seconds * 3600
        return [
            *(f"{number:9} {kind}" for kind, number in sorted(self._counts.items())),
            f"{self.histories} histories from seed {first} on in {seconds:.0f} s, {hourly:.0f} recoveries per hour, {len(self.bad)} ended badly",
        ]

    def first_of_each_kind(self) -> list[int]:
        """Return the first seed of each kind of violation."""
        kinds: dict[str, int] = {}
        for seed, violations in self.bad.items():
            kinds.setdefault(kind_of(violations[0]), seed)
        return [*kinds.values()]


class Progress:
    """Prints a line to the standard error each minute."""

    def __init__(self) -> None:
        self._next = time.monotonic() + LINE_SECONDS

    def show(self, line: str) -> None:
        """Print this line if a minute has passed since the last one."""
        if time.monotonic() >= self._next:
            print(line, file=sys.stderr, flush=True)
            self._next = time.monotonic() + LINE_SECONDS
