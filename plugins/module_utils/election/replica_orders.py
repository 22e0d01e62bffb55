# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replica orders that elections change for a moment: set, and restored unless the partition still needs the present order."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import gone_partitions, unanswered_requests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import (
    ChangedOrder,
    Journal,
    Left,
    foreign,
    order_before,
    to_restore,
    with_another_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_doubts import doubt
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionSource,
    PartitionState,
    StatedReplicas,
    TopicPartition,
    chunks,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason

REQUEST_LIMIT = 1000
NOT_ANSWERED = Refusal("", "the controller's answer leaves it out")
# Seconds. A broker shows a change a moment after the controller has made it; a busy one takes longer.
FIRST_LOOK, LAST_LOOK, VISIBLE_SECONDS = 0.05, 1.0, 5.0

# Why an order that a killed run has changed stays for now.
MOVING = "a reassignment of it is under way, which an order would replace; wait for it or cancel it, then run again"
UNANSWERED = (
    "an election of it was never answered, and a broker that hangs may still carry it out with this order: no two brokers state the same leader of it yet; "
    "recover the partition first"
)
CHANGED = Refusal("", "it has got other replicas, or another order of them, since they were read")
# Why an order of a killed run may change once more.
ANY_BROKER = "its run was killed before it knew which brokers had answered: one that hangs may still set the order of the election; the next run asks them"
LATE_ELECTION = (
    "an election of it was never answered. If its leader is lost before a broker that hangs carries the election out, it gets the first live replica of its "
    "order as leader, whatever that lacks; restart the brokers that hang"
)

Orders = Mapping[TopicPartition, Sequence[int]]
States = Mapping[TopicPartition, PartitionState]


class Reordering(PartitionSource, Protocol):
    """The methods of a cluster that changes of replica orders use."""

    in_doubt: dict[TopicPartition, set[int]]
    elections_in_doubt: set[TopicPartition]
    lists_fenced: bool

    def second_replicas(self, states: Collection[PartitionState]) -> dict[TopicPartition, StatedReplicas]: ...
    def listed(self) -> set[int]: ...
    def silent(self, wanted: Collection[int] | None = None, listed: Collection[int] = ()) -> set[int]: ...
    def reassigning(self) -> set[TopicPartition]: ...
    def reorder(self, orders: Orders) -> dict[TopicPartition, Refusal | None]: ...


def change(cluster: Reordering, orders: Orders) -> dict[TopicPartition, Refusal]:
    """Set replica orders (KIP-455). Returns the refusals by partition, NOT_ANSWERED for those that the answer leaves out.

    Raises ClusterError if the cluster does not answer; some orders may be set then.
    """
    refused: dict[TopicPartition, Refusal] = {}
    for chunk in chunks(orders, REQUEST_LIMIT):
        answered = cluster.reorder({key: orders[key] for key in chunk})
        refused |= {key: refusal for key in chunk if (refusal := answered.get(key, NOT_ANSWERED))}
    return refused


def not_visible(cluster: Reordering, orders: Orders) -> set[TopicPartition]:
    """Wait until brokers show these orders. Returns the partitions that have another one, or none, after VISIBLE_SECONDS."""
    end, pause = time.monotonic() + VISIBLE_SECONDS, FIRST_LOOK
    missing = set(orders)
    while True:
        states = cluster.partitions(missing)
        missing = {key for key in missing if key not in states or states[key].replicas != tuple(orders[key])}
        if not missing or time.monotonic() + pause > end:
            return missing
        time.sleep(pause)
        pause = min(2 * pause, LAST_LOOK)


class Open(NamedTuple):
    """Orders that the journal has open: `orders` to restore now; `kept`, why others must stay as they are; `other` orders, that another run has set.

    `left`: all of them, `states`: of their partitions. `unanswered`: why these, restored or not, may change once more.
    """

    left: Left
    states: States
    orders: dict[TopicPartition, tuple[int, ...]]
    kept: dict[TopicPartition, str]
    other: Left
    unanswered: dict[TopicPartition, str]


def await_answers(cluster: Reordering, journal: Journal) -> None:
    """Ask the brokers that have never answered a request for an order whether they answer now, and wait until they have carried it out if so.

    The journal and the cluster's `in_doubt` have only the others then. Which broker got an election is not known, so it is settled when all of them answer.
    Raises ClusterError if the cluster does not answer, FileError if the journal cannot be written.
    """
    left_behind(cluster, journal)
    elections = journal.elections_in_doubt()
    any_broker = bool(elections) or None in journal.unanswered_by().values()
    wanted = unanswered_by(cluster, cluster.in_doubt)
    if not wanted and not any_broker:
        return
    silent = unanswered_requests.still_silent(cluster, None if any_broker else wanted, wanted | journal.listed())
    cluster.in_doubt = {key: rest for key, brokers in cluster.in_doubt.items() if (rest := brokers & silent)}
    if not silent:
        cluster.elections_in_doubt -= elections
    journal.answered_by_all_but(silent)


def plan_repair(cluster: Reordering, journal: Journal) -> Open:
    """Return what `repair` would do. Raises ClusterError if the cluster does not answer."""
    left = left_behind(cluster, journal)
    states = cluster.partitions(set(left))
    changed = with_another_order(left)
    kept = dict.fromkeys(awaiting_election(cluster, left, states), UNANSWERED) | dict.fromkeys(under_reassignment(cluster, changed), MOVING)
    others = foreign(left, states)
    # What is not to be restored is forgotten, which one broker alone cannot cause either. Of an election without another order nothing is to be restored.
    known = [key for key in left if key not in kept and key not in others and (key in changed or key in cluster.elections_in_doubt)]
    topic_ids = {key: {change.topic_id for change in left[key]} for key in known}
    found = {**doubted_orders(cluster, left, states, known), **gone_partitions.doubts(cluster, topic_ids, states)}
    kept |= {key: why.sentence for key, why in found.items()}
    orders = {key: order for key, order in to_restore(left, states).items() if key not in kept}
    unanswered = {
        **dict.fromkeys(cluster.elections_in_doubt & left.keys(), LATE_ELECTION),
        **{key: ANY_BROKER for key, brokers in journal.unanswered_by().items() if brokers is None},
        **{key: unanswered_text(cluster, cluster.in_doubt[key]) for key in cluster.in_doubt.keys() & left.keys()},
    }
    return Open(left, states, orders, kept, others, unanswered)


def _overtaken(cluster: Reordering, what: Open) -> set[TopicPartition]:
    """Return the partitions whose order to restore other tools have changed since: the second broker, or a store, may have taken long.

    To restore an order is right if the partition still has it, or one that runs of this workdir have set.
    """
    now = cluster.partitions({*what.orders}) if what.orders else {}
    return {
        key
        for key, order in what.orders.items()
        if key not in now or (now[key].topic_id, order_before(now[key].replicas, what.left[key])) != (what.states[key].topic_id, order)
    }


def unanswered_text(cluster: Reordering, brokers: Collection[int]) -> str:
    """Return the sentence about a partition whose order these brokers may still change."""
    return (
        f"broker {', '.join(map(str, sorted(brokers)))} got a request for the order of an election and never answered: if it hangs, it may still "
        f"carry it out; run again when {unanswered_requests.when_it_ends(cluster)}"
    )


def repair(cluster: Reordering, journal: Journal) -> list[TopicPartition]:
    """Restore the replica orders that killed runs left changed. Returns the partitions whose order was restored, sorted. See `execute_repair`."""
    await_answers(cluster, journal)
    what = plan_repair(cluster, journal)
    return sorted(what.orders.keys() - execute_repair(cluster, journal, what))


def repair_after_elections(cluster: Reordering, journal: Journal, keys: Collection[TopicPartition]) -> None:
    """Restore the orders that the journal still has open, as `repair` does, and with its errors.

    `keys`: the partitions of this run. Brokers may still show the orders that its elections have set and restored. Until that ends these look like those
    of another tool.
    """
    left = journal.left_behind()
    changed = with_another_order(left)
    if own := changed.keys() & {*keys} - cluster.elections_in_doubt:
        not_visible(cluster, {key: order_before(changed[key][-1].changed, changed[key]) for key in own})
    if left:
        repair(cluster, journal)


def execute_repair(cluster: Reordering, journal: Journal, what: Open) -> dict[TopicPartition, Refusal]:
    """Restore orders as `plan_repair` returned them. Returns the refusals by partition, CHANGED for those that other tools have changed since.

    Orders that cannot or must not be restored now stay in the journal. Raises ClusterError if the cluster does not answer, FileError if the
    journal cannot be written, TakenError if another run has taken it: that one may be about to elect by these orders.
    """
    if what.orders:
        journal.confirm()
    # Nothing that takes long must come between these reads and the change. A move that only removes a replica shows no other replicas at first.
    overtaken = under_reassignment(cluster, what.orders) | _overtaken(cluster, what)
    orders = {key: order for key, order in what.orders.items() if key not in overtaken}
    refused = change(cluster, orders) | dict.fromkeys(overtaken, CHANGED)
    unsettled = {*refused, *what.kept, *what.other, *cluster.in_doubt}
    left = {key: changes for key, changes in what.left.items() if key in unsettled}
    journal.settle(left, unanswered_by(cluster, left))
    return refused


def unanswered_by(cluster: Reordering, keys: Collection[TopicPartition]) -> set[int]:
    """Return the brokers that may still change the order of these partitions."""
    return {broker for key in keys for broker in cluster.in_doubt.get(key, ())}


def doubts(cluster: Reordering, states: Collection[PartitionState]) -> dict[TopicPartition, Reason]:
    """Return the partitions among these whose replicas no second broker states as well, each with the reason.

    To restore an order is a reassignment if their replicas have changed and the broker that described them does not show it.
    """
    if not states:
        return {}
    second = cluster.second_replicas(states)
    return {state.key: reason for state in states if (reason := doubt(state, second.get(state.key))) is not None}


def doubted_orders(cluster: Reordering, left: Left, states: States, keys: Collection[TopicPartition]) -> dict[TopicPartition, Reason]:
    """Return `doubts` of those of these partitions that an election has left in another order. `left`: orders that the journal has open."""
    changed = with_another_order({key: left[key] for key in keys if key in states})
    return doubts(cluster, [states[key] for key, rows in changed.items() if states[key].topic_id in {row.topic_id for row in rows}])


def left_behind(cluster: Reordering, journal: Journal) -> Left:
    """Return the changed orders that the journal has open.

    Elections and changes of orders of earlier runs that were never answered are added to the cluster's `elections_in_doubt` and `in_doubt`.
    """
    cluster.elections_in_doubt.update(journal.elections_in_doubt())
    for key, brokers in journal.unanswered_by().items():
        if brokers:
            cluster.in_doubt[key] = {*cluster.in_doubt.get(key, ()), *brokers}
    return journal.left_behind()


def under_reassignment(cluster: Reordering, keys: Collection[TopicPartition]) -> set[TopicPartition]:
    """Return those of these partitions that have a reassignment under way (KIP-455). A new order would replace it.

    Kafka lists the replicas that a reassignment removes after those that stay, which can look like the order of an election.
    """
    return cluster.reassigning() & {*keys} if keys else set()


def awaiting_election(cluster: Reordering, keys: Collection[TopicPartition], states: States) -> set[TopicPartition]:
    """Return those of these partitions that an election may still reach which was sent and never answered, unless two brokers state the same leader.

    It would elect the first live replica of the order that the partition has by then. Once a partition has a leader, it changes nothing. One broker alone
    may lie, or be behind.
    """
    sent = [states[key] for key in cluster.elections_in_doubt & {*keys} if key in states]
    led = [state for state in sent if state.leader >= 0]
    second = cluster.second_replicas(led) if led else {}
    return {state.key for state in sent} - {state.key for state in led if state.key in second and second[state.key].leader == state.leader}


def put_back(
    cluster: Reordering,
    left: Left,
    changed: Sequence[ChangedOrder],
    refused: Mapping[TopicPartition, Refusal],
    states: States,
    to_keep: Collection[TopicPartition] = (),
) -> list[TopicPartition]:
    """Restore the orders in `changed`, but none that another tool has set since or that the partition still needs.

    Returns the partitions that the journal must keep. `left`: orders that the journal has open. `refused`: refusals of the changes; a change that
    was not answered may have been made. `states` may lag behind the controller: an order is also restored if they still show the original, or
    show a change that was refused. Of several runs, the last one restores what it found, and the one before it the first order.
    `to_keep`: partitions whose orders stay: no second broker states their replicas, so that this run has changed none, or a reassignment is under way.
    An election without another order is over with its answer, whatever the order is now. A partition that has other replicas by these `states` is kept:
    they are the word of one broker, and `plan_repair` asks a second one before it forgets an order. Nothing is read between `states` and the change: so a
    partition is kept of which an election was never answered, also if it seems to have a leader. `plan_repair` asks a second broker for that, too.
    """
    another = {order.key: order for order in changed if order.is_another}
    others = foreign({key: left[key] for key in another}, states)
    moved = {key for key, order in another.items() if key in states and not order.is_of(states[key])}
    awaiting = cluster.elections_in_doubt & {order.key for order in changed}
    kept = {*awaiting, *others, *moved, *another.keys() & {*to_keep}}
    orders = {
        order.key: order.original
        for order in another.values()
        if order.key not in kept
        and (may_be_done(refused.get(order.key)) or (order.key in states and states[order.key].replicas == order.changed))
    }
    return [*kept, *change(cluster, orders)]


def may_be_done(refused: Refusal | None) -> bool:
    """Return whether a change may be made: it was not refused, or not answered in time."""
    return refused in (None, NOT_ANSWERED) or unanswered_requests.timed_out(refused)
