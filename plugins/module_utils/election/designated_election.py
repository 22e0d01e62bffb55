# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Designated election, in batches side by side: read what guards check, refuse, elect by the backend, and try again what may succeed then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import error_codes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.backend_elections import Elect
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Live, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.guard_reads import ElectionCluster, look
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.guards import refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import (
    Journal,
    Left,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import ONLINE, Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    TopicPartition,
    chunks,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode

BATCH = 1000
# Concurrent batches keep the controller busy while the answers of others are read.
SIDE_BY_SIDE = 5
RETRY_SECONDS = 1.0
# The guards of one batch are read after those of another, so that the controller elects the first batch while the second is read. A batch waits no
# longer than this: if brokers are far away, or one hangs, reading side by side takes less time.
TURN_SECONDS = 0.5


def run(
    cluster: ElectionCluster,
    journal: Journal,
    entries: Sequence[Entry],
    duration: float,
    attempts: int,
    elect: Elect,
    asked_to_stop: Callable[[], str | None] = lambda: None,
    beyond_limit: Callable[[Live], Sequence[str]] = lambda _live: (),
) -> list[Result]:
    """Elect all `entries` and return a result for each, in recovery order. Raises nothing for a batch that fails: its entries have FAILED results.

    Retriable failures are tried again, at most `attempts` times and not beyond `duration` seconds. `elect`: sends the elections of one batch,
    by the backend. No batch begins once `asked_to_stop` returns the name of a signal; those under way are finished. `beyond_limit`: returns why nothing of
    a batch may be elected in this state.
    """
    deadline = time.monotonic() + duration
    results: dict[TopicPartition, Result] = {}
    sent: set[TopicPartition] = set()
    left = sorted(entries, key=lambda entry: in_recovery_order(entry.key))
    reading = threading.Lock()

    def attempt(batch: Sequence[Entry]) -> list[Result]:
        return _batch(cluster, journal, batch, elect, deadline, sent, reading, asked_to_stop, beyond_limit)

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
    beyond_limit: Callable[[Live], Sequence[str]],
) -> list[Result]:
    """Elect one batch, nothing of it once `asked_to_stop` returns the name of a signal, or `beyond_limit` a reason.

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
        if reasons := beyond_limit(live):
            held = [entry for entry in batch if entry.key not in results]
            results |= {entry.key: Result.of(entry, Outcome.HELD, ReasonCode.LIMIT_REACHED, "; ".join(reasons)) for entry in held}
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
