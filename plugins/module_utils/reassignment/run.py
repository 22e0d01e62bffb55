# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cluster's reassignment: what is to be done, the moves with their throttle, and the files that they leave.

`<workdir>/reassignments/<run_id>/<cluster>.before.json` has the replicas of before, in the JSON of kafka-reassign-partitions: the way back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.reassignment_admin import Replication
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import safe_name, work_file, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import FAILED, HELD
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition, chunks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import results, validate
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.cancellation import BATCH
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.config_preview import ConfigPreview
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.executor import INBOUND_SECONDS, Moving, Pace
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.log_sizes import inbound
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress_file import ProgressFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import model
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.diff import ThrottleChanges
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.executor import Throttle
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import Rates, Shortfall, ThrottleError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import (
    CANCEL,
    MOVING,
    REFUSED,
    SUBMIT,
    Brokers,
    ReassignmentError,
    Verdict,
    Wanted,
)

FOLDER, SUFFIX = "reassignments", ".before.json"


def check_options(params: Mapping[str, Any]) -> None:
    """Raise ReassignmentError for an option that cannot be meant, or a file that cannot be used; the text names it. No broker is asked for it."""
    named = validate.wanted(params["partitions"], params["reassignment_file"])
    if params["state"] == "present":
        validate.with_replicas(named)
    rate = params["throttle"]
    if rate is not None and (problem := model.rate_problem("throttle", rate)):
        raise ReassignmentError(problem)
    if rate is not None and params["state"] == "present" and not params["wait"]:
        raise ReassignmentError("throttle needs wait: it is removed when the moves have ended; or use kafka_replication_throttle by itself")


class Reassigning:
    """One task on one cluster. `params`: the options of kafka_partition_reassignment."""

    def __init__(self, cluster: Replication, workdir: Path, params: Mapping[str, Any], wanted: Wanted | None) -> None:
        self._cluster, self._workdir, self._params, self._wanted = cluster, workdir, params, wanted
        self._states: dict[TopicPartition, PartitionState] = {}
        self._verdicts: list[Verdict] = []
        self._results: dict[TopicPartition, results.Result] = {}
        self._changed = False
        self._stopped: str | None = None
        self._progress: dict[str, Any] | None = None
        self._before: Path | None = None
        self._removed_throttles = ThrottleChanges()
        self.warnings: list[str] = []

    @property
    def refused(self) -> bool:
        """Whether a partition was refused, so that nothing may be submitted."""
        return any(verdict.action == REFUSED for verdict in self._verdicts)

    def judge(self) -> None:
        """Find out what is to be done with each partition, and foretell what becomes of it."""
        cluster, params, ongoing = self._cluster, self._params, self._cluster.reassignments()
        if params["state"] == "present":
            targets = validate.with_replicas(self._wanted)
            self._states = cluster.partitions(set(targets))
            brokers = Brokers.of(cluster.registered())
            self._verdicts = validate.judge(targets, self._states, ongoing, brokers, params["allow_replication_factor_change"])
        else:
            self._states = cluster.partitions(ongoing.keys() if self._wanted is None else set(self._wanted))
            self._verdicts = validate.judge_cancelling(self._wanted, self._states, ongoing)
        self._verdicts = validate.with_orders_of(self._verdicts, self._orders_before())
        self._results = results.outlook(self._verdicts, params["wait"])

    def predict(self) -> None:
        """Look at whatever the real run would meet: permissions, its throttle, another run, the files of the workdir. ThrottleError, FileError."""
        operations = self._cluster.permissions(()).cluster
        may_alter = operations is None or "ALTER" in operations
        self._results = results.outlook(self._verdicts, self._params["wait"], may_alter)
        to_do = [verdict for verdict in self._verdicts if verdict.action in (SUBMIT, CANCEL)]
        self._changed = any(self._results[verdict.key].outcome not in (FAILED, HELD) for verdict in to_do)
        if operations is None and to_do:
            self.warnings.append("the cluster does not say whether this client may ALTER it, which moving replicas takes")
        if self.refused:
            return
        try:
            throttle = self._preview_throttle()
        except SpokenError as error:
            if may_alter or not to_do:
                raise
            raise ThrottleError(f"{results.GRANT}; {error}") from error
        if not may_alter:
            return
        self._removed_throttles = throttle.removed
        self.warnings += throttle.warnings
        if self._params["state"] == "present":
            work_file(self._workdir, FOLDER, self._params["cluster"], self._params["run_id"], SUFFIX, make=False)
            if self._params["throttle"] is not None:
                self.warnings += map(str, self._shortfalls(Rates.same(self._params["throttle"])))

    def _preview_throttle(self) -> Throttle:
        """Go through the throttle of all moves; the brokers judge each change (validate only) and make none. ThrottleError where one is refused."""
        params = self._params
        rate = params["throttle"] if params["state"] == "present" else None
        journal = ThrottleJournal(self._workdir, params["cluster"], self._cluster.cluster_id, read_only=True)
        moves = {verdict.key: verdict.move for verdict in self._verdicts if verdict.action in (SUBMIT, MOVING) and verdict.move}
        with Throttle(ConfigPreview(self._cluster), journal, rate, params["run_id"]) as throttle:
            for keys in chunks(moves, min(params["concurrent_moves"], BATCH)):
                throttle.cover({key: moves[key] for key in keys})
                throttle.release(keys)
        return throttle

    def _shortfalls(self, rates: Rates) -> list[Shortfall]:
        """Where the throttle is less than what the moves that come first are written at."""
        moves = [verdict.move for verdict in self._verdicts if verdict.action == SUBMIT and verdict.move and verdict.move.adding]
        moves = moves[: self._params["concurrent_moves"]]
        live, written = self._cluster.unfenced(), {}
        if moves:
            with suppress(SpokenError):  # where nobody tells, nobody can be warned
                written = inbound(self._cluster, [move.key for move in moves], self._states, INBOUND_SECONDS)
        copying = {
            move.key: model.copying_during_move(move, self._states[move.key].isr, self._states[move.key].leader, live) for move in moves
        }
        return model.shortfalls(copying, rates, written)

    def move(self, asked_to_stop: Callable[[], str | None]) -> None:
        """Submit what is to be moved and, unless told otherwise, wait for it."""
        params, rate = self._params, self._params["throttle"]
        if rate is not None:
            # A throttle that is refused for the last of the moves must not be met after the first ones.
            self._preview_throttle()
        pace = Pace(params["concurrent_moves"], params["stalled_after"], params["duration"], throttled=rate is not None)
        self._keep_orders()
        told = ProgressFile(self._workdir, params["cluster"], params["run_id"])
        throttle = Throttle(self._cluster, self._journal(), rate, params["run_id"])
        moving = Moving(self._cluster, self._verdicts, self._states, pace, throttle, told.write)
        with throttle:
            self._stopped = moving.run(asked_to_stop) if params["wait"] else moving.submit_only(asked_to_stop)
        self._take(moving, throttle)
        self._progress = told.last
        told.end(self._stopped or ("all moves have ended" if params["wait"] else "all moves are submitted"))

    def cancel(self) -> None:
        """End the moves that are under way, then take out the throttle that a killed run has left on them."""
        moving = Moving(self._cluster, self._verdicts, self._states, Pace())
        moving.cancel()
        with Throttle(self._cluster, self._journal(), None, self._params["run_id"]) as throttle:
            pass
        self._take(moving, throttle)

    def _take(self, moving: Moving, throttle: Throttle) -> None:
        self._results |= moving.results
        self._changed = moving.changed
        self._removed_throttles = throttle.removed
        self.warnings += moving.warnings + throttle.warnings

    def _journal(self) -> ThrottleJournal:
        return ThrottleJournal(self._workdir, self._params["cluster"], self._cluster.cluster_id)

    # --- the way back --------------------------------------------------------------------------------------------

    def _orders_path(self) -> Path:
        return work_file(self._workdir, FOLDER, self._params["cluster"], self._params["run_id"], SUFFIX)

    def _orders_before(self) -> dict[TopicPartition, tuple[int, ...]]:
        """What an earlier run of this run id has kept. Kafka itself forgets the order that replicas had."""
        # Not through work_file, which makes the folders: there may be no more to do than to look.
        run_id, cluster = safe_name("run_id", self._params["run_id"]), safe_name("cluster", self._params["cluster"])
        path = self._workdir / FOLDER / run_id / f"{cluster}{SUFFIX}"
        return validate.with_replicas(validate.wanted(None, str(path))) if path.is_file() else {}

    def _keep_orders(self) -> None:
        moves = [verdict.move for verdict in self._verdicts if verdict.action in (SUBMIT, MOVING) and verdict.move]
        if moves:
            self._before = self._orders_path()
            write_private(self._before, validate.as_file({**{move.key: move.current for move in moves}, **self._orders_before()}))

    # --- what the module returns ---------------------------------------------------------------------------------

    def report(self, with_diff: bool) -> dict[str, Any]:
        """What RETURN of the module documents."""
        found = results.report(self._results.values(), self._changed, self._params["preview"], self._stopped)
        found |= {
            "changed": self._changed or bool(self._removed_throttles),
            "left_over_throttle": self._removed_throttles.summary,
            "progress": self._progress,
            "previous_assignment": None if self._before is None else str(self._before),
            "unreachable_brokers": self._cluster.unreachable_rows(),
        }
        if with_diff:
            moved, left_over = results.diff(self._verdicts, self._results), self._removed_throttles.diff()
            found["diff"] = {side: moved[side] + left_over[side] for side in moved}
        return found
