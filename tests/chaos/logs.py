"""Reading replicas' logs to their very end, broker by broker, whether the partition has a leader or not.

Nothing of the collection is used here: what a log holds is the judges' own finding.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from kafka.errors import for_code
from kafka.protocol.consumer.fetch import FetchRequest
from kafka.record import MemoryRecords

from rig import KafkaCluster, RigError
from rig.admin import TopicPartition
from rig.config import HOST
from rig.rpc import ask

FUTURE_LOCAL_REPLICA = -3  # reads up to the log's end, not only to the high watermark
ROOM = 1 << 20
SECONDS = 60.0


class Record(NamedTuple):
    """One record of a log: where it stands, the leader epoch that its batch was written in, what it says (nothing: the marker of a transaction)."""

    offset: int
    epoch: int
    value: str


Log = tuple[Record, ...]
Logs = dict[TopicPartition, dict[int, Log]]  # by partition, then by broker


def values(log: Log) -> set[str]:
    """What a log says."""
    return {record.value for record in log if record.value}


def end(log: Log) -> int:
    """The log end offset: the cleaner leaves the last record of a log, which is the last one of its key."""
    return log[-1].offset + 1 if log else 0


def has_gaps(log: Log) -> bool:
    """Whether records are missing before others: the cleaner has removed them."""
    offsets = [-1, *(record.offset for record in log)]
    return any(later > earlier + 1 for earlier, later in itertools.pairwise(offsets))


def read_logs(cluster: KafkaCluster, broker_id: int, keys: Collection[TopicPartition]) -> dict[TopicPartition, Log]:
    """The whole log of this broker's replica of each partition."""
    ends = cluster.log_end_offsets(broker_id, keys)
    found: dict[TopicPartition, list[Record]] = {key: [] for key in keys}
    address = HOST, cluster.brokers[broker_id].replication_port or 0
    while left := {key: end(tuple(found[key][-1:])) for key in keys if end(tuple(found[key][-1:])) < ends[key]}:
        before = sum(left.values())
        answer = ask(address, _fetch(left), SECONDS)
        for topic in answer.responses:
            for row in topic.partitions:
                key = topic.topic, row.partition_index
                if row.error_code:
                    raise RigError(f"reading {key[0]}-{key[1]} from broker {broker_id}: {for_code(row.error_code).__name__}")
                found[key] += [record for record in _records(row.records) if record.offset >= left[key]]
        if sum(end(tuple(found[key][-1:])) for key in left) == before:
            raise RigError(f"broker {broker_id} gives no more of {sorted(left)[0]}, whose log goes on")
    return {key: tuple(records) for key, records in found.items()}


def survey(cluster: KafkaCluster, broker_ids: Collection[int], replicas: dict[TopicPartition, tuple[int, ...]]) -> Logs:
    """The logs of these brokers' replicas of these partitions, but for those on a disk that has failed."""
    logs: Logs = {key: {} for key in replicas}
    for broker_id in broker_ids:
        failed = cluster.failed_logs(broker_id)
        hosted = [key for key, assigned in replicas.items() if broker_id in assigned and key not in failed]
        for key, log in read_logs(cluster, broker_id, hosted).items() if hosted else ():
            logs[key][broker_id] = log
    return logs


def _records(data: bytes | None) -> Iterator[Record]:
    batches = MemoryRecords(bytes(data or b""))
    while (batch := batches.next_batch()) is not None:
        for record in batch:
            yield Record(record.offset, batch.leader_epoch, "" if batch.is_control_batch else (record.value or b"").decode())


def _fetch(offsets: dict[TopicPartition, int]) -> Any:
    kind = FetchRequest.FetchTopic
    topics = [
        kind(
            topic=topic,
            partitions=[
                kind.FetchPartition(
                    partition=key[1],
                    current_leader_epoch=-1,
                    fetch_offset=offsets[key],
                    last_fetched_epoch=-1,
                    log_start_offset=-1,
                    partition_max_bytes=ROOM,
                )
                for key in keys
            ],
        )
        for topic, keys in itertools.groupby(sorted(offsets), key=lambda key: key[0])
    ]
    return FetchRequest[12](
        replica_id=FUTURE_LOCAL_REPLICA,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=ROOM * len(offsets),
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=topics,
        forgotten_topics_data=[],
        rack_id="",
    )
