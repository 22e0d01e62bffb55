# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the partitions that a run calls elected had the leaders that it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulation.cluster import SimulatedCluster
from simulation.judges import Judges, name


class ElectedJudge:
    """Judges results of runs. A leader may be lost again before its run ends."""

    def __init__(self, judges: Judges, cluster: SimulatedCluster) -> None:
        self._judges, self._cluster = judges, cluster

    def judge(self, result: Mapping[str, Any], since: float) -> None:
        """Judge a run that has begun at `since`, and has ended without an error. `result`: of its election."""
        if self._judges.runs.is_misled():
            return
        for row in result["results"]:
            key, leader = (row["topic"], row["partition"]), row["leader"]
            if row["outcome"] != "elected" or key[0] in self._cluster.created_again:
                continue
            state = self._cluster.controller.partitions.get(key)
            # A broker may show for a moment that a partition has no leader, which has got one.
            begun = self._judges.leaders.changed_at(key) > since - self._cluster.metadata_seconds[1]
            leads = leader is not None and state is not None and state.leader == leader and begun
            if not leads and self._judges.leaders.led_until(key, leader) < since:
                self._judges.add_violation(f"{name(key)} counts as elected with the leader {leader}, which has not become its leader")
