# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One task of kafka_partition_reassignment on one cluster: verdicts, moves with their throttle, and files.

`<workdir>/reassignments/<run_id>/<cluster>.before.json` has the original replicas, in the JSON of kafka-reassign-partitions, to move them back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.reassignment_admin import ReassignmentAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import safe_name, work_file, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import moves_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition, chunks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import FOLDER
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import disk_space, results, validate
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.approved_moves import ApprovedMoves
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.cancellation import BATCH
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.config_preview import ConfigPreview
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.executor import (
    INBOUND_SECONDS,
    ExecutionLimits,
    ReassignmentExecutor,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.log_sizes import measure_write_rates
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress_file import MoveProgressFile, last_run
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import model
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.diff import ThrottleChanges
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import Rates, Shortfall
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run_throttle import Throttle
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import (
    CANCEL,
    MOVING,
    REFUSED,
    SUBMIT,
    Brokers,
    Verdict,
    Wanted,
)

SUFFIX = ".before.json"
# Values of the option on_interrupt.
AUTO, LEAVE, CANCEL_MOVES = "auto", "leave", "cancel"


def check_options(params: Mapping[str, Any]) -> None:
    """Raise RecoveryError for an option that is not valid, or a file that cannot be used. Sends no request.

    `params`: the options of kafka_partition_reassignment.
    """
    if not 1 <= params["max_disk_percent"] <= 100:
        raise RecoveryError(f"max_disk_percent {params['max_disk_percent']} is not between 1 and 100")
    if params["approved_moves"] is not None:
        if params["state"] != "present" or not params["wait"]:
            raise RecoveryError("approved_moves needs state present and wait: it moves what was approved, and writes the results")
        moves_file.FORMAT.load(params["approved_moves"])
    elif params["state"] == "present":
        validate.with_replicas(validate.wanted_by(params))
    else:
        validate.wanted_by(params)
    rate = params["throttle"]
    if rate is not None and (problem := model.rate_problem("throttle", rate)):
        raise RecoveryError(problem)
    if params["state"] == "present" and not params["wait"]:
        if rate is not None and params["on_interrupt"] != LEAVE:
            raise RecoveryError(
                "throttle with wait: false needs on_interrupt: leave, because the moves and their throttle outlive the task: a later task removes "
                "the throttle when the moves have ended"
            )
        if params["on_interrupt"] == CANCEL_MOVES:
            raise RecoveryError("on_interrupt: cancel needs wait: nothing is cancelled after the task")


class ReassignmentTask:
    """One task on one cluster: call `judge`, then `predict` (check mode), `move` or `cancel`, then `report`.

    `params`: the options of kafka_partition_reassignment. `wanted`: as `validate.wanted` returned it. Raises RecoveryError if approved moves cannot be
    used for this cluster.
    """

    def __init__(self, cluster: ReassignmentAdmin, workdir: Path, params: Mapping[str, Any], wanted: Wanted | None) -> None:
        self._cluster, self._workdir, self._params, self._wanted = cluster, workdir, params, wanted
        self._approved = (
            ApprovedMoves(Path(params["approved_moves"]), params["cluster"], params["run_id"]) if params["approved_moves"] else None
        )
        self._states: dict[TopicPartition, PartitionState] = {}
        self._verdicts: list[Verdict] = []
        self._results: dict[TopicPartition, results.MoveResult] = {}
        self._changed = False
        self._stopped: str | None = None
        self._progress: dict[str, Any] | None = None
        self._before: Path | None = None
        self._removed_throttles = ThrottleChanges()
        self._written: tuple[Path, Path | None] | None = None
        self.warnings: list[str] = []
        if self._approved is not None:
            self._approved.check_cluster(cluster.cluster_id)
            self._wanted = self._approved.targets
            rate, warning = self._approved.rate(params["throttle"])
            self._params = {**params, "throttle": rate}
            self.warnings += [warning] if warning else []

    @property
    def refused(self) -> bool:
        """Return whether a partition was refused, so that nothing may be submitted."""
        return any(verdict.action == REFUSED for verdict in self._verdicts)

    def judge(self) -> None:
        """Read the cluster, decide what to do with each partition, and predict its result.

        Raises RecoveryError if partitions have no replicas or the file of an earlier run cannot be used, and if the cluster does not answer.
        """
        cluster, params, ongoing = self._cluster, self._params, self._cluster.reassignments()
        if params["state"] == "present":
            targets = validate.with_replicas(self._wanted)
            self._states = cluster.partitions(set(targets))
            brokers = Brokers.of(cluster.registered())
            self._verdicts = validate.judge(targets, self._states, ongoing, brokers, params["allow_replication_factor_change"])
            if self._approved is not None:
                self._verdicts = self._approved.judge(self._verdicts, self._states)
            self._refuse_full_brokers()
        else:
            self._states = cluster.partitions(ongoing.keys() if self._wanted is None else set(self._wanted))
            self._verdicts = validate.judge_cancellations(self._wanted, self._states, ongoing)
        self._verdicts = validate.restore_orders(self._verdicts, self._original_orders())
        self._results = results.predict_results(self._verdicts, params["wait"])

    def _refuse_full_brokers(self) -> None:
        """Refuse moves to brokers without room for all that they would copy, and those of brokers that do not answer what they have."""
        moves = [verdict.move for verdict in self._verdicts if verdict.action in (SUBMIT, MOVING) and verdict.move]
        try:
            disks = disk_space.read_disks(self._cluster, moves, self._states)
        except RecoveryError as error:
            self.warnings.append(f"it was not checked whether brokers have room for what they copy: {error}")
            return
        self.warnings += disk_space.not_checked(disks)
        silent = disk_space.silent_brokers(moves, self._states, disks)
        full = disk_space.full_brokers(moves, self._states, disks, self._params["max_disk_percent"])
        self._verdicts = [
            validate.refuse_unknown(validate.refuse_brokers(verdict, kafka_errors.KAFKA_STORAGE_ERROR, full), silent)
            for verdict in self._verdicts
        ]

    def predict(self) -> None:
        """Check what the real run depends on: permissions, its throttle, other runs, files of the workdir. Changes nothing.

        Raises RecoveryError for a throttle that cannot be set or that Kafka refuses, and if another run is active; FileError.
        """
        operations = self._cluster.permissions(()).cluster
        may_alter = operations is None or "ALTER" in operations
        self._results = results.predict_results(self._verdicts, self._params["wait"], may_alter)
        to_do = [verdict for verdict in self._verdicts if verdict.action in (SUBMIT, CANCEL)]
        self._changed = any(self._results[verdict.key].outcome not in (Outcome.FAILED, Outcome.HELD) for verdict in to_do)
        if operations is None and to_do:
            self.warnings.append("the cluster does not report whether this client may ALTER it, which moving replicas needs")
        if self.refused:
            return
        try:
            throttle = self._preview_throttle()
        except RecoveryError as error:
            if may_alter or not to_do:
                raise
            raise RecoveryError(f"{results.GRANT}; {error}") from error
        if not may_alter:
            return
        self._removed_throttles = throttle.removed
        self.warnings += throttle.warnings
        if self._params["state"] == "present":
            work_file(self._workdir, FOLDER, self._params["cluster"], self._params["run_id"], SUFFIX, make=False)
            if self._params["throttle"] is not None:
                self.warnings += map(str, self._shortfalls(Rates.same(self._params["throttle"])))

    def _preview_throttle(self) -> Throttle:
        """Return the throttle after a preview of all moves: brokers only validate its changes. Raises RecoveryError if one is refused."""
        params = self._params
        rate = params["throttle"] if params["state"] == "present" else None
        journal = ThrottleJournal(self._workdir, params["cluster"], self._cluster.cluster_id, read_only=True)
        moves = {verdict.key: verdict.move for verdict in self._verdicts if verdict.action in (SUBMIT, MOVING) and verdict.move}
        preview = ConfigPreview(self._cluster)
        preview.ended = {verdict.key for verdict in self._verdicts if verdict.action == CANCEL}
        with Throttle(preview, journal, rate, params["run_id"]) as throttle:
            for keys in chunks(moves, min(params["concurrent_moves"], BATCH) if params["wait"] else BATCH):
                batch = {key: moves[key] for key in keys}
                throttle.cover(batch)
                preview.begin(batch)
                if params["wait"]:
                    preview.ended = {*preview.ended, *keys}
                    throttle.release(keys)
        return throttle

    def _shortfalls(self, rates: Rates) -> list[Shortfall]:
        """Return the rates that are lower than the write rates of the partitions that are moved first."""
        moves = [verdict.move for verdict in self._verdicts if verdict.action == SUBMIT and verdict.move and verdict.move.adding]
        moves = moves[: self._params["concurrent_moves"]]
        live, written = self._cluster.unfenced(), {}
        if moves:
            with suppress(RecoveryError):  # without an answer there is no warning
                written = measure_write_rates(self._cluster, [move.key for move in moves], self._states, INBOUND_SECONDS)
        copying = {
            move.key: model.copying_during_move(move, self._states[move.key].isr, self._states[move.key].leader, live) for move in moves
        }
        return model.shortfalls(copying, rates, written)

    def move(self, stop_signal: Callable[[], str | None]) -> None:
        """Submit the moves and, with the option `wait`, wait for them. `stop_signal`: as for `ReassignmentExecutor.run`.

        Raises, before any move is submitted, the errors of `predict` for the throttle and the workdir. Later errors are in the result.
        """
        params, rate = self._params, self._params["throttle"]
        if rate is not None:
            # A throttle that Kafka refuses for the last moves must fail before the first ones are submitted.
            self._preview_throttle()
        cancels = params["on_interrupt"] == CANCEL_MOVES or (params["on_interrupt"] == AUTO and rate is not None)
        limits = ExecutionLimits(params["concurrent_moves"], params["stalled_after"], params["duration"], rate is not None, cancels)
        progress_file = MoveProgressFile(self._workdir, params["cluster"], params["run_id"])
        throttle = Throttle(self._cluster, self._journal(), rate, params["run_id"])
        executor = ReassignmentExecutor(self._cluster, self._verdicts, self._states, limits, throttle, progress_file.write_summary)
        with throttle:
            self._write_orders()
            self._stopped = executor.run(stop_signal) if params["wait"] else executor.submit_only(stop_signal)
        self._take(executor, throttle)
        self._progress = progress_file.last
        if self._approved is not None:
            found, summary = self._results.values(), results.report(self._results.values(), True, 0)["summary"]
            self._written = self._approved.write_moved(self._workdir, rate, found, summary, self._stopped)
        progress_file.end(self._stopped or ("all moves have ended" if params["wait"] else "all moves are submitted"))

    def cancel(self) -> None:
        """Cancel the moves that are under way, then remove the throttle that a killed run has left on them.

        Errors of moves are in the result. Raises RecoveryError if a run that moves replicas is active, or if the journal cannot be used.
        """
        throttle = Throttle(self._cluster, self._journal(), None, self._params["run_id"])
        executor = ReassignmentExecutor(self._cluster, self._verdicts, self._states, ExecutionLimits(), throttle)
        with throttle:
            executor.cancel()
        self._take(executor, throttle)

    def _take(self, executor: ReassignmentExecutor, throttle: Throttle) -> None:
        self._results |= executor.results
        self._changed = executor.changed
        self._removed_throttles = throttle.removed
        self.warnings += executor.warnings + throttle.warnings

    def _journal(self) -> ThrottleJournal:
        return ThrottleJournal(self._workdir, self._params["cluster"], self._cluster.cluster_id)

    # --- the original replicas --------------------------------------------------------------------------------------------

    def _orders_path(self) -> Path:
        return work_file(self._workdir, FOLDER, self._params["cluster"], self._params["run_id"], SUFFIX)

    def _original_orders(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Return the original replicas that an earlier run of this run id has written. Kafka does not keep their order.

        To cancel moves, the last run of any run id counts, too.
        """
        # Not through work_file, which creates folders: check mode only reads.
        run_id, cluster = safe_name("run_id", self._params["run_id"]), safe_name("cluster", self._params["cluster"])
        last = last_run(self._workdir, cluster)[0] if self._params["state"] == "cancelled" else ""
        paths = [self._workdir / FOLDER / run / f"{cluster}{SUFFIX}" for run in (last, run_id) if run]
        found: dict[TopicPartition, tuple[int, ...]] = {}
        for path in paths:
            mounts.list_folder(path.parent)
            found |= validate.with_replicas(validate.wanted(None, str(path))) if path.is_file() else {}
        return found

    def _write_orders(self) -> None:
        moves = [verdict.move for verdict in self._verdicts if verdict.action in (SUBMIT, MOVING) and verdict.move]
        if moves:
            self._before = self._orders_path()
            write_private(self._before, validate.as_file({**{move.key: move.current for move in moves}, **self._original_orders()}))

    # --- the result of the module ---------------------------------------------------------------------------------

    def report(self) -> dict[str, Any]:
        """Return the result of kafka_partition_reassignment: the keys of `results.report` and some more.

        These are `left_over_throttle` (counts), `progress` (as `progress.summary`, None if not measured), `previous_assignment` (path of the
        original replicas, or None), `results_path` and `arrived_path` (of the results of approved moves, and of the partitions that have
        arrived, or None), `unreachable_brokers` and `diff`.
        """
        found = results.report(self._results.values(), self._changed, self._params["preview"], self._stopped)
        moved, left_over = results.diff(self._verdicts, self._results), self._removed_throttles.diff()
        return found | {
            "changed": self._changed or bool(self._removed_throttles),
            "left_over_throttle": self._removed_throttles.summary,
            "progress": self._progress,
            "previous_assignment": None if self._before is None else str(self._before),
            "results_path": None if self._written is None else str(self._written[0]),
            "arrived_path": None if self._written is None or self._written[1] is None else str(self._written[1]),
            "unreachable_brokers": self._cluster.unreachable_rows(),
            "diff": {side: moved[side] + left_over[side] for side in moved},
        }
