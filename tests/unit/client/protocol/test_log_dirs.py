# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""DescribeLogDirs: over the wire and back, in every version that brokers speak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from kafka.protocol.admin import DescribeLogDirsRequest, DescribeLogDirsResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import log_dirs as log_dir_protocol
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.log_dirs import FailedLogDirs, LogDirs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.checks import LONGEST_PATH, MOST_PATHS


def over_the_wire(kind: Any, message: Any, version: int) -> Any:
    return kind.decode(bytes(message.encode(version=version)), version=version)


def log_dirs(version: int, *directories: dict[str, Any], error: int = 0) -> LogDirs:
    return log_dir_protocol.read_log_dirs(answer_of(version, directories, error))


def answer_of(version: int, directories: Sequence[dict[str, Any]], error: int = 0) -> Any:
    kind = DescribeLogDirsResponse
    result, topic = kind.DescribeLogDirsResult, kind.DescribeLogDirsResult.DescribeLogDirsTopic
    rows = [
        result(
            error_code=row.get("error", 0),
            log_dir=row["path"],
            topics=[
                topic(
                    name=name,
                    partitions=[
                        topic.DescribeLogDirsPartition(partition_index=0, partition_size=size, offset_lag=0, is_future_key=future)
                        for size, future in sizes
                    ],
                )
                for name, sizes in row.get("topics", {}).items()
            ],
            total_bytes=row.get("total", -1),
            usable_bytes=row.get("usable", -1),
            is_cordoned=row.get("cordoned", False),
        )
        for row in directories
    ]
    return over_the_wire(kind, kind(throttle_time_ms=0, error_code=error, results=rows), version)


GOOD = {"path": "/a", "topics": {"t": [(100, False), (7, True)]}, "total": 1000, "usable": 600}
MORE = {"path": "/b", "topics": {"u": [(5, False)]}, "total": 1000, "usable": 300, "cordoned": True}


@pytest.mark.parametrize("version", [4, 5])
def test_sizes_of_all_directories_but_of_no_replica_that_is_on_its_way_between_them(version: int) -> None:
    usable = 600 if version >= 5 else 900  # only v5 reports which ones are cordoned
    assert log_dirs(version, GOOD, MORE) == LogDirs(None, {("t", 0): 100, ("u", 0): 5}, usable, 2000, ())
    failed = {"path": "/c", "error": 56}
    assert log_dirs(version, GOOD, failed) == LogDirs(None, {("t", 0): 100}, 600, 1000, ("/c",))


def failed_log_dirs(version: int, *directories: dict[str, Any], error: int = 0) -> FailedLogDirs:
    wanted = {key: key for key in (("t", 0), ("u", 0))}
    return log_dir_protocol.read_failed_log_dirs(answer_of(version, directories, error), wanted)


@pytest.mark.parametrize("version", [1, 3, 5])
def test_directories_that_have_failed_are_kept_apart_from_those_that_are_only_not_described(version: int) -> None:
    failed, unknown = {"path": "/c", "error": 56}, {"path": "/d", "error": -1}
    moved = {"path": "/e", "topics": {"u": [(3, True)], "v": [(3, False)]}}
    assert failed_log_dirs(version, GOOD, failed, moved) == FailedLogDirs(None, ("/c",), frozenset({("t", 0)}), complete=True)
    assert failed_log_dirs(version, unknown, failed) == FailedLogDirs(None, ("/c",), frozenset(), complete=False)
    assert failed_log_dirs(version, error=31).error == "CLUSTER_AUTHORIZATION_FAILED"


def test_paths_that_brokers_report_are_few_printable_and_short() -> None:
    hostile = [{"path": path, "error": 56} for path in ("\x1b[31m" + "/x" * 10_000, "\x00" * 9_000, "a\nb", *map(str, range(1000)))]
    paths = failed_log_dirs(5, *hostile).paths
    assert len(paths) == MOST_PATHS
    assert all(path.isprintable() and len(path) <= LONGEST_PATH for path in paths)
    assert failed_log_dirs(5, {"path": "\x1b" * 300, "error": 56}).paths[0].endswith("…")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_brokers_before_kafka_3_3_do_not_report_the_size_of_their_volumes(version: int) -> None:
    assert log_dirs(version, GOOD) == LogDirs(None, {("t", 0): 100}, None, None, ())


@pytest.mark.parametrize("version", [1, 3, 5])
def test_a_client_without_permission_gets_an_error_or_an_empty_answer(version: int) -> None:
    assert log_dirs(version, error=31).error == "CLUSTER_AUTHORIZATION_FAILED"


@pytest.mark.parametrize("version", [1, 2, 5])
def test_sizes_are_asked_for_some_partitions_or_for_all(version: int) -> None:
    again = over_the_wire(DescribeLogDirsRequest, log_dir_protocol.describe_log_dirs([("a", 0), ("b", 1), ("a", 5)]), version)
    assert {topic.topic: list(topic.partitions) for topic in again.topics} == {"a": [0, 5], "b": [1]}
    assert over_the_wire(DescribeLogDirsRequest, log_dir_protocol.describe_log_dirs(None), version).topics is None
