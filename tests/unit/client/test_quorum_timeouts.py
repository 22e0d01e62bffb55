# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quorum timeouts: read from answers as controllers of 3.9.1 and 4.3.1 give them, and from those that are wrong."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import DescribeConfigsResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import quorum_timeouts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.quorum_risks import ELECTION, FETCH, REQUEST

REFUSED, UNAUTHORIZED = 42, 31


def answer(*rows: tuple[int, str, dict[str, str | None]]) -> Any:
    kind = DescribeConfigsResponse.DescribeConfigsResult
    return DescribeConfigsResponse(
        results=[
            kind(
                error_code=error,
                resource_type=4,
                resource_name=name,
                configs=[kind.DescribeConfigsResourceResult(name=config, value=value) for config, value in values.items()],
            )
            for error, name, values in rows
        ]
    )


def test_a_node_answers_for_itself_alone() -> None:
    own: dict[str, str | None] = {ELECTION: "1000", FETCH: "1500", REQUEST: "2000"}
    found = quorum_timeouts.read(answer((REFUSED, "101", {}), (0, "102", own), (REFUSED, "103", {})))
    assert found == (102, {ELECTION: 1000, FETCH: 1500, REQUEST: 2000}, None)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([(REFUSED, "101", {}), (REFUSED, "102", {})], "it is not a voter"),
        ([(UNAUTHORIZED, "101", {}), (UNAUTHORIZED, "102", {})], "CLUSTER_AUTHORIZATION_FAILED"),
        ([], "it is not a voter"),
        # No id, whatever Python's digits are.
        ([(0, "", {}), (0, "\u0661", {}), (0, "9" * 5000, {})], "it is not a voter"),
    ],
)
def test_who_is_not_matched_says_why(rows: list[Any], reason: str) -> None:
    assert quorum_timeouts.read(answer(*rows)) == (None, {}, reason)


def test_values_that_are_no_numbers_are_not_known() -> None:
    assert quorum_timeouts.read(answer((0, "101", {ELECTION: None, FETCH: "9" * 5000, REQUEST: "\u00b2"}))) == (101, {}, None)
