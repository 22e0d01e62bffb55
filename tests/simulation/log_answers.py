# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a simulated broker answers about logs: ends, records, epochs, sizes. Followers answer too (replica ids -2 and -3)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin import DescribeLogDirsResponse
from kafka.protocol.consumer.fetch import FetchResponse
from kafka.protocol.consumer.offsets import ListOffsetsResponse

from simulation.disks import LOG_DIRS, SECOND
from simulation.kafka_errors import code
from simulation.kraft import Key
from simulation.logs import NO_EPOCH, Batch, Log
from simulation.producer_logs import aborted, last_stable_offset

if TYPE_CHECKING:
    from simulation.broker import Broker

CONSUMER, EARLIEST, READ_COMMITTED = -1, -2, 1
TOTAL_BYTES, USABLE_BYTES = 100 << 30, 90 << 30


def describe_log_dirs(broker: Broker, request: Any) -> Any:
    kind = DescribeLogDirsResponse.DescribeLogDirsResult
    wanted = None if request.topics is None else {(one.topic, number) for one in request.topics for number in one.partitions}
    keys = sorted(key for key in broker.logs if wanted is None or key in wanted)
    if not broker.disks.has_failed:  # room on a disk that has failed is not known
        broker.cluster.after_log_dirs(broker.node_id)
    return DescribeLogDirsResponse(throttle_time_ms=0, error_code=0, results=[_log_dir(broker, kind, path, keys) for path in LOG_DIRS])


def _log_dir(broker: Broker, kind: Any, path: str, keys: list[Key]) -> Any:
    """Return what a broker says of a log dir. `keys`: partitions that were asked for."""
    if path == SECOND and broker.disks.has_failed:
        return kind(
            error_code=code("KAFKA_STORAGE_ERROR"), log_dir=path, topics=[], total_bytes=-1, usable_bytes=-1, is_cordoned=False
        )  # fmt: skip
    here = [key for key in keys if (key in broker.disks.on_second) == (path == SECOND)]
    topics = [
        kind.DescribeLogDirsTopic(
            name=name,
            partitions=[
                kind.DescribeLogDirsTopic.DescribeLogDirsPartition(
                    partition_index=key[1],
                    partition_size=sum(len(one.data) for one in broker.logs[key].batches),
                    offset_lag=0,
                    is_future_key=False,
                )
                for key in own
            ],
        )
        for name, own in groupby(here, key=lambda key: key[0])
    ]
    usable = 1 if broker.node_id in broker.cluster.full else USABLE_BYTES
    return kind(error_code=0, log_dir=path, topics=topics, total_bytes=TOTAL_BYTES, usable_bytes=usable, is_cordoned=False)


def list_offsets(broker: Broker, request: Any) -> Any:
    kind = ListOffsetsResponse.ListOffsetsTopicResponse
    topics = [
        kind(name=one.name, partitions=[_offset(broker, kind, (one.name, row.partition_index), request, row) for row in one.partitions])
        for one in request.topics
    ]
    return ListOffsetsResponse(throttle_time_ms=0, topics=topics)


def _offset(broker: Broker, kind: Any, key: Key, request: Any, row: Any) -> Any:
    is_consumer = request.replica_id == CONSUMER
    error, offset, epoch = leader_error(broker, key) if is_consumer else log_error(broker, key), -1, -1
    broker.cluster.read_at[broker.node_id, key] = broker.cluster.world.now
    if error is None:
        log, epoch = broker.logs[key], broker.image[key].epoch
        committed = last_stable_offset(log) if request.isolation_level == READ_COMMITTED else log.high_watermark
        offset = log.start if row.timestamp == EARLIEST else committed if is_consumer else log.end
    return kind.ListOffsetsPartitionResponse(
        partition_index=key[1], error_code=code(error), timestamp=-1, offset=offset, leader_epoch=epoch
    )


def log_error(broker: Broker, key: Key) -> str | None:
    """Return Kafka's error for a partition whose log the broker cannot read, None if it can."""
    if key not in broker.image:
        return "UNKNOWN_TOPIC_OR_PARTITION"
    if key in broker.disks.closed:
        return "KAFKA_STORAGE_ERROR"
    return None if key in broker.logs and broker.node_id in broker.image[key].replicas else "NOT_LEADER_OR_FOLLOWER"


def leader_error(broker: Broker, key: Key) -> str | None:
    """Return Kafka's error for a request that the leader alone answers, None if the broker leads."""
    error = log_error(broker, key)
    return error or (None if broker.image[key].leader == broker.node_id else "NOT_LEADER_OR_FOLLOWER")


def fetch(broker: Broker, request: Any) -> Any:
    kind, left, first = FetchResponse.FetchableTopicResponse, request.max_bytes, True
    topics = []
    for one in request.topics:
        rows = []
        for row in one.partitions:
            answered, size = _fetched(broker, kind.PartitionData, (one.topic, row.partition), request, row, left, first)
            left, first = left - size, first and size == 0
            rows.append(answered)
        topics.append(kind(topic=one.topic, partitions=rows))
    return FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=topics)


def _fetched(broker: Broker, kind: Any, key: Key, request: Any, row: Any, left: int, first: bool) -> tuple[Any, int]:
    """Return the answer about one partition, and the bytes of its records."""
    is_consumer = request.replica_id == CONSUMER
    error, records, diverging = leader_error(broker, key) if is_consumer else log_error(broker, key), b"", (NO_EPOCH, -1)
    batches: list[Batch] = []
    log = broker.logs.get(key, Log()) if error is None else Log()
    if error is None and row.last_fetched_epoch >= 0:
        epoch, end = log.end_of_epoch(row.last_fetched_epoch)
        if epoch == NO_EPOCH or row.fetch_offset < log.start:
            error = "OFFSET_OUT_OF_RANGE"
        elif epoch < row.last_fetched_epoch or end < row.fetch_offset:
            diverging = epoch, end
    stable = last_stable_offset(log)
    if error is None and diverging[0] == NO_EPOCH:
        end = (stable if request.isolation_level == READ_COMMITTED else log.high_watermark) if is_consumer else log.end
        if not log.start <= row.fetch_offset <= log.end:
            error = "OFFSET_OUT_OF_RANGE"
        else:
            batches = [one for one in log.from_offset(row.fetch_offset) if one.last < end]
            records = _records(batches, min(row.partition_max_bytes, left), first)
    known = error is None
    ended = _aborted(kind, log, batches) if known and request.isolation_level == READ_COMMITTED else None
    return kind(
        partition_index=key[1], error_code=code(error), high_watermark=log.high_watermark if known else -1, last_stable_offset=stable if known else -1,
        log_start_offset=log.start if known else -1, diverging_epoch=kind.EpochEndOffset(epoch=diverging[0], end_offset=diverging[1]),
        current_leader=kind.LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1), snapshot_id=kind.SnapshotId(end_offset=-1, epoch=-1),
        aborted_transactions=ended, preferred_read_replica=-1, records=records,
    ), len(records)  # fmt: skip


def _aborted(kind: Any, log: Log, batches: Sequence[Batch]) -> list[Any]:
    """Return the transactions that were aborted among these batches."""
    return [
        kind.AbortedTransaction(producer_id=producer, first_offset=first)
        for producer, first, marker in aborted(log)
        if batches and first <= batches[-1].last and marker >= batches[0].base
    ]


def _records(batches: Sequence[Batch], size: int, first: bool) -> bytes:
    found = b"".join(one.data for one in batches)
    if not batches or (len(batches[0].data) > size and not first):
        return b""
    return found[: max(size, len(batches[0].data))]
