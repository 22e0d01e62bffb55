# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read the requests of consumers and producers, which show a partition as clients see it.

Pure: no I/O. `consumer_admin.py` chooses the brokers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.consumer.fetch import FetchRequest
    from kafka.protocol.consumer.offsets import ListOffsetsRequest, OffsetForLeaderEpochRequest
    from kafka.protocol.producer.produce import ProduceRequest
    from kafka.record.memory_records import MemoryRecordsBuilder

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.error_codes import error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import CONSUMER, fetch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.topic_rows import by_topic
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import EpochEnd
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

EARLIEST, LATEST = -2, -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
ALL = -1
# Produce v13 and newer name topics by id.
PRODUCE_VERSION = 12
CANARY_KEY = b"streamops.kafka_recovery.canary"  # a compacted topic refuses a record without a key


class CanaryResult(NamedTuple):
    """The result of one canary: its offset, or `error` (Kafka's name)."""

    error: str | None
    offset: int


def list_offsets(keys: Iterable[TopicPartition], timestamp: int, isolation_level: int = READ_UNCOMMITTED) -> ListOffsetsRequest:
    """Build a request for the first (EARLIEST) or last (LATEST) offset that a consumer sees. Only leaders answer. Read by `replica_log_fetch.read_log_ends`."""
    kind = ListOffsetsRequest.ListOffsetsTopic
    topics = [
        kind(
            name=topic,
            partitions=[
                kind.ListOffsetsPartition(partition_index=number, timestamp=timestamp, current_leader_epoch=-1) for number in numbers
            ],
        )
        for topic, numbers in by_topic(keys).items()
    ]
    return ListOffsetsRequest(replica_id=CONSUMER, isolation_level=isolation_level, topics=topics)


def fetch_back(offsets: Mapping[TopicPartition, int], partition_max_bytes: int) -> FetchRequest:
    """Build `replica_log_fetch.fetch` as a consumer: only leaders answer, up to the high watermark. Read by `replica_log_fetch.read_batches`."""
    request = fetch(offsets, partition_max_bytes)
    request.replica_id = CONSUMER
    return request


def fetch_aborted(key: TopicPartition, marker_offset: int) -> FetchRequest:
    """Build a Fetch, as a consumer with read_committed, of an ABORT marker: the answer has the transaction that it ends. Read by `read_aborted`."""
    request = fetch_back({key: marker_offset}, 1)
    request.isolation_level = READ_COMMITTED
    return request


def read_aborted(producer_id: int, marker_offset: int, answer: Any) -> dict[TopicPartition, int | None]:
    """Return the first offset of the transaction of a producer that the marker at an offset has aborted, by partition.

    -1 if the marker has ended none with records; None after an error, or if a transaction before the marker is open, so that consumers do not get there yet.
    """
    return {
        (topic.topic, row.partition_index): None
        if row.error_code or row.last_stable_offset <= marker_offset
        else max((one.first_offset for one in row.aborted_transactions or () if _is_of(one, producer_id, marker_offset)), default=-1)
        for topic in answer.responses
        for row in topic.partitions
    }


def _is_of(aborted: Any, producer_id: int, marker_offset: int) -> bool:
    return bool(aborted.producer_id == producer_id and 0 <= aborted.first_offset < marker_offset)


def epoch_ends(epochs: Mapping[TopicPartition, int]) -> OffsetForLeaderEpochRequest:
    """Build a request for the offset at which a leader epoch of each partition ends (OffsetForLeaderEpoch, KIP-320). Only leaders answer."""
    kind = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    topics = [
        kind(
            topic=topic,
            partitions=[
                kind.OffsetForLeaderPartition(partition=number, current_leader_epoch=-1, leader_epoch=epochs[topic, number])
                for number in numbers
            ],
        )
        for topic, numbers in by_topic(epochs).items()
    ]
    return OffsetForLeaderEpochRequest(replica_id=CONSUMER, topics=topics)


def read_epoch_ends(answer: Any) -> Iterator[tuple[TopicPartition, EpochEnd]]:
    """Yield the ends by partition. Epochs that are newer than the leader's are left out."""
    for topic in answer.topics:
        for row in topic.partitions:
            if not row.error_code and row.leader_epoch >= 0 and row.end_offset >= 0:
                yield (topic.topic, row.partition), EpochEnd(row.leader_epoch, row.end_offset)


def canaries(keys: Iterable[TopicPartition], value: str, timeout_ms: int) -> ProduceRequest:
    """Build a Produce request with one record for each partition and acks=all. Read by `read_canaries`."""
    kind = ProduceRequest.TopicProduceData
    records = _records(value)
    topics = [
        kind(name=topic, partition_data=[kind.PartitionProduceData(index=number, records=records) for number in numbers])
        for topic, numbers in by_topic(keys).items()
    ]
    return ProduceRequest(transactional_id=None, acks=ALL, timeout_ms=timeout_ms, topic_data=topics, max_version=PRODUCE_VERSION)


def _records(value: str) -> bytes:
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=4096)
    builder.append(timestamp=int(time.time() * 1000), key=CANARY_KEY, value=value.encode())
    builder.close()
    return bytes(builder.buffer())


def read_canaries(answer: Any) -> dict[TopicPartition, CanaryResult]:
    """Return the offset of each written record, or the error, by partition."""
    return {
        (topic.name, row.index): CanaryResult(error_name(row.error_code), row.base_offset)
        for topic in answer.responses
        for row in topic.partition_responses
    }
