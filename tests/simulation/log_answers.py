# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a simulated broker answers about logs: ends, records, epochs, sizes. Followers answer too (replica ids -2 and -3)."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin import DescribeLogDirsResponse
from kafka.protocol.consumer.fetch import FetchResponse
from kafka.protocol.consumer.offsets import ListOffsetsResponse

from simulation.disks import LOG_DIRS, SECOND
from simulation.kafka_errors import code
from simulation.kraft import Key
from simulation.logs import NO_EPOCH, Log

if TYPE_CHECKING:
    from simulation.broker import Broker

TOTAL_BYTES, USABLE_BYTES = 100 << 30, 90 << 30


def describe_log_dirs(broker: Broker, request: Any) -> Any:
    kind = DescribeLogDirsResponse.DescribeLogDirsResult
    wanted = None if request.topics is None else {(one.topic, number) for one in request.topics for number in one.partitions}
    keys = sorted(key for key in broker.logs if wanted is None or key in wanted)
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
    return kind(error_code=0, log_dir=path, topics=topics, total_bytes=TOTAL_BYTES, usable_bytes=USABLE_BYTES, is_cordoned=False)


def list_offsets(broker: Broker, request: Any) -> Any:
    kind = ListOffsetsResponse.ListOffsetsTopicResponse
    topics = [
        kind(
            name=one.name, partitions=[_offset(broker, kind, (one.name, row.partition_index), request.replica_id) for row in one.partitions]
        )
        for one in request.topics
    ]
    return ListOffsetsResponse(throttle_time_ms=0, topics=topics)


def _offset(broker: Broker, kind: Any, key: Key, replica_id: int) -> Any:
    error, offset, epoch = log_error(broker, key), -1, -1
    broker.cluster.read_at[broker.node_id, key] = broker.cluster.world.now
    if error is None:
        state, log = broker.image[key], broker.logs[key]
        if replica_id == -1 and state.leader != broker.node_id:
            error = "NOT_LEADER_OR_FOLLOWER"
        else:
            offset, epoch = (log.high_watermark if replica_id == -1 else log.end), state.epoch
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


def fetch(broker: Broker, request: Any) -> Any:
    kind, left, first = FetchResponse.FetchableTopicResponse, request.max_bytes, True
    topics = []
    for one in request.topics:
        rows = []
        for row in one.partitions:
            answered, size = _fetched(broker, kind.PartitionData, (one.topic, row.partition), row, left, first)
            left, first = left - size, first and size == 0
            rows.append(answered)
        topics.append(kind(topic=one.topic, partitions=rows))
    return FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=topics)


def _fetched(broker: Broker, kind: Any, key: Key, row: Any, left: int, first: bool) -> tuple[Any, int]:
    """Return the answer about one partition, and the bytes of its records."""
    error, records, diverging = log_error(broker, key), b"", (NO_EPOCH, -1)
    log = broker.logs.get(key, Log()) if error is None else Log()
    if error is None and row.last_fetched_epoch >= 0:
        epoch, end = log.end_of_epoch(row.last_fetched_epoch)
        if epoch == NO_EPOCH:
            error = "OFFSET_OUT_OF_RANGE"
        elif epoch < row.last_fetched_epoch or end < row.fetch_offset:
            diverging = epoch, end
    if error is None and diverging[0] == NO_EPOCH:
        if not log.start <= row.fetch_offset <= log.end:
            error = "OFFSET_OUT_OF_RANGE"
        else:
            records = _records(broker, log, row.fetch_offset, min(row.partition_max_bytes, left), first)
    known = error is None
    return kind(
        partition_index=key[1], error_code=code(error), high_watermark=log.high_watermark if known else -1, last_stable_offset=-1,
        log_start_offset=log.start if known else -1, diverging_epoch=kind.EpochEndOffset(epoch=diverging[0], end_offset=diverging[1]),
        current_leader=kind.LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1), snapshot_id=kind.SnapshotId(end_offset=-1, epoch=-1),
        aborted_transactions=None, preferred_read_replica=-1, records=records,
    ), len(records)  # fmt: skip


def _records(broker: Broker, log: Log, offset: int, size: int, first: bool) -> bytes:
    found = b"".join(one.data for one in log.from_offset(offset))
    batches = log.from_offset(offset)
    if not batches or (len(batches[0].data) > size and not first):
        return b""
    return found[: max(size, len(batches[0].data))]
