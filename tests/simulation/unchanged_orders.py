# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When no order could be set for an election: then a broker that hangs with it elects the first replica that is back by then."""

from __future__ import annotations

from simulation.cluster import SimulatedCluster
from simulation.kraft import NO_LEADER, Key

# From the guards, which are read again if they are older, to the election; between two looks of the judges.
GUARD_SECONDS, LOOK_SECONDS = 2.0, 0.5


class UnchangedOrders:
    """The times at which no order could be set for partitions without a leader."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._seen: dict[Key, list[float]] = {}

    def watch(self) -> None:
        """Note which partitions need an election now and can get no order. Called again and again."""
        controller = self._cluster.controller
        leaderless = {key: state for key, state in controller.partitions.items() if state.leader == NO_LEADER}
        if not leaderless:
            return
        # Control nodes take the word of a broker that follows the active controller.
        is_alone = sum(one.answers and not one.cut_off for one in self._cluster.brokers.values()) < 2
        for key, state in leaderless.items():
            if is_alone or state.assignment.is_moving or not {*state.replicas} <= controller.brokers.keys():
                self._seen.setdefault(key, []).append(self._cluster.world.now)

    def includes(self, key: Key, requested_at: float) -> bool:
        """Return whether no order could be set for an election that was requested at this time."""
        return any(-LOOK_SECONDS < requested_at - at < GUARD_SECONDS + LOOK_SECONDS for at in self._seen.get(key, ()))
