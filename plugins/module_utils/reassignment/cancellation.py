# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cancelling: reassignments under way are ended, and replicas put back in the order that they had.

Kafka ends one with the replicas of before, but in the order of its target (KIP-455): another preferred leader than there was.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition, chunks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import NOT_IN_PROGRESS, Move

# Partitions per request. A second one waits until brokers have made the replicas of the first, which takes longer the more there are.
BATCH = 2000
SETTLED_SECONDS = 10.0  # within which the brokers that are asked learn what the controller has done
LOOK_SECONDS = 0.05

Said: TypeAlias = "tuple[str | None, str | None]"  # Kafka's error (None: done), and words


class Cancellable(Protocol):
    """What is needed of a cluster."""

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]: ...
    def reassign(self, targets: Mapping[TopicPartition, Sequence[int]]) -> Mapping[TopicPartition, Said]: ...
    def cancel(self, keys: Iterable[TopicPartition]) -> Mapping[TopicPartition, Said]: ...


class Cancelled(NamedTuple):
    """What became of moves that were to be cancelled.

    problems  why it could not be done, by partition
    arrived   those that had come to their end already, with their new replicas
    warning   what could not be put in order, None where all is
    """

    problems: dict[TopicPartition, Said]
    arrived: set[TopicPartition]
    warning: str | None


def cancel(cluster: Cancellable, moves: Mapping[TopicPartition, Move]) -> Cancelled:
    """End these moves; those that have ended already are no problem. Then put the orders of their replicas back."""
    problems: dict[TopicPartition, Said] = {}
    ended: list[TopicPartition] = []
    for batch in chunks(moves, BATCH):
        try:
            answers = cluster.cancel(batch)
        except SpokenError as error:
            problems |= dict.fromkeys(batch, (None, f"{error}; run again to cancel it"))
            continue
        for key in batch:
            said = answers.get(key, (None, "the controller's answer leaves it out; run again"))
            if key not in answers or said[0] not in (None, NOT_IN_PROGRESS):
                problems[key] = said
            elif said[0] == NOT_IN_PROGRESS:
                ended.append(key)
    arrived: set[TopicPartition] = set()
    try:
        states = cluster.partitions(ended) if ended else {}
        arrived = {key for key in ended if key in states and states[key].replicas == moves[key].target}
        disordered = _put_orders_back(cluster, {key: move for key, move in moves.items() if key not in problems and key not in arrived})
    except SpokenError as error:
        return Cancelled(problems, arrived, f"the order of replicas could not be put back everywhere: {error}")
    return Cancelled(problems, arrived, f"the order of {disordered} partitions' replicas could not be put back" if disordered else None)


def _put_orders_back(cluster: Cancellable, moves: Mapping[TopicPartition, Move]) -> int:
    """Asked until the brokers know of the cancelling. Returns of how many partitions the controller did not take the order."""
    deadline, left, refused = time.monotonic() + SETTLED_SECONDS, dict(moves), 0
    while left:
        states = cluster.partitions(left)
        same = {key for key, move in left.items() if key in states and sorted(states[key].replicas) == sorted(move.current)}
        orders = {key: left[key].current for key in same if states[key].replicas != left[key].current}
        for batch in chunks(sorted(orders), BATCH):
            answers = cluster.reassign({key: orders[key] for key in batch})
            refused += sum(1 for key in batch if key not in answers or answers[key][0] is not None)
        left = {key: move for key, move in left.items() if key in states and key not in same}
        if left and time.monotonic() > deadline:
            break  # somebody else has given them other replicas
        time.sleep(LOOK_SECONDS if left else 0)
    return refused
