# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan and results files are read entry by entry."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import plan_samples
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history import file_rows
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.file_rows import Strategies, items
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import arrow_rows, local_frame

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


def flat(document: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, one) for name, value in document.items() for one in (value if isinstance(value, list) else [value])]


@given(st.dictionaries(st.text(), VALUES), st.integers(1, 20), st.sampled_from([None, 1]))
def test_what_is_read_in_parts_is_what_the_file_has(document: dict[str, Any], part: int, indent: int | None) -> None:
    assert list(items(io.StringIO(json.dumps(document, indent=indent)), part)) == flat(document)


@pytest.mark.parametrize("text", ["", "[1]", '{"a" 1}', '{"a": [1', '{"a": 1', '{"a": tru}', '{"a": [1, 2}'])
def test_what_is_not_a_json_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        list(items(io.StringIO(text), 3))


def test_no_more_of_a_file_is_read_than_a_part_ahead() -> None:
    entry = {"topic": "t" * 90}
    stream = io.StringIO(json.dumps({"partitions": [entry] * 1000}))
    for number, found in enumerate(items(stream, 200), 1):
        assert found == ("partitions", entry)
        assert stream.tell() <= number * 110 + 2 * 200


def plan_of(partitions: int) -> dict[str, Any]:
    plan = plan_samples.content()
    plan["partitions"] = [{**plan_samples.ELECTED, "partition": number} for number in range(partitions)]
    plan["held"] = [{**plan_samples.HELD, "topic": "held", "candidate": 3}]
    return plan


def test_rows_are_made_of_every_section_in_batches(spark: SparkSession, tmp_path: Path) -> None:
    """Of a plan whose white space and order of keys are not those of `plan_file`: its seal does not depend on them."""
    many = arrow_rows.ROWS_PER_BATCH + 5
    cuts = [
        {"broker_id": 3, "offset": 1, "records": MOST_INT64},
        {"broker_id": 4, "offset": None, "records": None},
        {"broker_id": 5, "records": 9},
    ]
    plan = plan_of(many)
    plan["held"][0]["truncated"] = cuts
    path = tmp_path / "east.json"
    path.write_text(json.dumps(plan, sort_keys=True))
    file_rows.register_for_workers()
    files = local_frame.frame(spark, [{"path": str(path), "cluster": "r1/east"}], file_rows.FILES)
    strategies = {"r1/east": Strategies("balanced", {"held": "none"})}
    entries = files.mapInArrow(file_rows.plan_entries(strategies), file_rows.ENTRIES).collect()
    assert len(entries) == many + 2
    found = {(row["section"], row["topic"], row["partition"]): row for row in entries}
    elected, held, online = found["partitions", "orders", many - 1], found["held", "held", 1], found["online", "orders", 2]
    assert (elected["strategy"], elected["designated_leader"], elected["explanation"], elected["reason_code"]) == (
        "balanced",
        2,
        "bröker 2",
        None,
    )
    assert (held["strategy"], held["designated_leader"], held["evidence"], held["reason_code"]) == ("none", None, "forked", "forked")
    assert (online["strategy"], online["designated_leader"], online["evidence"], online["explanation"]) == ("balanced", None, None, None)
    losses = {(row["topic"], row["partition"]): row for row in files.mapInArrow(file_rows.losses(), file_rows.LOSSES).collect()}
    assert len(losses) == many + 1
    of_held, of_elected = losses["held", 1], losses["orders", 0]
    assert (of_held["leader"], of_held["truncated_records"], of_held["truncated_unknown"]) == (3, MOST_INT64, 1)
    assert (of_elected["leader"], of_elected["estimate"], of_elected["upper_bound"], of_elected["gaps"]) == (2, 7, None, ["compaction"])
    assert (of_elected["truncated_records"], of_elected["truncated_unknown"]) == (0, 1)
