# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast brokers answer, so that a slow one does not delay the others: brokers are read beside those that are as fast, and the fastest first."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

# Seconds for the answers of one round. A broker whose answer takes longer is read again with the next limit, once the faster ones are finished.
# Behind the last limit only the time limit of a request ends a round.
ROUND_SECONDS = (1.0, 2.0, 4.0)
# Answers of a slow broker from which its speed is estimated.
ANSWERS = 3


@dataclass
class _Pace:
    """The place of a broker in ROUND_SECONDS. Since when it is slow, and how many answers and offsets it has given since then."""

    level: int = 0
    since: float = 0.0
    answers: int = 0
    offsets: int = 0


class BrokerPaces:
    """The paces of brokers. A broker that is not known is fast. `clock`: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._paces: dict[int, _Pace] = {}

    def fastest(self, brokers: Iterable[int]) -> list[int]:
        """Return those of the brokers that are read next, in their order: the fastest ones."""
        levels = {broker: self._pace(broker).level for broker in brokers}
        return [broker for broker, level in levels.items() if level == min(levels.values())]

    def seconds(self, brokers: Collection[int], waiting: Collection[int]) -> float | None:
        """Return the seconds for a round with `brokers`, which `fastest` returned. None for no limit: no other broker waits, or all are slow."""
        level = max(self._pace(broker).level for broker in brokers)
        return ROUND_SECONDS[level] if len(waiting) > 1 and level < len(ROUND_SECONDS) else None

    def slow_down(self, broker: int) -> None:
        """Give a broker more time that has not answered within the seconds of a round."""
        pace = self._paces.setdefault(broker, _Pace(since=self._clock()))
        pace.level += 1

    def add(self, broker: int, offsets: int) -> None:
        """Count an answer of a broker with so many offsets."""
        if self.is_slow(broker):
            self._paces[broker].answers += 1
            self._paces[broker].offsets += offsets

    def is_slow(self, broker: int) -> bool:
        """Return whether a broker was slower than a round allowed."""
        return broker in self._paces

    def is_too_slow(self, broker: int, offsets: int, seconds: float) -> bool:
        """Return whether a slow broker would need more than `seconds` for `offsets`, as far as its answers show."""
        pace = self._pace(broker)
        return pace.answers >= ANSWERS and offsets * (self._clock() - pace.since) > seconds * pace.offsets

    def _pace(self, broker: int) -> _Pace:
        return self._paces.get(broker, _Pace())
