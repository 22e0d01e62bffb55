# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read ListOffsets and Fetch for single replicas: where a log and its leader epochs end, and the batch at an offset. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.error_codes import error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.topic_rows import by_topic
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch, read_batch

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.consumer.fetch import FetchRequest
    from kafka.protocol.consumer.offsets import ListOffsetsRequest

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


class FetchedRecords(NamedTuple):
    """A Fetch answer about one replica. `records`: whole batches, and perhaps a part of one more; empty if its log ends or other partitions came first.

    `error`: Kafka's name, or None.
    """

    error: str | None
    records: bytes


class EpochEndAnswer(NamedTuple):
    """A Fetch answer about one replica's leader epochs: the greatest `epoch` up to the requested one and its `end_offset`, or `error`.

    Both are None if the answer has no diverging epoch.
    """

    error: str | None
    epoch: int | None
    end_offset: int | None


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


def read_records(answer: Any) -> dict[TopicPartition, FetchedRecords]:
    """Return the fetched records by partition. As in `read_batches`, the dict is empty if the whole request failed."""
    return {
        (topic.topic, row.partition_index): FetchedRecords(error_name(row.error_code), bytes(row.records or b""))
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
