# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The standing replication throttle of one cluster: set at a rate, removed, or cleaned of left-over throttles.

In check mode the same code runs on a `ConfigPreview` and a read-only journal.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition, only_known
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.config_preview import Configurable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.log_sizes import measure_write_rates
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import diff, executor, model
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.diff import ThrottleChanges
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import Recorded, ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal_entries import (
    LAYERS,
    RUN,
    STANDING,
    Expiry,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import LISTS, RATES, Copying, Rates
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.replicas import (
    ThrottledReplicas,
    check_brokers,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run_lock import PROBE_SECONDS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run_throttle import left_warning
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import Brokers

RUNNING, LEFT_OVER, STANDS, EXPIRED = "running", "left_over", "stands", "expired"


class ReplicationThrottle:
    """The throttle of one cluster. `measured`: seconds over which the write rate of partitions is measured, 0 for no measurement."""

    def __init__(self, cluster: Configurable, journal: ThrottleJournal, measured: float) -> None:
        self._cluster = cluster
        self._journal = journal
        self._measured = measured
        self._changed = ThrottleChanges()
        self._terms_changed = False
        self._run_is_active = False
        self._problems: list[str] = []
        self.warnings: list[str] = []

    def present(
        self,
        rates: Rates,
        keys: Sequence[TopicPartition] | None,
        replicas: Sequence[ThrottledReplicas] | None = None,
        expires_after: float | None = None,
    ) -> None:
        """Throttle the replicas that copy the partitions `keys` (None: all with a live replica that is out of sync), or these `replicas`.

        While a run is active, or moves that it has left are in progress, only its rate is changed. `expires_after`: seconds from now, None: it
        stays until it is removed. Raises RecoveryError if Kafka refuses a change or a broker, topic or partition does not exist.
        """
        states = self._states(keys if replicas is None else None)
        check_brokers(Brokers.of(self._cluster.registered()), states, rates, replicas or ())
        with self._journal as journal:
            before = journal.recorded()
            options = {"throttled_replicas": replicas, "expires_after": expires_after}
            option = next((name for name, value in options.items() if value is not None), None)
            if option:
                self._fail_for_a_run(journal, f"wait until it has ended, or change its rate alone, without {option}")
            moving = set() if self._check_for_run(journal) else executor.throttled_moves(self._cluster, journal)
            if moving and option:
                raise RecoveryError(
                    f"an earlier run has left {count(len(moving), 'move')} in progress with a throttle; wait until they have ended, or change their "
                    f"rate alone, without {option}"
                )
            if moving or self._run_is_active:
                self._set(journal, diff.plan_rate_change(self._cluster, journal, RUN, rates))
                self._terms_changed = journal.run_rates != rates
                journal.set_run_rates(rates)
                return
            journal.shut_out_run()
            self._remove(journal, journal.left_over())
            live = self._cluster.unfenced()
            whole: Mapping[tuple[str, str], set[int]] = {}
            if replicas is None:
                copying = {
                    state.key: model.copying_after_recovery(state.replicas, state.isr, state.leader, live)
                    for state in states
                    if state.leader >= 0
                }
                copying = {key: copies for key, copies in copying.items() if keys is not None or copies.followers}
            else:
                copying = {key: copies for row in replicas for key, copies in row.copying(states, live).items()}
                whole = {place: brokers for row in replicas for place, brokers in row.whole(states, live).items()}
            topic_ids = {state.topic: state.topic_id for state in states}

            def lacking() -> diff.ThrottleToSet:
                missing = diff.plan_throttle(self._cluster, journal, STANDING, copying, rates, topic_ids, whole)
                # Brokers whose replicas are in sync keep a rate until it is removed, and get the new value, too.
                other = diff.plan_rate_change(self._cluster, journal, STANDING, rates)
                return replace(missing, rates=list(dict.fromkeys([*missing.rates, *other.rates])))

            what = lacking()
            if keys is None and replicas is None and not copying and not journal.has_standing():
                self.warnings.append(
                    "no live replica is out of sync, so no throttle was needed: for replicas that are about to be copied, name partitions or "
                    "throttled_replicas"
                )
            self._expire(journal, expires_after, bool(what.rates or what.added))
            self._set(journal, what)
            if self._look_again(journal, before):
                self._set(journal, lacking())
        self._warn_of_low_rates(copying, rates, states)

    def absent(self) -> None:
        """Remove all throttles of the journal. Raises RecoveryError while a run is active: it removes its throttle when it ends."""
        with self._journal as journal:
            before = journal.recorded()
            self._fail_for_a_run(journal, "wait until it has ended: it removes its throttle itself")
            if moving := executor.throttled_moves(self._cluster, journal):
                self.warnings.append(f"{count(len(moving), 'partition')} in motion: copied without a throttle from now on")
            journal.shut_out_run()
            self._remove(journal, LAYERS)
            self._look_again(journal, before)

    def clean(self) -> None:
        """Remove the throttle of an earlier run and an expired standing throttle, but not from moves that are in progress.

        Does nothing while a run is active: it removes them at its end.
        """
        with self._journal as journal:
            if self._check_for_run(journal) or journal.run_lock.is_active():
                return
            before = journal.recorded()
            journal.shut_out_run()
            changed, problems, moving = executor.remove_left_over(self._cluster, journal)
            self._changed += changed
            self._problems += problems
            self._look_again(journal, before)
            if moving:
                self.warnings.append(left_warning(len(moving)))

    def _check_for_run(self, journal: ThrottleJournal) -> bool:
        """Return whether a run is active that throttles its moves. A run that begins later sets nothing before the journal is closed."""
        self._run_is_active = journal.run_throttles()
        return self._run_is_active

    @staticmethod
    def _fail_for_a_run(journal: ThrottleJournal, remedy: str) -> None:
        if journal.run_throttles():
            journal.run_lock.fail_if_active(remedy)

    def _states(self, keys: Sequence[TopicPartition] | None) -> list[PartitionState]:
        found = self._cluster.partitions(keys)
        return list(found.values()) if keys is None else only_known(keys, found)

    def _expire(self, journal: ThrottleJournal, seconds: float | None, anything: bool) -> None:
        """Record the expiry before the throttle is set. The same number of seconds again is no change in the result."""
        if anything or journal.has_standing():
            self._terms_changed = seconds != (journal.expiry.seconds if journal.expiry else None) and journal.has_standing()
            journal.set_expiry(None if seconds is None else Expiry.after(seconds))

    def _look_again(self, journal: ThrottleJournal, before: Recorded) -> bool:
        """Look at the cluster again if the run that had the journal `before` may only be stalled. Return whether it may."""
        if not journal.outwait():
            return False
        self._problems += executor.look_again(self._cluster, journal, before)
        return True

    def _set(self, journal: ThrottleJournal, what: diff.ThrottleToSet) -> None:
        self._changed.add_set(what)
        if what.rates or what.added or what.silent:
            self.warnings += executor.set_throttle(self._cluster, journal, what)

    def _remove(self, journal: ThrottleJournal, owners: Sequence[str]) -> None:
        changed, problems = executor.remove_all(self._cluster, journal, owners)
        self._changed += changed
        self._problems += problems

    def _warn_of_low_rates(self, copying: Mapping[TopicPartition, Copying], rates: Rates, states: Sequence[PartitionState]) -> None:
        if self._measured and any(copies.followers for copies in copying.values()):
            written = measure_write_rates(self._cluster, copying.keys(), {state.key: state for state in states}, self._measured)
            self.warnings += map(str, model.shortfalls(copying, rates, written))

    def report(self, preview: int) -> dict[str, Any]:
        """Return the result of `kafka_replication_throttle`: the changes, and `others`, the throttles that this collection did not set.

        `failed` and `msg` are set if a throttle could not be removed. `preview`: maximum of rows of each list.
        """
        changed = self._changed
        with self._journal as journal:
            rates = [layer for layers in journal.rates().values() for layer in layers]
            added = [row for rows in journal.replicas().values() for row in rows]
            expires_at = journal.expiry.at if journal.expiry else None
        others = model.throttles_of_others(
            self._cluster.broker_configs(self._cluster.unfenced(), RATES),
            self._cluster.topic_configs_of({topic for topic, _partition in self._cluster.partitions(None)}, LISTS),
            rates,
            added,
        )
        report: dict[str, Any] = {
            "changed": bool(changed) or self._terms_changed,
            "run_in_progress": self._run_is_active,
            "summary": {**changed.summary, "others": len(others)},
            "rates": changed.rates[:preview],
            "replicas": changed.replicas[:preview],
            "expires_at": expires_at,
            "others": others[:preview],
            "unreachable_brokers": self._cluster.unreachable_rows(),
            "diff": changed.diff(),
        }
        if self._problems:
            report |= {"failed": True, "msg": "; ".join(self._problems)}
        return report


def throttle_rows(journal: ThrottleJournal) -> list[dict[str, Any]]:
    """Return one row for the throttle of a run and one for the standing throttle, each if it is set.

    Keys: `state` (RUNNING, LEFT_OVER, STANDS, EXPIRED), the counts `brokers`, `topics` and `replicas`, and `expires_at` (None: never).
    `journal`: not open. Raises RecoveryError if it cannot be used.
    """
    run_is_active = journal.run_lock.is_active()
    with journal:
        expiry, found = journal.expiry, []
        for owner in LAYERS:
            rates, rows = journal.rates([owner]), journal.replicas([owner])[owner]
            if not rates and not rows:
                continue
            own = expiry if owner == STANDING else None
            state = (RUNNING if run_is_active else LEFT_OVER) if owner == RUN else EXPIRED if own and own.is_over else STANDS
            found.append(
                {
                    "state": state,
                    "brokers": len({broker for broker, _config in rates}),
                    "topics": len({row.topic for row in rows}),
                    "replicas": sum(len(row.entries) for row in rows),
                    "expires_at": own.at if own else None,
                }
            )
    return found


def readable_rows(workdir: Path, cluster: str, cluster_id: str) -> list[dict[str, Any]] | None:
    """Return the `throttle_rows` of a cluster, None if the journal cannot be read now. Sends no request."""
    with suppress(RecoveryError):
        return throttle_rows(ThrottleJournal(workdir, cluster, cluster_id, PROBE_SECONDS, read_only=True))
    return None


def left_over_warning(rows: Collection[Mapping[str, Any]], cluster: str, elects: bool = False) -> str | None:
    """Return a warning for throttles in `throttle_rows` that should have been removed, None if there are none.

    `elects`: whether leaders are elected next. The role elect then removes an expired throttle, if there is no other.
    """
    if elects and [row["state"] for row in rows] == [EXPIRED]:
        return f"a replication throttle that has expired is still set on {cluster}: it slows replicas down until the recovery removes it"
    if states := {row["state"] for row in rows} & {LEFT_OVER, EXPIRED}:
        origin = {LEFT_OVER: "of a run that has ended", EXPIRED: "that has expired"}
        which = " and one ".join(origin[state] for state in sorted(states))
        return f"a replication throttle {which} is still set on {cluster}: remove it with kafka_replication_throttle and state: cleaned"
    return None
