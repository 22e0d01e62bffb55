# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A result of kafka_log_dir_info comes from a host that may say anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lost_disks import CLUSTER_ID, Disk, log
from record_batches import batch

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_result import checked_result


@pytest.fixture
def result(tmp_path: Path) -> dict[str, Any]:
    disk = Disk(tmp_path / "disk").write()
    disk.log("orders-0", {0: log(5, 5)})
    return disk.read(whole_logs=True)


def test_what_the_module_returns_is_right(result: dict[str, Any]) -> None:
    assert checked_result(result, CLUSTER_ID, 1) == checked_result(result, CLUSTER_ID, None) == result


@given(
    base=st.sampled_from((0, 7, (1 << 63) - 3)),
    epochs=st.lists(st.integers(-(1 << 31), (1 << 31) - 1), min_size=1, max_size=3),
    known=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), max_size=3),
    starts=st.none() | st.integers(0, (1 << 63) - 1),
    segment_offset=st.integers(0, 3),
)
def test_no_log_on_a_disk_keeps_the_others_from_being_judged(
    tmp_path_factory: pytest.TempPathFactory,
    base: int,
    epochs: list[int],
    known: list[tuple[int, int]],
    starts: int | None,
    segment_offset: int,
) -> None:
    marks = {} if starts is None else {("orders", 0): starts}
    disk = Disk(tmp_path_factory.mktemp("disk"), high_watermarks=marks, log_starts=marks).write()
    offsets = range(base, base + len(epochs))
    content = b"".join(batch(min(offset, (1 << 63) - 1), 1, epoch) for offset, epoch in zip(offsets, epochs, strict=True))
    disk.log("orders-0", {max(0, base - segment_offset): content}, epochs=known)
    disk.log("other-0", {0: log(5, 5)})
    found = disk.read(whole_logs=True)
    assert checked_result(found, CLUSTER_ID, 1) == found


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("topic", "../x"), ("partition", -1), ("log_end_offset", "10"), ("log_end_offset", True), ("topic_id", "../../x"),
        ("epochs", [{"epoch": 1, "start_offset": 0}, {"epoch": 0, "start_offset": 5}]),
        ("epochs", [{"epoch": 0, "start_offset": 5}, {"epoch": 1, "start_offset": 0}]),
        ("torn", {"segment": "x"}), ("foreign_files", None), ("error", "no"),
    ],
)  # fmt: skip
def test_impossible_logs_are_refused(result: dict[str, Any], field: str, value: Any) -> None:
    result["partitions"][0][field] = value
    with pytest.raises(RecoveryError, match=r"^disk: "):
        checked_result(result, CLUSTER_ID, 1)


@pytest.mark.parametrize(("field", "value"), [("topic", "../x"), ("partition", -1), ("kind", None), ("topic_id", 5), ("topic_id", "../x")])
def test_impossible_logs_that_are_no_replicas_are_refused(result: dict[str, Any], field: str, value: Any) -> None:
    result["other_logs"] = [{**result["partitions"][0], "kind": "delete", field: value}]
    with pytest.raises(RecoveryError, match=r"^disk: "):
        checked_result(result, CLUSTER_ID, 1)


@pytest.mark.parametrize(
    "row", [{}, {"topic": "t"}, {"topic": [], "partition": 0}, {"topic": "../x", "partition": 0}, {"topic": "t", "partition": -1}]
)
def test_impossible_partitions_without_a_log_are_refused(result: dict[str, Any], row: dict[str, Any]) -> None:
    """An error of another kind would leave the earlier verdict on the disk as it is."""
    result["absent"] = [row]
    with pytest.raises(RecoveryError, match=r"^disk: "):
        checked_result(result, CLUSTER_ID, 1)


@pytest.mark.parametrize("changed", [{"log_dirs": []}, {"broker_id": 2}, {"failed": True, "msg": "no"}, {"partitions": None}], ids=str)
def test_impossible_disks_are_refused(result: dict[str, Any], changed: dict[str, Any]) -> None:
    with pytest.raises(RecoveryError, match=r"^disk: "):
        checked_result({**result, **changed}, CLUSTER_ID, 1)


@pytest.mark.parametrize("answer", [{"failed": True}, {"failed": False}, {"unreachable": True}, {"changed": False, "rc": 1}], ids=str)
def test_why_a_disk_was_not_read_is_passed_on(answer: dict[str, Any]) -> None:
    with pytest.raises(RecoveryError, match=r"^disk: the disk was not read: no folder"):
        checked_result({**answer, "msg": "no folder"}, CLUSTER_ID, 1)


@pytest.mark.parametrize(("cluster_id", "broker_id"), [("other", 1), (CLUSTER_ID, 2)])
def test_disks_of_others_are_refused(result: dict[str, Any], cluster_id: str, broker_id: int) -> None:
    with pytest.raises(RecoveryError, match="read the log dirs of that broker"):
        checked_result(result, cluster_id, broker_id)
