# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the bounds of a plan (docs/loss.md) hold what is really lost when its leader is elected, by the logs of the simulated cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from simulation.cluster import SimulatedCluster
from simulation.kraft import NO_LEADER, Key, Partition
from simulation.logs import Batch, Log


class LossJudge:
    """Judges the bounds of losses. What a broker has lost from the end of a log is beyond upper bounds, but for those from the ELR: those bounds say so.

    `lost_before`: names of committed records that a leader lacked.
    """

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self.lost_before: dict[Key, set[str]] = defaultdict(set)
        self._note_elsewhere, cluster.controller.on_change = cluster.controller.on_change, self._note

    def _note(self, key: Key, before: Partition | None, after: Partition) -> None:
        self._note_elsewhere(key, before, after)
        if before is None:
            self.lost_before[key].clear()
        elif after.leader not in (NO_LEADER, before.leader):
            log = self._cluster.brokers[after.leader].logs.get(key, Log())
            self.lost_before[key] |= {one.name for one in self._committed(key) if not log.has(one)}

    def _committed(self, key: Key) -> Collection[Batch]:
        return self._cluster.committed.get(key, {}).values()

    def _logs(self, key: Key) -> Iterator[Log]:
        """Yield the logs of a partition, also on brokers that are down and on failed disks."""
        for broker in self._cluster.brokers.values():
            if (log := broker.logs.get(key) or broker.disks.kept.get(key)) is not None:
                yield log

    def violation(self, key: Key, leader: int, loss: Mapping[str, Any]) -> str | None:
        """Return what is wrong with the bounds of an election of `leader`, None if they hold."""
        log = self._cluster.brokers[leader].logs.get(key)
        if log is None or key[0] in self._cluster.created_again:
            return None
        # A producer may have sent the same records again, to a later leader, which wrote them at the same offset: two leaders wrote them, so logs fork there.
        own = {(one.name, one.base, one.epoch) for one in (*log.batches, *log.deleted)}
        lacking = [one for one in self._cluster.written.get(key, ()) if (one.name, one.base, one.epoch) not in own]
        most = sum(_records(one) for one in lacking if self._cluster.was_committed(key, one.name))
        # What the cleaner, or retention, has removed from a log is not lost by the election.
        gone = self.lost_before[key] | {one.name for other in self._logs(key) for one in other.deleted}
        gone |= self._cluster.lost_ends.get(key, set()) if loss["upper_bound_from"] != "elr" else set()
        least = sum(_records(one) for one in self._committed(key) if not log.has(one) and one.name not in gone)
        lower, upper = loss["lower_bound"], loss["upper_bound"]
        if lower is not None and lower > most:
            return f"is said to lose at least {lower} records ({loss['lower_bound_from']}) if broker {leader} leads, and loses {most}"
        if upper is not None and upper < least:
            return f"is said to lose at most {upper} records ({loss['upper_bound_from']}) if broker {leader} leads, and loses {least}"
        return None


def _records(one: Batch) -> int:
    return one.last + 1 - one.base
