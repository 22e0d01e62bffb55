# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the partitions that a run calls elected had the leaders that it names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from simulation.cluster import SimulatedCluster
from simulation.judges import Judges, name
from simulation.kraft import NO_LEADER, Key, Partition


class ElectedJudge:
    """Judges results of runs from now on. A leader may be lost again before its run ends."""

    def __init__(self, judges: Judges, cluster: SimulatedCluster) -> None:
        self._judges, self._cluster = judges, cluster
        self._led_since: dict[Key, float] = {}
        self._led_until: dict[tuple[Key, int], float] = {}
        self._note_elsewhere, cluster.controller.on_change = cluster.controller.on_change, self._note

    def _note(self, key: Key, before: Partition | None, after: Partition) -> None:
        self._note_elsewhere(key, before, after)
        if before is not None and before.leader not in (NO_LEADER, after.leader):
            self._led_until[key, before.leader] = self._cluster.world.now
        if before is None or after.leader != before.leader:
            self._led_since[key] = self._cluster.world.now

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
            begun = self._led_since.get(key, -math.inf) > since - self._cluster.metadata_seconds[1]
            leads = leader is not None and state is not None and state.leader == leader and begun
            if not leads and self._led_until.get((key, leader), -math.inf) < since:
                self._judges.add_violation(f"{name(key)} counts as elected with the leader {leader}, which has not become its leader")
