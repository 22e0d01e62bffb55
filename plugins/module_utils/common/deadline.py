# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deadline: the end of the time that a caller has for all of its requests together, however many rounds they take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# No node answers in less.
LEAST_SECONDS = 0.01

_END: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def until(end: float | None) -> Iterator[None]:
    """Requests of this thread end at `end` (of the monotonic clock, None: as they would without), or at that of the block around this one."""
    ends = [one for one in (end, _END.get()) if one is not None]
    token = _END.set(min(ends, default=None))
    try:
        yield
    finally:
        _END.reset(token)


def has_passed() -> bool:
    """Whether there is a deadline, and no time is left for another request."""
    end = _END.get()
    return end is not None and time.monotonic() >= end - LEAST_SECONDS


def end() -> float | None:
    """The deadline, None if there is none."""
    return _END.get()


def at_most(seconds: float) -> float:
    """These seconds, or what is left until the deadline if that is less."""
    end = _END.get()
    return seconds if end is None else max(0.0, min(seconds, end - time.monotonic()))


def end_of_round() -> float | None:
    """When a round of requests that begins now has to end, None if there is no deadline.

    It takes at most half of what is left: a broker that hangs leaves the others time for the rounds that follow.
    """
    end = _END.get()
    now = time.monotonic()
    return None if end is None else now + max(0.0, end - now) / 2
