# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interruption: SIGTERM and SIGINT (Ctrl-C) ask a module to stop; what must not be left half done is finished first.

From `listen` on the first signal raises Interrupted in the main thread, wherever it is, so that everything open is closed on the
way out. From `defer_signals` on it is just that, and whoever works asks `pending_signal` before beginning with the next piece. All further
signals change nothing: cleaning up is not to be interrupted.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

INTERRUPTED = "interrupted"
SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Interrupted(RecoveryError):
    """The process was asked to stop; the text names the signal."""


class _State:
    """Of this process. `pending_signal`: name of the first signal; `raised`: whether it has stopped the work; `held`: how many hold it off."""

    def __init__(self) -> None:
        self.noted: str | None = None
        self.raised = False
        self.held = 0

    def note(self, number: int, _frame: FrameType | None) -> None:
        self.noted = self.noted or signal.Signals(number).name
        self.let_through()

    def let_through(self) -> None:
        if self.noted and not self.raised and not self.held:
            self.raised = True
            raise Interrupted(f"{INTERRUPTED} by {self.noted}: nothing is left half done; run again")


_state = _State()


def listen() -> None:
    """Take the signals from now on. Main thread only."""
    for number in SIGNALS:
        signal.signal(number, _state.note)


def pending_signal() -> str | None:
    """Name of the signal that asks to stop, or None."""
    return _state.noted


def defer_signals() -> None:
    """From here on nothing is broken off: whoever works looks at `pending_signal` and ends by itself."""
    _state.held += 1


@contextmanager
def critical_section() -> Iterator[None]:
    """A few steps that belong together: a signal that comes meanwhile breaks off the work after them."""
    _state.held += 1
    try:
        yield
    finally:
        _state.held -= 1
    _state.let_through()
