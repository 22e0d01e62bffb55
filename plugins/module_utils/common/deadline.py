# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deadline: the end of the time that a caller has for all of its requests together, however many rounds they take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# No node answers faster.
LEAST_SECONDS = 0.01

_END: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def until(end: float | None) -> Iterator[None]:
    """End this thread's requests in the block at `end` (seconds of the monotonic clock, None: no limit), or earlier if an outer block does."""
    ends = [one for one in (end, _END.get()) if one is not None]
    token = _END.set(min(ends, default=None))
    try:
        yield
    finally:
        _END.reset(token)


def has_passed() -> bool:
    """Return whether a deadline is set and no time is left for another request."""
    end = _END.get()
    return end is not None and time.monotonic() >= end - LEAST_SECONDS


def end() -> float | None:
    """Return the deadline (seconds of the monotonic clock), None if there is none."""
    return _END.get()


def at_most(seconds: float) -> float:
    """Return the smaller of `seconds` and the seconds until the deadline, 0 if it has passed."""
    end = _END.get()
    return seconds if end is None else max(0.0, min(seconds, end - time.monotonic()))


def end_of_round() -> float | None:
    """Return when a round of requests that begins now must end (seconds of the monotonic clock), None if there is no deadline.

    A round takes at most half of the time that is left: a broker that hangs leaves time for the rounds that follow.
    """
    end = _END.get()
    now = time.monotonic()
    return None if end is None else now + max(0.0, end - now) / 2
