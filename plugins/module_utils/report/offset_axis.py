# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The axis of a drawing: a column for each offset that matters. Pure.

Offsets that differ have columns that differ, as long as there are enough columns. A stretch that is much longer than all others, as the common beginning of
two logs is, is broken: it gets few columns, so that the rest is drawn large.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

# The columns of a broken stretch, beside the least that every stretch gets. In its middle stand two signs of the break.
_BROKEN = 6
# A stretch is broken if it is so many times as long as all others together.
_LONG = 8
_MOST_BREAKS = 3


class OffsetAxis:
    """Columns 0 to `width` - 1 for `offsets`. `room`: the least number of columns from one offset to the next, if they suffice.

    `breaks`: the first of the two columns of each break.
    """

    def __init__(self, offsets: Iterable[int], width: int, room: int = 3) -> None:
        self.offsets = sorted({*offsets})
        gaps = [after - before for before, after in pairwise(self.offsets)]
        least = max(0, min(room, (width - 1) // max(1, len(gaps))))
        free, broken = width - 1 - least * len(gaps), _long_gaps(gaps)
        # Without columns to draw the rest large, a break is of no use.
        broken = broken if free - _BROKEN * len(broken) >= width // 4 else set()
        free -= _BROKEN * len(broken)
        total = sum(gap for place, gap in enumerate(gaps) if place not in broken)
        columns, breaks, passed = [0], [], 0
        for place, gap in enumerate(gaps):
            passed += 0 if place in broken else gap
            column = least * (place + 1) + _BROKEN * sum(each <= place for each in broken) + (free * passed // total if total else 0)
            if place in broken:
                breaks.append((columns[-1] + column) // 2)
            columns.append(column)
        self._columns = dict(zip(self.offsets, columns, strict=False))
        self.breaks = tuple(breaks)

    def column(self, offset: int) -> int:
        """Return the column of one of the axis's offsets. Raises KeyError for any other."""
        return self._columns[offset]


def _long_gaps(gaps: list[int]) -> set[int]:
    """Return the places of the stretches to break: as many of the longest as there are of which each is much longer than all others together."""
    by_length = sorted(range(len(gaps)), key=lambda place: (-gaps[place], place))
    for count in range(min(_MOST_BREAKS, len(gaps) - 1), 0, -1):
        rest = sum(gaps[place] for place in by_length[count:])
        if gaps[by_length[count - 1]] > _LONG * rest:
            return {*by_length[:count]}
    return set()
