# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress: KIP-179's states, how much is left, how fast it goes and when it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import in_bytes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.progress_file import line_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import progress, progress_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress import (
    Measurements,
    Meter,
    ReplicaProgress,
    WaitingReplica,
    statuses,
)

KEY = ("my_topic", 0)
STATES = {
    KEY: PartitionState("my_topic", 0, "id", 0, 1, (0, 1), (0,), (), (), ()),
    ("my_topic", 1): PartitionState("my_topic", 1, "id", 2, 1, (2, 1), (2, 1), (), (), ()),
}
MEASURED = Measurements({0: {KEY: 5000}, 1: {KEY: 1200}}, {0: {KEY: 20456}, 1: {KEY: 10000}})


def test_the_example_of_kip_179() -> None:
    """The table of the KIP's section "kafka-reassign-partitions.sh and ReassignPartitionsCommand", row by row."""
    replicas = {KEY: [0, 1, 42], ("asdf", 0): [1], ("my_topic", 42): [1], ("my_topic", 1): [0]}
    assert statuses(replicas, STATES, {0, 1, 2}, MEASURED) == [
        ReplicaProgress("my_topic", 0, 0, "in_sync", 0, 0),
        ReplicaProgress("my_topic", 0, 1, "behind", 3800, 10456),
        ReplicaProgress("my_topic", 0, 42, "unknown_broker"),
        ReplicaProgress("asdf", 0, 1, "unknown_topic"),
        ReplicaProgress("my_topic", 42, 1, "unknown_partition"),
        ReplicaProgress("my_topic", 1, 0, "broker_does_not_host_partition"),
    ]


def test_without_an_answer_progress_is_unknown_and_a_larger_copy_is_not_ahead() -> None:
    for measured in (Measurements(), Measurements({0: {KEY: 5000}}, {1: {KEY: 3}})):
        assert statuses({KEY: [1]}, STATES, {0, 1}, measured) == [ReplicaProgress("my_topic", 0, 1, "behind", None, None)]
    larger = Measurements({0: {KEY: 5000}, 1: {KEY: 5100}}, {0: {KEY: 7}, 1: {KEY: 7}})
    assert statuses({KEY: [1]}, STATES, {0, 1}, larger) == [ReplicaProgress("my_topic", 0, 1, "behind", 0, 0)]


def test_a_meter_counts_what_is_copied_and_nothing_else() -> None:
    meter = Meter(window=30)
    meter.start_empty([("t", 0, 4)])
    assert meter.rate is None
    assert not meter.note(0.0, {})
    assert meter.rate is None
    assert meter.note(10.0, {("t", 0, 4): 1000, ("t", 1, 4): 700}), "what the second one held before is not known to be copied"
    assert (meter.copied, meter.rate) == (1000, 100.0)
    assert not meter.note(20.0, {("t", 0, 4): 400}), "retention"
    assert meter.rate == 50.0
    assert meter.note(30.0, {("t", 0, 4): 1000})
    assert meter.copied == 1600


def test_the_rate_is_that_of_the_window() -> None:
    meter = Meter(window=30)
    for second in range(0, 200, 10):
        meter.note(float(second), {("t", 0, 4): second * (10 if second <= 100 else 0) + (1000 if second > 100 else 0)})
    assert meter.rate == 0.0
    meter.note(200.0, {("t", 0, 4): 1300})
    assert meter.rate == 10.0


@pytest.mark.parametrize(
    ("left", "rate", "seconds"),
    [(0, None, 0.0), (0, 5.0, 0.0), (100, 5.0, 20.0), (100, 0.0, None), (100, None, None), (None, 5.0, None)],
)
def test_the_remaining_time_is_known_only_with_a_rate(left: int | None, rate: float | None, seconds: float | None) -> None:
    assert progress.seconds_left(left, rate) == seconds


def test_a_summary_and_its_line() -> None:
    rows = statuses({KEY: [0, 1]}, STATES, {0, 1}, MEASURED)
    found = progress.summary(rows, 3, 1, {1: 60.0, 4: 40.0}, [WaitingReplica(2, 6200)])
    assert found == {
        "partitions": 3,
        "in_sync": 1,
        "replicas": {**dict.fromkeys(progress.STATUSES, 0), "in_sync": 1, "behind": 1},
        "bytes_behind": 10000,
        "messages_behind": 10456,
        "bytes_per_second": 100,
        "estimated_seconds": 100.0,
        "brokers": [
            {
                "broker_id": 2,
                "partitions": 1,
                "bytes_behind": 6200,
                "messages_behind": None,
                "bytes_per_second": 0,
                "estimated_seconds": None,
            },
            {
                "broker_id": 1,
                "partitions": 1,
                "bytes_behind": 3800,
                "messages_behind": 10456,
                "bytes_per_second": 60,
                "estimated_seconds": 63.3,
            },
        ],
    }
    line = "east: 1 of 3 partitions in sync, 10.0 kB and 10,456 messages behind, 100 B/s, about 1 min 40 s left"
    assert f"east: {progress.line(found)}" == line
    done = progress.summary([], 3, 3, None)
    assert (done["bytes_behind"], done["messages_behind"], done["estimated_seconds"]) == (0, 0, 0.0)
    assert f"east: {progress.line(done)}" == "east: 3 of 3 partitions in sync"
    silent = progress.summary(statuses({KEY: [1]}, STATES, {0, 1}, Measurements()), 3, 1, None)
    assert (silent["bytes_behind"], silent["messages_behind"], silent["estimated_seconds"]) == (None, None, None)
    assert f"east: {progress.line(silent)}" == "east: 1 of 3 partitions in sync, remaining time unknown"


@given(
    st.lists(st.tuples(st.integers(1, 4), st.none() | st.integers(0, 9), st.none() | st.integers(0, 9)), max_size=9),
    st.lists(st.tuples(st.integers(1, 4), st.none() | st.integers(0, 9)), max_size=9),
    st.none() | st.dictionaries(st.integers(1, 4), st.floats(0, 9)),
)
def test_brokers_add_up_to_the_whole(
    behind: list[tuple[int, int | None, int | None]], later: list[tuple[int, int | None]], rates: dict[int, float] | None
) -> None:
    rows = [ReplicaProgress("t", number, broker, progress.BEHIND, *left) for number, (broker, *left) in enumerate(behind)]
    found = progress.summary(rows, 20, 0, rates, [WaitingReplica(*row) for row in later])
    brokers = found["brokers"]
    assert {row["broker_id"] for row in brokers} == {broker for broker, *_left in [*behind, *later]} and len(brokers) <= 4
    assert sum(row["partitions"] for row in brokers) == len(behind) + len(later)
    if found["bytes_behind"] is not None:
        assert sum(row["bytes_behind"] or 0 for row in brokers) == found["bytes_behind"]
    for row in brokers:
        assert (row["bytes_per_second"] is None) == (rates is None)
    known = [row["estimated_seconds"] for row in brokers]
    assert known == sorted(known, key=lambda seconds: (seconds is not None, -(seconds or 0))), "the last one to end first"


def test_sizes_and_times_as_text() -> None:
    assert [in_bytes(size) for size in (0, 999, 1000, 25_340_000, 3.2e9, 1e13)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "25.3 MB",
        "3.2 GB",
        "10.0 TB",
    ]
    assert [progress.in_time(seconds) for seconds in (0.2, 59, 60, 3599, 3600, 90_000)] == [
        "0 s",
        "59 s",
        "1 min 0 s",
        "59 min 59 s",
        "1 h 0 min",
        "25 h 0 min",
    ]


def test_the_progress_file_is_read_for_its_own_run_only(tmp_path: Path) -> None:
    file = progress_file.MoveProgressFile(tmp_path, "east", "1")
    path = progress_file.path_of(str(tmp_path), "east")
    assert line_of(path, "1") is None
    file.write_summary(progress.summary([], 3, 1, None))
    assert line_of(path, "1") == "east: 1 of 3 partitions in sync, about 0 s left"
    assert line_of(path, "2") is None
    file.end("interrupted\nby SIGTERM")
    document = json.loads(path.read_text())
    assert document["ended"] is True and document["in_sync"] == 1 and document["run_id"] == "1"
    assert line_of(path, "1") == "east: interrupted\\nby SIGTERM"
    path.write_text("{")
    assert line_of(path, "1") is None
