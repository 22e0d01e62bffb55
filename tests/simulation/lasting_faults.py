# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that last for some seconds, and end by themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

from simulation.world import World


class LastingFaults:
    """Ends faults. One that strikes again while it lasts ends when the longer of the two does."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._until: dict[Hashable, float] = {}

    def last(self, fault: Hashable, seconds: float, end: Callable[[], None]) -> float:
        """Let a fault last for so many seconds, then call `end`. Return when that is at the earliest. `fault`: what is wrong, and of which node or process."""
        self._until[fault] = max(self._world.now + seconds, self._until.get(fault, -math.inf))
        self._world.after(seconds, lambda: end() if self._world.now >= self._until[fault] else None)
        return self._until[fault]
