# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What other tools, and other administrators, do to a simulated cluster: replica orders, moves, brokers that are unregistered."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from simulation.cluster import SimulatedCluster
from simulation.dynamic_configs import BROKER, EVERY_BROKER, TOPIC, Resource
from simulation.kraft import NO_LEADER, Key
from simulation.logs import Log
from simulation.settings import MIN_ISR, UNCLEAN
from simulation.transport import LATENCY

Numbers = tuple[int, ...]


class OtherTools:
    """Lets other tools act. `by_others`: a context in which they do. `count`: counts what they have done. `rest`: they do nothing more at requests."""

    def __init__(
        self,
        cluster: SimulatedCluster,
        keys: list[Key],
        by_others: Callable[[], AbstractContextManager[None]],
        count: Callable[[str], None],
    ) -> None:
        self._cluster, self._keys, self._by_others, self._count = cluster, keys, by_others, count
        self.rest = False

    def _reassign(self, key: Key, replicas: tuple[int, ...] | None, what: str) -> None:
        with self._by_others():
            if self._cluster.reassign(key, replicas) is None:
                self._count(what)

    def reorder_elsewhere(self, numbers: Numbers) -> None:
        """Another tool gives the replicas of a partition another order."""
        key = self._keys[numbers[0] % len(self._keys)]
        state = self._cluster.controller.partitions[key]
        is_known = {*state.replicas} <= self._cluster.controller.brokers.keys()  # Kafka refuses an order with a broker that is unregistered
        if self._cluster.has_controller and not state.assignment.is_moving and len(state.replicas) > 1 and is_known:
            at = 1 + numbers[1] % (len(state.replicas) - 1)
            self._reassign(key, (*state.replicas[at:], *state.replicas[:at]), "order set by another tool")

    def move_elsewhere(self, numbers: Numbers) -> None:
        """Another tool moves a partition: to another broker that is alive in place of a replica, or off one of its brokers."""
        key = self._keys[numbers[0] % len(self._keys)]
        state = self._cluster.controller.partitions[key]
        if not self._cluster.has_controller or state.assignment.is_moving:
            return
        spare = [one for one in self._cluster.brokers if one not in state.replicas and self._cluster.controller.alive(one)]
        given_up = numbers[1] % len(state.replicas)
        staying = tuple(one for place, one in enumerate(state.replicas) if place != given_up)
        if staying or spare:
            self._reassign(key, (*staying, *spare[:1]), "move begun by another tool")

    def set_min_isr(self, numbers: Numbers) -> None:
        """Another tool sets min.insync.replicas of a topic, or removes it; in some cases of a broker or of all. Kafka may refuse that."""
        topic = self._keys[numbers[0] % len(self._keys)][0]
        broker = str(1 + numbers[2] // 2 % len(self._cluster.brokers))
        resource = ((TOPIC, topic),) * 7 + ((BROKER, EVERY_BROKER),) * 2 + ((BROKER, broker),)
        value = ("1", "2", "3", None, "1", "2")[numbers[3] % 6]
        self.set_config(resource[numbers[1] % len(resource)], MIN_ISR, value)

    def allow_unclean(self, numbers: Numbers) -> None:
        """Another tool allows a topic, or all of them, unclean elections, or does not allow them any more."""
        topic = self._keys[numbers[0] % len(self._keys)][0]
        value = ("true", "true", "true", "false", None)[numbers[3] % 5]
        self.set_config((BROKER, EVERY_BROKER) if numbers[1] % 5 == 0 else (TOPIC, topic), UNCLEAN, value)

    def set_config(self, resource: Resource, name: str, value: str | None) -> None:
        """Another tool sets a config of topics, or removes it (None)."""
        if not self._cluster.has_controller:
            return
        with self._by_others():
            error = self._cluster.set_config(resource, name, value)
        self._count(f"{name} {'removed' if value is None else 'set'} by another tool" if error is None else f"{name} refused")

    def unregister(self, numbers: Numbers) -> None:
        """An administrator unregisters a broker that is down (kafka-cluster.sh unregister)."""
        down = [one for one, broker in self._cluster.brokers.items() if not broker.running and one in self._cluster.controller.brokers]
        down = [one for one in down if not self._cluster.controller.alive(one)]
        if self._cluster.has_controller and down:
            broker = down[numbers[0] % len(down)]
            self._cluster.world.tell(f"broker {broker} is unregistered")
            self._count("broker unregistered")
            del self._cluster.controller.brokers[broker]
            self._cluster.controller.version += 1
            self._cluster.spread()

    def deny(self, numbers: Numbers) -> None:
        """An administrator takes the permissions of control nodes to change the cluster, for some seconds."""
        self._count("permissions taken for a while")
        self._cluster.deny((0.2, 1.0, 5.0)[numbers[1] % 3])

    def lose_network_at(self, request: str, number: int, seconds: float) -> None:
        """Let control nodes lose their connections to all brokers, when one has got request number `number` of a kind, which is carried out."""
        before, left = self._cluster.before_request, number

        def look(name: str, node: int) -> bool:
            nonlocal left
            left -= name == request
            if name != request or left != -1 or self.rest:
                return before(name, node)
            self._count("network lost at a request")
            # The request is on its way.
            for one in self._cluster.brokers:
                self._cluster.world.after(2 * LATENCY[1], partial(self._cluster.hide, one, seconds))
            return True

        self._cluster.before_request = look

    def tidy_up(self) -> None:
        """Let an administrator do what the product advises: start brokers that are unregistered, and end moves of partitions without a leader.

        A move is cancelled, or replaced by the replicas of before, the best of them first.
        """
        for broker in self._cluster.brokers.keys() - self._cluster.controller.brokers.keys():
            self._cluster.start(broker, self._cluster.brokers[broker].was_shut_down)
        for key, state in self._cluster.controller.partitions.items():
            if state.assignment.is_moving and state.leader == NO_LEADER:
                logs = {one: self._cluster.brokers[one].logs.get(key, Log()) for one in state.assignment.original}
                best_first = sorted(logs, key=lambda one: (self._cluster.controller.alive(one), _last_place(logs[one])), reverse=True)
                self._reassign(key, None if state.isr else tuple(best_first), "move ended by an administrator")

    def cancel_moves_without_end(self) -> None:
        """Let an administrator cancel moves that Kafka never ends, as the product advises: a later target gave up a replica that an earlier one added."""
        for key, state in self._cluster.controller.partitions.items():
            if {*state.assignment.adding} & {*state.assignment.removing} and state.leader != NO_LEADER:
                self._reassign(key, None, "move cancelled by an administrator")

    def act_at(self, request: str, number: int, what: str, numbers: Numbers) -> None:
        """Let another tool act right before the nodes get request number `number` (from 0) of a kind. It acts after that if `numbers` says so."""
        before, left = self._cluster.before_request, number

        def look(name: str, node: int) -> bool:
            nonlocal left
            if name == request and not self.rest:
                left -= 1
                if left == -1:
                    act: Callable[[], None] = partial(getattr(self, what), numbers)
                    act() if numbers[2] % 2 else self._cluster.world.after(0.02, act)
            return before(name, node)

        self._cluster.before_request = look


def _last_place(log: Log) -> tuple[int, int]:
    """Return leader epoch and offset of the last record of a log."""
    return (log.batches[-1].epoch, log.end) if log.batches else (-1, log.end)
