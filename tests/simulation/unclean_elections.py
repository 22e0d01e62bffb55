# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens before and during unclean elections of KIP-460: leaders are lost again, and a broker or the controller fails at the first request.

So the product must try again, and check again what has changed meanwhile: replicas, their order, the topic, or a leader that came and went.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random

from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.events import Events
from simulation.kraft import NO_LEADER, Key

REQUEST = "ElectLeadersRequest"
ACTS_AFTER = 0.05, 0.05, 0.6, 2.5  # seconds after the request; the product tries again a second after it has failed
RESTS = 0.1  # of these elections, in which nothing is done meanwhile


class UncleanElections:
    """Loses leaders, and lets others act while leaders are elected. `number` chooses what happens."""

    def __init__(self, number: int, cluster: SimulatedCluster, events: Events, counts: Counter[str]) -> None:
        self._random = Random(f"unclean elections of {number}")
        self._cluster, self._events, self._counts = cluster, events, counts

    def lose_leaders(self) -> None:
        """Let one or two replicas of a partition miss records, kill all other brokers, and start these again: they live, and are not in its ISR."""
        running = [one for one, broker in self._cluster.brokers.items() if broker.running]
        replicas = [one for one in self._cluster.controller.partitions[self._random.choice(self._events.keys)].replicas if one in running]
        survivors = self._random.sample(replicas, min(len(replicas), self._random.choice((1, 2, 2))))
        self._crash(survivors)
        for number, key in enumerate(self._events.keys):
            self._events.write((number, 1, 0, 0))
            for follower in self._cluster.controller.partitions[key].replicas:
                self._cluster.replicate(key, follower)
        self._crash([one for one in running if one not in survivors])
        for broker in survivors:
            self._cluster.start(broker, clean=False)
        self._cluster.world.wait(SESSION_SECONDS + 1)
        self._counts["partitions that lost their leader before an unclean election"] += len(self._cluster.without_leader())

    def _crash(self, brokers: list[int]) -> None:
        for broker in brokers:
            self._cluster.crash(broker)
        self._cluster.world.wait(SESSION_SECONDS + 1)

    def start_all(self) -> None:
        """Start the brokers that are down."""
        for one, broker in self._cluster.brokers.items():
            if not broker.running:
                self._cluster.start(one, broker.was_shut_down)
        self._cluster.world.wait(SESSION_SECONDS + 1)

    def interfere(self) -> None:
        """Let a node fail at the next request for elections, and another tool act on a partition without a leader, mostly before it is sent again."""
        if self._random.random() < RESTS:
            return
        before, is_done = self._cluster.before_request, False
        fail = self._random.choice((self._hang, self._kill, self._kill, self._lose_controller))
        act = self._random.choice((self._reorder, self._move, self._create_again, self._lead, self._lead_and_lose))
        seconds = self._random.choice(ACTS_AFTER)

        def look(name: str, node: int) -> bool:
            nonlocal is_done
            if name == REQUEST and not is_done:
                is_done = True
                fail(node)
                self._cluster.world.after(seconds, partial(self._act, act))
            return before(name, node)

        self._cluster.before_request = look

    def _hang(self, broker: int) -> None:
        self._cluster.hang(broker, self._random.choice((1.0, 6.0, 20.0)))

    def _kill(self, broker: int) -> None:
        self._cluster.crash(broker)

    def _lose_controller(self, _broker: int) -> None:
        self._cluster.lose_controller(self._random.choice((0.4, 6.0)))

    def _act(self, act: Callable[[Key], None]) -> None:
        offline = self._cluster.without_leader()
        if offline and self._cluster.has_controller:
            self._counts["other tools that act during unclean elections"] += 1
            act(self._random.choice(offline))

    def _numbers(self, key: Key) -> tuple[int, ...]:
        return self._events.keys.index(key), 0, 0, 0

    def _reorder(self, key: Key) -> None:
        self._events.other_tools.reorder_elsewhere(self._numbers(key))

    def _move(self, key: Key) -> None:
        self._events.other_tools.move_elsewhere(self._numbers(key))

    def _create_again(self, key: Key) -> None:
        self._events.create_again(self._numbers(key))

    def _lead(self, key: Key) -> None:
        self._events.elect_unclean(self._numbers(key))

    def _lead_and_lose(self, key: Key) -> None:
        """Another tool elects a leader, which is shut down at once."""
        self._lead(key)
        leader = self._cluster.controller.partitions[key].leader
        if leader != NO_LEADER:
            self._cluster.shut_down(leader)
