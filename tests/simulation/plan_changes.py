# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What changes between plans and their elections: each time one thing that guards compare, of a partition that the plan elects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

from simulation.broker import Broker
from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.events import Events
from simulation.kraft import NO_LEADER, Key

RESTS = 0.3  # of the plans
DOWN_SECONDS = 0.5  # of a broker that is restarted
STARTED_SECONDS = 4.0  # once its session from before has ended, a broker registers, is unfenced, and others know it
SEEN_SECONDS = 1.0  # brokers show what the controller has decided
LATE_SECONDS = 0.0, 1.0  # a survivor writes late what it has fetched from the leader


class PlanChanges:
    """Changes something after each plan, of `keys` in `events`. `number`: chooses what."""

    def __init__(self, number: int, cluster: SimulatedCluster, events: Events, counts: Counter[str]) -> None:
        self._number, self._cluster, self._events, self._counts = number, cluster, events, counts

    def change(self, run_id: str, plan: Mapping[str, Any]) -> float:
        """Change something. Return for how many seconds the plan is reviewed meanwhile, 0 if nothing changes."""
        random = Random(f"after the plan of {run_id} of {self._number}")
        rows = [row for row in plan["partitions"] if (row["topic"], row["partition"]) in self._events.keys]
        if self._events.calm or not rows or random.random() < RESTS:
            return 0.0
        row = random.choice(rows)
        key = row["topic"], row["partition"]
        survivors = [one["broker_id"] for one in row["guards"]["survivors"]]
        survivors = [one for one in survivors if self._cluster.controller.alive(one) and not self._cluster.brokers[one].hangs]
        acts = self._restart, self._lose_end, self._write_late, self._lead_and_stop, self._reorder, self._move, self._create_again
        # One that cannot be done now is replaced by another one.
        return next(filter(None, (act(key, survivors, random) for act in random.sample(acts, len(acts)))), 0.0)

    def _count(self, what: str) -> None:
        self._events.happened += 1
        self._counts[what] += 1

    def _numbers(self, key: Key, random: Random) -> tuple[int, ...]:
        return self._events.keys.index(key), *(random.randrange(1000) for _ in range(3))

    def _restart(self, _key: Key, survivors: list[int], random: Random) -> float:
        """A survivor is shut down and started: its log is the same, its broker epoch is not."""
        if not survivors:
            return 0.0
        broker = self._cluster.brokers[random.choice(survivors)]
        self._count("survivors restarted after a plan")
        self._cluster.shut_down(broker.node_id)
        self._cluster.world.after(DOWN_SECONDS, lambda: self._cluster.start(broker.node_id, broker.was_shut_down))
        return DOWN_SECONDS + SESSION_SECONDS + STARTED_SECONDS

    def _lose_end(self, _key: Key, survivors: list[int], random: Random) -> float:
        """The machine of a survivor loses power, and is back without the end of its logs."""
        if not survivors:
            return 0.0
        broker = random.choice(survivors)
        self._count("survivors back without the end of their logs after a plan")
        self._events.harmed.add(broker)
        self._cluster.crash(broker)
        self._cluster.world.after(DOWN_SECONDS, lambda: self._cluster.start(broker, clean=False, lost_batches=1))
        return DOWN_SECONDS + SESSION_SECONDS + STARTED_SECONDS

    def _write_late(self, key: Key, survivors: list[int], random: Random) -> float:
        """A survivor whose disk was slow writes what it had fetched from the leader that is lost: it has not learnt of the loss before."""
        late = [one for one in survivors if self._fetched(self._cluster.brokers[one], key) is not None]
        if not late:
            return 0.0
        broker = self._cluster.brokers[random.choice(late)]

        def write() -> None:
            # Once there is another leader, or the broker has restarted, what it had fetched is gone.
            fetched = self._fetched(broker, key)
            if fetched is not None and broker.running and self._cluster.controller.partitions[key].leader == NO_LEADER:
                self._count("survivors that write late after a plan")
                broker.logs[key].append(fetched)
                self._cluster.world.tell(f"broker {broker.node_id} writes {fetched.name} of {key[0]}-{key[1]}, which it had fetched")

        self._cluster.world.after(random.uniform(*LATE_SECONDS), write)
        return LATE_SECONDS[1] + SEEN_SECONDS

    def _fetched(self, broker: Broker, key: Key) -> Any:
        """Return the batch that a broker may have fetched last from the leader that its log follows, and not written. None: there is none."""
        own = broker.logs.get(key)
        for one in self._cluster.controller.partitions[key].replicas:
            other = self._cluster.brokers[one].logs.get(key)
            if own is None or not own.batches or other is None or one == broker.node_id or self._cluster.brokers[one].running:
                continue
            last = own.batches[-1]
            for batch in other.from_offset(own.end)[:1]:
                if batch.base == own.end and batch.epoch == last.epoch and other.has(last):
                    return batch
        return None

    def _lead_and_stop(self, key: Key, _survivors: list[int], random: Random) -> float:
        """Another tool elects a leader, which is shut down at once: the partition has no leader, as before, and another leader epoch."""
        self._events.elect_unclean(self._numbers(key, random))
        leader = self._cluster.controller.partitions[key].leader
        if leader == NO_LEADER:
            return 0.0
        self._count("leaders that came and went after a plan")
        self._cluster.shut_down(leader)
        return SEEN_SECONDS

    def _reorder(self, key: Key, _survivors: list[int], random: Random) -> float:
        before = self._events.happened
        self._events.other_tools.reorder_elsewhere(self._numbers(key, random))
        return SEEN_SECONDS if self._events.happened > before else 0.0

    def _move(self, key: Key, _survivors: list[int], random: Random) -> float:
        before = self._events.happened
        self._events.other_tools.move_elsewhere(self._numbers(key, random))
        return SEEN_SECONDS if self._events.happened > before else 0.0

    def _create_again(self, key: Key, _survivors: list[int], random: Random) -> float:
        before = self._events.happened
        self._events.create_again(self._numbers(key, random))
        return SEEN_SECONDS if self._events.happened > before else 0.0
