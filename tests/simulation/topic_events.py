# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens to the topics of a simulated cluster: retention, DeleteRecords, compaction, topics that are deleted and created again."""

from __future__ import annotations

from collections import Counter

from simulation.broker import Broker
from simulation.cluster import SimulatedCluster
from simulation.kraft import Key
from simulation.logs import Log
from simulation.producer_logs import last_stable_offset

Numbers = tuple[int, ...]
LAST = -1  # chooses the last of some offsets


class TopicEvents:
    """Lets steps happen that concern topics. `keys`: their partitions. `happened`: how many steps have done something."""

    def __init__(self, cluster: SimulatedCluster, counts: Counter[str]) -> None:
        self._cluster, self._counts = cluster, counts
        self.keys: list[Key] = list(cluster.controller.partitions)
        self.happened = 0

    def _key(self, number: int) -> Key:
        return self.keys[number % len(self.keys)]

    def delete_records(self, numbers: Numbers) -> None:
        """An application deletes records at the leader (DeleteRecords). Followers learn of it when they fetch."""
        key = self._key(numbers[0])
        leader = self._cluster.leader_that_writes(key)
        if leader is not None:
            self._delete(leader, key, numbers[1])

    def expire(self, numbers: Numbers) -> None:
        """A replica deletes its oldest records by age or size. Others do so at another time."""
        key = self._key(numbers[0])
        replicas = self._cluster.controller.partitions[key].replicas
        replica = self._cluster.brokers[replicas[numbers[2] % len(replicas)]]
        if replica.running and not replica.hangs and key in replica.logs:
            self._delete(replica, key, numbers[1])

    def _delete(self, broker: Broker, key: Key, number: int) -> None:
        log = broker.logs[key]
        ends = [one.last + 1 for one in log.batches if one.last < last_stable_offset(log)]
        if ends:
            self._count("log starts moved")
            log.delete_before(ends[number % len(ends)])
            self._cluster.world.tell(f"the log of {key[0]}-{key[1]} on broker {broker.node_id} starts at {log.start}")

    def clean(self, numbers: Numbers) -> None:
        """The cleaner of a broker compacts the log of a replica. Others do so at another time."""
        key = self._key(numbers[0])
        replicas = self._cluster.controller.partitions[key].replicas
        replica = self._cluster.brokers[replicas[numbers[1] % len(replicas)]]
        log = replica.logs.get(key, Log())
        if key[0] in self._cluster.compacted and replica.running and not replica.hangs and (changed := log.clean(1 + numbers[2] % 2)):
            self._count("logs cleaned")
            self._cluster.world.tell(f"broker {replica.node_id} compacts {key[0]}-{key[1]}: {changed} batches")

    def create_again(self, numbers: Numbers) -> None:
        """A topic is deleted, and created again under its name."""
        if self._cluster.has_controller and any(map(self._cluster.controller.alive, self._cluster.controller.brokers)):
            self._count("topics created again")
            self._cluster.create_again(self._key(numbers[0])[0])

    def _count(self, what: str) -> None:
        self.happened += 1
        self._counts[what] += 1
