# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Designated election, in batches: guards, journal, reorder, elect, restore, verify.

Compat backend, for every Kafka that has KIP-460: if there is no clean leader, the controller elects the first live replica of the assignment.
So the designated one is put first for a moment, and the others best-first behind it. The native backend uses KIP-1275's ElectLeaders (v3),
which needs no reorder. Guards and verification are the same.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import error_codes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import replica_orders
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Live, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.guards import needs_reorder, refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import (
    ChangedOrder,
    Journal,
    Left,
    to_restore,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_orders import (
    FIRST_LOOK,
    LAST_LOOK,
    NOT_ANSWERED,
    Reordering,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.results import judge, not_reordered
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import LogSource, read_logs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import ONLINE, Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    chunks,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.leader_eligibility import keeps_elr

BATCH = 1000
# Concurrent batches keep the controller busy while the answers of others are read.
SIDE_BY_SIDE = 5
RETRY_SECONDS = 1.0
# The guards of one batch are read after those of another, so that the controller elects the first batch while the second is read. A batch waits no
# longer than this: if brokers are far away, or one hangs, reading side by side takes less time.
TURN_SECONDS = 0.5
# For everything that the guards of a batch read, and for its logs. Brokers have answered for them a moment before. A broker that hangs must leave
# time for the requests that follow the logs.
LOOK_SECONDS, LOG_SECONDS = 60.0, 30.0
# After which the guards are read once more before an election.
OLD_SECONDS = 2.0


class ElectionCluster(LogSource, Reordering, Protocol):
    """The methods of a cluster that elections use. `backend`: see `backend_selection`."""

    backend: str

    def feature_level(self, feature: str) -> int | None: ...
    def elect_unclean(self, keys: Collection[TopicPartition]) -> dict[TopicPartition, Refusal | None]: ...
    def elect_designated(self, leaders: Mapping[TopicPartition, int]) -> dict[TopicPartition, Refusal | None]: ...


# The last argument gets the partitions that an election was sent for, and that it may have a leader from, whether it was answered or not.
Elect = Callable[[ElectionCluster, Journal, Sequence[Entry], Live, float, set[TopicPartition]], list[Result]]


def look(cluster: ElectionCluster, entries: Sequence[Entry], known: Left) -> Live:
    """Return the present state of everything that the guards of `entries` check. `known`: orders that this workdir's runs have changed.

    Raises ClusterError if the cluster does not answer within LOOK_SECONDS.
    """
    with deadline.until(time.monotonic() + LOOK_SECONDS):
        return _live(cluster, entries, known)


def _live(cluster: ElectionCluster, entries: Sequence[Entry], known: Left) -> Live:
    read_at = time.monotonic()
    keys, unfenced = {entry.key for entry in entries}, cluster.unfenced()
    # Also replicas that are alive but not survivors of the plan: they may answer now, and then an operator must decide. If the partition has other
    # replicas by now, no log of it matters: it is refused.
    wanted = [(entry.key, broker) for entry in entries for broker in entry.replicas if broker in unfenced]
    # Such a broker may still take records.
    saved = [(entry.key, broker) for entry in entries for broker in entry.saved_fenced if broker not in unfenced]
    with deadline.until(time.monotonic() + LOG_SECONDS):
        logs = read_logs(cluster, [*wanted, *saved], duration=0.0)
    fenced_ends = {replica: log.log_end_offset or 0 for replica in saved if (log := logs.pop(replica)).error is None}
    # Reading logs takes time, and a leader or a broker may have come meanwhile, so these are read last.
    mentioned = {broker for entry in entries for broker in entry.replicas}
    broker_states = {row["broker_id"]: row["broker_state"] for row in cluster.broker_states(mentioned)}
    states = cluster.partitions(keys)
    ours = {key: {order.changed for order in orders} for key, orders in known.items()}
    elr = keeps_elr(cluster, states.values())
    reassigning = cluster.reassigning()
    originals = {key: order for key, order in to_restore(known, states).items() if key not in reassigning}
    # Only the compat backend elects by the order of replicas, and changes it.
    reorders = cluster.backend != backend_selection.NATIVE
    offline = [states[entry.key] for entry in entries if entry.key in states and states[entry.key].leader not in unfenced]
    second = cluster.second_replicas(offline) if reorders else None
    live = Live(states, broker_states, logs, reassigning, ours, elr, frozenset(cluster.cut_off), originals, reorders, second, fenced_ends)
    return replace(live, read_at=read_at)


def run(
    cluster: ElectionCluster,
    journal: Journal,
    entries: Sequence[Entry],
    duration: float,
    attempts: int,
    elect: Elect,
    asked_to_stop: Callable[[], str | None] = lambda: None,
) -> list[Result]:
    """Elect all `entries` and return a result for each, in recovery order. Raises nothing for a batch that fails: its entries have FAILED results.

    Retriable failures are tried again, at most `attempts` times and not beyond `duration` seconds. `elect`: sends the elections of one batch,
    by the backend. No batch begins once `asked_to_stop` returns the name of a signal; those under way are finished.
    """
    deadline = time.monotonic() + duration
    results: dict[TopicPartition, Result] = {}
    sent: set[TopicPartition] = set()
    left = sorted(entries, key=lambda entry: in_recovery_order(entry.key))
    reading = threading.Lock()

    def attempt(batch: Sequence[Entry]) -> list[Result]:
        return _batch(cluster, journal, batch, elect, deadline, sent, reading, asked_to_stop)

    for retries in range(attempts + 1):
        with ThreadPoolExecutor(max_workers=SIDE_BY_SIDE) as pool:
            for done in pool.map(attempt, chunks(left, BATCH)):
                results |= {(result.topic, result.partition): result for result in done}
        left = [entry for entry in left if entry.key in results and _worth_another_attempt(results[entry.key])]
        if not left or retries == attempts or asked_to_stop() or time.monotonic() + RETRY_SECONDS > deadline:
            break
        time.sleep(RETRY_SECONDS)
    failed = [entry for entry in entries if entry.key in results and results[entry.key].outcome == Outcome.FAILED]
    results |= _online_after_all(cluster, journal, failed, sent)
    untouched = f"{asked_to_stop()} came before its turn, nothing was done to it; run again to go on"
    found = {entry.key: results.get(entry.key) or Result.of(entry, Outcome.HELD, ReasonCode.INTERRUPTED, untouched) for entry in entries}
    return [found[key] for key in sorted(found, key=in_recovery_order)]


def _online_after_all(
    cluster: ElectionCluster, journal: Journal, failed: Sequence[Entry], sent: Collection[TopicPartition]
) -> dict[TopicPartition, Result]:
    """Return the results of those `failed` entries whose partitions have a leader now, none if the cluster does not answer.

    An election can be carried out although its answer, or a request after it, fails. `sent`: as for `_refusal`.
    """
    found: dict[TopicPartition, Result] = {}
    with suppress(RecoveryError):
        for batch in chunks(failed, BATCH):
            live = look(cluster, batch, journal.known())
            seen = {entry.key: _refusal(entry, live, sent) for entry in batch}
            found |= {key: result for key, result in seen.items() if result and result.outcome in ONLINE}
    return found


def _worth_another_attempt(result: Result) -> bool:
    """Return whether a result may change if the election is tried again: its error is retriable, or another run may be changing the order.

    Brokers show a changed order at slightly different times, so they may disagree for a moment.
    """
    if result.outcome == Outcome.FAILED:
        return result.error is None or error_codes.is_retriable(result.error)
    return result.reason_code in (ReasonCode.OTHER_ORDER, ReasonCode.BROKERS_DISAGREE)


def predict(cluster: ElectionCluster, entries: Sequence[Entry], known: Left) -> list[Result]:
    """Return the results that `run` would have, in the order of `entries`, by the same guards. Changes nothing.

    `known`: as for `look`. Raises ClusterError if the cluster does not answer.
    """
    results = []
    for batch in chunks(entries, BATCH):
        live = look(cluster, batch, known)
        results += [refusal(entry, live) or Result.of(entry, Outcome.ELECTED, leader=entry.designated_leader) for entry in batch]
    return results


def may_be_elected(forecast: Result) -> bool:
    """Return whether this run may elect an entry, by what `predict` says of it. A survivor that does not answer now may answer when the election begins."""
    may_change = forecast.reason_code == ReasonCode.SURVIVOR_SILENT or _worth_another_attempt(forecast)
    return forecast.outcome == Outcome.ELECTED or may_change


@contextmanager
def _turn(reading: threading.Lock) -> Iterator[None]:
    """Hold `reading`, or go on without it after TURN_SECONDS."""
    alone = reading.acquire(timeout=TURN_SECONDS)
    try:
        yield
    finally:
        if alone:
            reading.release()


def _batch(
    cluster: ElectionCluster,
    journal: Journal,
    batch: Sequence[Entry],
    elect: Elect,
    deadline: float,
    sent: set[TopicPartition],
    reading: threading.Lock,
    asked_to_stop: Callable[[], str | None],
) -> list[Result]:
    """Elect one batch, nothing of it once `asked_to_stop` returns the name of a signal.

    `sent`: partitions that earlier attempts of this run may have elected; it gets those of this one. `reading`: of the batch whose guards are read.
    """
    results: dict[TopicPartition, Result] = {}
    try:
        with _turn(reading):
            if asked_to_stop():
                return []
            live = look(cluster, batch, journal.known())
            # Also orders whose restoration was not answered: it may have been carried out.
            live = replace(live, restored=journal.restored() | cluster.in_doubt.keys())
            results = {entry.key: result for entry in batch if (result := _refusal(entry, live, sent)) is not None}
        ready = [entry for entry in batch if entry.key not in results]
        elected = elect(cluster, journal, ready, live, deadline, sent) if ready else []
        results |= {(result.topic, result.partition): result for result in elected}
    except RecoveryError as error:
        # One batch without an answer does not stop the others.
        failure = getattr(error, "error", None)
        results = {
            entry.key: results.get(entry.key)
            or replace(Result.of(entry, Outcome.FAILED, ReasonCode.REQUEST_FAILED, str(error)), error=failure)
            for entry in batch
        }
    return list(results.values())


def _refusal(entry: Entry, live: Live, sent: Collection[TopicPartition]) -> Result | None:
    """Return the result of an entry that may not be elected now, None if it may. If an earlier request of this run elected it, it is ELECTED."""
    result = refusal(entry, live)
    if result is not None and result.outcome == Outcome.ALREADY_ONLINE and result.leader == entry.designated_leader and entry.key in sent:
        return Result.of(entry, Outcome.ELECTED, leader=result.leader)
    return result


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
    reordered = {entry.key: entry.best_first for entry in batch if needs_reorder(entry, live)}
    # Also orders of earlier elections that are not restored, on which this one relies.
    changed = [
        ChangedOrder(*entry.key, entry.topic_id, live.original(entry.key), reordered.get(entry.key, live.states[entry.key].replicas))
        for entry in batch
        if entry.key in reordered or entry.key in live.originals
    ]
    identifier = journal.intend(changed) if changed else None
    refused: dict[TopicPartition, Refusal] = {}
    missing: set[TopicPartition] = set()
    overtaken: dict[TopicPartition, Result] = {}
    try:
        if reordered:
            refused = replica_orders.change(cluster, reordered)
            missing = replica_orders.not_visible(cluster, {key: order for key, order in reordered.items() if key not in refused})
        overtaken = _overtaken(cluster, [entry for entry in batch if entry.key not in reordered], live)
        overtaken |= _no_longer_allowed(cluster, [entry for entry in batch if entry.key not in overtaken], live, journal.known())
        ready = [entry for entry in batch if entry.key not in refused and entry.key not in missing and entry.key not in overtaken]
        if identifier is not None:
            keys = {order.key for order in changed}
            journal.expect(identifier, {entry.key for entry in ready} & keys, replica_orders.unanswered_by(cluster, keys))
        elected = [entry.key for entry in ready]
        journal.confirm()
        errors = _send(cluster, elected, lambda: cluster.elect_unclean(elected), sent) if ready else {}
    finally:
        # The order is no longer needed when the controller has answered. After this pause the states that restoring needs show new leaders, too.
        time.sleep(FIRST_LOOK)
        states = cluster.partitions({entry.key for entry in batch})
        doubtful = {entry.key for entry in batch if live.doubt(entry.key) is not None}
        unsettled = replica_orders.put_back(cluster, journal.left_behind(), changed, refused, states, doubtful)
        # A request that hangs somewhere may still change an order, or elect by it: the journal must have it for the next run.
        # The elections are done. If the journal has no room for that, the next run only checks their orders again.
        with suppress(FileError):
            if identifier is not None:
                _close(cluster, journal, identifier, changed, {*unsettled, *cluster.in_doubt})
    states |= _wait_for_leaders(cluster, {entry.key: states[entry.key] for entry in ready if entry.key in states}, errors, deadline)
    failed = [not_reordered(entry, live, refused[entry.key]) for entry in batch if entry.key in refused]
    failed += [
        Result.of(
            entry, Outcome.FAILED, ReasonCode.REPLICA_ORDER_NOT_VISIBLE, "the replica order that its election needs did not become visible"
        )
        for entry in batch
        if entry.key in missing
    ]
    return [*overtaken.values(), *failed, *(judge(entry, live, states.get(entry.key), errors.get(entry.key)) for entry in ready)]


def _overtaken(cluster: ElectionCluster, entries: Sequence[Entry], live: Live) -> dict[TopicPartition, Result]:
    """Return the results of those entries whose order is another one than the guards saw: another tool has set it while they were read.

    The controller would elect by that order. Brokers have shown the orders that this run has set, so only the others are looked at again.
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


def _no_longer_allowed(cluster: ElectionCluster, entries: Sequence[Entry], live: Live, known: Left) -> dict[TopicPartition, Result]:
    """Return the results of those entries that may not be elected any more. The guards are read once more if they were read OLD_SECONDS ago.

    A broker that hangs has delayed the orders then: meanwhile a broker may have died, restarted, or be coming back. `known`: as for `look`.
    """
    if not entries or time.monotonic() - live.read_at < OLD_SECONDS:
        return {}
    # Second brokers have stated the replicas before this run has set its orders.
    now = replace(look(cluster, entries, known), second=None)
    return {entry.key: result for entry in entries if (result := refusal(entry, now)) is not None}


def _close(
    cluster: ElectionCluster, journal: Journal, identifier: str, changed: Sequence[ChangedOrder], unsettled: Collection[TopicPartition]
) -> None:
    """Record that the orders of an intent are restored but those in `unsettled`. The run must know which, as brokers may still show the changed ones."""
    left = [order for order in changed if order.key in unsettled]
    is_split = len(left) < len(changed)
    if left:
        keys = {order.key for order in left}
        elections, brokers = keys & cluster.elections_in_doubt, replica_orders.unanswered_by(cluster, keys)
        journal.expect(journal.intend(left) if is_split else identifier, elections, brokers)
    if is_split:
        journal.close(identifier)


def elect_by_designation(
    cluster: ElectionCluster, journal: Journal, batch: Sequence[Entry], live: Live, deadline: float, sent: set[TopicPartition]
) -> list[Result]:
    """Elect one batch with KIP-1275's ElectLeaders (native backend): the controller elects exactly the designated replicas. No order changes.

    Parameters and errors are those of `elect_by_order`; nothing is written to the `journal`.
    """
    journal.confirm()
    leaders = {entry.key: entry.designated_leader for entry in batch}
    answered = _send(cluster, leaders, lambda: cluster.elect_designated(leaders), sent)
    errors = {entry.key: answered.get(entry.key, NOT_ANSWERED) for entry in batch}
    time.sleep(FIRST_LOOK)
    states = cluster.partitions({entry.key for entry in batch})
    states = _wait_for_leaders(cluster, states, errors, deadline)
    return [judge(entry, live, states.get(entry.key), errors[entry.key]) for entry in batch]


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
