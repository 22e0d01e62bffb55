# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""For the judges: whether files still say that lost brokers are not safe to start, as long as these have records that an elected leader lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from simulation.cluster import SimulatedCluster
from simulation.kraft import NO_LEADER, Key
from simulation.logs import Batch
from simulation.workdir_files import WorkdirFiles


class _Needed(NamedTuple):
    """A broker that was down when another one was elected, which lacks this batch. `incarnation`: of the broker."""

    broker: int
    incarnation: int
    key: Key
    topic_id: int
    batch: Batch


class KeptVerdicts:
    """Notes elections without lost brokers. `is_saved`: whether a batch of a partition is saved."""

    def __init__(self, cluster: SimulatedCluster, files: WorkdirFiles, is_saved: Callable[[Key, Batch], bool]) -> None:
        self._cluster, self._files, self._is_saved = cluster, files, is_saved
        self._needed: set[_Needed] = set()

    def note(self, broker: int, key: Key, batch: Batch) -> None:
        """Note that a leader is elected which lacks a batch of a broker that is down, and that a file says so."""
        incarnation = self._cluster.brokers[broker].incarnation
        self._needed.add(_Needed(broker, incarnation, key, self._cluster.controller.partitions[key].topic_id, batch))

    def missing(self) -> Iterator[str]:
        """Yield a sentence for each broker of which no file says any more that its disk has something."""
        self._needed = {one for one in self._needed if self._holds(one)}
        for broker in sorted({one.broker for one in self._needed}):
            file = self._files.verdict(broker)
            if file != self._files.damaged and not file.exists():
                one = min((one for one in self._needed if one.broker == broker), key=lambda one: one.key)
                yield f"broker {broker} alone has {one.batch.name} of {one.key[0]}-{one.key[1]}, and no file says any more that it is not safe to start"

    def _holds(self, one: _Needed) -> bool:
        """Return whether the disk of the broker still has records that the leader lacks, and that are not saved."""
        broker, state = self._cluster.brokers[one.broker], self._cluster.controller.partitions.get(one.key)
        if broker.running or broker.incarnation != one.incarnation or state is None or state.topic_id != one.topic_id:
            return False
        log = broker.logs.get(one.key)
        if log is None or not log.has(one.batch) or self._is_saved(one.key, one.batch):
            return False
        # If it leads again, or another broker that has the records, they are not lost with the disk.
        leader = self._cluster.brokers[state.leader].logs.get(one.key) if state.leader != NO_LEADER else None
        return leader is None or not leader.has(one.batch)
