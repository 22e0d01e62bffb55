# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recovery of one cluster: the partitions to elect, their elections, and the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumer_groups import GROUP_TOPIC
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import journal_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import EVIDENCE_ROWS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import TakenError, work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.time_budget import Budget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import designated_election
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.confirmation import Confirmation, not_confirmed
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.diff import election_diff
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.disk_verdicts import DiskVerdicts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.election_evidence import (
    ElectionEvidence,
    offsets_came_within_reach,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.election_limits import ElectionLimits, Excess
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.elections import Elections
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Result, without
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.order_warnings import order_warnings
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.plan_entries import PlanEntries, plan_entries
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.recovery_results import RecoveryResults
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.reorder_journal import FOLDER, Journal, Left
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_orders import (
    left_behind,
    repair,
    repair_after_elections,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.results import not_allowed
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.saved_tails import RecordSaver
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.second_decision import (
    beyond_limits,
    may_change,
    second_decision,
    undecided,
    with_evidence,
    without_offsets,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.stalled_runs import restore_later, restore_own
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import acls
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    INTERNAL_TOPICS,
    TopicPartition,
    in_recovery_order,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.previews import some_names
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_limits import Limits


class Recovery:
    """The partitions to elect in one cluster, their elections and `results`. `warnings`: sentences for the operator.

    name                  of the cluster in the inventory
    duration              seconds for elections, and for collecting the evidence again
    attempts              how often an election that failed is tried again
    max_evidence_rows     see `collect.check_size`
    first_answer_seconds  seconds beyond `duration` for partitions of which no replica has answered yet
    data_loss_allowed     for the results file, and for `report`
    decide_again          whether this run made the plan, so that partitions may be decided otherwise once offsets can be read
    save_records          whether records that an election would destroy are saved before it, else the partition is held
    save_limits           of these records
    The constructor raises FileError if journal or results could not be written: nothing is elected then.
    """

    def __init__(
        self,
        cluster: NativeCluster,
        name: str,
        run_id: str,
        workdir: Path,
        duration: float,
        attempts: int,
        first_answer_seconds: float = 0.0,
        max_evidence_rows: int = EVIDENCE_ROWS,
        data_loss_allowed: bool = True,
        check_mode: bool = False,
        decide_again: bool = False,
        save_records: bool = False,
        save_limits: Limits | None = None,
    ) -> None:
        self._cluster = cluster
        self._workdir = workdir
        self._duration, self._attempts = duration, attempts
        self._journal_path = journal_file(workdir, FOLDER, cluster.cluster_id, make=not check_mode)
        header = {
            "cluster": name,
            "cluster_id": cluster.cluster_id,
            "run_id": run_id,
            "plan_id": None,
            "backend": cluster.backend,
            "data_loss_allowed": data_loss_allowed,
        }
        self.results = RecoveryResults(work_file(workdir, "results", name, run_id, make=not check_mode), header)
        self._decide_again = decide_again
        saved_by = {"cluster": name, "cluster_id": cluster.cluster_id, "run_id": run_id, "backend": cluster.backend}
        self._record_saver = RecordSaver(cluster, workdir, saved_by, save_records, save_limits or Limits())
        self._plan = PlanEntries()
        self._limits = ElectionLimits(cluster, name)
        self._confirmation: Confirmation | None = None
        self._entries: list[Entry] = []
        self._connection: Connection | None = None
        self._repaired: list[str] = []
        self._save_disks_of: list[int] = []
        self.warnings: list[str] = []
        self._evidence = ElectionEvidence(cluster, workdir, name, duration, first_answer_seconds, max_evidence_rows, self.warnings)

    def take_plan(self, plan: Mapping[str, Any], source: str) -> None:
        """Set the entries and results of a plan, as `plan_file.load` returned it. `source`: its name in errors.

        Raises RecoveryError for a plan of another cluster, PlanError for a plan that cannot be used. A bare KIP-1275 file has designations.
        """
        self._plan = plan_entries(plan, source, self._cluster.cluster_id)
        self.results.header["plan_id"] = self._plan.plan_id
        self._entries = list(self._plan.entries)
        self.results.rows = list(self._plan.results)

    def take_designations(self, rows: Sequence[Mapping[str, Any]], source: str, connection: Connection) -> None:
        """Set entries from rows, as `manual_designation.designations` reads them, and collect their evidence as that of a plan is collected.

        connection  as for `collect_again`
        source      the name of the option or file in errors
        Raises RecoveryError for an empty list and for a partition that is named twice.
        """
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.manual_designation import (  # most elections have a plan
            collect,
            designations,
        )

        sources = self._evidence.sources(connection, Budget(self._duration))
        self._entries, failed, warnings = collect(sources, designations(rows, source))
        self.results.rows += failed
        self.warnings += warnings

    def collect_again(self, connection: Connection) -> None:
        """Collect the evidence of the entries of a plan again: guards decide on it once more, because a plan file can be old or forged.

        `connection`: names the controllers, whose metadata log is read. Leaders that an operator named have their evidence already. If the evidence
        cannot be read, all entries of the plan fail. Raises Interrupted after a signal.
        """
        self._connection = connection
        try:
            self._collect_again(connection, self._left_behind())
        except signals.Interrupted:
            raise
        except RecoveryError as error:
            self._give_up(error)

    def _give_up(self, error: RecoveryError) -> None:
        """Let all entries of the plan that have no result fail: nothing is elected on evidence that could not be read."""
        done = self.results.keys()
        left = {entry.key: entry for entry in self._entries if not entry.designated_by_hand and entry.key not in done}
        self.results.rows += [Result.of(entry, Outcome.FAILED, ReasonCode.REQUEST_FAILED, str(error)) for entry in left.values()]
        self._entries = [entry for entry in self._entries if entry.key not in left]

    def _collect_again(self, connection: Connection, left: Left) -> None:
        wanted = {entry.key for entry in self._entries if not entry.designated_by_hand}
        if not wanted:
            return
        live = self._evidence.collect(connection, wanted, left, self._plan, self._entries)
        self._entries = [
            entry if entry.designated_by_hand else with_evidence(entry, live.documents.get(entry.key), live.cluster)
            for entry in self._entries
        ]

    def hold_all(self) -> None:
        """Set the result of all entries to HELD, because data loss is not allowed."""
        reason = "data loss is not allowed; set allow_data_loss (playbooks: -e kafka_recovery_allow_data_loss=true) to elect it"
        self.results.rows += [Result.of(entry, Outcome.HELD, ReasonCode.DATA_LOSS_NOT_ALLOWED, reason) for entry in self._entries]
        self._record_saver.expect(self._entries)
        self.warnings += order_warnings(self._cluster, self._left_behind(), self._journal_path)

    def keep_within(self, limits: blast_radius.BlastRadiusLimits) -> None:
        """Raise RecoveryError if the elections exceed `limits`, or if a broker that is named as lost shows signs of life.

        Decisions that `elect` changes keep the limits, too. What would exceed one, and did not count because it would not be elected, is not elected later
        either: it has that result. Raises RecoveryError if the journal cannot be used, ClusterError if the cluster does not answer.
        """
        self._limits.limits = limits
        excess = self._excess(self._entries, self._left_behind())
        blast_radius.raise_if_any(excess.reasons)
        self._entries = without(self._entries, excess.not_counted)
        self.results.rows += excess.not_counted

    def require(self, confirmation: Confirmation) -> None:
        """Raise RecoveryError if the operator has confirmed other elections than those that a dry run would predict now.

        What would not be elected now is not elected later either: it has that result.
        """
        forecast = self._forecast(self._left_behind())
        confirmation.check([entry.loss for entry, row in zip(self._entries, forecast, strict=True) if row.outcome == Outcome.ELECTED])
        not_counted = [row for row in forecast if row.outcome != Outcome.ELECTED]
        self._entries = without(self._entries, not_counted)
        self.results.rows += not_counted
        self._confirmation = confirmation

    def _forecast(self, left: Left) -> list[Result]:
        """Return the results that the elections of all entries would have, those included whose records cannot be saved."""
        forecast = designated_election.predict(self._cluster, self._entries, left)
        return [self._record_saver.foreseen(entry, result) for entry, result in zip(self._entries, forecast, strict=True)]

    def _excess(self, entries: Sequence[Entry], left: Left) -> Excess:
        return self._limits.excess(entries, self.results.elected(), self._plan.brokers, left)

    def predict(self) -> None:
        """Set the results that `elect` would have, from the same guards, and warn of partitions that may change. Elects nothing."""
        left = self._left_behind()
        forecast = self._forecast(left)
        is_elected = [result.outcome == Outcome.ELECTED for result in forecast]
        if any(is_elected) and not acls.may_elect(self._cluster.operations()):
            forecast = [not_allowed(one) if elected else row for one, elected, row in zip(self._entries, is_elected, forecast, strict=True)]
        others = [entry for entry in self._entries if entry.topic not in INTERNAL_TOPICS]
        doubtful = may_change(others, self.results.rows if self._decide_again else ())
        if doubtful and offsets_came_within_reach(self._cluster, self.results.rows, forecast):
            then = "be decided otherwise" if self._decide_again else "become stale"
            self.warnings.append(
                f"once {GROUP_TOPIC} has a leader, committed offsets can be read, and {len(doubtful)} partitions ({some_names(doubtful)}) may {then}"
            )
        self.results.rows += forecast
        self._record_saver.expect(self._entries)
        self.warnings += [*self._record_saver.warnings, *order_warnings(self._cluster, left, self._journal_path)]

    def elect(self) -> None:
        """Restore orders that a killed run left, then elect all entries, or as many as time and signals allow, and set their results.

        Internal topics come first: while `__consumer_offsets` has no leader, no committed offset can be read, and these prove what was committed.
        Raises RecoveryError if another run has the journal open or it cannot be used, ClusterError if the cluster does not answer before the first
        election. Errors of an election are in its result.
        """
        with Journal(self._journal_path, self._cluster.cluster_id, self.results.header["run_id"]) as journal:
            found, taken = journal.left_behind(), None
            repaired, kept = repair(self._cluster, journal), journal.elections_in_doubt()
            verdicts = DiskVerdicts(self._cluster, self._workdir, self.results.header["cluster"], self.results.header["run_id"])
            verdicts.withdraw_for(self._entries)
            elections = Elections(self._cluster, journal, self._record_saver, self._attempts, self._limits)
            deadline = time.monotonic() + self._duration
            first, saving = elections.save_and_run([entry for entry in self._entries if entry.topic in INTERNAL_TOPICS], deadline)
            deadline += saving
            self.results.rows += first
            began = time.monotonic()
            self._use_offsets(journal, first)
            verdicts.withdraw_for(self._entries)  # others may be elected now
            deadline += time.monotonic() - began
            self.results.rows += elections.save_and_run([entry for entry in self._entries if entry.topic not in INTERNAL_TOPICS], deadline)[
                0
            ]
            # An election that failed may have been carried out, and not be visible yet.
            maybe = {(one.topic, one.partition) for one in self.results.rows if one.outcome in (Outcome.ELECTED, Outcome.FAILED)}
            verdicts.settle(maybe)
            self.warnings += [*self._record_saver.warnings, *dict.fromkeys(verdicts.warnings)]
            try:
                restore_later(self._cluster, journal, found)
                repair_after_elections(self._cluster, journal, self.results.keys())
                self.warnings += order_warnings(self._cluster, journal.left_behind(), self._journal_path)
            except TakenError:
                taken = journal.known()
            except RecoveryError as error:
                self.warnings.append(f"replica orders of elections could not all be put back, run again to do it: {error}")
            settled = {key for key in kept - journal.left_behind().keys() if any(one.is_another for one in found.get(key, ()))}
            restored = sorted({*repaired, *settled})
            self._repaired = [f"{topic}-{partition}" for topic, partition in restored]
            self._warn_of_other_partitions(restored)
        if taken is not None:
            self.warnings.append(
                restore_own(self._cluster, self._journal_path, self._cluster.cluster_id, self.results.header["run_id"], taken)
            )

    def _warn_of_other_partitions(self, restored: Sequence[TopicPartition]) -> None:
        """Warn of restored replica orders of partitions that this run does not elect: its plan does not show that they change."""
        own = self.results.keys()
        if others := [key for key in restored if key not in own]:
            self.warnings.append(
                f"{len(others)} partitions outside of this plan ({some_names(others)}) got their replica order back, which an election of an earlier run "
                f"with this workdir had changed ({self._journal_path})"
            )

    def _use_offsets(self, journal: Journal, first: Sequence[Result]) -> None:
        """Collect the evidence again if committed offsets can be read now: they may prove another branch of a fork. `first`: results of internal topics."""
        if self._connection is None or signals.pending_signal():
            return
        try:
            if not offsets_came_within_reach(self._cluster, self.results.rows, first):
                return
            if self._decide_again:
                self._decide_with_offsets(self._connection, journal.left_behind())
            else:
                self._collect_again(self._connection, journal.left_behind())
        except RecoveryError as error:
            self._give_up(error)
        held = without_offsets(self._entries)
        self._entries = without(self._entries, held)
        self.results.rows += held
        if self._confirmation is not None:
            beyond = not_confirmed(
                self._confirmation, [entry for entry in self._entries if entry.topic not in INTERNAL_TOPICS], self.results.rows
            )
            self._entries = without(self._entries, beyond)
            self.results.rows += beyond

    def _decide_with_offsets(self, connection: Connection, left: Left) -> None:
        """Decide about the partitions again that are not elected yet, and about those that the plan holds although offsets may prove more."""
        internal = [entry for entry in self._entries if entry.topic in INTERNAL_TOPICS]
        others = [entry for entry in self._entries if entry.topic not in INTERNAL_TOPICS and not entry.designated_by_hand]
        held = undecided(self.results.rows)
        wanted = {*(entry.key for entry in others), *held}
        if not wanted:
            return
        live = self._evidence.collect(connection, wanted, left, self._plan, self._entries)
        again = second_decision(others, held.values(), live.documents, live.cluster, self._plan.policy)
        results, not_counted = list(again.held), list[Result]()
        # The entries of the plan were within the limits, so partitions that it holds are left out first.
        for entries in (again.added, again.changed):
            excess = self._excess([*again.entries, *again.changed, *again.added], left) if entries else Excess([], [])
            if excess.reasons:
                results += [beyond_limits(entry, excess.reasons) for entry in entries]
                entries.clear()
            else:
                not_counted += excess.not_counted
                again.leave_out(excess.not_counted)
        self._entries = [*internal, *again.entries, *again.changed, *again.added]
        decided = {(result.topic, result.partition) for result in results} | {entry.key for entry in again.added}
        otherwise = sorted(decided | {entry.key for entry in again.changed}, key=in_recovery_order)
        if otherwise:
            self.warnings.append(
                f"once {GROUP_TOPIC} had a leader, {len(otherwise)} partitions ({some_names(otherwise)}) were decided otherwise than in the plan; "
                "decided_again in the results says why"
            )
        self.results.replace(decided, results)
        self.results.replace([(result.topic, result.partition) for result in not_counted], not_counted)

    def look_at_all_partitions(self) -> None:
        """Correct the results of partitions that the plan held or found online by their present leaders, and count other offline partitions.

        A cluster with any of these is not recovered. The number stays None, with a warning, if the cluster does not answer. Brokers that are replicas of
        elected partitions and not alive may have records that the new leaders lack: `report` names them.
        """
        try:
            alive = self._cluster.unfenced()
            states = self._cluster.partitions()
        except RecoveryError as error:
            self.warnings.append(f"which partitions of {self.results.header['cluster']} have no leader now is not known: {error}")
            return
        self.results.correct(states, alive)
        elected = {(result.topic, result.partition) for result in self.results.rows if result.outcome == Outcome.ELECTED}
        self._save_disks_of = sorted({broker for key in elected & states.keys() for broker in states[key].replicas} - alive)

    def settle(self, refine: Callable[[Sequence[Result]], Sequence[Result]]) -> None:
        """Replace all results by those that `refine` returns for them, which have more exact reasons."""
        self.results.rows = list(refine(self.results.rows))

    def not_elected(self, dry_run: bool = False) -> Iterator[tuple[list[str], TopicPartition]]:
        """Return the partitions without a leader, as `RecoveryResults.not_elected` does."""
        return self.results.not_elected(len(self._entries), dry_run)

    def _left_behind(self) -> Left:
        with Journal(self._journal_path, self._cluster.cluster_id, read_only=True) as journal:
            return left_behind(self._cluster, journal)

    def report(self, preview: int) -> dict[str, Any]:
        """Return the result of `kafka_designated_election`; see `RecoveryResults.report`."""
        return {
            **self.results.report(preview),
            "saved_records": self._record_saver.report(),
            "save_disks_of": self._save_disks_of,
            "backend": self._cluster.backend,
            "repaired": self._repaired,
            "unreachable_brokers": self._cluster.unreachable_rows(),
            "diff": election_diff(self._entries, self.results.rows),
        }
