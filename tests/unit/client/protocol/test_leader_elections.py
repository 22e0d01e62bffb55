# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers of ElectLeaders as plain data."""

from __future__ import annotations

import pytest
from kafka.protocol.admin import ElectLeadersResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import leader_elections
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (None, None),
        ("", None),
        ("Not now.", "Not now."),
        ("a\x1b[2J\nb", "a\\x1b[2J\\nb"),
        ("x" * 300, "x" * 300),
        ("x" * 301, "x" * 299 + "…"),
        ("\0" * 5_000_000, ("\\x00" * 75)[:299] + "…"),
    ],
)
def test_kafkas_message_of_an_error_is_one_line_of_bounded_length(message: str | None, expected: str | None) -> None:
    results = ElectLeadersResponse.ReplicaElectionResult
    elected = results.PartitionResult(partition_id=0, error_code=83, error_message=message)
    election = ElectLeadersResponse(replica_election_results=[results(topic="a", partition_result=[elected])])
    assert leader_elections.read_election(election) == {("a", 0): Refusal("ELIGIBLE_LEADERS_NOT_AVAILABLE", expected)}
