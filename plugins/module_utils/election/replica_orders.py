# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replica orders that elections change for the moment: how they are set, and put back unless the cluster still needs the order that stands."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import unanswered_requests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import (
    ChangedOrder,
    Journal,
    Left,
    foreign,
    to_restore,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition, chunks

REQUEST_LIMIT = 1000
NOT_ANSWERED = Refusal("", "the controller's answer leaves it out")
# A broker shows what the controller has changed a moment later; a busy one takes longer.
FIRST_LOOK, LAST_LOOK, VISIBLE_SECONDS = 0.05, 1.0, 5.0

Orders = Mapping[TopicPartition, Sequence[int]]
States = Mapping[TopicPartition, PartitionState]


class Reordering(Protocol):
    """What changes of replica orders need of a cluster."""

    in_doubt: set[TopicPartition]
    elections_in_doubt: set[TopicPartition]

    def partitions(self, keys: Collection[TopicPartition]) -> dict[TopicPartition, PartitionState]: ...
    def reassigning(self) -> set[TopicPartition]: ...
    def reorder(self, orders: Orders) -> dict[TopicPartition, Refusal | None]: ...


def change(cluster: Reordering, orders: Orders) -> dict[TopicPartition, Refusal]:
    """Give partitions new replica orders. Returns why it was refused, by partition: NOT_ANSWERED for those that the answer leaves out."""
    refused: dict[TopicPartition, Refusal] = {}
    for chunk in chunks(orders, REQUEST_LIMIT):
        answered = cluster.reorder({key: orders[key] for key in chunk})
        refused |= {key: refusal for key in chunk if (refusal := answered.get(key, NOT_ANSWERED))}
    return refused


def not_visible(cluster: Reordering, orders: Orders) -> set[TopicPartition]:
    """Wait until these orders stand. Returns the partitions that have another one still, or again, after VISIBLE_SECONDS."""
    end, pause = time.monotonic() + VISIBLE_SECONDS, FIRST_LOOK
    missing = set(orders)
    while True:
        states = cluster.partitions(missing)
        missing = {key for key in missing if key not in states or states[key].replicas != tuple(orders[key])}
        if not missing or time.monotonic() + pause > end:
            return missing
        time.sleep(pause)
        pause = min(2 * pause, LAST_LOOK)


def repair(cluster: Reordering, journal: Journal) -> list[TopicPartition]:
    """Restore the replica orders that killed runs left changed. Returns the partitions where that was done."""
    left = left_behind(cluster, journal)
    states = cluster.partitions(set(left))
    kept = under_reassignment(cluster, left) | awaiting_election(cluster, left, states)
    orders = {key: order for key, order in to_restore(left, states).items() if key not in kept}
    refused = change(cluster, orders)
    unsettled = {*refused, *kept, *foreign(left, states), *cluster.in_doubt}
    journal.settle({key: changes for key, changes in left.items() if key in unsettled})
    return sorted(orders.keys() - refused)


def left_behind(cluster: Reordering, journal: Journal) -> Left:
    """Return the changed orders that the journal has open. Elections that earlier runs sent, and that were never answered, are in doubt for this run, too."""
    cluster.elections_in_doubt.update(journal.elections_in_doubt())
    return journal.left_behind()


def under_reassignment(cluster: Reordering, keys: Collection[TopicPartition]) -> set[TopicPartition]:
    """Return which of these partitions have a reassignment under way. A new order would replace it.

    Kafka lists the replicas that a reassignment removes behind those that stay: that can look like the order of an election.
    """
    return cluster.reassigning() & {*keys} if keys else set()


def awaiting_election(cluster: Reordering, keys: Collection[TopicPartition], states: States) -> set[TopicPartition]:
    """Return which of these partitions an election may still reach that was sent and never answered.

    It would elect the first live replica of the order that stands by then. Once a partition has a leader it changes nothing.
    """
    return {key for key in cluster.elections_in_doubt & {*keys} if key in states and states[key].leader < 0}


def put_back(
    cluster: Reordering, left: Left, changed: Sequence[ChangedOrder], refused: Mapping[TopicPartition, Refusal], states: States
) -> list[TopicPartition]:
    """Restore what was changed, but no order that another tool has set meanwhile, or that the partition still needs. Returns what the journal has to keep.

    The run that changed an order last restores what it found, and the run before that the first order. `left`: what the journal has open. `states` may lag
    behind the controller: where they still show the original, it is restored all the same; where they show a change that was refused, too.
    What was not answered may have been done.
    """
    others = foreign({order.key: left[order.key] for order in changed}, states)
    keys = [order.key for order in changed]
    kept = {*others, *under_reassignment(cluster, keys), *awaiting_election(cluster, keys, states)}
    orders = {
        order.key: order.original
        for order in changed
        if order.key not in kept
        and (_may_be_done(refused.get(order.key)) or (order.key in states and states[order.key].replicas == order.changed))
    }
    return [*kept, *change(cluster, orders)]


def _may_be_done(refused: Refusal | None) -> bool:
    return refused in (None, NOT_ANSWERED) or unanswered_requests.timed_out(refused)
