# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Budget: divides the time for collecting the evidence of one cluster among its requests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline

# Beyond the end, for requests that any broker can answer, without which there is no evidence, and for the proof that a disk has failed.
BEYOND_SECONDS = 5.0
# Share of the time that is left when logs are read first. A broker that hangs uses all of it; the rest is for comparisons, offsets and history.
LOGS_SHARE = 2 / 3


class Budget:
    """`duration` seconds, which begin now.

    The state of the cluster (connections, brokers, partitions) gets the first half, at least BEYOND_SECONDS. Logs and all later requests get the
    rest, at least half of `duration`. Partitions without an answer of any replica can get `first_answer_seconds` more.
    """

    def __init__(self, duration: float, first_answer_seconds: float = 0.0) -> None:
        self.duration = duration
        self.first_answer_seconds = first_answer_seconds
        self._began = time.monotonic()
        self._end = self._began + duration
        self._logs_are_read = False

    @contextmanager
    def state(self) -> Iterator[None]:
        """Set a deadline for requests that any broker can answer: half of the time, or once logs were read BEYOND_SECONDS after its end."""
        end = self._end + BEYOND_SECONDS if self._logs_are_read else self._began + max(self.duration / 2, BEYOND_SECONDS)
        with deadline.until(end):
            yield

    @contextmanager
    def logs(self) -> Iterator[float]:
        """Yield the seconds for reading logs: LOGS_SHARE of the time that is left. Set a deadline that leaves room for `first_answer_seconds`.

        The rest is reserved for later requests, even if reading takes longer.
        """
        self._end = max(self._end, time.monotonic() + self.duration / 2)
        seconds = self._left() * LOGS_SHARE
        kept = self._left() - seconds
        with deadline.until(self._end + self.first_answer_seconds + BEYOND_SECONDS):
            yield seconds
        self._logs_are_read = True
        self._end = max(self._end, time.monotonic() + kept)

    @contextmanager
    def part(self, share: float = 1 / 2) -> Iterator[float]:
        """Set a deadline for one kind of requests: a `share` (0 to 1) of the time that is left. Yield its seconds."""
        seconds = self._left() * share
        with deadline.until(time.monotonic() + seconds):
            yield seconds

    def _left(self) -> float:
        return max(0.0, self._end - time.monotonic())
