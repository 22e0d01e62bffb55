# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows that go to Spark and come back: the same values, in the same order."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.local_frame import fetched_rows, frame

SCHEMA = "topic string, partition int, offset bigint, choices array<int>, named boolean"
ROWS: list[dict[str, Any]] = [
    {"topic": "orders", "partition": 3, "offset": 2**63 - 1, "choices": [2, 1], "named": True},
    {"topic": "b\u00fccher\n", "partition": -1, "offset": 0, "choices": [], "named": False},
    {"topic": None, "partition": None, "offset": None, "choices": None, "named": None},
]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [ROWS, ROWS[:1] * 25_000, []], ids=["values", "several batches", "none"])
def test_rows_come_back_as_plain_values(spark: SparkSession, rows: list[dict[str, Any]]) -> None:
    assert fetched_rows(frame(spark, rows, SCHEMA)) == [tuple(row.values()) for row in rows]
