# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress of reassignments: how far replicas are behind, the copy rate, and the estimated time. Pure: no I/O, no Kafka client.

The statuses are those that KIP-179 proposed for `kafka-reassign-partitions.sh --progress`, in snake case.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import in_bytes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition

IN_SYNC, BEHIND = "in_sync", "behind"
UNKNOWN_TOPIC, UNKNOWN_PARTITION, UNKNOWN_BROKER = "unknown_topic", "unknown_partition", "unknown_broker"
NOT_HOSTED = "broker_does_not_host_partition"
STATUSES = (IN_SYNC, BEHIND, UNKNOWN_TOPIC, UNKNOWN_PARTITION, UNKNOWN_BROKER, NOT_HOSTED)

WINDOW = 30.0  # seconds over which the rate is measured: a throttled replica does not receive data in every second

Replica = tuple[str, int, int]


class ReplicaProgress(NamedTuple):
    """Progress of one replica. `bytes_behind`, `messages_behind`: 0 if it is in sync, None if it or its leader did not answer."""

    topic: str
    partition: int
    broker_id: int
    status: str
    bytes_behind: int | None = None
    messages_behind: int | None = None


@dataclass(frozen=True)
class Measurements:
    """Answers of brokers: `sizes` (bytes) and `ends` (log end offsets) of replicas, by broker and partition. Unknown replicas are absent.

    `silent`: whether brokers got requests and none of them answered.
    """

    sizes: Mapping[int, Mapping[TopicPartition, int]] = field(default_factory=dict)
    ends: Mapping[int, Mapping[TopicPartition, int]] = field(default_factory=dict)
    silent: bool = False


def statuses(
    replicas: Mapping[TopicPartition, Collection[int]],
    states: Mapping[TopicPartition, PartitionState],
    registered: Collection[int],
    measured: Measurements,
) -> list[ReplicaProgress]:
    """Return the progress of `replicas` (broker ids by partition), in the order given.

    `states`: of all partitions that exist; `registered`: ids of all brokers, fenced ones included.
    """
    topics = {topic for topic, _partition in states}
    return [_status(key, broker, states.get(key), topics, registered, measured) for key, brokers in replicas.items() for broker in brokers]


def _status(
    key: TopicPartition,
    broker: int,
    state: PartitionState | None,
    topics: Collection[str],
    registered: Collection[int],
    measured: Measurements,
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


def _behind(values: Mapping[int, Mapping[TopicPartition, int]], key: TopicPartition, leader: int, broker: int) -> int | None:
    """Return how much more the leader has, None if unknown. A copied replica may be larger, because its segments have other boundaries."""
    ahead, own = values.get(leader, {}).get(key), values.get(broker, {}).get(key)
    return None if ahead is None or own is None else max(0, ahead - own)


def known_sum(values: Iterable[int | None]) -> int | None:
    """Return the sum of the known values, None if there are none."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


class Meter:
    """Measures copied bytes and the copy rate, from log sizes at times of a monotonic clock (seconds)."""

    def __init__(self, window: float = WINDOW) -> None:
        self._window = window
        self._sizes: dict[Replica, int] = {}
        self._copied: Counter[int] = Counter()  # bytes by the broker that has copied them
        self._seen: deque[tuple[float, Counter[int]]] = deque()

    @property
    def copied(self) -> int:
        """Return the bytes that were copied."""
        return self._copied.total()

    def note(self, now: float, sizes: Mapping[Replica, int]) -> bool:
        """Record the sizes (bytes) of replicas that are copied, or have just arrived. Returns whether any has grown.

        `now`: seconds of the monotonic clock. The first size of a replica counts as copied only after `start_empty`.
        """
        before = self.copied
        for replica, size in sizes.items():
            # A log that shrinks was truncated or deleted by retention.
            self._copied[replica[2]] += max(0, size - self._sizes.get(replica, size))
            self._sizes[replica] = size
        self._seen.append((now, self._copied.copy()))
        while len(self._seen) > 2 and self._seen[1][0] <= now - self._window:
            self._seen.popleft()
        return self.copied > before

    def start_empty(self, replicas: Iterable[Replica]) -> None:
        """Register replicas that are about to be created: everything that they hold at the first `note` was copied."""
        for replica in replicas:
            self._sizes.setdefault(replica, 0)

    @property
    def rate(self) -> float | None:
        """Return the copied bytes per second over the window, None until `note` was called at two points in time."""
        return None if (rates := self.rates) is None else sum(rates.values())

    @property
    def rates(self) -> dict[int, float] | None:
        """Return the bytes per second that each broker has copied over the window, None as for `rate`. Brokers that copied nothing have 0."""
        if len(self._seen) < 2 or self._seen[-1][0] <= self._seen[0][0]:
            return None
        (began, before), (ended, after) = self._seen[0], self._seen[-1]
        return {broker: (copied - before[broker]) / (ended - began) for broker, copied in after.items()}


def seconds_left(bytes_left: int | None, rate: float | None) -> float | None:
    """Return the estimated seconds until `bytes_left` are copied, None if they or the rate (bytes per second) are unknown, or the rate is 0."""
    if bytes_left == 0:
        return 0.0
    return None if bytes_left is None or not rate else bytes_left / rate


class WaitingReplica(NamedTuple):
    """A replica that `broker_id` copies later, because its move is not submitted yet: its `bytes`, None if unknown."""

    broker_id: int
    bytes: int | None


def by_broker(
    rows: Iterable[ReplicaProgress], rates: Mapping[int, float] | None, waiting: Iterable[WaitingReplica] = ()
) -> list[dict[str, Any]]:
    """Return one row for each broker that has something to copy: the one that is expected to be the last comes first.

    `rates`: bytes per second by broker, None if unknown. Keys: broker_id, partitions (that it still copies, with `waiting`), bytes_behind,
    messages_behind, bytes_per_second, estimated_seconds. Unknown values are None.
    """
    found: dict[int, list[tuple[int | None, int | None]]] = {}
    for row in rows:
        if row.status == BEHIND:
            found.setdefault(row.broker_id, []).append((row.bytes_behind, row.messages_behind))
    for later in waiting:
        found.setdefault(later.broker_id, []).append((later.bytes, None))
    brokers = []
    for broker, left in found.items():
        rate = None if rates is None else rates.get(broker, 0.0)
        total = known_sum(size for size, _messages in left)
        brokers.append(
            {
                "broker_id": broker,
                "partitions": len(left),
                "bytes_behind": total,
                "messages_behind": known_sum(messages for _size, messages in left),
                "bytes_per_second": None if rate is None else round(rate),
                "estimated_seconds": None if (seconds := seconds_left(total, rate)) is None else round(seconds, 1),
            }
        )
    return sorted(
        brokers,
        key=lambda row: (
            row["estimated_seconds"] is not None,
            -(row["estimated_seconds"] or 0),
            -(row["bytes_behind"] or 0),
            row["broker_id"],
        ),
    )


def summary(
    rows: Sequence[ReplicaProgress],
    partitions: int,
    in_sync: int,
    rates: Mapping[int, float] | None,
    waiting: Sequence[WaitingReplica] = (),
) -> dict[str, Any]:
    """Return the progress of many partitions as one dict.

    partitions  number of all partitions, of which `in_sync` have all of their replicas in sync
    rates       bytes per second by broker, None if unknown
    waiting     replicas of moves that are not submitted yet

    Keys: partitions, in_sync, replicas (count by status), bytes_behind (with `waiting`), messages_behind, bytes_per_second,
    estimated_seconds, brokers (as `by_broker`). Unknown values are None.
    """
    counted = Counter(row.status for row in rows)
    behind = [row for row in rows if row.status == BEHIND]
    # Without replicas behind nothing is left to copy; if no broker answers, the sum is unknown.
    bytes_behind = known_sum(row.bytes_behind for row in behind) if behind else 0
    total = None if bytes_behind is None else bytes_behind + (known_sum(later.bytes for later in waiting) or 0)
    rate = None if rates is None else sum(rates.values())
    return {
        "partitions": partitions,
        "in_sync": in_sync,
        "replicas": {status: counted[status] for status in STATUSES},
        "bytes_behind": total,
        "messages_behind": known_sum(row.messages_behind for row in behind) if behind else 0,
        "bytes_per_second": None if rate is None else round(rate),
        "estimated_seconds": None if (left := seconds_left(total, rate)) is None else round(left, 1),
        "brokers": by_broker(behind, rates, waiting),
    }


def line(progress: Mapping[str, Any]) -> str:
    """Return the progress as one line. `progress`: as `summary` returns it."""
    parts = [f"{progress['in_sync']:,} of {progress['partitions']:,} partitions in sync"]
    behind = [in_bytes(progress["bytes_behind"])] if progress["bytes_behind"] else []
    behind += [f"{progress['messages_behind']:,} messages"] if progress["messages_behind"] else []
    if behind:
        parts.append(f"{' and '.join(behind)} behind")
    if progress["bytes_per_second"] is not None:
        parts.append(f"{in_bytes(progress['bytes_per_second'])}/s")
    if progress["in_sync"] < progress["partitions"]:
        left = progress["estimated_seconds"]
        parts.append("remaining time unknown" if left is None else f"about {in_time(left)} left")
    return ", ".join(parts)


def in_time(seconds: float) -> str:
    """Return a duration (seconds) as text with its two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
