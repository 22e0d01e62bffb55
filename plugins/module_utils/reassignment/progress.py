# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress: how far replicas have come, how fast, and when they will be in sync. Pure: no I/O, no Kafka client.

The states are those that KIP-179 wanted `kafka-reassign-partitions.sh --progress` to show, as words of data.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition

IN_SYNC, BEHIND = "in_sync", "behind"
UNKNOWN_TOPIC, UNKNOWN_PARTITION, UNKNOWN_BROKER = "unknown_topic", "unknown_partition", "unknown_broker"
NOT_HOSTED = "broker_does_not_host_partition"
STATUSES = (IN_SYNC, BEHIND, UNKNOWN_TOPIC, UNKNOWN_PARTITION, UNKNOWN_BROKER, NOT_HOSTED)

WINDOW = 30.0  # seconds over which the rate is taken: a throttled replica is not served in every second

Replica = tuple[str, int, int]


class ReplicaProgress(NamedTuple):
    """How far one replica has come. What it is behind its leader by is None where one of the two did not tell, and 0 where it is in sync."""

    topic: str
    partition: int
    broker_id: int
    status: str
    bytes_behind: int | None = None
    messages_behind: int | None = None


@dataclass(frozen=True)
class Measured:
    """What brokers say: bytes and log end offset of each replica, by broker and partition. What was not told is absent.

    `silent`: brokers were asked, and none of them told anything.
    """

    sizes: Mapping[int, Mapping[TopicPartition, int]] = field(default_factory=dict)
    ends: Mapping[int, Mapping[TopicPartition, int]] = field(default_factory=dict)
    silent: bool = False


def statuses(
    replicas: Mapping[TopicPartition, Collection[int]],
    states: Mapping[TopicPartition, PartitionState],
    registered: Collection[int],
    measured: Measured,
) -> list[ReplicaProgress]:
    """Status of the named replicas (brokers by partition), in the order given. `registered`: the brokers of the cluster, alive or not."""
    topics = {topic for topic, _partition in states}
    return [_status(key, broker, states.get(key), topics, registered, measured) for key, brokers in replicas.items() for broker in brokers]


def _status(
    key: TopicPartition,
    broker: int,
    state: PartitionState | None,
    topics: Collection[str],
    registered: Collection[int],
    measured: Measured,
) -> ReplicaProgress:
    if state is None:
        return ReplicaProgress(*key, broker, UNKNOWN_PARTITION if key[0] in topics else UNKNOWN_TOPIC)
    if broker in state.isr and broker in state.replicas:
        return ReplicaProgress(*key, broker, IN_SYNC, 0, 0)
    if broker not in state.replicas:
        return ReplicaProgress(*key, broker, NOT_HOSTED if broker in registered else UNKNOWN_BROKER)
    return ReplicaProgress(
        *key,
        broker,
        BEHIND,
        _behind(measured.sizes, key, state.leader, broker),
        _behind(measured.ends, key, state.leader, broker),
    )


def _behind(told: Mapping[int, Mapping[TopicPartition, int]], key: TopicPartition, leader: int, broker: int) -> int | None:
    """How much more the leader has. A replica that was copied may be the larger one: its segments are cut at other places."""
    ahead, own = told.get(leader, {}).get(key), told.get(broker, {}).get(key)
    return None if ahead is None or own is None else max(0, ahead - own)


def known_sum(values: Iterable[int | None]) -> int | None:
    """The sum of what is known, None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


class Meter:
    """How many bytes were copied, and how fast, from sizes seen at moments (seconds of a clock that never goes back)."""

    def __init__(self, window: float = WINDOW) -> None:
        self._window = window
        self._sizes: dict[Replica, int] = {}
        self._seen: deque[tuple[float, int]] = deque()
        self.copied = 0

    def note(self, now: float, sizes: Mapping[Replica, int]) -> bool:
        """Take the sizes of replicas that are copied, or were just finished. Returns whether anything has grown."""
        before = self.copied
        for replica, size in sizes.items():
            # What shrinks was truncated or deleted by retention: nothing was copied by that.
            self.copied += max(0, size - self._sizes.get(replica, size))
            self._sizes[replica] = size
        self._seen.append((now, self.copied))
        while len(self._seen) > 2 and self._seen[1][0] <= now - self._window:
            self._seen.popleft()
        return self.copied > before

    def began_empty(self, replicas: Iterable[Replica]) -> None:
        """Replicas that are about to be made: whatever they hold when they are seen first was copied."""
        for replica in replicas:
            self._sizes.setdefault(replica, 0)

    @property
    def rate(self) -> float | None:
        """Bytes per second over the window; None until there are two moments to compare."""
        if len(self._seen) < 2 or self._seen[-1][0] <= self._seen[0][0]:
            return None
        return (self._seen[-1][1] - self._seen[0][1]) / (self._seen[-1][0] - self._seen[0][0])


def seconds_left(bytes_left: int | None, rate: float | None) -> float | None:
    """Estimated seconds until so many bytes are copied; None where nothing tells, or where nothing moves."""
    if bytes_left == 0:
        return 0.0
    return None if bytes_left is None or not rate else bytes_left / rate


def summary(
    rows: Sequence[ReplicaProgress], partitions: int, in_sync: int, rate: float | None, waiting_bytes: int | None = 0
) -> dict[str, Any]:
    """Return the progress of many partitions as one dict.

    `partitions` of which `in_sync` have all of their replicas in sync, `waiting_bytes` of them not yet begun with. Keys: partitions, in_sync, replicas
    (number by status), bytes_behind (also of what waits), messages_behind, bytes_per_second, estimated_seconds. None where it is not known.
    """
    counted = Counter(row.status for row in rows)
    behind = [row for row in rows if row.status == BEHIND]
    # With nothing behind nothing is left, with nobody telling nobody knows.
    bytes_behind = known_sum(row.bytes_behind for row in behind) if behind else 0
    total = bytes_behind if waiting_bytes is None or bytes_behind is None else bytes_behind + waiting_bytes
    return {
        "partitions": partitions,
        "in_sync": in_sync,
        "replicas": {status: counted[status] for status in STATUSES},
        "bytes_behind": total,
        "messages_behind": known_sum(row.messages_behind for row in behind) if behind else 0,
        "bytes_per_second": None if rate is None else round(rate),
        "estimated_seconds": None if (left := seconds_left(total, rate)) is None else round(left, 1),
    }


def line(name: str, found: Mapping[str, Any]) -> str:
    """Say in one line what `summary` found for the cluster `name`."""
    parts = [f"{found['in_sync']:,} of {found['partitions']:,} partitions in sync"]
    behind = [in_bytes(found["bytes_behind"])] if found["bytes_behind"] else []
    behind += [f"{found['messages_behind']:,} messages"] if found["messages_behind"] else []
    if behind:
        parts.append(f"{' and '.join(behind)} behind")
    if found["bytes_per_second"] is not None:
        parts.append(f"{in_bytes(found['bytes_per_second'])}/s")
    if found["in_sync"] < found["partitions"]:
        left = found["estimated_seconds"]
        parts.append("no end in sight" if left is None else f"about {in_time(left)} left")
    return f"{name}: {', '.join(parts)}"


def in_bytes(count: float) -> str:
    """A number of bytes in words: 1 kB is 1,000 bytes, as rates of Kafka's throttles are given."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} B"


def in_time(seconds: float) -> str:
    """A duration in words, the two largest units of it."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
