# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the first replays of a simulated history are asked for: with options, in check mode before, proposed and approved, and wrongly before."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from simulation.judges import Judges
from simulation.refused_replays import Request, refused_approvals, refused_replays
from simulation.replay_judges import ReplayJudges
from simulation.replay_operator import ReplayOperator
from simulation.review_script import ReviewScript


class ReplayRequests:
    """Requests for replays. `predicted`: how many records check mode says are replayed, at least and at most, by run that has saved them."""

    def __init__(
        self, replayer: ReplayOperator, reviews: ReviewScript, judges: Judges, replay_judges: ReplayJudges, counts: Counter[str]
    ) -> None:
        self._replayer, self._reviews, self._judges, self._replay_judges, self._counts = replayer, reviews, judges, replay_judges, counts
        self._approved: dict[str, Path] = {}
        self.predicted: dict[str, tuple[int, int]] = {}
        self._is_only_one = False

    def prepare(self) -> None:
        """Ask in check mode, propose, and ask wrongly: nothing may change."""
        before = self._replay_judges.ends(), self._replay_judges.traces()
        for run_id in self._replayer.saved_runs():
            try:
                result = self._replayer.replay(
                    run_id, check_mode=not self._reviews.approves, propose=self._reviews.approves, **self._reviews.replay
                )
            except RecoveryError:  # a target topic that has fewer partitions, or none
                continue
            # Records that are left for a reason, for example until no transaction is open, may be replayed by the next run.
            certain = sum(row["left"] for row in result["partitions"] if row["reason"] is None)
            self.predicted[run_id] = certain, result["counts"]["left"]
            self._counts["replays in check mode"] += 1
            self._counts["replays proposed"] += self._reviews.approves
            if self._reviews.approves:
                self._approved[run_id] = Path(result["proposal_path"])
            if self._reviews.refuses:
                self._ask_wrongly(run_id)
        self._is_only_one = len(self._replayer.saved_runs()) == 1
        if (self._replay_judges.ends(), self._replay_judges.traces()) != before:
            self._judges.add_violation("a replay in check mode, or one that was refused, has changed a log, or has begun a producer")

    def _ask_wrongly(self, run_id: str) -> None:
        wrong = [*refused_replays(self._replayer, run_id, self._replay_judges.has_saved_records(run_id))]
        if run_id in self._approved and self.predicted[run_id][1]:
            proposal: dict[str, Any] = json.loads(self._approved[run_id].read_text())
            if proposal["partitions"]:
                wrong += refused_approvals(self._replayer, self._replayer.workdir, proposal)
        for what, ask in wrong:
            self._counts["wrong replays"] += 1
            if not _is_refused(ask):
                self._judges.add_violation(f"{what} is not refused")

    def replay(self, run_id: str) -> dict[str, Any]:
        """Replay what a run has saved, as it was asked for. Raises the product's errors."""
        if run_id in self._approved:
            self._counts["replays approved"] += 1
            return self._replayer.replay(f"{run_id}-approved", approved_replays=str(self._approved[run_id]))
        return self._replayer.replay(run_id, **self._reviews.replay)

    def judge(self, run_id: str, result: Mapping[str, Any]) -> None:
        """Judge a replay that nothing has disturbed by the prediction. If other runs have saved records, some of them may be the same ones."""
        predicted, replayed = self.predicted.pop(run_id, None), result["counts"]["replayed"]
        if predicted is None:
            return
        least, most = predicted
        self._counts["predictions of replays judged"] += least > 0
        if replayed > most or (replayed < least and self._is_only_one):
            self._judges.add_violation(f"check mode predicts {least} to {most} records of run {run_id}, and {replayed} are replayed")


def _is_refused(ask: Request) -> bool:
    try:
        return bool(ask().get("failed"))
    except RecoveryError:
        return True
