# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which runs an election may come from, and what of them excuses it: leaders that an operator named for them, wrong answers that they got."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from simulation.change_answers import FORWARD_SECONDS
from simulation.kraft import Key
from simulation.world import World

# After the end of a run its last requests are carried out by brokers that work, and by those that hang or do not reach the controllers.
AFTER_RUN_SECONDS, LATE_SECONDS = 4.0, FORWARD_SECONDS + 20.0
# Requests that a broker answers from its own logs: no other one knows these.
FROM_OWN_LOG = "ListOffsetsRequest", "FetchRequest", "OffsetForLeaderEpochRequest"
# Requests that state the ISR and the ELR. One broker is asked.
OF_STATES = "DescribeTopicPartitionsRequest", "MetadataRequest"


@dataclass
class Run:
    """A run. `liars`: brokers that answered it wrongly about their logs. `misled`: it got a wrong answer, of any kind. `misstated`: about partitions.

    `named`: partitions with leaders.
    """

    ended: float = math.inf
    liars: set[int] = field(default_factory=set)
    misstated: bool = False
    misled: bool = False
    named: set[Key] = field(default_factory=set)


class Runs:
    """The runs of a history. All that work at a time share what excuses one of them."""

    def __init__(self, world: World) -> None:
        self._world, self._runs = world, list[Run]()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Note a run, which works in the block."""
        run = Run()
        self._runs.append(run)
        try:
            yield
        finally:
            run.ended = self._world.now

    def note_wrong_answer(self, broker: int, request: str) -> None:
        """Note that a broker answers a request wrongly."""
        for run in self._runs:
            if run.ended == math.inf:
                run.misled = True
                run.misstated |= request in OF_STATES
                run.liars |= {broker} if request in FROM_OWN_LOG else set()

    def name(self, keys: Collection[Key]) -> None:
        """Note that an operator names leaders of these partitions for the runs that work now."""
        for run in self._runs:
            run.named |= {*keys} if run.ended == math.inf else set()

    def _of_request(self) -> Iterator[Run]:
        """Yield the runs that may have sent the request that is carried out now."""
        since = self._world.now - (LATE_SECONDS if self._world.late else AFTER_RUN_SECONDS)
        yield from (run for run in self._runs if run.ended >= since)

    def are_working(self) -> bool:
        """Return whether a run works now."""
        return any(run.ended == math.inf for run in self._runs)

    def liars(self) -> set[int]:
        """Return the brokers whose logs may be other ones than the run knows that has sent the request of now."""
        return {broker for run in self._of_request() for broker in run.liars}

    def is_misstated(self) -> bool:
        """Return whether a broker may have stated partitions wrongly to the run that has sent the request of now."""
        return any(run.misstated for run in self._of_request())

    def is_misled(self) -> bool:
        """Return whether the run that has sent the request of now may have got wrong answers."""
        return any(run.misled for run in self._of_request())

    def has_named(self, key: Key) -> bool:
        """Return whether an operator may have named the leader that is elected now."""
        return any(key in run.named for run in self._of_request())
