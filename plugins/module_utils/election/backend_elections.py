# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Elections of one batch whose guards are read: journal, reorder, elect, restore, verify.

Compat backend, for every Kafka that has KIP-460: if there is no clean leader, the controller elects the first live replica of the assignment.
So the designated one is put first for a moment, and the others best-first behind it. The native backend uses KIP-1275's ElectLeaders (v3),
which needs no reorder. Guards and verification are the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import replica_orders
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Live, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.guard_reads import ElectionCluster, look
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.guards import gets_order, needs_reorder, refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import (
    ChangedOrder,
    Journal,
    Left,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_orders import (
    FIRST_LOOK,
    LAST_LOOK,
    NOT_ANSWERED,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.results import judge, not_reordered
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode

# After which the guards are read once more before an election, and states before a change of orders. No broker gets an election later.
OLD_SECONDS = 2.0
# The same for logs, which are read before the states: lost brokers delay these, because connections to them time out. A broker that was killed, and may lack
# the end of its log, registers again only when its session has ended, which is 7 seconds after the kill at the earliest, by Kafka's defaults.
OLD_LOG_SECONDS = 6.0
# How often that is repeated if brokers, or the store of the journal, take so long that it is old again.
MOST_LOOKS = 3


# The last argument gets the partitions that an election was sent for, and that it may have a leader from, whether it was answered or not.
Elect = Callable[[ElectionCluster, Journal, Sequence[Entry], Live, float, set[TopicPartition]], list[Result]]


def _send(
    cluster: ElectionCluster,
    keys: Collection[TopicPartition],
    request: Callable[[], dict[TopicPartition, Refusal | None]],
    sent: set[TopicPartition],
) -> dict[TopicPartition, Refusal | None]:
    """Send an election of these partitions and return its answer. `sent` gets those that may have a leader from it."""
    try:
        answered = request()
    except RecoveryError:
        sent.update(cluster.elections_in_doubt & {*keys})
        raise
    sent.update(key for key in keys if answered.get(key) is None or key in cluster.elections_in_doubt)
    return answered


def elect_by_order(
    cluster: ElectionCluster, journal: Journal, batch: Sequence[Entry], live: Live, deadline: float, sent: set[TopicPartition]
) -> list[Result]:
    """Elect one batch by replica orders (compat backend): put designated replicas first, elect UNCLEAN (KIP-460), restore the orders, verify.

    `live`: as `look` returned it. `deadline`: until when leaders may become visible (seconds of the monotonic clock). `sent`: gets the
    partitions that may have a leader from this request. Raises ClusterError if the cluster does not answer, FileError if the journal cannot be
    written.
    """
    reordered = {entry.key: entry.best_first for entry in batch if gets_order(entry, live)}
    # Also those that get no other order: the journal has every election that may be carried out late.
    announced = [
        ChangedOrder(*entry.key, entry.topic_id, live.original(entry.key), reordered.get(entry.key, live.states[entry.key].replicas))
        for entry in batch
    ]
    identifier = journal.intend(announced, cluster.listed())
    changed: list[ChangedOrder] = []  # those of the intent that this run may have carried out
    refused: dict[TopicPartition, Refusal] = {}
    missing: set[TopicPartition] = set()
    failed: dict[TopicPartition, Refusal] = {}
    overtaken: dict[TopicPartition, Result] = {}
    ready: list[Entry] = []
    try:
        overtaken = _overtaken_since(cluster, [entry for entry in batch if entry.key in reordered], live)
        reordered = {key: order for key, order in reordered.items() if key not in overtaken}
        changed = [order for order in announced if order.key not in overtaken]
        if reordered:
            refused = replica_orders.change(cluster, reordered)
            missing = replica_orders.not_visible(cluster, {key: order for key, order in reordered.items() if key not in refused})
        rest = [entry for entry in batch if entry.key not in overtaken]
        as_before = {entry.key for entry in rest if entry.key not in reordered or _goes_without(entry, live, refused.get(entry.key))}
        overtaken |= _overtaken(cluster, [entry for entry in rest if entry.key in as_before], live)
        refused_now, last_look = _no_longer_allowed(
            cluster, [entry for entry in batch if entry.key not in overtaken], live, journal.known()
        )
        overtaken |= refused_now
        failed = {key: why for key, why in refused.items() if key not in as_before}
        ready = [entry for entry in batch if entry.key not in failed and entry.key not in missing and entry.key not in overtaken]
        elected = [entry.key for entry in ready]
        journal.expect(identifier, elected, replica_orders.unanswered_by(cluster, [order.key for order in changed]))
        journal.confirm()
        refused_now, last_look = _refused_since(cluster, journal, ready, last_look)
        overtaken |= refused_now
        ready = [entry for entry in ready if entry.key not in overtaken]
        elected = [entry.key for entry in ready]
        errors = _send(cluster, elected, lambda: cluster.elect_unclean(elected, _good_until(last_look)), sent) if ready else {}
    finally:
        # The order is no longer needed when the controller has answered. After this pause the states that restoring needs show new leaders, too.
        time.sleep(FIRST_LOOK)
        doubtful = {entry.key for entry in batch if live.doubt(entry.key) is not None}
        # A run that has taken the journal may be about to elect by the same order. `restore_own` restores those of this run when that one has ended.
        journal.confirm()
        moving = replica_orders.under_reassignment(cluster, [order.key for order in changed if order.is_another])
        states = cluster.partitions({entry.key for entry in batch})
        unsettled = replica_orders.put_back(cluster, journal.left_behind(), changed, refused, states, doubtful | moving)
        # A request that hangs somewhere may still change an order, or elect by it: the journal must have it for the next run.
        # The elections are done. If the journal has no room for that, the next run only checks their orders again.
        with suppress(FileError):
            _close(cluster, journal, identifier, announced, {*unsettled, *cluster.in_doubt})
    states |= _wait_for_leaders(cluster, {entry.key: states[entry.key] for entry in ready if entry.key in states}, errors, deadline)
    results = [not_reordered(entry, live, failed[entry.key]) for entry in batch if entry.key in failed]
    results += [
        Result.of(
            entry, Outcome.FAILED, ReasonCode.REPLICA_ORDER_NOT_VISIBLE, "the replica order that its election needs did not become visible"
        )
        for entry in batch
        if entry.key in missing
    ]
    return [*overtaken.values(), *results, *(judge(entry, live, states.get(entry.key), errors.get(entry.key)) for entry in ready)]


def _goes_without(entry: Entry, live: Live, refused: Refusal | None) -> bool:
    """Return whether an election does not need the order that Kafka has refused. It takes none if a replica is on a broker that is not registered."""
    return not replica_orders.may_be_done(refused) and not needs_reorder(entry, live)


def _good_until(live: Live) -> float:
    """Return until when an election may be sent by these guards (seconds of the monotonic clock)."""
    return min(live.states_at + OLD_SECONDS, live.read_at + OLD_LOG_SECONDS)


def _are_guards_old(live: Live) -> bool:
    # The last quarter is for a broker that gets the election.
    return time.monotonic() + OLD_SECONDS / 4 > _good_until(live)


def _are_states_old(live: Live) -> bool:
    return time.monotonic() - live.states_at > OLD_SECONDS


def _until_recent(
    entries: Sequence[Entry],
    seen: Live,
    is_old: Callable[[Live], bool],
    check: Callable[[Sequence[Entry], Live], tuple[dict[TopicPartition, Result], Live]],
) -> tuple[dict[TopicPartition, Result], Live]:
    """Check entries again until what was seen of them is not old. Return the results of those that may not be elected any more, and what was seen last.

    Brokers that answer slowly, and a journal in a store that is slow, delay what follows a look. `seen`: what was seen last. `check`: gets the entries that
    are left and what was seen of them, and returns as this does. Raises RecoveryError if it is still old after MOST_LOOKS.
    """
    refused: dict[TopicPartition, Result] = {}
    looks = 0
    while is_old(seen) and (left := [entry for entry in entries if entry.key not in refused]):
        if looks == MOST_LOOKS:
            raise RecoveryError("brokers or the store of the journal are so slow that checks are old before the election; run again")
        again, seen = check(left, seen)
        refused |= again
        looks += 1
    return refused, seen


def _overtaken_since(cluster: ElectionCluster, entries: Sequence[Entry], live: Live) -> dict[TopicPartition, Result]:
    """Return `_overtaken` of these entries, whose orders are about to be set: partitions are read until that is not old. Errors: `_until_recent`."""

    def check(left: Sequence[Entry], _seen: Live) -> tuple[dict[TopicPartition, Result], Live]:
        began = time.monotonic()
        return _overtaken(cluster, left, live), replace(live, states_at=began)

    return _until_recent(entries, live, _are_states_old, check)[0]


def _overtaken(cluster: ElectionCluster, entries: Sequence[Entry], live: Live) -> dict[TopicPartition, Result]:
    """Return the results of those entries whose order is another one than the guards saw: another tool has set it while they were read.

    The controller would elect by that order, and one of this run would replace it. Once brokers have shown the orders that this run has set, only the
    others are looked at again.
    """
    states = cluster.partitions({entry.key for entry in entries}) if entries else {}
    changed = [entry for entry in entries if entry.key not in states or _place(states[entry.key]) != _place(live.states[entry.key])]
    return {
        entry.key: refusal(entry, replace(live, states=states))
        or Result.of(entry, Outcome.STALE, ReasonCode.OTHER_ORDER, "another tool gave it a new order while its guards were read; run again")
        for entry in changed
    }


def _place(state: PartitionState) -> tuple[tuple[int, ...], int]:
    return state.replicas, state.leader_epoch


def _no_longer_allowed(
    cluster: ElectionCluster, entries: Sequence[Entry], live: Live, known: Left
) -> tuple[dict[TopicPartition, Result], Live]:
    """Return the results of those entries that may not be elected any more, and the state that the guards saw last.

    The guards are read once more if a broker has died or come back since, or if they were read OLD_SECONDS ago. A broker that hangs has delayed the
    orders then: meanwhile one may have restarted. An entry that needs another order by now is stale, which is tried again. `known`: as for `look`.
    """
    if not entries or (time.monotonic() - live.read_at < OLD_SECONDS and cluster.unfenced() == live.unfenced):
        return {}, live
    return _checked_again(cluster, entries, known)


def _refused_since(
    cluster: ElectionCluster, journal: Journal, entries: Sequence[Entry], last_look: Live
) -> tuple[dict[TopicPartition, Result], Live]:
    """Return what `_no_longer_allowed` does: the guards are read until what they saw is not old. `last_look`: what they saw last. Errors: `_until_recent`."""

    def check(left: Sequence[Entry], seen: Live) -> tuple[dict[TopicPartition, Result], Live]:
        # Another run may have taken the journal while this one waited. Before the look, which must not get old by it.
        journal.confirm()
        return _checked_again(cluster, left, journal.known(), seen)

    return _until_recent(entries, last_look, _are_guards_old, check)


def _checked_again(
    cluster: ElectionCluster, entries: Sequence[Entry], known: Left, before: Live | None = None
) -> tuple[dict[TopicPartition, Result], Live]:
    """Read the guards once more. Return what `_no_longer_allowed` does. `before`: as for `look`."""
    # Second brokers have stated the replicas before this run has set its orders.
    now = look(cluster, entries, known, ask_second=False, before=before)
    refused = {entry.key: result for entry in entries if (result := refusal(entry, now)) is not None}
    needing = {
        entry.key: Result.of(
            entry, Outcome.STALE, ReasonCode.OTHER_ORDER, "a broker came back that the controller would elect by this order; run again"
        )
        for entry in entries
        if entry.key not in refused and needs_reorder(entry, now)
    }
    return refused | needing, now


def _close(
    cluster: ElectionCluster, journal: Journal, identifier: str, changed: Sequence[ChangedOrder], unsettled: Collection[TopicPartition]
) -> None:
    """Record that the orders of an intent are restored but those in `unsettled`. The run must know which, as brokers may still show the changed ones."""
    left = [order for order in changed if order.key in unsettled]
    is_split = len(left) < len(changed)
    if left:
        keys = {order.key for order in left}
        elections, brokers = keys & cluster.elections_in_doubt, replica_orders.unanswered_by(cluster, keys)
        journal.expect(journal.intend(left, cluster.listed()) if is_split else identifier, elections, brokers)
    if is_split:
        journal.close(identifier)


def elect_by_designation(
    cluster: ElectionCluster, journal: Journal, batch: Sequence[Entry], live: Live, deadline: float, sent: set[TopicPartition]
) -> list[Result]:
    """Elect one batch with KIP-1275's ElectLeaders (native backend): the controller elects exactly the designated replicas. No order changes.

    Parameters and errors are those of `elect_by_order`; nothing is written to the `journal`.
    """
    journal.confirm()
    overtaken, last_look = _no_longer_allowed(cluster, batch, live, journal.known())
    refused_now, last_look = _refused_since(cluster, journal, [entry for entry in batch if entry.key not in overtaken], last_look)
    overtaken |= refused_now
    ready = [entry for entry in batch if entry.key not in overtaken]
    leaders = {entry.key: entry.designated_leader for entry in ready}
    answered = _send(cluster, leaders, lambda: cluster.elect_designated(leaders, _good_until(last_look)), sent) if ready else {}
    errors = {entry.key: answered.get(entry.key, NOT_ANSWERED) for entry in ready}
    time.sleep(FIRST_LOOK)
    states = cluster.partitions({entry.key for entry in ready})
    states = _wait_for_leaders(cluster, states, errors, deadline)
    return [*overtaken.values(), *(judge(entry, live, states.get(entry.key), errors[entry.key]) for entry in ready)]


def _wait_for_leaders(
    cluster: ElectionCluster, states: dict[TopicPartition, PartitionState], errors: Mapping[TopicPartition, Refusal | None], deadline: float
) -> dict[TopicPartition, PartitionState]:
    """Read partitions, at longer and longer intervals, until every elected one shows a leader or `deadline` has passed. Returns their states.

    `states`: those that were read first.
    """
    pause = FIRST_LOOK
    while waiting := {key for key, state in states.items() if key in errors and _may_have_elected(errors[key]) and state.leader < 0}:
        if time.monotonic() > deadline:
            break
        time.sleep(pause)
        pause = min(2 * pause, LAST_LOOK)
        states |= cluster.partitions(waiting)
    return states


def _may_have_elected(refused: Refusal | None) -> bool:
    return refused is None or refused.error == kafka_errors.ELECTION_NOT_NEEDED
