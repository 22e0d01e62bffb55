# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read the messages that move replicas (KIP-455).

They use kafka-python's schemas, as `core.py` does. Pure: no I/O. `reassignment_admin.py` chooses the brokers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.admin import AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.core import by_topic, error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment


class Answer(NamedTuple):
    """The controller's answer to the reassignment of one partition: `error` (Kafka's name, None: accepted) and the start of its ErrorMessage."""

    error: str | None
    message: str | None

    @classmethod
    def of(cls, code: int, message: str | None) -> Answer:
        """Return the answer with this error code and ErrorMessage."""
        return cls(error_name(code), quoted(message) or None)


def reassign(targets: Mapping[TopicPartition, Sequence[int] | None], timeout_ms: int) -> AlterPartitionReassignmentsRequest:
    """Build a request that gives partitions these replicas, the preferred leader first. None cancels the reassignment under way (KIP-455)."""
    kind = AlterPartitionReassignmentsRequest.ReassignableTopic
    topics = [
        kind(name=topic, partitions=[_partition(kind, number, targets[topic, number]) for number in numbers])
        for topic, numbers in by_topic(targets).items()
    ]
    return AlterPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=topics)


def _partition(kind: Any, number: int, replicas: Sequence[int] | None) -> Any:
    return kind.ReassignablePartition(partition_index=number, replicas=None if replicas is None else list(replicas))


def read_answers(answer: Any) -> dict[TopicPartition, Answer]:
    """Return the controller's answers by partition. The caller checks the error of the whole request."""
    return {
        (topic.name, row.partition_index): Answer.of(row.error_code, row.error_message)
        for topic in answer.responses
        for row in topic.partitions
    }


def list_reassignments(timeout_ms: int) -> ListPartitionReassignmentsRequest:
    """Build a request for every reassignment under way (KIP-455)."""
    return ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=None)


def read_reassignments(answer: Any) -> dict[TopicPartition, OngoingReassignment]:
    """Return the reassignments under way by partition."""
    return {
        (topic.name, row.partition_index): OngoingReassignment(
            tuple(row.replicas), tuple(row.adding_replicas), tuple(row.removing_replicas)
        )
        for topic in answer.topics
        for row in topic.partitions
    }
