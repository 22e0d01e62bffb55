# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A made-up controller that moves replicas, with a clock of its own: for what real ones cannot be made to do at a moment of one's choice."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.log_dirs import LogDirs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import LogEnd
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment

SIZE = 1000  # bytes of a partition
EMPTY_DISK = (1_000_000_000, 1_000_000_000)  # free and all bytes
REGISTERED = frozenset(range(1, 7))
Answer = tuple[str | None, str | None]


class Clock:
    """A clock that advances with each sleep and each request."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Moved:
    """Partitions of 1,000 bytes. Does as KRaft's controller does: a target is merged with what is removed, and cancelling keeps the target's order."""

    def __init__(self, clock: Clock, count: int = 4) -> None:
        self.clock = clock
        self.states = {("t", number): PartitionState("t", number, "id", 1, 1, (1, 2, 3), (1, 2, 3), (), (), ()) for number in range(count)}
        self.ongoing: dict[TopicPartition, OngoingReassignment] = {}
        self.begun: dict[TopicPartition, float] = {}
        self.dead: set[int] = set()
        self.per_second = 250  # bytes that a new replica copies
        self.throttled: set[TopicPartition] | None = None  # None: nothing has to be
        self.unanswered = 0  # so many requests are not answered any more
        self.refuses: dict[TopicPartition, Answer] = {}
        self.requests: list[dict[TopicPartition, tuple[int, ...]]] = []
        self.disks: dict[int, tuple[int | None, int | None]] = {}  # usable and total bytes
        self.most = 0
        self.is_alone = False  # no second broker answers

    def _pass(self) -> None:
        """Every request takes a moment, in which brokers copy and the controller ends what is copied."""
        self.clock.now += 0.01
        if self.unanswered:
            self.unanswered -= 1
            raise ClusterError("no broker answered")
        for key, move in list(self.ongoing.items()):
            if not self.dead & {*move.adding} and self._copied(key) >= SIZE:
                self.states[key] = replace(self.states[key], replicas=move.target, isr=tuple(b for b in move.target if b not in self.dead))
                del self.ongoing[key]

    def _copied(self, key: TopicPartition) -> int:
        return min(SIZE, int((self.clock.now - self.begun[key]) * self.per_second))

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        self._pass()
        return {key: state for key, state in self.states.items() if keys is None or key in keys}

    def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]:
        self._pass()
        there = {state.key: self.states[state.key] for state in states if state.key in self.states and not self.is_alone}
        return {key: StatedReplicas(3, state.replicas, state.topic_id, state.leader) for key, state in there.items()}

    def unfenced(self) -> set[int]:
        self._pass()
        return {*REGISTERED} - self.dead

    def reassignments(self) -> dict[TopicPartition, OngoingReassignment]:
        self._pass()
        return dict(self.ongoing)

    def log_dirs(self, brokers: Collection[int], keys: Collection[TopicPartition] | None = None) -> dict[int, LogDirs]:
        self._pass()
        return {
            broker: LogDirs(
                None,
                {key: self._held(key, broker) for key in self.states if broker in self.states[key].replicas and key in (keys or ())},
                *self.disks.get(broker, EMPTY_DISK),
                offline=(),
            )
            for broker in brokers
            if broker not in self.dead
        }

    def _held(self, key: TopicPartition, broker: int) -> int:
        return self._copied(key) if key in self.ongoing and broker in self.ongoing[key].adding else SIZE

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, LogEnd]]:
        self._pass()
        return {
            broker: {key: LogEnd(None, self._held(key, broker), 1) for key in keys}
            for broker, keys in work.items()
            if broker not in self.dead
        }

    def reassign(self, targets: Mapping[TopicPartition, Sequence[int]]) -> dict[TopicPartition, Answer]:
        self._pass()
        self.requests.append({key: tuple(target) for key, target in targets.items()})
        for key, target in targets.items():
            if key in self.refuses:
                continue
            state, adding = self.states[key], tuple(broker for broker in target if broker not in self.states[key].replicas)
            removing = tuple(broker for broker in state.replicas if broker not in target)
            if adding:
                assert self.throttled is None or key in self.throttled, "nothing is copied that is not throttled yet"
                self.ongoing[key], self.begun[key] = OngoingReassignment((*target, *removing), adding, removing), self.clock.now
                self.states[key] = replace(state, replicas=(*target, *removing))
            else:
                self.states[key] = replace(state, replicas=tuple(target), isr=tuple(broker for broker in state.isr if broker in target))
        self.most = max(self.most, len(self.ongoing))
        return {key: self.refuses.get(key, (None, None)) for key in targets}

    def cancel(self, keys: Iterable[TopicPartition]) -> dict[TopicPartition, Answer]:
        self._pass()
        answers: dict[TopicPartition, Answer] = {}
        for key in keys:
            under_way = self.ongoing.pop(key, None)
            answers[key] = (None, None) if under_way else ("NO_REASSIGNMENT_IN_PROGRESS", None)
            if under_way:
                self.states[key] = replace(self.states[key], replicas=under_way.original)
        return answers
