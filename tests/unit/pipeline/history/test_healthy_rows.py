# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Healthy snapshots as DataFrames: what was written is what is read, whatever the directory is called."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from healthy_files import broker, leaderless, mark, write
from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import healthy_rows

EARLY, LATE = "2026-11-21T14-05-00Z", "2026-11-21T14-06-00Z"


@pytest.mark.slow
def test_rows_come_back_with_their_cluster_run_and_time(spark: SparkSession, tmp_path: Path) -> None:
    workdir = tmp_path / "with blanks {and} 100%"
    broken = {**mark("b"), "isr": "all of them"}
    files = [
        write(workdir, EARLY, [broker(1, rack="a"), mark("a", replica_ends=[[1, 100], [2, 2**40]]), leaderless("b", 7)]),
        write(workdir, LATE, [broker(1), broker(2, "fenced"), mark("a", log_end_offset=2**40)]),
        write(workdir, "named-by-hand", [broker(9), mark("a"), broken], cluster="north.east", collected_at="2026-11-20T00:00:00Z"),
    ]
    names = [str(file) for file in files]
    found = {(row["cluster"], row["run_id"], row["topic"]): row for row in healthy_rows.watermarks(spark, names).collect()}
    assert set(found) == {("east", EARLY, "a"), ("east", EARLY, "b"), ("east", LATE, "a"), ("north.east", "named-by-hand", "a")}
    first = found["east", EARLY, "a"]
    assert [tuple(end) for end in first["replica_ends"]] == [(1, 100), (2, 2**40)]
    assert (first["isr"], first["min_insync_replicas"], first["cleanup_policy"], first["log_start_offset"]) == (
        [1, 2, 3],
        2,
        "delete",
        None,
    )
    assert first["observed_at"].astimezone(UTC) == datetime(2026, 11, 21, 14, 5, tzinfo=UTC)
    assert found["east", LATE, "a"]["log_end_offset"] == 2**40
    without = found["east", EARLY, "b"]
    assert (without["partition"], without["leader"], without["high_watermark"], without["replica_ends"]) == (7, -1, None, [])

    states = {(row["run_id"], row["broker_id"]): (row["broker_state"], row["rack"]) for row in healthy_rows.brokers(spark, names).collect()}
    assert states == {
        (EARLY, 1): ("unfenced", "a"),
        (LATE, 1): ("unfenced", None),
        (LATE, 2): ("fenced", None),
        ("named-by-hand", 9): ("unfenced", None),
    }
    refused = [tuple(row) for row in healthy_rows.broken_files(spark, names).collect()]
    assert refused == [("north.east", "named-by-hand", "rows that break the schema: 1")]
