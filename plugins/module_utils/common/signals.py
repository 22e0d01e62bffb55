# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Handles SIGTERM and SIGINT (Ctrl-C), which stop a module after the steps that must be completed.

After `listen` the first signal raises Interrupted in the main thread, so that everything open is closed on the way out. After
`defer_signals` it is only recorded, and the work checks `pending_signal` before it begins its next step. Further signals have no effect:
they do not interrupt the cleanup.
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
    """A signal asks the process to stop; the text names the signal."""


class _State:
    """State of this process. `pending`: name of the first signal; `raised`: whether it stopped the work; `deferrals`: how many defer it."""

    def __init__(self) -> None:
        self.pending: str | None = None
        self.raised = False
        self.deferrals = 0

    def handle(self, number: int, _frame: FrameType | None) -> None:
        self.pending = self.pending or signal.Signals(number).name
        self.raise_if_pending()

    def raise_if_pending(self) -> None:
        if self.pending and not self.raised and not self.deferrals:
            self.raised = True
            raise Interrupted(f"{INTERRUPTED} by {self.pending}: no partial changes remain; run again")


_state = _State()


def listen() -> None:
    """Handle SIGTERM and SIGINT from now on. It must be called in the main thread."""
    for number in SIGNALS:
        signal.signal(number, _state.handle)


def pending_signal() -> str | None:
    """Return the name (SIGTERM, SIGINT) of the first signal that was received, None if there was none."""
    return _state.pending


def defer_signals() -> None:
    """Stop raising Interrupted, for the rest of the process. The work must check `pending_signal` and end by itself."""
    _state.deferrals += 1


@contextmanager
def critical_section() -> Iterator[None]:
    """Complete the steps of the block before a signal stops the work: one that arrives meanwhile raises Interrupted at the end of the block.

    Blocks may be nested: the outermost one counts. After `defer_signals` nothing is raised.
    """
    _state.deferrals += 1
    try:
        yield
    finally:
        _state.deferrals -= 1
    _state.raise_if_pending()
