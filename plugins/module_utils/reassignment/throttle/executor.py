# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Throttling: sets throttles of replication on a cluster, changes their rates, and takes out exactly what was set.

Everything is announced in the journal before it is changed, and read back afterwards. All that takes a journal wants it open, but for
Throttle, which opens it itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    BROKER,
    TOPIC,
    Change,
    Refusal,
    Resource,
    Settings,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import model
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.diff import (
    Changed,
    Throttled,
    ToPutBack,
    ToRemove,
    ToSet,
    place,
    to_remove,
    to_set,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import RUN
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import (
    LISTS,
    RATES,
    AddedReplicas,
    Moved,
    Rates,
    SetRate,
    ThrottleError,
    listed,
    own_value,
)

UNKNOWN_TOPIC = "UNKNOWN_TOPIC_OR_PARTITION"
SEEN_WITHIN, LOOK_EVERY = 10.0, 0.05  # seconds: a broker shows a change a moment after the controller has made it


# --- setting -------------------------------------------------------------------------------------------------------


def set_throttle(cluster: Throttled, journal: ThrottleJournal, what: ToSet) -> list[str]:
    """Set it, and return warnings: rates of others that give way, and brokers that did not answer. ThrottleError where Kafka refuses."""
    warnings = _giving_way(journal, what.rates)
    journal.intend(what.owner, what.rates, what.added)
    told = cluster.alter_configs(model.setting(what.rates, what.added))
    deleted = [row for row in what.added if _error(told, row) == UNKNOWN_TOPIC]
    journal.gone(what.owner, (), deleted)
    refused: dict[str, str] = {}  # the first broker and the first topic, which take different permissions
    for resource, refusal in told.items():
        if refusal is not None and refusal.error != UNKNOWN_TOPIC:
            grant = f"grant ALTER_CONFIGS on the {'cluster' if resource.kind == BROKER else 'topic'}"
            refused.setdefault(resource.kind, f"the throttle of {resource} cannot be set: {refusal}; {grant}")
    if refused:
        raise ThrottleError("; ".join(refused.values()))
    silent = sorted({rate.broker for rate in what.rates if Resource(BROKER, str(rate.broker)) not in told})
    set_rates = [rate for rate in what.rates if rate.broker not in silent]
    _seen(cluster, set_rates, [row for row in what.added if row not in deleted])
    return [*warnings, *(f"broker {broker} does not answer, and if it is alive, it copies without a throttle" for broker in silent)]


def _giving_way(journal: ThrottleJournal, rates: Sequence[SetRate]) -> list[str]:
    ours = journal.rates()
    return [
        f"broker {rate.broker}: somebody has set {rate.config} to {rate.before}; it is {rate.values[-1]} for as long as this throttle lasts, "
        "and is put back then"
        for rate in rates
        if rate.before is not None and not any(rate.before in layer.values for layer in ours.get((rate.broker, rate.config), ()))
    ]


def _seen(cluster: Throttled, rates: Sequence[SetRate], added: Sequence[AddedReplicas]) -> bool:
    """Whether brokers show soon what was set: what is read next must not be older."""

    def shown() -> bool:
        found = cluster.broker_configs({rate.broker for rate in rates}, RATES) if rates else {}
        there = cluster.topic_configs_of({row.topic for row in added}, LISTS) if added else {}
        return all(own_value(found[rate.broker], rate.config) == rate.values[-1] for rate in rates if rate.broker in found) and all(
            set(row.entries) <= {*_entries(there[row.topic], row.config)} for row in added if row.topic in there
        )

    return _soon(shown)


def _entries(settings: Settings, config: str) -> list[str]:
    return listed(settings[config].value) if config in settings else []


def _soon(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SEEN_WITHIN
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_EVERY)
    return True


# --- taking out again ----------------------------------------------------------------------------------------------


def remove(cluster: Throttled, journal: ThrottleJournal, what: ToRemove) -> list[str]:
    """Take it out, and return in words what could not be: that stays in the journal, for the next run."""
    left: list[str] = []
    told: dict[Resource, Refusal | None] = {}
    for changes in ([row.change for row in what.rates], list(what.lists.values())):
        wanted = [change for change in changes if change is not None]
        if not wanted:
            continue
        try:
            told |= cluster.alter_configs(wanted)
        except SpokenError as error:
            left.append(f"{error}: {len(wanted)} throttle configs may still be set")
    for resource, refusal in told.items():
        if refusal is not None and refusal.error != UNKNOWN_TOPIC:
            left.append(f"the throttle of {resource} cannot be removed: {refusal}; grant ALTER_CONFIGS")
    done = [row for row in what.rates if _is_done(told, row.change)]
    silent = {row.layers[0].broker for row in what.rates if row.change is not None and row.change.resource not in told}
    left += [
        f"broker {broker} does not answer, and keeps its replication rates: run again when it is back, or name controller_bootstrap_servers, "
        "which can be told in its place"
        for broker in sorted(silent)
    ]
    out: list[AddedReplicas] = []
    # A rate of another owner below stays ours.
    for owner in what.owners:
        rows = [row for row in what.added.get(owner, ()) if _is_done(told, what.lists[place(row)])]
        out += [row for row in rows if what.lists[place(row)] is not None]
        keys = {(rate.broker, rate.config) for row in done for rate in row.layers}
        journal.gone(owner, [layer for key, layers in journal.rates([owner]).items() if key in keys for layer in layers], rows)
    _taken_out(cluster, [row for row in done if row.live and row.change is not None], out)
    return left


def _taken_out(cluster: Throttled, rates: Sequence[ToPutBack], added: Sequence[AddedReplicas]) -> bool:
    """Whether brokers soon show no more of it."""

    def shown() -> bool:
        found = cluster.broker_configs({row.layers[0].broker for row in rates}, RATES) if rates else {}
        there = cluster.topic_configs_of({row.topic for row in added}, LISTS) if added else {}
        firsts = [(row, row.layers[0]) for row in rates]
        return all(own_value(found[first.broker], first.config) == row.after for row, first in firsts if first.broker in found) and not any(
            {*row.entries} & {*_entries(there[row.topic], row.config)} for row in added if row.topic in there
        )

    with suppress(SpokenError):  # it is taken out: only the look at it has failed
        return _soon(shown)
    return False


def take_out(cluster: Throttled, journal: ThrottleJournal, owners: Collection[str]) -> tuple[Changed, list[str]]:
    """Take out all that these owners have set, a run only if it does not live. Returns what was changed, and what could not be taken out."""
    what, changed = to_remove(cluster, journal, owners), Changed()
    changed.take_removed(what)
    problems = remove(cluster, journal, what)
    if RUN in owners:
        journal.ask(None)
    # What is still in the journal could not be taken out.
    rates = journal.rates(owners)
    lists = {(row.topic, row.config) for rows in journal.replicas(owners).values() for row in rows}
    changed.rates = [row for row in changed.rates if (row["broker_id"], row["config"]) not in rates]
    changed.replicas = [row for row in changed.replicas if (row["topic"], row["config"]) not in lists]
    return changed, problems


def _error(told: Mapping[Resource, Refusal | None], row: AddedReplicas) -> str | None:
    refusal = told.get(Resource(TOPIC, row.topic))
    return None if refusal is None else refusal.error


def _is_done(told: Mapping[Resource, Refusal | None], change: Change | None) -> bool:
    if change is None:
        return True
    refusal = told.get(change.resource, Refusal("", None))
    return refusal is None or refusal.error == UNKNOWN_TOPIC


# --- around a run --------------------------------------------------------------------------------------------------


class Throttle:
    """The throttle of one run, as a context manager: what it covers is throttled until it is released, all of it at the latest on exit.

    `rate`: bytes per second of each broker, or Rates; None: no throttle. `journal`: not open. What a killed run left is taken out first, and a
    standing throttle that has expired (`taken_out`). On exit nothing is raised: `warnings` has what could not be taken out, and the next run does
    it.
    """

    def __init__(self, cluster: Throttled, journal: ThrottleJournal, rate: int | Rates | None, run_id: str | None = None) -> None:
        self._cluster = cluster
        self._journal = journal
        self._rates = Rates.same(rate) if isinstance(rate, int) else rate
        self._run_id = run_id
        self._ended: Callable[[], None] = lambda: None
        self.warnings: list[str] = []
        self.taken_out = Changed()

    def __enter__(self) -> Self:
        if self._rates is not None:
            self._ended = self._journal.living(self._run_id)
        elif self._journal.run_lives():
            return self
        try:
            with signals.unbroken(), self._journal as journal:
                # A run that began after the first look. One that begins later sets nothing before the journal is closed.
                if self._rates is None and journal.run_lives():
                    return self
                self.taken_out, problems = take_out(self._cluster, journal, journal.left_over())
                self._warn(problems)
                journal.ask(self._rates)
        except BaseException:
            self._ended()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._rates is None:
            return
        with signals.unbroken():
            try:
                with self._journal as journal:
                    self._warn(take_out(self._cluster, journal, journal.left_over())[1])
                    self._ended()  # before the journal is closed: who opens it next must not see a run that has no throttle
            except SpokenError as problem:
                self._warn([f"the throttle may still be set: {problem}; the next run removes it, or state cleaned"])
            finally:
                self._ended()

    def cover(self, moves: Mapping[TopicPartition, Moved], inbound: Mapping[TopicPartition, float] | None = None) -> None:
        """Throttle these partitions before they are moved, or again, for brokers that have come back meanwhile. Returns when brokers show it.

        `inbound`: bytes per second that partitions are written at, for a warning where the rate is too low. ThrottleError where Kafka refuses.
        """
        if self._rates is None or not moves:
            return
        with signals.unbroken(), self._journal as journal:
            states = self._cluster.partitions(set(moves))
            live = self._cluster.unfenced()
            copying = {
                key: copies
                for key, move in moves.items()
                if key in states and (copies := model.of_move(move, states[key].isr, states[key].leader, live)).followers
            }
            rates = journal.asked or self._rates  # they may have been changed since the run began
            topic_ids = {state.topic: state.topic_id for state in states.values()}
            self._warn(set_throttle(self._cluster, journal, to_set(self._cluster, journal, RUN, copying, rates, topic_ids)))
        self._warn(map(str, model.shortfalls(copying, rates, inbound or {})))

    def release(self, keys: Collection[TopicPartition]) -> None:
        """Take out the entries of partitions that are done. What cannot be taken out now is on exit."""
        if self._rates is None or not keys:
            return
        with signals.unbroken(), suppress(SpokenError), self._journal as journal:
            remove(self._cluster, journal, to_remove(self._cluster, journal, [RUN], keys))

    def _warn(self, warnings: Iterable[str]) -> None:
        self.warnings += [warning for warning in warnings if warning not in self.warnings]
