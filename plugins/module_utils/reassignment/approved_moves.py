# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Moves that were reviewed and merged: only they are made, only where the cluster is as it was, never faster than approved. Pure but for the files.

Their results (`formats/approved_file.py`) also have `throttle` (bytes per second of the run) and `stopped` (why the run ended early).
`<cluster>.arrived.json` beside them has the partitions with their new replicas, in the JSON of kafka-reassign-partitions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import work_file, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import moves_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.approved_file import MOVE_RESULTS, ApprovedFile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.results import REASSIGNED, MoveResult
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import (
    MOVING,
    STALE,
    UNCHANGED,
    Verdict,
    as_file,
)

SUFFIX = ".arrived.json"


class ApprovedMoves(ApprovedFile):
    """The merged moves of one cluster. `targets`: the new replicas by partition."""

    def __init__(self, path: Path, cluster: str, run_id: str) -> None:
        super().__init__(moves_file.FORMAT, path, cluster, run_id)
        self.targets: dict[TopicPartition, tuple[int, ...] | None] = {key: tuple(row["replicas"]) for key, row in self.rows.items()}

    def rate(self, wanted: int | None) -> tuple[int | None, str]:
        """Return the throttle of the run, and a warning if it is not the `wanted` one: a run may be slower than approved, never faster."""
        approved: int | None = self.document["throttle"]
        if approved is None or (wanted is not None and wanted <= approved):
            return wanted, ""
        more = wanted is not None and wanted > approved
        return (
            approved,
            f"the approved throttle is {approved} bytes per second, which the run keeps: propose the moves again for {wanted}"
            if more
            else "",
        )

    def judge(self, verdicts: Iterable[Verdict], states: Mapping[TopicPartition, PartitionState]) -> list[Verdict]:
        """Return the verdicts, with those of partitions as STALE that are not as they were when the moves were planned."""
        return [
            replace(verdict, action=STALE, error=found[0], message=found[1]) if (found := self._change(verdict, states)) else verdict
            for verdict in verdicts
        ]

    def _change(self, verdict: Verdict, states: Mapping[TopicPartition, PartitionState]) -> tuple[str | None, str] | None:
        row, state, move = self.rows[verdict.key], states.get(verdict.key), verdict.move
        if state is None or move is None or state.topic_id != row["topic_id"]:
            return (
                kafka_errors.UNKNOWN_TOPIC_OR_PARTITION,
                f"the topic was deleted or created again since the moves were planned: {self.again}",
            )
        # A run that was killed may have moved it already, or be moving it.
        if verdict.action != MOVING and set(move.current) not in ({*row["replicas_before"]}, {*row["replicas"]}):
            return (
                None,
                f"its replicas are {list(move.current)}, and were {row['replicas_before']} when the moves were planned: {self.again}",
            )
        return None

    def write_moved(
        self, workdir: Path, rate: int | None, results: Collection[MoveResult], summary: Mapping[str, int], stopped: str | None
    ) -> tuple[Path, Path | None]:
        """Write the results of all partitions, and the partitions that have their new replicas. Returns both paths, None if there are no such partitions.

        The other partitions must not get another leader: that was not approved for the replicas that they have. Raises FileError.
        """
        outcomes = {result.outcome for result in results}
        # With a failure and no success the same moves may succeed later, for example when a permission is granted.
        failed = Outcome.FAILED in outcomes and outcomes <= {Outcome.FAILED, Outcome.STALE}
        complete = stopped is None and not failed and not outcomes & {Outcome.HELD, MOVING}
        rows = [result.as_dict() for result in sorted(results, key=lambda result: result.key)]
        path = self.write_results(workdir, MOVE_RESULTS, complete, summary, rows, throttle=rate, stopped=stopped)
        arrived = {result.key: result.target_replicas or () for result in results if result.outcome in (REASSIGNED, UNCHANGED)}
        if not arrived:
            return path, None
        settled = work_file(workdir, MOVE_RESULTS, self.cluster, self.run_id, SUFFIX)
        write_private(settled, as_file(arrived))
        return path, settled
