# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read the messages of released Kafka that are sent to brokers one by one.

They use kafka-python's schemas. Pure: no I/O. `cluster.py` chooses the brokers.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

with suppress(ImportError):  # optional_imports.py says why
    from kafka.errors import for_code
    from kafka.protocol.admin import (
        DescribeClusterRequest,
        DescribeQuorumRequest,
        DescribeTopicPartitionsRequest,
        ElectLeadersRequest,
    )
    from kafka.protocol.consumer.fetch import FetchRequest
    from kafka.protocol.consumer.offsets import ListOffsetsRequest
    from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest, MetadataResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import quorum_checks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError, quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import BROKERS, IDS, NAME_LETTERS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TOPIC_NAME, PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch, read_batch

# A replica without a leader still answers these replica ids, which no broker has. -2 (debugging) reads ListOffsets from any
# replica; only -3 (future local) makes Fetch read up to the log end, -2 stops at the replica's own high watermark.
CONSUMER, DEBUGGING_REPLICA, FUTURE_LOCAL_REPLICA = -1, -2, -3
# Fetch v13 names topics by id and v15 moves the replica id: v12 is the last version in which FUTURE_LOCAL_REPLICA works.
FETCH_VERSION = 12
# Since v4 (Kafka 2.1) a partition's row is `partition_index, current_leader_epoch, timestamp`. Up to v5 it has no tagged fields, which would take
# kafka-python as long as all others together.
LIST_OFFSETS_VERSIONS = (4, 5)
# An offset that is greater than any log end offset.
BEYOND_LOGS = 2**63 - 1
LATEST = -1
ELECTION_TYPES = {"preferred": 0, "unclean": 1}  # KIP-460
PARTITIONS_PER_PAGE = 2000
# Errors that kafka-python names differently from Kafka, for example with the name of 6 before KIP-392.
RENAMED = {
    -1: "UNKNOWN_SERVER_ERROR",
    6: "NOT_LEADER_OR_FOLLOWER",
    10: "MESSAGE_TOO_LARGE",
    17: "INVALID_TOPIC_EXCEPTION",
    39: "INVALID_REPLICA_ASSIGNMENT",
}
DESCRIBE_CONFIGS = 32
VOTE = 52  # kafka-python has no class for requests between controllers
CODES = 256  # more than there are error codes


class LogEnd(NamedTuple):
    """A broker's answer about one replica: `log_end_offset` and `partition_leader_epoch`, or `error` (Kafka's name).

    Only GetReplicaLogInfo (KIP-1275) has `broker_epoch`; ListOffsets has not.
    """

    error: str | None
    log_end_offset: int
    partition_leader_epoch: int
    broker_epoch: int | None = None


class FetchedBatch(NamedTuple):
    """A Fetch answer about one replica: `high_watermark`, `log_start_offset`, and the batch at the requested offset (None: no records)."""

    error: str | None
    high_watermark: int
    log_start_offset: int
    batch: LastBatch | None


class EpochEndAnswer(NamedTuple):
    """A Fetch answer about one replica's leader epochs: the greatest `epoch` up to the requested one and its `end_offset`, or `error`.

    Both are None if the answer has no diverging epoch.
    """

    error: str | None
    epoch: int | None
    end_offset: int | None


def error_name(code: int) -> str | None:
    """Return Kafka's own name of an error code, None for 0, UNKNOWN_<code> for a code that kafka-python does not know."""
    if code == 0:
        return None
    name = getattr(for_code(code), "message", "UNKNOWN")
    return RENAMED.get(code) or (f"UNKNOWN_{code}" if name == "UNKNOWN" else name)


def refusal(code: int, message: str | None) -> Refusal | None:
    """Return Kafka's error and the start of its ErrorMessage, None for code 0."""
    error = error_name(code)
    return None if error is None else Refusal(error, quoted(message) or None)


@cache
def _retriable() -> frozenset[str]:
    return frozenset(name for code in range(1, CODES) if getattr(for_code(code), "retriable", False) and (name := error_name(code)))


def is_retriable(error: str) -> bool:
    """Return whether Kafka's clients retry after this error (RetriableException), as kafka-python's error classes state."""
    return error in _retriable()


def by_topic(keys: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return partition numbers by topic, in the order given."""
    topics: dict[str, list[int]] = {}
    for topic, partition in keys:
        topics.setdefault(topic, []).append(partition)
    return topics


def topic_id(value: uuid.UUID | None) -> str:
    """Return a topic's id as Kafka writes it: URL-safe base64, without padding. kafka-python reads an id of zeros as None."""
    return base64.urlsafe_b64encode((value or uuid.UUID(int=0)).bytes).decode().rstrip("=")


def describe_cluster() -> DescribeClusterRequest:
    """Build a DescribeCluster request that includes fenced brokers if the broker supports it (v2, Kafka 4.0)."""
    return DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=1, include_fenced_brokers=True)


def read_nodes(answer: Any) -> list[Node]:
    """Return the nodes of a DescribeCluster or Metadata answer. AnswerError for repeated or negative ids and for oversized names."""
    described = answer.name == "DescribeClusterResponse"
    knows_fenced = described and answer.API_VERSION >= 2
    ids = [row.broker_id if described else row.node_id for row in answer.brokers]
    if len(ids) > BROKERS or len(set(ids)) < len(ids) or min(ids, default=0) < 0:
        raise AnswerError(f"{answer.name} names {len(ids)} brokers, {len(set(ids))} different ones, the lowest {min(ids)}")
    for broker_id, row in zip(ids, answer.brokers, strict=True):
        if len(row.host) > NAME_LETTERS or len(row.rack or "") > NAME_LETTERS:
            raise AnswerError(
                f"{answer.name} gives broker {broker_id} a host of {len(row.host)} letters and a rack of {len(row.rack or '')}; "
                f"the limit is {NAME_LETTERS}"
            )
    return [
        Node(row.broker_id if described else row.node_id, row.host, row.port, row.rack, bool(row.is_fenced) if knows_fenced else None)
        for row in answer.brokers
    ]


def metadata(topics: Iterable[str] | None) -> MetadataRequest:
    """Build a Metadata request for these topics, or for all (None). It creates no topic."""
    rows = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics]
    return MetadataRequest(topics=rows, allow_auto_topic_creation=False)


def with_brokers(metadata: Any, nodes: Iterable[Node]) -> Any:
    """Add these nodes to the brokers of a Metadata answer, which names live brokers only. Return the answer."""
    kind = MetadataResponse.MetadataResponseBroker
    version, named = metadata.API_VERSION, {row.node_id for row in metadata.brokers}
    more = [kind(node.broker_id, node.host, node.port, node.rack, version=version) for node in nodes if node.broker_id not in named]
    metadata.brokers = [*metadata.brokers, *more]
    return metadata


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


def _topic_ids(answer: Any) -> list[tuple[Any, str]]:
    """Return the topics of an answer, each with its id."""
    return [(topic, topic_id(topic.topic_id)) for topic in answer.topics]


def _state(topic: Any, ident: str, row: Any, elr: Collection[int], last_known_elr: Collection[int], node: int | None) -> PartitionState:
    if not TOPIC_NAME.fullmatch(topic.name or "") or row.partition_index < 0 or not row.replica_nodes or min(row.replica_nodes) < 0:
        raise AnswerError(
            f"a broker describes partition {topic.name!r:.300}-{row.partition_index} with replicas {row.replica_nodes!s:.300}"
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


def describe_quorum() -> DescribeQuorumRequest:
    """Build a request for the state of the metadata quorum, in which brokers are observers (KIP-595, KIP-836)."""
    kind = DescribeQuorumRequest.TopicData
    return DescribeQuorumRequest(topics=[kind(topic_name="__cluster_metadata", partitions=[kind.PartitionData(partition_index=0)])])


def quorum_partition(answer: Any) -> Any:
    """Return DescribeQuorum's row of the metadata log, its only partition. AnswerError if the answer contradicts itself."""
    row = only_row(answer, answer.topics)
    quorum_checks.check(answer, row)
    return row


def only_row(answer: Any, topics: Sequence[Any]) -> Any:
    """Return the row of the one requested partition. AnswerError if `topics` has more or fewer rows."""
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        raise AnswerError(f"{answer.name} has {len(topics)} topics instead of the one partition that was requested")
    return topics[0].partitions[0]


def quorum_error(answer: Any) -> str | None:
    """Return the error (Kafka's name) with which a node refuses to describe the quorum, None if it describes it."""
    return error_name(answer.error_code) or error_name(quorum_partition(answer).error_code)


def api_versions() -> ApiVersionsRequest:
    """Build a request for the versions of every message that a node supports."""
    return ApiVersionsRequest(client_software_name="streamops-kafka-recovery", client_software_version="1")


def read_versions(answer: Any) -> dict[int, tuple[int, int]]:
    """Return the lowest and highest version of every message that a node supports, by API key."""
    return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}


def read_feature_level(answer: Any, feature: str) -> int | None:
    """Return the finalized level of a feature (KIP-584), 0 if it is not finalized. None if the node does not know it yet, or is too old."""
    if answer.API_VERSION < 3 or answer.finalized_features_epoch < 0:
        return None
    return next((int(row.max_version_level) for row in answer.finalized_features if row.name == feature), 0)


def read_vote_versions(answer: Any) -> tuple[int, int] | None:
    """Return the lowest and highest version of Vote that a controller supports, None if the node is not a controller."""
    return read_versions(answer).get(VOTE)


def list_offsets(keys: Iterable[TopicPartition], replica_id: int = DEBUGGING_REPLICA) -> ListOffsetsRequest:
    """Build a request for log end offset and leader epoch of any replicas. As CONSUMER, only leaders answer, with the high watermark."""
    # A tuple, which kafka-python takes too, is made in a tenth of the time that its class for a row needs.
    kind: Any = ListOffsetsRequest.ListOffsetsTopic
    topics = [kind(name=topic, partitions=[(number, -1, LATEST) for number in numbers]) for topic, numbers in by_topic(keys).items()]
    lowest, highest = LIST_OFFSETS_VERSIONS
    return ListOffsetsRequest(replica_id=replica_id, isolation_level=0, topics=topics, min_version=lowest, max_version=highest)


def read_log_ends(answer: Any) -> dict[TopicPartition, LogEnd]:
    """Return the log ends by partition."""
    return {
        (topic.name, row.partition_index): LogEnd(error_name(row.error_code), row.offset, row.leader_epoch)
        for topic in answer.topics
        for row in topic.partitions
    }


def fetch(
    offsets: Mapping[TopicPartition, int],
    partition_max_bytes: int,
    epochs: Mapping[TopicPartition, int] | None = None,
    max_bytes: int | None = None,
) -> FetchRequest:
    """Build a request for the batch at an offset of each partition. Followers answer, too, up to their log end; it uses no fetch session.

    epochs     leader epochs of the records before these offsets. The broker compares them with its own log (KIP-320)
    max_bytes  of the whole answer, None for as many as all partitions may have. The first partition that has records there gets one batch at least
    """
    rows: dict[str, list[tuple[int, ...]]] = {}
    for key, offset in offsets.items():
        epoch = epochs[key] if epochs else -1
        # As in `list_offsets`: partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes.
        rows.setdefault(key[0], []).append((key[1], -1, offset, epoch, -1, partition_max_bytes))
    kind: Any = FetchRequest.FetchTopic
    topics = [kind(topic=topic, partitions=partitions) for topic, partitions in rows.items()]
    return FetchRequest(
        replica_id=FUTURE_LOCAL_REPLICA,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=max(1, len(offsets)) * partition_max_bytes if max_bytes is None else max_bytes,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=topics,
        forgotten_topics_data=[],
        rack_id="",
        min_version=FETCH_VERSION,
        max_version=FETCH_VERSION,
    )


def read_batches(answer: Any) -> dict[TopicPartition, FetchedBatch]:
    """Return the fetched batches by partition. If the whole request failed, the dict is empty."""
    return {
        (topic.topic, row.partition_index): FetchedBatch(
            error_name(row.error_code), row.high_watermark, row.log_start_offset, read_batch(row.records)
        )
        for topic in answer.responses
        for row in topic.partitions
    }


def fetch_epoch_ends(epochs: Mapping[TopicPartition, int], partition_max_bytes: int) -> FetchRequest:
    """Build a request for the offset at which a leader epoch of each partition ends in a follower's log.

    A follower finds in this way up to where its log equals its leader's (KIP-320). No log has the requested offset, so the answer is the
    diverging epoch and never records. OFFSET_OUT_OF_RANGE means that the log has no epoch as great as the requested one.
    """
    return fetch(dict.fromkeys(epochs, BEYOND_LOGS), partition_max_bytes, epochs)


def read_epoch_ends(answer: Any) -> dict[TopicPartition, EpochEndAnswer]:
    """Return the ends of epochs by partition. As in `read_batches`, the dict is empty if the whole request failed."""
    ends: dict[TopicPartition, EpochEndAnswer] = {}
    for topic in answer.responses:
        for row in topic.partitions:
            end = row.diverging_epoch
            ends[topic.topic, row.partition_index] = EpochEndAnswer(error_name(row.error_code), end and end.epoch, end and end.end_offset)
    return ends


def elect(election_type: str, keys: Iterable[TopicPartition], timeout_ms: int) -> ElectLeadersRequest:
    """Build an election of these partitions (KIP-460). `election_type`: one of ELECTION_TYPES."""
    topics = [ElectLeadersRequest.TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in by_topic(keys).items()]
    return ElectLeadersRequest(election_type=ELECTION_TYPES[election_type], topic_partitions=topics, timeout_ms=timeout_ms)


def read_election(answer: Any) -> dict[TopicPartition, Refusal | None]:
    """Return Kafka's refusal by partition, None if a leader was elected."""
    return {
        (topic.topic, row.partition_id): refusal(row.error_code, row.error_message)
        for topic in answer.replica_election_results
        for row in topic.partition_result
    }
