# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a run keeps the limits that operators have set for it: partitions, brokers that are offline, strategies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulation.cluster import SimulatedCluster
from simulation.judges import Judges, name


class LimitsJudge:
    """Judges one run, which begins now, and beside which no other one works. `limits`: options of its election. `strategy`: of its plan."""

    def __init__(self, judges: Judges, cluster: SimulatedCluster, limits: Mapping[str, Any], strategy: str) -> None:
        self._judges, self._cluster, self._limits, self._strategy = judges, cluster, limits, strategy
        self._before, self._offline = (len(judges.own_changes), len(judges.elections)), self._offline_brokers()

    def _offline_brokers(self) -> int:
        return sum(registration.fenced for registration in self._cluster.controller.brokers.values())

    def judge(self, is_disturbed: bool) -> None:
        """Judge the run, which has ended. `is_disturbed`: brokers were lost, or came back, while it worked."""
        changes, elections = self._judges.own_changes[self._before[0] :], self._judges.elections[self._before[1] :]
        strategies = self._limits.get("allowed_strategies")
        if strategies is not None and self._strategy not in strategies and changes:
            self._judges.found(f"{changes[0][0]} of {name(changes[0][1])}, although {self._strategy} is not an allowed strategy")
        elected, most = {one.key for one in elections}, self._limits.get("max_partitions")
        if most is not None and len(elected) > most:
            self._judges.found(f"{len(elected)} partitions are elected, and max_partitions is {most}")
        offline = min(self._offline, self._offline_brokers())
        most_offline = self._limits.get("max_offline_brokers")
        if most_offline is not None and offline > most_offline and changes and not is_disturbed:
            self._judges.found(
                f"{changes[0][0]} of {name(changes[0][1])}, although {offline} brokers are offline and max_offline_brokers is {most_offline}"
            )
