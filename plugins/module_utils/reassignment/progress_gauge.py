# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures how much the replicas of brokers hold, and tracks the progress of moves and stalls from that."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.log_dir_client import LogDirSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionSource, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import log_sizes, progress
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.log_sizes import States, sizes_on_leaders
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import Move

if TYPE_CHECKING:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import LogEnd


class Measurable(PartitionSource, LogDirSource, Protocol):
    """The methods of a cluster that measurements use."""

    def unfenced(self) -> set[int]: ...
    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> Mapping[int, Mapping[TopicPartition, LogEnd]]: ...


def measure(
    cluster: Measurable, replicas: Mapping[TopicPartition, Collection[int]], states: States, unfenced: Collection[int]
) -> progress.Measurements:
    """Return size and log end of the replicas that are not in sync, and of their leaders, from the brokers that are alive.

    `replicas`: broker ids by partition. A broker that does not answer is absent; the result is `silent` if none answers. Raises ClusterError if
    the answers exceed the memory that the client may use.
    """
    work: dict[int, list[TopicPartition]] = {}
    for key, brokers in replicas.items():
        state = states.get(key)
        behind = [] if state is None else [broker for broker in brokers if broker in state.replicas and broker not in state.isr]
        if state is not None and behind:
            for broker in {state.leader, *behind} & set(unfenced):
                work.setdefault(broker, []).append(key)
    if not work:
        return progress.Measurements()
    # Two rounds of requests: data that is copied in between does not make a replica appear further behind.
    sizes = cluster.log_dirs(work.keys(), sorted({key for keys in work.values() for key in keys}))
    ends = cluster.log_ends(work)
    known_sizes = {broker: found.sizes for broker, found in sizes.items()}
    known_ends = {broker: {key: end.log_end_offset for key, end in found.items() if end.error is None} for broker, found in ends.items()}
    return progress.Measurements(known_sizes, known_ends, not any(known_sizes.values()) and not any(known_ends.values()))


class ProgressTracker:
    """Tracks the progress of moves. If brokers do not answer, less is known, and nothing fails."""

    def __init__(self, cluster: Measurable) -> None:
        self._cluster = cluster
        self._meter = progress.Meter()
        self._sizes: dict[TopicPartition, int] = {}  # of the leaders' logs
        self._seen: list[progress.ReplicaProgress] = []
        self._behind: tuple[int, int] | None = None  # replicas in sync, messages behind; None while no broker answers
        self._prepared = self._moved_on = time.monotonic()

    def prepare(self, keys: Collection[TopicPartition], states: States) -> None:
        """Read the sizes of these partitions' logs on their leaders: what there is to copy, and the start of `write_rates`."""
        self._prepared = time.monotonic()
        with contextlib.suppress(RecoveryError):
            self._sizes |= sizes_on_leaders(self._cluster, keys, states)
        self._meter.note(time.monotonic(), {})

    def write_rates(self, keys: Collection[TopicPartition], states: States) -> dict[TopicPartition, float]:
        """Return the bytes per second written to these partitions since `prepare`. A partition is absent if its leader does not answer."""
        before, seconds = dict(self._sizes), time.monotonic() - self._prepared
        self.prepare(keys, states)
        return log_sizes.write_rates({key: before[key] for key in keys if key in before}, self._sizes, seconds)

    def on_submitted(self, moves: Iterable[Move]) -> None:
        """Register moves that are about to be submitted: their new replicas are empty."""
        self._meter.start_empty((*move.key, broker) for move in moves for broker in move.adding)
        self._moved_on = time.monotonic()

    def on_arrived(self, moves: Iterable[Move]) -> None:
        """Record that these moves have ended: their new replicas hold what the leaders hold."""
        self._moved_on = time.monotonic()
        full = {(*move.key, broker): self._sizes[move.key] for move in moves if move.key in self._sizes for broker in move.adding}
        self._meter.note(self._moved_on, full)

    def seconds_stalled(self) -> float | None:
        """Return the seconds since anything was copied, None if no broker has answered a measurement yet, so that a stall cannot be known."""
        return None if self._behind is None else time.monotonic() - self._moved_on

    def reset_stall_timer(self) -> None:
        """Begin a new stall period, after the stalled moves were abandoned."""
        self._behind, self._moved_on = None, time.monotonic()

    def read(
        self, under_way: Mapping[TopicPartition, Move], waiting: Collection[Move], states: States, partitions: int, in_sync: int
    ) -> dict[str, Any]:
        """Measure the moves `under_way` and return `progress.summary` of all moves. `waiting`: moves that are not submitted yet.

        `partitions`: the number of all moves, of which `in_sync` have arrived.
        """
        with contextlib.suppress(RecoveryError):  # the last measurements are returned again
            self._seen = self._rows({key: move.adding for key, move in under_way.items()}, states)
        later = [progress.WaitingReplica(broker, self._sizes.get(move.key)) for move in waiting for broker in move.adding]
        return progress.summary(self._seen, partitions, in_sync, self._meter.rates, later)

    def _rows(self, replicas: Mapping[TopicPartition, Collection[int]], states: States) -> list[progress.ReplicaProgress]:
        found = measure(self._cluster, replicas, states, self._cluster.unfenced())
        registered = {broker for brokers in replicas.values() for broker in brokers}  # Kafka accepted them as targets
        rows = progress.statuses(replicas, states, registered, found)
        copied = {
            (*key, broker): found.sizes[broker][key]
            for key, brokers in replicas.items()
            for broker in brokers
            if key in found.sizes.get(broker, {})
        }
        for key in replicas:
            leader = states[key].leader if key in states else -1
            self._sizes |= {key: found.sizes[leader][key]} if key in found.sizes.get(leader, {}) else {}
        in_sync = sum(1 for row in rows if row.status == progress.IN_SYNC)
        messages = progress.known_sum(row.messages_behind for row in rows)
        grown = self._meter.note(time.monotonic(), copied)
        if grown or self._behind is None or in_sync > self._behind[0] or (messages or 0) < self._behind[1]:
            self._moved_on = time.monotonic()
        self._behind = self._behind if found.silent else (in_sync, messages or 0)
        return rows
