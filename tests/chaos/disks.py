"""What the disks of all brokers hold, read from the segments themselves: neither the cluster nor the collection is asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

from kafka.record import MemoryRecords

from rig import KafkaCluster, page_cache
from rig.admin import TopicPartition
from rig.config import Node
from rig.nodes import FAILED

REPLAYED = "kafka_recovery_offset"


class Identity(NamedTuple):
    """What makes a record one and the same on every disk and in every repetition of an idempotent producer.

    The producer's numbers of an idempotent producer (id, epoch, sequence); leader epoch and offset of any other (with -1 for the id).
    """

    producer_id: int
    epoch: int
    place: int


class Stored(NamedTuple):
    """One record of a log. `replayed`: whether a replay has written it."""

    identity: Identity
    value: str
    replayed: bool


Held = dict[TopicPartition, defaultdict[str, set[Identity]]]  # by partition, then by value


def on_disks(
    cluster: KafkaCluster, keys: Iterable[TopicPartition], without: Mapping[TopicPartition, Collection[int]] | None = None
) -> Held:
    """What producers have written, as far as any disk has it, by partition but for the brokers of `without`. Copies that a replay wrote do not count."""
    held: Held = {key: defaultdict(set) for key in keys}
    for broker in cluster.brokers.values():
        for log_dir in (*broker.log_dirs, broker.directory / FAILED):
            for topic, partition in held:
                if broker.node_id in (without or {}).get((topic, partition), ()):
                    continue
                for record in records(log_dir / f"{topic}-{partition}"):
                    if not record.replayed:
                        held[topic, partition][record.value].add(record.identity)
    return held


def second_logs(node: Node) -> list[TopicPartition]:
    """The partitions whose logs of this broker are on its second disk."""
    return [key for key, log in _logs(node) if log.parent != node.data_dir]


def lose_unflushed(node: Node, topics: Collection[str], random: Random) -> dict[TopicPartition, set[str]]:
    """Let a broker that is down lose what it had not flushed of these topics. Return the values that it lost, nothing if it had shut down by itself."""
    lost = {}
    if page_cache.was_killed(node):
        for key, log in sorted(_logs(node)):
            before = {record.value for record in records(log)} if key[0] in topics else set()
            if before and page_cache.cut(log, random):
                lost[key] = before - {record.value for record in records(log)}
    return lost


def _logs(node: Node) -> Iterator[tuple[TopicPartition, Path]]:
    for log_dir in node.log_dirs:
        for log in log_dir.glob("*-[0-9]*") if log_dir.is_dir() else ():
            topic, _, partition = log.name.rpartition("-")
            if partition.isdigit():
                yield (topic, int(partition)), log


def records(folder: Path) -> Iterator[Stored]:
    """The records of one log that are not compressed; none if there is no such folder."""
    for segment in sorted(folder.glob("*.log")):
        batches = MemoryRecords(segment.read_bytes())
        while (batch := batches.next_batch()) is not None:
            # Replays may compress what they write, the producers of chaos do not.
            if batch.is_control_batch or batch.compression_type:
                continue
            for record in batch:
                place = record.offset - batch.base_offset + batch.base_sequence
                numbers = (
                    (batch.producer_id, batch.producer_epoch, place) if batch.producer_id >= 0 else (-1, batch.leader_epoch, record.offset)
                )
                replayed = any(name == REPLAYED for name, _ in record.headers)
                yield Stored(Identity(*numbers), (record.value or b"").decode(), replayed)
