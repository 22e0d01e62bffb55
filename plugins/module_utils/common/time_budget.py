# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Budget: how the time for the evidence of one cluster is divided among all that has to be asked for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline

# For what any one broker can answer, and for the proof that a disk has failed, beyond the end. Without the first there is no evidence at all.
BEYOND_SECONDS = 5.0
# Of what is left when logs are read for the first time. A broker that hangs takes all of it, and the rest is for comparisons, offsets and history.
LOGS_SHARE = 2 / 3


class Budget:
    """`duration` seconds from now on.

    The state of the cluster (connections, brokers, partitions) has the first half of them, at least BEYOND_SECONDS. Logs and all that follows have what is
    left, at least half of `duration`. Partitions of which no replica answers can have `first_answer_seconds` more.
    """

    def __init__(self, duration: float, first_answer_seconds: float = 0.0) -> None:
        self.duration = duration
        self.first_answer_seconds = first_answer_seconds
        self._began = time.monotonic()
        self._end = self._began + duration
        self._logs_are_read = False

    @contextmanager
    def state(self) -> Iterator[None]:
        """Bound questions that any one broker can answer."""
        end = self._end + BEYOND_SECONDS if self._logs_are_read else self._began + max(self.duration / 2, BEYOND_SECONDS)
        with deadline.until(end):
            yield

    @contextmanager
    def logs(self) -> Iterator[float]:
        """Yield the seconds for reading logs. The rest is kept for what follows, however long that takes."""
        self._end = max(self._end, time.monotonic() + self.duration / 2)
        seconds = self._left() * LOGS_SHARE
        kept = self._left() - seconds
        with deadline.until(self._end + self.first_answer_seconds + BEYOND_SECONDS):
            yield seconds
        self._logs_are_read = True
        self._end = max(self._end, time.monotonic() + kept)

    @contextmanager
    def part(self, share: float = 1 / 2) -> Iterator[float]:
        """Bound one kind of questions to a share of what is left. Yield its seconds."""
        seconds = self._left() * share
        with deadline.until(time.monotonic() + seconds):
            yield seconds

    def _left(self) -> float:
        return max(0.0, self._end - time.monotonic())
