# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What snapshots say of partitions that have lost their leader since: the newest that knew one, how fast it grew, and nothing from files that lie."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from healthy_files import CLUSTER_ID, TOPIC_ID, leaderless, mark, write

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import RUN_FORMAT
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.healthy_baseline import latest_healthy_rows
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState

BEGAN = datetime(2026, 11, 21, 14, 0, tzinfo=UTC)
OFFLINE = PartitionState("t", 0, TOPIC_ID, -1, 4, (1, 2, 3), (), (1,), (), (1,))


def at(seconds: float) -> str:
    return (BEGAN + timedelta(seconds=seconds)).strftime(RUN_FORMAT)


def milliseconds(seconds: float) -> int:
    return int((BEGAN + timedelta(seconds=seconds)).timestamp() * 1000)


def found(workdir: Path, *offline: PartitionState) -> list[dict[str, Any]]:
    rows, warnings = latest_healthy_rows(workdir, "east", CLUSTER_ID, offline or (OFFLINE,))
    assert warnings == []
    return rows


def test_the_newest_snapshot_with_a_leader_is_used(tmp_path: Path) -> None:
    assert found(tmp_path) == [], "no snapshots"
    for minute in range(20):
        end = 1000 + 6 * minute
        write(tmp_path, at(60 * minute), [mark("t", log_end_offset=end, high_watermark=end - 1, leader_epoch=3), mark("other", 7)])
    for minute in range(20, 53):
        write(tmp_path, at(60 * minute), [leaderless("t"), mark("other", 7)])
    assert found(tmp_path) == [
        {
            "topic": "t", "partition": 0, "observed_at": milliseconds(19 * 60), "run_id": at(19 * 60), "topic_id": TOPIC_ID, "leader_epoch": 3,
            "isr": [1, 2, 3], "log_end_offset": 1114, "high_watermark": 1113, "append_rate": pytest.approx(0.1),
        }
    ]  # fmt: skip


@pytest.mark.parametrize("last_led", range(9))
def test_the_search_finds_the_last_leader_wherever_it_was(tmp_path: Path, last_led: int) -> None:
    partitions = [replace(OFFLINE, partition=number) for number in range(9)]
    for minute in range(9):
        rows = [(mark if minute <= (number + last_led) % 9 else leaderless)("t", number) for number in range(9)]
        write(tmp_path, at(60 * minute), rows)
    seen = {row["partition"]: row["run_id"] for row in found(tmp_path, *partitions)}
    assert seen == {number: at(60 * ((number + last_led) % 9)) for number in range(9)}


def test_few_of_thousands_of_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write(tmp_path, at(0), [mark("t")])
    for minute in range(1, 3000):
        # Files that would be refused: a test fails if one is read.
        first.with_name(f"{at(60 * minute)}.jsonl").write_text("{}")
    reads = []
    check = landing_format.check

    def counted(path: Path) -> dict[str, Any]:
        reads.append(path)
        if path.read_text() == "{}":
            write(tmp_path, path.stem, [(mark if path.stem <= at(60 * 700) else leaderless)("t")])
        return check(path)

    monkeypatch.setattr(landing_format, "check", counted)
    assert [row["run_id"] for row in found(tmp_path)] == [at(60 * 700)]
    assert len(reads) < 40


@pytest.mark.parametrize(
    ("before", "seconds", "rate"),
    [
        ({"log_end_offset": 40}, 600, 0.1),
        ({"log_end_offset": 100}, 600, 0.0),
        ({"log_end_offset": 101}, 600, None),  # an unclean election in between
        ({"log_end_offset": 40, "topic_id": "another_topic_of_that_name"}, 600, None),
        ({"log_end_offset": 40, "leader_epoch": 1}, 600, 0.1),
        ({"log_end_offset": 40}, 20, None),  # too close
    ],
)
def test_a_rate_needs_a_suitable_older_snapshot(tmp_path: Path, before: dict[str, Any], seconds: int, rate: float | None) -> None:
    write(tmp_path, at(0), [mark("t", **before)])
    write(tmp_path, at(seconds), [mark("t")])
    assert [row["append_rate"] for row in found(tmp_path)] == [rate]


def test_a_clock_that_went_backwards_gives_no_rate(tmp_path: Path) -> None:
    write(tmp_path, at(0), [mark("t", log_end_offset=40)], collected_at="2026-11-21T15:00:00Z")
    write(tmp_path, at(1200), [mark("t")])
    assert [(row["run_id"], row["append_rate"]) for row in found(tmp_path)] == [(at(1200), None)]


def test_the_newest_ten_minutes_older_is_taken_for_the_rate_and_leaderless_moments_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, at(0), [mark("t", log_end_offset=0, high_watermark=0)])
    write(tmp_path, at(1000), [mark("t", log_end_offset=20)])
    write(tmp_path, at(1100), [leaderless("t")])
    write(tmp_path, at(1500), [mark("t", log_end_offset=99)])
    write(tmp_path, at(1800), [mark("t")])
    assert [row["append_rate"] for row in found(tmp_path)] == [80 / 800]


def test_a_topic_that_was_created_again_has_no_baseline(tmp_path: Path) -> None:
    write(tmp_path, at(0), [mark("t", topic_id="another_topic_of_that_name")])
    assert found(tmp_path) == []


def test_runs_with_names_of_their_own_stand_where_they_were_taken(tmp_path: Path) -> None:
    write(tmp_path, at(0), [mark("t", log_end_offset=100)])
    write(tmp_path, "before-the-upgrade", [mark("t", log_end_offset=110)], collected_at="2026-11-21T14:30:00Z")
    assert [row["log_end_offset"] for row in found(tmp_path)] == [110]
    write(tmp_path, at(3600), [mark("t", log_end_offset=120)])
    assert [row["log_end_offset"] for row in found(tmp_path)] == [120]


def test_files_that_cannot_be_used_are_left_out_by_name_and_reason(tmp_path: Path) -> None:
    good = write(tmp_path, at(0), [mark("t", log_end_offset=777)])

    def warning_about(path: Path) -> str:
        rows, warnings = latest_healthy_rows(tmp_path, "east", CLUSTER_ID, [OFFLINE])
        assert [row["log_end_offset"] for row in rows] == [777]
        assert len(warnings) == 1 and warnings[0].startswith(f"{path} is left out: ") and "\n" not in warnings[0]
        path.unlink()
        return warnings[0]

    newer = good.with_name(f"{at(60)}.jsonl")
    newer.write_bytes(good.read_bytes()[:-40])
    assert "cut off" in warning_about(newer)
    newer.write_bytes(good.read_bytes().replace(b"777", b"778"))
    assert "changed after it was written" in warning_about(newer)
    newer.write_bytes(good.read_bytes().replace(b'"schema":4', b'"schema":9'))
    assert "schema 9" in warning_about(newer)
    newer.touch()
    assert "header" in warning_about(newer)
    newer.symlink_to(good)
    assert "cannot be read" in warning_about(newer)
    assert "another_cluster" in warning_about(write(tmp_path, at(60), [mark("t")], cluster_id="another_cluster"))
    assert "expected a whole number" in warning_about(write(tmp_path, at(60), [mark("t", log_end_offset=True)]))
    assert "not between" in warning_about(write(tmp_path, at(60), [mark("t", high_watermark=-5)]))
    assert "collected_at" in warning_about(write(tmp_path, at(60), [mark("t")], collected_at="yesterday"))
    assert "no watermarks" in warning_about(write(tmp_path, at(60), [{"kind": "partition", "topic": "t", "partition": 0}]))
    by_hand = good.with_name("by-hand.jsonl")
    by_hand.write_text(json.dumps(["no", "header"]))
    assert "header" in warning_about(by_hand)


def test_many_of_them_are_counted(tmp_path: Path) -> None:
    good = write(tmp_path, at(0), [mark("t")])
    for minute in range(1, 7):
        good.with_name(f"{at(60 * minute)}.jsonl").touch()
    rows, warnings = latest_healthy_rows(tmp_path, "east", CLUSTER_ID, [OFFLINE])
    assert len(rows) == 1
    assert len(warnings) == 4 and "3 more snapshots" in warnings[-1]


def test_a_directory_that_others_may_write_in_is_not_trusted(tmp_path: Path) -> None:
    write(tmp_path, at(0), [mark("t")]).parent.chmod(0o777)
    rows, warnings = latest_healthy_rows(tmp_path, "east", CLUSTER_ID, [OFFLINE])
    assert rows == []
    assert len(warnings) == 1 and "chmod go-w" in warnings[0]
