# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Designated election: repair what a killed run left, then in batches: guards, journal, reorder, elect, restore, verify.

Compat backend, for every Kafka that has KIP-460: the controller elects the first live replica of the assignment where there is no
clean leader, so the designated one is put first for the moment, and the others best-first behind it. KIP-1275's own ElectLeaders
(v3) needs no reorder: a second backend offers the same `elect` over a batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import Asked, read_logs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.guards import (
    CLEAN_LEADER,
    ELECTED,
    FAILED,
    Entry,
    Live,
    Result,
    needs_reorder,
    refusal,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.journal import ChangedOrder, Journal, to_restore
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import (
    PartitionState,
    TopicPartition,
    chunks,
    in_recovery_order,
)

BATCH = 1000
# Batches side by side keep the controller busy while the answers of others are read.
SIDE_BY_SIDE = 5
RETRY_SECONDS = 1.0
# The broker that is asked learns of a new leader a moment after the controller has elected it; a busy one takes longer.
FIRST_LOOK, LAST_LOOK = 0.05, 1.0

Orders = Mapping[TopicPartition, Sequence[int]]


class Electing(Asked, Protocol):
    """What elections need of a cluster."""

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]: ...
    def reassigning(self) -> set[TopicPartition]: ...
    def reorder(self, orders: Orders) -> dict[TopicPartition, str | None]: ...
    def elect_unclean(self, keys: Collection[TopicPartition]) -> dict[TopicPartition, str | None]: ...


Elect = Callable[[Electing, Journal, Sequence[Entry], Live, float], list[Result]]


def repair(cluster: Electing, journal: Journal, check_mode: bool = False) -> list[TopicPartition]:
    """Restore the replica orders that killed runs left changed. Returns the partitions concerned."""
    left = journal.left_behind()
    orders = to_restore(left, cluster.partitions(set(left)))
    if check_mode:
        return sorted(orders)
    if not _restore(cluster, orders):
        journal.close_all()
    return sorted(orders)


def look(cluster: Electing, entries: Sequence[Entry]) -> Live:
    """Read again everything that the guards of `entries` stand on."""
    states = cluster.partitions({entry.key for entry in entries})
    mentioned = {broker for entry in entries for broker in entry.replicas}
    broker_states = {row["broker_id"]: row["broker_state"] for row in cluster.broker_states(mentioned)}
    # Also replicas that are alive but no survivors of the plan: are they still as silent as they were, or has somebody to look at them?
    wanted = [
        (entry.key, broker)
        for entry in entries
        if entry.key in states
        for broker in states[entry.key].replicas
        if broker_states.get(broker) == UNFENCED
    ]
    return Live(states, broker_states, read_logs(cluster, wanted, duration=0.0), cluster.reassigning())


def run(cluster: Electing, journal: Journal, entries: Sequence[Entry], duration: float, attempts: int, elect: Elect) -> list[Result]:
    """Elect all `entries`, trying those that failed again, at most `attempts` times and not beyond `duration` seconds."""
    deadline = time.monotonic() + duration
    results: dict[TopicPartition, Result] = {}
    left = sorted(entries, key=lambda entry: in_recovery_order(entry.key))
    for attempt in range(attempts):
        with ThreadPoolExecutor(max_workers=SIDE_BY_SIDE) as pool:
            for done in pool.map(lambda batch: _batch(cluster, journal, batch, elect, deadline), chunks(left, BATCH)):
                results |= {(result.topic, result.partition): result for result in done}
        left = [entry for entry in left if results[entry.key].outcome == FAILED]
        if not left or attempt + 1 == attempts or time.monotonic() + RETRY_SECONDS > deadline:
            break
        time.sleep(RETRY_SECONDS)
    return [results[key] for key in sorted(results, key=in_recovery_order)]


def predict(cluster: Electing, entries: Sequence[Entry]) -> list[Result]:
    """What `run` would do, by the same guards, without writing anything."""
    results = []
    for batch in chunks(entries, BATCH):
        live = look(cluster, batch)
        results += [refusal(entry, live) or Result.of(entry, ELECTED, None, entry.designated_leader) for entry in batch]
    return results


def _batch(cluster: Electing, journal: Journal, batch: Sequence[Entry], elect: Elect, deadline: float) -> list[Result]:
    results: dict[TopicPartition, Result] = {}
    try:
        live = look(cluster, batch)
        results = {entry.key: result for entry in batch if (result := refusal(entry, live)) is not None}
        ready = [entry for entry in batch if entry.key not in results]
        elected = elect(cluster, journal, ready, live, deadline) if ready else []
        results |= {(result.topic, result.partition): result for result in elected}
    except SpokenError as error:
        # One batch that cannot be asked about does not stop the others.
        results = {entry.key: results.get(entry.key) or Result.of(entry, FAILED, str(error)) for entry in batch}
    return list(results.values())


def elect_by_order(cluster: Electing, journal: Journal, batch: Sequence[Entry], live: Live, deadline: float) -> list[Result]:
    """Compat backend: put the designated replicas first, elect UNCLEAN, put the orders back, see who leads (until `deadline`)."""
    changed = [
        ChangedOrder(entry.topic, entry.partition, entry.topic_id, live.states[entry.key].replicas, entry.best_first)
        for entry in batch
        if needs_reorder(entry, live)
    ]
    identifier = journal.intend(changed) if changed else None
    refused: dict[TopicPartition, str | None] = {}
    try:
        if changed:
            refused = {key: error for key, error in cluster.reorder({order.key: order.changed for order in changed}).items() if error}
        ready = [entry for entry in batch if entry.key not in refused]
        errors = cluster.elect_unclean([entry.key for entry in ready]) if ready else {}
    finally:
        # At once: the order has done its work when the controller has answered, and the shorter it stands the better.
        unrestored = _restore(cluster, {order.key: order.original for order in changed if order.key not in refused})
        if identifier is not None and not unrestored:
            journal.close(identifier)
    states = _wait_for_leaders(cluster, ready, errors, deadline)
    not_reordered = [
        Result.of(entry, FAILED, f"its replica order was not accepted: {refused[entry.key]}") for entry in batch if entry.key in refused
    ]
    return not_reordered + [_judge(entry, states.get(entry.key), errors.get(entry.key)) for entry in ready]


def _wait_for_leaders(
    cluster: Electing, entries: Sequence[Entry], errors: Mapping[TopicPartition, str | None], deadline: float
) -> dict[TopicPartition, PartitionState]:
    """Look until every elected partition shows a leader, at longer and longer intervals."""
    states = cluster.partitions({entry.key for entry in entries})
    pause = FIRST_LOOK
    while waiting := {
        key for key, state in states.items() if key in errors and errors[key] in (None, "ELECTION_NOT_NEEDED") and state.leader < 0
    }:
        if time.monotonic() > deadline:
            break
        time.sleep(pause)
        pause = min(2 * pause, LAST_LOOK)
        states |= cluster.partitions(waiting)
    return states


def _restore(cluster: Electing, orders: Orders) -> list[TopicPartition]:
    """Put replica orders back. Returns the partitions where that failed: the journal keeps them for the next run."""
    failed: list[TopicPartition] = []
    for chunk in chunks(orders, BATCH):
        errors = cluster.reorder({key: orders[key] for key in chunk})
        failed += [key for key in chunk if errors.get(key)]
    return failed


def _judge(entry: Entry, state: PartitionState | None, error: str | None) -> Result:
    """Say what came of an election, from who leads now."""
    if state is None or state.leader < 0:
        return Result.of(entry, FAILED, f"the controller elected nobody: {error or 'no leader became visible'}")
    if state.leader == entry.designated_leader:
        return Result.of(entry, ELECTED, None, state.leader)
    if state.leader in entry.survivors:
        reason = f"broker {entry.designated_leader} died before the election, the next best survivor {state.leader} leads"
        return Result.of(entry, ELECTED, reason, state.leader)
    return Result.of(entry, CLEAN_LEADER, f"broker {state.leader} came back from the ISR or ELR and was elected without loss", state.leader)
