# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages that move replicas (KIP-455): built from plain data, read back into plain data.

They stand on kafka-python's schemas, like `protocol.py`. Nothing here does I/O; `replication.py` decides whom to ask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

with suppress(ImportError):  # libraries.py says why
    from kafka.protocol.admin import AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.core import by_topic, error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import Ongoing


class Answer(NamedTuple):
    """What the controller says to the reassignment of one partition: `error` (Kafka's name, None: taken) and its own words, if any."""

    error: str | None
    message: str | None


def reassign(targets: Mapping[TopicPartition, Sequence[int] | None], timeout_ms: int) -> AlterPartitionReassignmentsRequest:
    """Give partitions these replicas; None cancels the reassignment that is under way."""
    kind = AlterPartitionReassignmentsRequest.ReassignableTopic
    topics = [
        kind(name=topic, partitions=[_partition(kind, number, targets[topic, number]) for number in numbers])
        for topic, numbers in by_topic(targets).items()
    ]
    return AlterPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=topics)


def _partition(kind: Any, number: int, replicas: Sequence[int] | None) -> Any:
    return kind.ReassignablePartition(partition_index=number, replicas=None if replicas is None else list(replicas))


def read_answers(answer: Any) -> dict[TopicPartition, Answer]:
    """Answers by partition. An error of the whole request is the caller's business."""
    return {
        (topic.name, row.partition_index): Answer(error_name(row.error_code), row.error_message)
        for topic in answer.responses
        for row in topic.partitions
    }


def list_reassignments(timeout_ms: int) -> ListPartitionReassignmentsRequest:
    """Every reassignment under way."""
    return ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=None)


def read_reassignments(answer: Any) -> dict[TopicPartition, Ongoing]:
    """Reassignments by partition."""
    return {
        (topic.name, row.partition_index): Ongoing(tuple(row.replicas), tuple(row.adding_replicas), tuple(row.removing_replicas))
        for topic in answer.topics
        for row in topic.partitions
    }
