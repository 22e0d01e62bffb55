# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of moves: what was sealed can be read, anything else is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from moves_samples import BROKERS, HELD, MOVE, moves, planned, resealed
from plan_samples import content as plan_content

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import moves_file, plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.reviewed_file import ReviewedFileError


def test_a_planned_file_is_sealed_with_its_rate_and_without_what_is_not_reviewed() -> None:
    document = moves_file.FORMAT.parse(moves(), "east.json")
    assert document["throttle"] == 20_000_000 and document["version"] == 1
    (row,) = document["partitions"]
    assert row == {name: MOVE[name] for name in ("topic", "partition", "replicas", "replicas_before", "topic_id", "bytes")}
    assert "summary" not in document and set(document["brokers"][0]) == {"broker_id", "broker_state", "rack"}
    assert moves() == moves(), "the same moves give the same bytes"


@pytest.mark.parametrize(
    "values",
    [
        {"partitions": [MOVE, MOVE]},
        {"partitions": [{**MOVE, "replicas": [4, 4]}]},
        {"partitions": [{**MOVE, "replicas": []}]},
        {"partitions": [{**MOVE, "replicas_before": []}]},
        {"partitions": [{**MOVE, "replicas": [-1]}]},
        {"partitions": [{**MOVE, "replicas": [True]}]},
        {"partitions": [{**MOVE, "topic": "../x"}]},
        {"partitions": [{**MOVE, "partition": -1}]},
        {"partitions": [{**MOVE, "bytes": -1}]},
        {"partitions": [{name: value for name, value in MOVE.items() if name != "topic_id"}]},
        {"held": [{**HELD, "topic": "orders"}]},
        {"brokers": [{**BROKERS[0], "rack": 7}]},
        {"version": 2},
        {"cluster": ""},
    ],
)
def test_what_cannot_be_moved_is_not_sealed_and_not_read(values: dict[str, Any]) -> None:
    with pytest.raises(ReviewedFileError, match="planned"):
        moves(**values)
    with pytest.raises(ReviewedFileError, match=r"east\.json"):
        moves_file.FORMAT.parse(resealed(moves(), **values), "east.json")


@pytest.mark.parametrize("rate", [0, -1, 1023, True, 2**63])
def test_a_rate_that_is_none_is_refused(rate: Any) -> None:
    with pytest.raises(ReviewedFileError):
        moves(rate)
    with pytest.raises(ReviewedFileError):
        moves_file.FORMAT.parse(resealed(moves(), throttle=rate), "east.json")


@pytest.mark.parametrize("values", [{"more": 1}, {"moves_version": 2}, {"throttle": "20"}])
def test_a_file_with_more_or_other_fields_is_refused_although_its_sha256_fits(values: dict[str, Any]) -> None:
    with pytest.raises(ReviewedFileError):
        moves_file.FORMAT.parse(resealed(moves(), **values), "east.json")


def test_a_plan_is_no_file_of_moves_and_moves_are_no_plan() -> None:
    plan = plan_content()
    with pytest.raises(ReviewedFileError):
        moves_file.FORMAT.parse(json.dumps({**plan, "sha256": plan_file.sha256(plan)}).encode(), "east.json")
    with pytest.raises(plan_file.PlanError):
        plan_file.parse(moves(), "east.json")
    with pytest.raises(ReviewedFileError):
        moves_file.FORMAT.parse(planned(), "east.json")


@given(st.data())
def test_no_byte_can_be_changed(data: st.DataObject) -> None:
    content = moves()
    place, byte = data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(0, 255))
    changed = content[:place] + bytes([byte]) + content[place + 1 :]
    try:
        document = moves_file.FORMAT.parse(changed, "east.json")
    except ReviewedFileError:
        return
    assert document == moves_file.FORMAT.parse(content, "east.json"), "white space alone"
