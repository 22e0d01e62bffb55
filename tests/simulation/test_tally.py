# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the command prints while it plays histories, and which of those that end badly it keeps."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from simulation import scripts_to_keep
from simulation.drawn_script import drawn
from simulation.history import Outcome
from simulation.script import Script
from simulation.tally import LINE_SECONDS, Progress, Tally


def test_the_first_history_of_each_kind_is_kept() -> None:
    tally = Tally()
    orders = [f"orders-{number} is left with the order ({number}, 1)" for number in range(4)]
    for seed, violation in enumerate([*orders, "a run in peace fails", "KeyError: 9", "a run in peace fails"]):
        tally.add(seed, Outcome([violation, "a run in peace fails"]))
    tally.add(9, Outcome(counts=Counter(recoveries=1)))
    assert tally.first_of_each_kind() == [0, 4, 5]
    assert tally.summary(0)[-1].startswith("8 histories from seed 0 on in ")
    assert tally.summary(0)[-1].endswith(" 7 ended badly") and tally.line().endswith(": 8 histories played, 7 ended badly")


def test_a_line_is_printed_each_minute(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    progress = Progress()
    for number in range(5):
        progress.show(str(number))
        now += LINE_SECONDS / 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "2\n4\n")


def test_a_script_is_on_the_disk_while_it_is_shortened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []

    def played(script: Script) -> Outcome:
        seen.extend(file.read_text() for file in tmp_path.rglob("*.json"))
        return Outcome(["a run in peace fails"] if script.damage else [])

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(scripts_to_keep, "played", played)
    scripts_to_keep.keep(7, Progress())
    kept = (tmp_path / ".cache/simulation/7.json").read_text()
    assert seen[0] == drawn(7).to_json() != kept
    assert len(Script.from_json(kept).damage) == 1
    printed = capsys.readouterr()
    assert printed.err == "shortening seed 7\n"
    assert "python -m simulation .cache/simulation/7.json" in printed.out.replace("python3", "python")


def test_a_script_is_kept_as_it_is_when_the_time_to_shorten_it_is_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(scripts_to_keep, "played", lambda _script: Outcome(["a run in peace fails"]))
    monkeypatch.setattr(scripts_to_keep, "SECONDS", -1.0)
    scripts_to_keep.keep(7, Progress())
    assert (tmp_path / ".cache/simulation/7.json").read_text() == drawn(7).to_json()
    assert "seed 7 could be shorter" in capsys.readouterr().err
