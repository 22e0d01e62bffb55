# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cancels reassignments, and restores the order of replicas.

Kafka cancels a reassignment with the original replicas, but in the order of its target (KIP-455), so the preferred leader can change.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionSource,
    PartitionState,
    StatedReplicas,
    TopicPartition,
    chunks,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import Move

# Partitions per request. A second request waits until brokers have created the replicas of the first, which takes longer the more there are.
BATCH = 2000
SETTLED_SECONDS = 10.0  # within which brokers learn of the controller's changes
POLL_SECONDS = 0.05

Answer: TypeAlias = "tuple[str | None, str | None]"  # Kafka's error (None: done), and a message


class Cancellable(PartitionSource, Protocol):
    """The methods of a cluster that a cancellation uses."""

    def reassign(self, targets: Mapping[TopicPartition, Sequence[int]]) -> Mapping[TopicPartition, Answer]: ...
    def reassignments(self) -> Mapping[TopicPartition, OngoingReassignment]: ...
    def cancel(self, keys: Iterable[TopicPartition]) -> Mapping[TopicPartition, Answer]: ...
    def second_replicas(self, states: Collection[PartitionState]) -> Mapping[TopicPartition, StatedReplicas]: ...


class Cancellation(NamedTuple):
    """The results of cancelling moves.

    problems  errors of moves that could not be cancelled, by partition
    arrived   partitions whose move had ended already, with its target replicas
    warning   a sentence if the order of replicas could not be restored everywhere, else None
    """

    problems: dict[TopicPartition, Answer]
    arrived: set[TopicPartition]
    warning: str | None


def cancel(cluster: Cancellable, moves: Mapping[TopicPartition, Move]) -> Cancellation:
    """Cancel these moves (KIP-455), then restore the order of their replicas. A move that has ended already is not a problem.

    No order is restored if the cancellation leaves other replicas than the move began with, because another tool changed them: that would be another move.
    Brokers that are behind do not show it, so two of them must state the replicas.

    Waits at most SETTLED_SECONDS for brokers to learn of it. Raises nothing if the cluster fails: the result has the errors.
    """
    problems: dict[TopicPartition, Answer] = {}
    ended: list[TopicPartition] = []
    changed = _changed_by_others(cluster, moves)
    for batch in chunks(moves, BATCH):
        try:
            answers = cluster.cancel(batch)
        except RecoveryError as error:
            problems |= dict.fromkeys(batch, (None, f"{error}; run again to cancel it"))
            continue
        for key in batch:
            answer = answers.get(key, (None, "it is missing from the controller's response; run again"))
            if key not in answers or answer[0] not in (None, kafka_errors.NO_REASSIGNMENT_IN_PROGRESS):
                problems[key] = answer
            elif answer[0] == kafka_errors.NO_REASSIGNMENT_IN_PROGRESS:
                ended.append(key)
    arrived: set[TopicPartition] = set()
    try:
        states = cluster.partitions(ended) if ended else {}
        arrived = {key for key in ended if key in states and states[key].replicas == moves[key].target}
        settled = problems.keys() | arrived | changed
        disordered = _restore_orders(cluster, {key: move for key, move in moves.items() if key not in settled})
    except RecoveryError as error:
        return Cancellation(problems, arrived, f"the order of replicas could not be restored everywhere: {error}")
    return Cancellation(problems, arrived, f"the replica order of {disordered} partitions could not be restored" if disordered else None)


def _changed_by_others(cluster: Cancellable, moves: Mapping[TopicPartition, Move]) -> set[TopicPartition]:
    """Return the partitions that have other replicas after a cancellation than their moves began with. The controller knows that, brokers may be behind."""
    try:
        under_way = cluster.reassignments()
    except RecoveryError:  # so does the cancellation then, or brokers show the replicas
        return set()
    return {key for key, move in moves.items() if key in under_way and {*under_way[key].original} != {*move.current}}


def _restore_orders(cluster: Cancellable, moves: Mapping[TopicPartition, Move]) -> int:
    """Restore orders as brokers learn of the cancellation. Returns how many orders were not restored although one broker states the replicas of before:
    the controller refused the order, or no second broker states these replicas within SETTLED_SECONDS."""
    deadline, remaining, refused = time.monotonic() + SETTLED_SECONDS, dict(moves), 0
    while remaining:
        states = cluster.partitions(remaining)
        same = {key for key, move in remaining.items() if key in states and sorted(states[key].replicas) == sorted(move.current)}
        orders = {key: remaining[key].current for key in same if states[key].replicas != remaining[key].current}
        doubtful = _doubtful(cluster, orders, [states[key] for key in orders])
        for batch in chunks(sorted(orders.keys() - doubtful), BATCH):
            answers = cluster.reassign({key: orders[key] for key in batch})
            refused += sum(1 for key in batch if key not in answers or answers[key][0] is not None)
        remaining = {key: move for key, move in remaining.items() if key in states and key not in same - doubtful}
        if remaining and time.monotonic() > deadline:
            return refused + len(doubtful)  # another process has given the others other replicas
        time.sleep(POLL_SECONDS if remaining else 0)
    return refused


def _doubtful(
    cluster: Cancellable, orders: Mapping[TopicPartition, Sequence[int]], states: Collection[PartitionState]
) -> set[TopicPartition]:
    """Return the partitions whose replicas no second broker states as well. If the first one is behind, their order would be another move."""
    stated = cluster.second_replicas(states) if states else {}
    return {key for key, order in orders.items() if key not in stated or sorted(stated[key].replicas or ()) != sorted(order)}
