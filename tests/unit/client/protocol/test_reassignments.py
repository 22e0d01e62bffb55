# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages that move replicas: over the wire and back, in every version that brokers speak."""

from __future__ import annotations

from typing import Any

import pytest
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import reassignments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.reassignments import Answer
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment


def over_the_wire(kind: Any, message: Any, version: int) -> Any:
    return kind.decode(bytes(message.encode(version=version)), version=version)


@pytest.mark.parametrize("version", [0, 1])
def test_replicas_are_named_and_null_cancels(version: int) -> None:
    request = reassignments.reassign({("a", 0): (3, 1), ("b", 7): None, ("a", 2): (1,)}, 5000)
    again = over_the_wire(AlterPartitionReassignmentsRequest, request, version)
    assert again.timeout_ms == 5000
    asked = {(topic.name, row.partition_index): row.replicas for topic in again.topics for row in topic.partitions}
    assert asked == {("a", 0): [3, 1], ("a", 2): [1], ("b", 7): None}

    kind = AlterPartitionReassignmentsResponse
    topic, row = kind.ReassignableTopicResponse, kind.ReassignableTopicResponse.ReassignablePartitionResponse
    rows = [row(partition_index=0, error_code=0, error_message=None), row(partition_index=2, error_code=39, error_message="no such broker")]
    answer = kind(throttle_time_ms=0, error_code=0, error_message=None, responses=[topic(name="a", partitions=rows)])
    assert reassignments.read_answers(over_the_wire(kind, answer, version)) == {
        ("a", 0): Answer(None, None),
        ("a", 2): Answer("INVALID_REPLICA_ASSIGNMENT", "no such broker"),
    }


def test_the_controllers_message_is_one_line_of_limited_length() -> None:
    kind = AlterPartitionReassignmentsResponse
    topic, row = kind.ReassignableTopicResponse, kind.ReassignableTopicResponse.ReassignablePartitionResponse
    answer = kind(responses=[topic(name="a", partitions=[row(partition_index=0, error_code=39, error_message="a\n" + "x" * 100_000)])])
    assert reassignments.read_answers(answer) == {("a", 0): Answer("INVALID_REPLICA_ASSIGNMENT", r"a\n" + "x" * 296 + "…")}


def test_reassignments_are_listed_with_what_they_add_and_remove() -> None:
    again = over_the_wire(ListPartitionReassignmentsRequest, reassignments.list_reassignments(700), 0)
    assert (again.timeout_ms, again.topics) == (700, None)
    kind = ListPartitionReassignmentsResponse
    topic = kind.OngoingTopicReassignment
    row = topic.OngoingPartitionReassignment(partition_index=3, replicas=[4, 2, 1], adding_replicas=[4], removing_replicas=[1])
    answer = kind(throttle_time_ms=0, error_code=0, error_message=None, topics=[topic(name="a", partitions=[row])])
    found = reassignments.read_reassignments(over_the_wire(kind, answer, 0))
    assert found == {("a", 3): OngoingReassignment((4, 2, 1), (4,), (1,))}
    assert (found["a", 3].target, found["a", 3].original) == ((4, 2), (2, 1))


@pytest.mark.parametrize(
    ("sent", "kept"), [(None, None), ("", None), ("Not now.", "Not now."), ("a\x1b[2J\nb", "a\\x1b[2J\\nb"), ("x" * 301, "x" * 299 + "…")]
)
def test_kafkas_message_about_a_refused_change_is_one_line_of_bounded_length(sent: str | None, kept: str | None) -> None:
    rows = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
    refused = rows.ReassignablePartitionResponse(partition_index=0, error_code=39, error_message=sent)
    done = rows.ReassignablePartitionResponse(partition_index=1, error_code=0, error_message="ignored")
    answer = AlterPartitionReassignmentsResponse(responses=[rows(name="a", partitions=[refused, done])])
    assert reassignments.read_refusals(answer) == {("a", 0): Refusal("INVALID_REPLICA_ASSIGNMENT", kept), ("a", 1): None}
    assert reassignments.read_answers(answer) == {("a", 0): Answer("INVALID_REPLICA_ASSIGNMENT", kept), ("a", 1): Answer(None, None)}


@pytest.mark.parametrize(
    "fields",
    [{"partition_index": -1}, {"replicas": [1, -1]}]
    + [{name: ids} for name in ("replicas", "adding_replicas", "removing_replicas") for ids in ([1, 1], list(range(33)))],
)
def test_a_reassignment_that_no_cluster_has_is_refused(fields: dict[str, Any]) -> None:
    """Lists are compared with each other: of two with 20,000 ids that took half a minute."""
    kind = ListPartitionReassignmentsResponse.OngoingTopicReassignment
    row = kind.OngoingPartitionReassignment(
        **{"partition_index": 3, "replicas": [4, 2, 1], "adding_replicas": [4], "removing_replicas": [1], **fields}
    )
    answer = ListPartitionReassignmentsResponse(topics=[kind(name="a", partitions=[row])])
    with pytest.raises(AnswerError, match="a broker lists a reassignment of"):
        reassignments.read_reassignments(answer)


def test_a_reassignment_of_a_topic_that_kafka_does_not_allow_is_refused() -> None:
    kind = ListPartitionReassignmentsResponse.OngoingTopicReassignment
    row = kind.OngoingPartitionReassignment(partition_index=0, replicas=[1], adding_replicas=[], removing_replicas=[])
    with pytest.raises(AnswerError, match="a broker lists a reassignment of"):
        reassignments.read_reassignments(ListPartitionReassignmentsResponse(topics=[kind(name="a\x1b[2J", partitions=[row])]))
