# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How evenly leadership can be spread at best, to compare with what was spread."""

from __future__ import annotations

from collections.abc import Sequence


def fewest(choices: Sequence[Sequence[int]]) -> int:
    """The smallest possible number of partitions on the broker that leads most, found by augmenting paths."""
    limit = -(-len(choices) // len({broker for choice in choices for broker in choice}))
    while not _fits(choices, limit):
        limit += 1
    return limit


def _fits(choices: Sequence[Sequence[int]], limit: int) -> bool:
    led: dict[int, list[int]] = {broker: [] for choice in choices for broker in choice}

    def seat(index: int, tried: set[int]) -> bool:
        for broker in choices[index]:
            if broker in tried:
                continue
            tried.add(broker)
            if len(led[broker]) < limit:
                led[broker].append(index)
                return True
            for seated in led[broker]:
                if seat(seated, tried):
                    led[broker].remove(seated)
                    led[broker].append(index)
                    return True
        return False

    return all(seat(index, set()) for index in range(len(choices)))
