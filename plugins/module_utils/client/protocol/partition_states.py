# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read Metadata and DescribeTopicPartitions (KIP-966): the state of partitions. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.error_codes import error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.topic_rows import topic_id
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError, ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import IDS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    can_be_partition,
)

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.admin import DescribeTopicPartitionsRequest
    from kafka.protocol.metadata import MetadataRequest

PARTITIONS_PER_PAGE = 2000


def metadata(topics: Iterable[str] | None) -> MetadataRequest:
    """Build a Metadata request for these topics, or for all (None). It creates no topic."""
    rows = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics]
    return MetadataRequest(topics=rows, allow_auto_topic_creation=False)


def read_metadata(answer: Any, node: int | None = None) -> list[PartitionState]:
    """Return the partition states of a Metadata answer, which has no ELR. AnswerError for impossible names, numbers or replica lists.

    `node`: the broker that answered.
    """
    return [_state(topic, ident, row, (), (), node) for topic, ident in _topic_ids(answer) for row in topic.partitions]


def describe_topic_partitions(topics: Iterable[str], start: TopicPartition | None, limit: int) -> DescribeTopicPartitionsRequest:
    """Build a request for at most `limit` partitions of these topics (empty: all topics), sorted by name, from `start` on (KIP-966)."""
    kind = DescribeTopicPartitionsRequest
    rows = [kind.TopicRequest(name=topic) for topic in topics]
    cursor = None if start is None else kind.Cursor(topic_name=start[0], partition_index=start[1])
    return kind(topics=rows, response_partition_limit=min(limit, PARTITIONS_PER_PAGE), cursor=cursor)


def read_topic_partitions(answer: Any, node: int | None = None) -> list[PartitionState]:
    """Return the partition states of one DescribeTopicPartitions page. Parameters and errors are those of `read_metadata`."""
    return [
        _state(topic, ident, row, row.eligible_leader_replicas or (), row.last_known_elr or (), node)
        for topic, ident in _topic_ids(answer)
        for row in topic.partitions
    ]


def refuse_hidden(answer: Any) -> None:
    """Raise ClusterError if topics are left out of an answer because this client may not describe them: they may exist or not."""
    hidden = [topic.name for topic in answer.topics if error_name(topic.error_code) == "TOPIC_AUTHORIZATION_FAILED"]
    if hidden:
        raise ClusterError(f"topic {hidden[0]!r:.300} cannot be described: grant DESCRIBE on it")


def _topic_ids(answer: Any) -> list[tuple[Any, str]]:
    """Return the topics of an answer, each with its id."""
    return [(topic, topic_id(topic.topic_id)) for topic in answer.topics]


def _state(topic: Any, ident: str, row: Any, elr: Collection[int], last_known_elr: Collection[int], node: int | None) -> PartitionState:
    if (
        not can_be_partition(topic.name or "", row.partition_index)
        or not row.replica_nodes
        or min(row.replica_nodes) < 0
        or row.leader_epoch < -1
    ):
        raise AnswerError(
            f"a broker describes partition {topic.name!r:.300}-{row.partition_index} with leader epoch {row.leader_epoch} and replicas "
            f"{row.replica_nodes!s:.300}"
        )
    for ids in (row.replica_nodes, row.isr_nodes, row.offline_replicas, elr, last_known_elr):
        if len(ids) > 1 and (len(ids) > IDS or len(set(ids)) < len(ids)):
            raise AnswerError(
                f"a broker describes partition {topic.name}-{row.partition_index} with a list of {len(ids)} brokers, {len(set(ids))} different "
                f"ones; the limit is {IDS}"
            )
    return PartitionState(
        topic=topic.name,
        partition=row.partition_index,
        topic_id=ident,
        leader=row.leader_id,
        leader_epoch=row.leader_epoch,
        replicas=tuple(row.replica_nodes),
        isr=tuple(row.isr_nodes),
        eligible_leader_replicas=tuple(elr),
        last_known_elr=tuple(last_known_elr),
        offline_replicas=tuple(row.offline_replicas),
        described_by=node,
    )
