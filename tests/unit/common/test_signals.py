# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interruption: the first signal stops the work where that may be, and no signal does where it may not."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import replacing
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.signals import Interrupted


@pytest.fixture(autouse=True)
def listening(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(signals, "_state", signals._State())
    before = {number: signal.getsignal(number) for number in signals.SIGNALS}
    signals.listen()
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", signals.SIGNALS)
def test_the_first_signal_stops_the_work_and_is_named(number: signal.Signals) -> None:
    with pytest.raises(Interrupted, match=f"interrupted by {number.name}"):
        os.kill(os.getpid(), number)
    assert signals.pending_signal() == number.name


def test_a_second_signal_does_not_interrupt_the_cleaning_up() -> None:
    cleaned = False
    with pytest.raises(Interrupted):
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            cleaned = True
    assert cleaned
    assert signals.pending_signal() == "SIGINT"


def test_what_only_notes_is_never_broken_off() -> None:
    signals.defer_signals()
    os.kill(os.getpid(), signal.SIGTERM)
    with signals.critical_section():
        os.kill(os.getpid(), signal.SIGINT)
    assert signals.pending_signal() == "SIGTERM"


def test_a_signal_among_steps_that_belong_together_comes_after_them() -> None:
    steps = []
    with pytest.raises(Interrupted), signals.critical_section():
        os.kill(os.getpid(), signal.SIGTERM)
        steps.append("last")
    assert steps == ["last"]


def test_a_file_that_was_not_finished_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Interrupted), replacing(tmp_path / "east.json") as stream:
        stream.write(b"half")
        os.kill(os.getpid(), signal.SIGTERM)
    assert list(tmp_path.iterdir()) == []


def test_a_signal_while_a_failed_write_is_cleaned_up_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlink = Path.unlink

    def interrupted(path: Path, missing_ok: bool = False) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", interrupted)
    with pytest.raises(Interrupted), replacing(tmp_path / "file"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []
