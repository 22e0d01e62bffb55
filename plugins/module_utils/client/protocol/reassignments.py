# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read the messages that move and order replicas (KIP-455).

They use kafka-python's schemas. Pure: no I/O. `cluster.py` and `reassignment_admin.py` choose the brokers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.admin import AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.error_codes import refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.topic_rows import by_topic
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import IDS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, can_be_partition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment


class Answer(NamedTuple):
    """The controller's answer to the reassignment of one partition: `error` (Kafka's name, None: accepted) and the start of its ErrorMessage."""

    error: str | None
    message: str | None


def reassign(
    targets: Mapping[TopicPartition, Sequence[int] | None], timeout_ms: int, allow_replication_factor_change: bool = True
) -> AlterPartitionReassignmentsRequest:
    """Build a request that gives partitions these replicas, the preferred leader first. None cancels the reassignment under way (KIP-455).

    With the same replicas in another order it completes at once. If `allow_replication_factor_change` is false, controllers since Kafka 4.1 refuse
    another number of replicas (KIP-860); the request to older ones is sent without that field.
    """
    kind = AlterPartitionReassignmentsRequest.ReassignableTopic
    topics = [
        kind(name=topic, partitions=[_partition(kind, number, targets[topic, number]) for number in numbers])
        for topic, numbers in by_topic(targets).items()
    ]
    return AlterPartitionReassignmentsRequest(
        timeout_ms=timeout_ms, allow_replication_factor_change=allow_replication_factor_change, topics=topics
    )


def _partition(kind: Any, number: int, replicas: Sequence[int] | None) -> Any:
    return kind.ReassignablePartition(partition_index=number, replicas=None if replicas is None else list(replicas))


def read_refusals(answer: Any) -> dict[TopicPartition, Refusal | None]:
    """Return Kafka's refusal by partition, None if the change was accepted. The caller checks the error of the whole request."""
    return {
        (topic.name, row.partition_index): refusal(row.error_code, row.error_message)
        for topic in answer.responses
        for row in topic.partitions
    }


def read_answers(answer: Any) -> dict[TopicPartition, Answer]:
    """Return what `read_refusals` returns, as answers."""
    return {key: Answer(*refused) if refused else Answer(None, None) for key, refused in read_refusals(answer).items()}


def list_reassignments(timeout_ms: int) -> ListPartitionReassignmentsRequest:
    """Build a request for every reassignment under way (KIP-455)."""
    return ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=None)


def read_reassignments(answer: Any) -> dict[TopicPartition, OngoingReassignment]:
    """Return the reassignments under way by partition. AnswerError for impossible names, numbers or lists of brokers."""
    return {(topic.name, row.partition_index): _ongoing(topic, row) for topic in answer.topics for row in topic.partitions}


def _ongoing(topic: Any, row: Any) -> OngoingReassignment:
    lists = row.replicas, row.adding_replicas, row.removing_replicas
    if not can_be_partition(topic.name or "", row.partition_index) or any(
        len(ids) > IDS or len({*ids}) < len(ids) or min(ids, default=0) < 0 for ids in lists
    ):
        raise AnswerError(
            f"a broker lists a reassignment of {topic.name!r:.300}-{row.partition_index} with lists of {', '.join(str(len(ids)) for ids in lists)} brokers; "
            f"each one may be there once, and the limit is {IDS}"
        )
    return OngoingReassignment(*map(tuple, lists))
