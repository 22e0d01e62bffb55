# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The throttle of one run that moves replicas, from its start to its end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import TakenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import model
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.diff import (
    ThrottleChanges,
    ThrottleCluster,
    plan_rate_change,
    plan_removal,
    plan_throttle,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.executor import (
    look_again,
    remove_left_over,
    set_throttle,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import Recorded, ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import RUN
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import Moved, Rates
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.removal import remove
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run_lock import ActiveRun


class Throttle:
    """The throttle of one run, as a context manager: partitions that it covers are throttled until they are released, at the latest on exit.

    rate     bytes per second of each broker, or Rates; None for no throttle
    journal  not open

    The run has the lock of moves from entry to exit: meanwhile no other run moves replicas of this cluster, or cancels its moves.

    On entry the throttle of an earlier run and an expired standing throttle are removed. Moves that the earlier run has left in progress keep
    their throttle, at the rate of this run if it has one. Moves that are in progress on exit keep theirs, too. Afterwards `removed` has what was
    removed of earlier throttles. Exit raises nothing: `warnings` names what stays, and the next run removes it.
    """

    def __init__(self, cluster: ThrottleCluster, journal: ThrottleJournal, rate: int | Rates | None, run_id: str | None = None) -> None:
        self._cluster = cluster
        self._journal = journal
        self._rates = Rates.same(rate) if isinstance(rate, int) else rate
        self._run_id = run_id
        self._active: ActiveRun
        self._before: Recorded = {}  # what was set on entry
        self._inherited: ThrottleChanges | None = None  # the removal of a throttle that was kept on entry
        self._covers_again = self._rates is not None
        self._lacks_rates = False  # a broker that did not answer copies without a throttle
        self.warnings: list[str] = []
        self.removed = ThrottleChanges()

    def __enter__(self) -> Self:
        self._active = self._journal.run_lock.acquire(self._run_id)
        try:
            with signals.critical_section(), self._journal as journal:
                self._before = journal.recorded()
                journal.note_doubt(self._active.doubtful_seconds)
                self.removed, problems, moving = remove_left_over(self._cluster, journal)
                self._warn(problems)
                if moving:
                    self._inherited = ThrottleChanges()
                    self._inherited.add_removed(plan_removal(self._cluster, journal, [RUN]))
                if moving and self._rates is not None:
                    self._warn(set_throttle(self._cluster, journal, plan_rate_change(self._cluster, journal, RUN, self._rates)))
                if not moving or self._rates is not None:
                    journal.set_run_rates(self._rates)
        except BaseException:
            self._active.end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._rates is None and not any(map(any, self._before.values())):
            self._active.end()
            return
        with signals.critical_section():
            try:
                self._active.confirm()
                with self._journal as journal:
                    self._remove_what_has_ended(journal)
                    if journal.outwait():
                        self._warn(look_again(self._cluster, journal, self._before))
                    self._active.end()  # before the journal is closed: the next process must not see an active run that has no throttle
            except TakenError as taken:
                self._warn([f"{taken}. It removes the throttle of this one, too"])
            except RecoveryError as problem:
                self._warn([f"the throttle may still be set: {problem}; the next run removes it, or state cleaned"])
            finally:
                self._active.end()

    def _remove_what_has_ended(self, journal: ThrottleJournal) -> None:
        _changes, problems, moving = remove_left_over(self._cluster, journal)
        self._warn(problems)
        if self._inherited is not None:
            self.removed += self._inherited.without_those_in(journal, [RUN])
        if moving:
            self._warn([left_warning(len(moving))])

    def cover(self, moves: Mapping[TopicPartition, Moved], inbound: Mapping[TopicPartition, float] | None = None) -> set[TopicPartition]:
        """Throttle these partitions before they are moved, or again for brokers that have come back. Returns when brokers show it.

        Returns the partitions that get no throttle, because a broker states that they do not exist.
        `inbound`: bytes per second that producers write to each partition, for a warning if the rate is too low. Raises RecoveryError if
        Kafka refuses a change.
        """
        self._active.confirm()
        if self._rates is None or not moves:
            return set()
        with signals.critical_section(), self._journal as journal:
            states = self._cluster.partitions(set(moves))
            live = self._cluster.unfenced()
            copying = {
                key: copies
                for key, move in moves.items()
                if key in states and (copies := model.copying_during_move(move, states[key].isr, states[key].leader, live)).followers
            }
            rates = journal.run_rates or self._rates  # they may have been changed since the run began
            topic_ids = {state.topic: state.topic_id for state in states.values()}
            what = plan_throttle(self._cluster, journal, RUN, copying, rates, topic_ids)
            self._lacks_rates = bool(what.silent)
            self._warn(set_throttle(self._cluster, journal, what))
        self._warn(map(str, model.shortfalls(copying, rates, inbound or {})))
        return moves.keys() - states.keys()

    def confirm(self) -> None:
        """Raise TakenError if another run moves replicas of this cluster because this one was stalled."""
        self._active.confirm()

    def outwait(self) -> bool:
        """Wait until a run that had the lock of moves before, and may only be stalled, must have noticed that. Return whether there was such a run."""
        return self._journal.outwait()

    def must_cover_again(self) -> bool:
        """Return whether a broker that did not answer still lacks its rates.

        Return once, too, that a run which was stalled may have removed the throttle of this one, when it must have noticed that it ends.
        """
        is_due = self._covers_again and self._journal.is_sure_again()
        self._covers_again = self._covers_again and not is_due
        return is_due or self._lacks_rates

    def release(self, keys: Collection[TopicPartition]) -> None:
        """Remove the list entries of partitions that have arrived. Raises nothing: entries that cannot be removed now are removed on exit.

        If another run has the lock of moves, they may be its entries, and stay.
        """
        if self._rates is None or not keys:
            return
        with signals.critical_section(), suppress(RecoveryError):
            self._active.confirm()
            with self._journal as journal:
                remove(self._cluster, journal, plan_removal(self._cluster, journal, [RUN], keys))

    def _warn(self, warnings: Iterable[str]) -> None:
        self.warnings += [warning for warning in warnings if warning not in self.warnings]


def left_warning(partitions: int) -> str:
    """Return the sentence for a throttle that stays because so many `partitions` are moving."""
    return (
        f"the throttle stays for {count(partitions, 'partition')} in motion; when the moves have ended, the next run removes it, or "
        "kafka_replication_throttle with state: cleaned"
    )
