# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes what runs have left on one cluster: what is ours, and what the operator names. Check mode, diff and the real run use the same plan."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import replica_orders
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import Journal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.stalled_runs import restore_later
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers import model, moves, orders, throttles
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.model import FAILED, KEPT, REMOVABLE, REMOVED, Leftover
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.run import Leftovers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import (
    ConfigOperation,
    Refusal,
    Resource,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import cancellation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.config_preview import ConfigPreview, Configurable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import executor, journal_entries
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import Move

NO_ANSWER = Refusal("", "the broker does not answer")


class Cleanup:
    """Removes what `Leftovers` has found, and gives each of its rows an outcome. `check_mode`: brokers only validate changes of configs."""

    def __init__(self, found: Leftovers, run_id: str, check_mode: bool) -> None:
        self._found, self._run_id, self._check_mode = found, run_id, check_mode
        self._cluster = found.cluster
        self._cancelled: set[TopicPartition] = set()
        self.warnings: list[str] = []

    def remove(self, foreign_throttles: Collection[str], cancel: Sequence[Mapping[str, Any]]) -> None:
        """Remove what is ours, and what is named. Raises ClusterError if the cluster does not answer.

        foreign_throttles  resources (as `Leftover.resource`) whose throttles are removed although the journal does not have them, or throttles.ALL
        cancel             topics, or partitions of them, whose reassignments are cancelled
        """
        if cancel:
            self._cancel(cancel)
        if not self._check_mode and any(row.kind == model.ORDER for row in self._found.rows):
            self._restore_orders()
        self._remove_throttles(foreign_throttles)

    @property
    def changed(self) -> bool:
        """Return whether anything was removed from the cluster or, in check mode, would be."""
        return any(row.outcome == (REMOVABLE if self._check_mode else REMOVED) for row in self._found.rows)

    def failure(self) -> str | None:
        """Return why not everything of ours is removed, None if it is."""
        failed = [row for row in self._found.rows if row.outcome == FAILED]
        sentences = [*self._found.problems, *dict.fromkeys(f"{row.kind} of {row.place}: {row.reason}" for row in failed)]
        return "; ".join(sentences) or None

    # --- reassignments ---------------------------------------------------------------------------------------------------

    def _cancel(self, named: Sequence[Mapping[str, Any]]) -> None:
        found, ongoing = self._found, self._cluster.reassignments()
        revived = {row.key for row in found.rows if row.kind == model.REVIVAL}
        begun = moves.begun_by_runs(found.workdir, found.name, ongoing)
        chosen = [key for key in ongoing if any(one["topic"] == key[0] and one["partition"] in (None, key[1]) for one in named)]
        rows = {key: moves.row(key, ongoing[key], begun.get(key)) for key in chosen if key not in revived}
        living = self._living_run()
        kept = {
            key: f"run {begun[key].run_id} is in progress: stop it first"
            for key in rows
            if living is not None and key in begun and living in ("", begun[key].run_id)
        }
        if found.revival_is_active:
            kept = dict.fromkeys(rows, "a revival is in progress, or its journal cannot be read, and this may be a move of it")
        to_cancel = {
            key: Move(*key, begun[key].replicas if key in begun else ongoing[key].original, ongoing[key].target)
            for key in rows
            if key not in kept
        }
        found.rows = [row for row in found.rows if row.kind != model.MOVE or row.key not in rows]
        found.rows += [rows[key].became(KEPT, why) for key, why in kept.items()]
        if self._check_mode:
            self._cancelled = {*to_cancel}
            found.rows += [rows[key].became(REMOVABLE) for key in to_cancel]
            return
        done = cancellation.cancel(self._cluster, to_cancel)
        self.warnings += [done.warning] if done.warning else []
        for key in to_cancel.keys() - done.arrived:
            problem = done.problems.get(key)
            why = None if problem is None else f"it cannot be cancelled: {': '.join(filter(None, problem))}"
            found.rows.append(rows[key].became(REMOVED if problem is None else FAILED, why))

    def _living_run(self) -> str | None:
        """Return the id of the run that moves replicas of this cluster and is in progress, empty if it is not known, None if there is no such run."""
        journal = self._found.throttle_journal()
        if not journal.run_lock.is_active():
            return None
        run = journal.run_lock.last_run()
        return run[0] if run else ""

    # --- replica orders ----------------------------------------------------------------------------------------------------

    def _restore_orders(self) -> None:
        found = self._found
        with found.noted(), Journal(found.order_journal_path(make=True), self._cluster.cluster_id, self._run_id) as journal:
            replica_orders.await_answers(self._cluster, journal)
            what = replica_orders.plan_repair(self._cluster, journal)
            rows = orders.rows(journal, what)
            refused = replica_orders.execute_repair(self._cluster, journal, what)
            found.rows = [row for row in found.rows if row.kind != model.ORDER] + [orders.outcome(row, refused) for row in rows]
            restore_later(self._cluster, journal, what.left)

    # --- throttles ---------------------------------------------------------------------------------------------------------

    def _remove_throttles(self, names: Collection[str]) -> None:
        found = self._found
        there: Configurable = ConfigPreview(self._cluster) if self._check_mode else self._cluster
        with found.noted(), found.throttle_journal(change=not self._check_mode) as journal:
            # Others may have begun to move replicas, or changed throttles, since they were found.
            ongoing = {key: one for key, one in self._cluster.reassignments().items() if key not in self._cancelled}
            # A run that begins later sets nothing before the journal is closed.
            is_active = found.run_is_active(journal)
            rows = found.throttle_rows(there, journal, is_active, ongoing, self._cluster.partitions())
            removals = {row: throttles.removal(row, journal) for row in rows if throttles.named(row, names)}
            owners = throttles.removable_owners(journal, is_active, executor.throttled_moves(there, journal, ongoing))
            if journal_entries.RUN in owners:
                journal.shut_out_run()
            before = journal.recorded()
            problems = executor.remove_all(there, journal, owners)[1] if owners else []
            if journal.outwait():
                problems += executor.look_again(there, journal, before)
            left: set[tuple[int | str, str]] = {*journal.rates(owners)}
            left |= {(own.topic, own.config) for added in journal.replicas(owners).values() for own in added}
            refused = self._altered(there, removals.values())
            found.rows = [row for row in found.rows if row.kind != model.THROTTLE]
            found.rows += [self._outcome(row, left, problems, removals, refused) for row in rows]

    @staticmethod
    def _altered(there: Configurable, changes: Collection[ConfigOperation]) -> dict[Resource, Refusal]:
        """Change configs. Return the refusals."""
        if not changes:
            return {}
        try:
            answers = there.alter_configs(changes)
        except RecoveryError as error:
            return {change.resource: Refusal("", str(error)) for change in changes}
        refused = {change.resource: answers.get(change.resource, NO_ANSWER) for change in changes}
        return {resource: refusal for resource, refusal in refused.items() if refusal is not None}

    def _outcome(
        self,
        row: Leftover,
        left: Collection[tuple[int | str, str]],
        problems: Sequence[str],
        removals: Mapping[Leftover, ConfigOperation],
        refused: Mapping[Resource, Refusal],
    ) -> Leftover:
        done = REMOVABLE if self._check_mode else REMOVED
        if row in removals:
            refusal = refused.get(removals[row].resource)
            return row.became(done) if refusal is None else row.became(FAILED, f"it cannot be removed: {refusal}; grant ALTER_CONFIGS")
        if row.outcome != REMOVABLE:
            return row
        place = row.topic if row.broker_id is None else row.broker_id
        return row.became(FAILED, "; ".join(problems)) if (place, row.config) in left else row.became(done)
