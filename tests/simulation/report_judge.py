# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a result says what its run has done and left: `changed`, and warnings of orders and elections that the journal has open."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from simulation.cluster import SimulatedCluster
from simulation.judges import Judges, name
from simulation.kraft import Key

# Warnings of a run that cannot say which partitions these are.
WITHOUT_NAMES = "could not all be put back", "another one took its journal"
SHOWN_NAMES = 5  # of partitions in a warning


class ReportJudge:
    """Judges what a run reports that begins now, and beside which no other one works."""

    def __init__(self, judges: Judges, cluster: SimulatedCluster) -> None:
        self._judges, self._cluster = judges, cluster
        self._changes, self._elected, self._state = judges.changes, len(judges.own_elected), self._seen()
        self._journals, self._requested = judges.files.journals(), cluster.world.changes_requested

    def _seen(self) -> tuple[Any, Any]:
        """Return what moves and throttles change."""
        replicas = {key: (state.replicas, state.assignment) for key, state in self._cluster.controller.partitions.items()}
        return replicas, self._cluster.configs.values

    def judge_election(self, result: Mapping[str, Any], is_peaceful: bool) -> None:
        """Judge `changed` of a run of elections, which is whether a leader was elected. `is_peaceful`: it has got all answers."""
        rows = [row for row in result["results"] if row["outcome"] == "elected"]
        elected = {*self._judges.own_elected[self._elected :]}
        if rows and not result["changed"]:
            self._judges.add_violation(
                f"{rows[0]['topic']}-{rows[0]['partition']} counts as elected, and the run says that it changes nothing"
            )
        if self._judges.runs.is_misled():
            return
        if elected and not result["changed"] and is_peaceful:
            self._judges.add_violation(f"{name(min(elected))} is elected, and the run says that it changes nothing")
        # The request that was sent may have elected the leader that the run sees: a broker that is cut off gives no answer.
        self._judge_unchanged(result, is_same=self._cluster.world.changes_requested == self._requested)

    def judge_moves(self, result: Mapping[str, Any], is_peaceful: bool) -> None:
        """Judge `changed` of a run of moves, throttles or cleanup."""
        if self._seen() != self._state and not result["changed"] and is_peaceful:
            self._judges.add_violation("a run has changed replicas or throttles, and says that it changes nothing")
        # A request that Kafka refuses counts, too. The terms of a throttle are in the journal alone.
        is_refused = any(row["outcome"] == "failed" for row in result.get("results", ()))
        self._judge_unchanged(result, not is_refused and self._judges.files.journals() == self._journals)

    def _judge_unchanged(self, result: Mapping[str, Any], is_same: bool) -> None:
        """Judge a run that may not say that it has changed something, because no request has. `is_same`: nor has it asked for it, or done so in its journal."""
        if result["changed"] and is_same and self._judges.changes == self._changes:
            self._judges.add_violation("a run says that it has changed something, and the cluster is as before")

    def _has_order_of_before(self, key: Key) -> bool:
        """Return whether nothing is left to restore. The journal is open then because no second broker states the replicas."""
        state = self._cluster.controller.partitions.get(key)
        return state is None or state.replicas in self._judges.orders.allowed(key)

    def judge_journal(self, result: Mapping[str, Any]) -> None:
        """Judge the warnings of a run that has ended without an error: they name what the journal still has."""
        files = self._judges.files
        warnings = [one for one in result["warnings"] if "replica order" in one or "election" in one]
        if files.set_aside or any(phrase in one for one in warnings for phrase in WITHOUT_NAMES):
            return
        # Of an election without another order nothing is left once it is over, even if its entry is.
        elections = files.open_elections()
        open_keys = {key for key in files.unsettled() if key in elections or not self._has_order_of_before(key)}
        unnamed = [key for key in sorted(open_keys) if not any(re.search(rf"{re.escape(name(key))}(?!\d)", one) for one in warnings)]
        if unnamed and (len(open_keys) <= SHOWN_NAMES or not warnings):
            self._judges.add_violation(f"the journal has {name(unnamed[0])} open, and the run does not warn of it")
