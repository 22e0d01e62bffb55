# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The replica orders that partitions must have when no election is under way: those from before, and what other tools set meanwhile."""

from __future__ import annotations

import math

from simulation.cluster import SimulatedCluster
from simulation.kraft import Key, Partition
from simulation.workdir_files import WorkdirFiles

# From the last look of a run at an order until its election.
SENT_SECONDS = 0.1


class ExpectedOrders:
    """The orders from now on. `expected`: the order of each partition.

    `changed_meanwhile`: when other tools changed partitions that a journal had open.
    """

    def __init__(self, cluster: SimulatedCluster, files: WorkdirFiles) -> None:
        self._cluster, self._files = cluster, files
        self.expected: dict[Key, tuple[int, ...]] = {key: state.replicas for key, state in cluster.controller.partitions.items()}
        self.changed_meanwhile: dict[Key, float] = {}
        self._may_have: dict[Key, set[tuple[int, ...]]] = {}
        self._moved_by_others: set[Key] = set()
        self._ordered_by_others: dict[Key, float] = {}
        self._before_others: dict[Key, tuple[int, ...]] = {}

    def forget(self, key: Key) -> None:
        """Forget a partition whose topic was deleted and created again: it has another order."""
        self.expected[key] = self._cluster.controller.partitions[key].replicas

    def note_others(self, what: str, key: Key, order: tuple[int, ...]) -> None:
        """Note what another tool does. A run that has changed the order of a partition may set that from before it once more: Kafka asks for no condition."""
        if key in self._files.open_orders():
            self.changed_meanwhile[key] = self._cluster.world.now
        if what == "reorder":
            self._ordered_by_others[key] = self._cluster.world.now
            if key in self.changed_meanwhile:
                self._may_have.setdefault(key, set()).add(self.expected[key])
            self._before_others[key] = self.expected[key]
            self.expected[key] = order
        elif what == "move":
            self._ordered_by_others[key] = self._cluster.world.now
            self._moved_by_others.add(key)
            self._may_have.setdefault(key, set()).add(order)
        elif what == "cancel":
            self._may_have.setdefault(key, set()).add(self._cluster.controller.partitions[key].assignment.original)

    def note_own(self, key: Key) -> None:
        """A run sets an order. It restores the one from before that of another tool if no broker has shown that one yet."""
        if key in self._before_others and self.is_unseen(key):
            self._may_have.setdefault(key, set()).add(self._before_others[key])

    def is_unseen(self, key: Key) -> bool:
        """Return whether another tool has set an order that no broker may have shown yet."""
        seconds = self._cluster.world.now - self._ordered_by_others.get(key, -math.inf)
        return seconds < self._cluster.metadata_seconds[1] + SENT_SECONDS

    def seconds_since_change(self, key: Key) -> float:
        """Return the seconds since another tool changed a partition that a journal had open, infinity if none did."""
        return self._cluster.world.now - self.changed_meanwhile.get(key, -math.inf)

    def allowed(self, key: Key) -> set[tuple[int, ...]]:
        """Return the orders that a partition may have when no election is under way."""
        return {self.expected[key], *self._may_have.get(key, ())}

    def is_settled(self, key: Key, state: Partition) -> bool:
        """Return whether a partition has the replicas that it must have when all runs have ended."""
        if key in self._moved_by_others and (state.assignment.is_moving or {*state.replicas} in map(set, self.allowed(key))):
            return True
        return state.replicas in self.allowed(key)
