# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who has led each partition, and when."""

from __future__ import annotations

import math

from simulation.cluster import SimulatedCluster
from simulation.kraft import NO_LEADER, Key, Partition


class Leaders:
    """Notes each change of a leader from now on."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._changed_at: dict[Key, float] = {}
        self._led_since = {key: cluster.world.now for key, state in cluster.controller.partitions.items() if state.leader != NO_LEADER}
        self._led_until: dict[tuple[Key, int], float] = {}
        self._lost_at: dict[Key, float] = {}
        self._note_elsewhere, cluster.controller.on_change = cluster.controller.on_change, self._note

    def _note(self, key: Key, before: Partition | None, after: Partition) -> None:
        self._note_elsewhere(key, before, after)
        now, old = self._cluster.world.now, NO_LEADER if before is None else before.leader
        if before is None:  # also of a topic that is created again
            self._led_since.pop(key, None)
        if before is not None and after.leader == old:
            return
        self._changed_at[key] = now
        if old != NO_LEADER:
            self._led_until[key, old] = now
        if after.leader != NO_LEADER:
            self._led_since.setdefault(key, now)
        elif self._led_since.pop(key, None) is not None:
            self._lost_at[key] = now

    def had_since(self, key: Key) -> float | None:
        """Return since when a partition has a leader, whichever, without a break; None if it has none."""
        return self._led_since.get(key)

    def lost_at(self, key: Key) -> float:
        """Return when a partition was without a leader last that had one before."""
        return self._lost_at.get(key, -math.inf)

    def changed_at(self, key: Key) -> float:
        """Return when a partition got another leader last, or none."""
        return self._changed_at.get(key, -math.inf)

    def led_until(self, key: Key, leader: int) -> float:
        """Return when a broker ceased to lead a partition last."""
        return self._led_until.get((key, leader), -math.inf)
