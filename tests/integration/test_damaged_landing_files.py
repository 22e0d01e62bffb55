# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Landing files that no run may decide on are quarantined with a reason, and the sound ones are planned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from integration.support import Operator, failure, run_module


def cut_off(sound: str) -> str:
    return sound[: len(sound) // 2]


def edited(sound: str) -> str:
    assert '"log_end_offset":100' in sound
    return sound.replace('"log_end_offset":100', '"log_end_offset":900', 1)


def of_something_else(_sound: str) -> str:
    return '{"partitions": []}\n'


DAMAGE: dict[str, tuple[Callable[[str], str], str]] = {
    "cut": (cut_off, "cut off"),
    "edited": (edited, "changed after it was written"),
    "foreign": (of_something_else, "does not begin with the header of a landing file"),
    "copied": (str, "collected from cluster sound"),
    "empty": (lambda _sound: "", "header"),
}


@pytest.fixture
def landing(east: Operator) -> Path:
    """The folder with one sound file, of the cluster `sound`, and one of each damage."""
    sound = Operator(east.cluster, east.workdir, east.spark_remote, "sound")
    sound.snapshot("1", ["quiet"])
    content = sound.path("landing", "1").read_text()
    for name, (damage, _) in DAMAGE.items():
        (sound.path("landing", "1").parent / f"{name}.jsonl").write_text(damage(content))
    return sound.path("landing", "1").parent


def test_each_damaged_file_is_quarantined_with_its_reason_and_the_sound_one_is_planned(east: Operator, landing: Path) -> None:
    names = [*DAMAGE, "sound", "absent"]
    answer = run_module(
        "kafka_recovery_plan", {"workdir": str(east.workdir), "run_id": "1", "clusters": names, "spark_remote": east.spark_remote}
    )
    assert answer.returncode == 0, answer
    assert [plan["cluster"] for plan in answer.result["plans"]] == ["sound"]
    assert answer.result["plans"][0]["elect"] == 4
    reasons = {Path(row["path"]).stem: row["reason"] for row in answer.result["quarantine"]}
    assert reasons.keys() == {*DAMAGE, "absent"}
    for name, (_, words) in DAMAGE.items():
        assert words in reasons[name]
    assert answer.result["summary"]["quarantined"] == len(reasons)
    assert [path.name for path in (east.workdir / "plans" / "1").iterdir()] == ["sound.json"]


def test_a_run_without_one_sound_file_fails_and_names_each(east: Operator, landing: Path) -> None:
    (landing / "sound.jsonl").unlink()
    msg = failure("kafka_recovery_plan", {"workdir": str(east.workdir), "run_id": "1"})
    for name, (_, words) in DAMAGE.items():
        assert f"{name}.jsonl" in msg
        assert words in msg
    assert not (east.workdir / "plans").exists()


def test_a_run_that_was_never_collected_is_named(tmp_path: Path) -> None:
    assert "never" in failure("kafka_recovery_plan", {"workdir": str(tmp_path), "run_id": "never"})
