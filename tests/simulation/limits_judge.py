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
        self._judges, self._limits, self._strategy = judges, limits, strategy
        self._offline, self._before = cluster.offline(), (len(judges.own_changes), len(judges.own_elected))

    def judge(self) -> None:
        """Judge the run, which has ended."""
        changes, elected = self._judges.own_changes[self._before[0] :], {*self._judges.own_elected[self._before[1] :]}
        strategies, partitions, brokers = (self._limits.get(one) for one in ("allowed_strategies", "max_partitions", "max_offline_brokers"))
        if partitions is not None and len(elected) > partitions:
            self._judges.add_violation(f"{len(elected)} partitions are elected, and max_partitions is {partitions}")
        for what, key, offline in changes:
            if strategies is not None and self._strategy not in strategies:
                self._judges.add_violation(f"{what} of {name(key)}, although {self._strategy} is not an allowed strategy")
            if brokers is not None and min(self._offline, offline) > brokers:
                self._judges.add_violation(
                    f"{what} of {name(key)}, although {min(self._offline, offline)} brokers are offline, and max_offline_brokers is {brokers}"
                )
