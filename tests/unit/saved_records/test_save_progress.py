# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The progress file of a run that saves: how much is saved of how much, and whether the run has ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from full_disk import no_room

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.progress_file import line_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import save_progress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_progress import SaveProgress, progress_path
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

TAILS = [Tail("t", number, "id-of-t", 5, 2, 0, 800) for number in range(12)]
HEADER = {"cluster": "east", "cluster_id": "id", "run_id": "1", "backend": "compat"}


def content(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(progress_path(folder).read_text())
    return found


def test_a_line_shows_what_is_saved_of_how_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(save_progress, "SECONDS_BETWEEN_WRITES", 0.0)
    progress = SaveProgress(tmp_path, HEADER)
    progress.begin([(tail, 800) for tail in TAILS])
    progress.add(TAILS[0], 4000, 1_200_000_000, False)
    progress.add(TAILS[1], 10, 0, True)
    progress.write()
    assert content(tmp_path).items() >= {"replicas": 12, "saved": 1, "offsets": 9600, "saved_offsets": 4010, "ended": False}.items()
    line = line_of(progress_path(tmp_path), "1")
    assert line is not None and line.startswith("east: 1 of 12 replicas saved, 4,010 of 9,600 offsets, 1.2 GB")
    progress.end()
    assert content(tmp_path)["ended"] and content(tmp_path)["saved_offsets"] == 4010
    assert line_of(progress_path(tmp_path), "2") is None


def test_a_full_disk_does_not_end_a_run_because_of_its_progress(tmp_path: Path) -> None:
    progress = SaveProgress(tmp_path, HEADER)
    progress.begin([(TAILS[0], 1)])
    before = content(tmp_path)
    with no_room(progress_path(tmp_path), -progress_path(tmp_path).stat().st_size):
        progress.end()
    assert content(tmp_path) == before


def test_what_is_saved_later_in_the_same_run_is_counted_on(tmp_path: Path) -> None:
    progress = SaveProgress(tmp_path, HEADER)
    for offsets in (10, 5):
        progress.begin([(TAILS[0], offsets)])
        assert not content(tmp_path)["ended"]
        progress.add(TAILS[0], offsets, 100, True)
        progress.end()
    assert content(tmp_path).items() >= {"replicas": 1, "saved": 1, "offsets": 15, "saved_offsets": 15, "bytes": 200, "ended": True}.items()


def test_what_is_read_again_of_a_damaged_log_is_counted_once(tmp_path: Path) -> None:
    progress = SaveProgress(tmp_path, HEADER)
    progress.begin([(TAILS[0], 100), (TAILS[1], 10)])
    progress.add(TAILS[0], 30, 100, False)
    for offsets in (20, 40):
        progress.begin([(TAILS[0]._replace(start=40), offsets)])
        progress.add(TAILS[0], offsets, 100, True)
    progress.end()
    assert content(tmp_path).items() >= {"replicas": 2, "offsets": 110, "saved_offsets": 90}.items()
