# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of kafka_partition_reassignment: says what the progress file of its own run does, each line once, and how to go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import progress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress_file import MoveProgressFile, path_of
from ansible_collections.streamops.kafka_recovery.plugins.plugin_utils import progress_lines


class Display:
    """Remembers what is shown."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def display(self, line: str) -> None:
        self.said.append(line)

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + 10
        while len(self.said) < count and time.monotonic() < deadline:
            time.sleep(0.005)
        assert len(self.said) == count


@pytest.fixture
def display(monkeypatch: pytest.MonkeyPatch) -> Display:
    shown = Display()
    monkeypatch.setattr(progress_lines, "display", shown)
    monkeypatch.setattr(progress_lines, "POLL_SECONDS", 0.005)
    monkeypatch.setattr(progress_lines, "MIN_SECONDS_BETWEEN_LINES", 0.0)
    return shown


@contextmanager
def reading(workdir: Path) -> Iterator[None]:
    ended = threading.Event()
    reader = threading.Thread(target=progress_lines.display_progress, args=(path_of(str(workdir), "east"), "1", ended))
    reader.start()
    try:
        yield
    finally:
        ended.set()
        reader.join()


def test_each_line_is_said_once_and_the_first_says_how_to_go_on(display: Display, tmp_path: Path) -> None:
    progress_file = MoveProgressFile(tmp_path, "east", "1")
    progress_file.write_summary(progress.summary([], 9, 1, None))
    with reading(tmp_path):
        time.sleep(0.05)
        assert not display.said, "what an earlier task has left is no news"
        progress_file.write_summary(progress.summary([], 9, 2, None, [progress.WaitingReplica(4, 5000)]))
        display.wait_for(1)
        time.sleep(0.05)
        progress_file.write_summary(progress.summary([], 9, 3, {4: 1000.0}, [progress.WaitingReplica(4, 5000)]))
        display.wait_for(2)
    assert display.said == [
        "east: 2 of 9 partitions in sync, 5.0 kB behind, remaining time unknown; should this be interrupted, run it again to go on",
        "east: 3 of 9 partitions in sync, 5.0 kB behind, 1.0 kB/s, about 5 s left",
    ]


def test_of_other_runs_nothing_is_said(display: Display, tmp_path: Path) -> None:
    with reading(tmp_path):
        MoveProgressFile(tmp_path, "east", "2").write_summary(progress.summary([], 9, 2, None))
        MoveProgressFile(tmp_path, "west", "1").write_summary(progress.summary([], 9, 2, None))
        time.sleep(0.05)
    assert not display.said
