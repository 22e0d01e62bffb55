# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Idempotent and transactional producers of applications, which write to a simulated cluster with acks=all (KIP-98, KIP-360, KIP-890)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from unit.record_batches import Content

from simulation.broker import Broker
from simulation.cluster import SimulatedCluster
from simulation.kraft import Key
from simulation.logs import Batch, Sent, contents
from simulation.producer_logs import producers

DELIVERY_SECONDS = 120.0  # delivery.timeout.ms
MOST_IN_FLIGHT = 5  # max.in.flight.requests.per.connection of an idempotent producer
TIMEOUTS = 60.0, 900.0  # seconds; transaction.max.timeout.ms of brokers
# Errors after which a producer takes another epoch.
LOST_COUNT = {"OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH", "INVALID_TXN_STATE", "PRODUCER_FENCED"}
PLAIN, IDEMPOTENT = 3, 5  # of 8 batches so many are plain, so many are not of transactions


class Unacknowledged(NamedTuple):
    """A batch that its producer sends until it is acknowledged, or until `deadline` (seconds of the world's clock)."""

    name: str
    content: Sequence[Content]
    sent: Sent
    deadline: float


class Producer:
    """An idempotent producer of one partition. `numbers`: its id and epoch."""

    def __init__(self, cluster: SimulatedCluster, key: Key) -> None:
        self._cluster, self._key = cluster, key
        self._numbers: Sent | None = Sent(cluster.transactions.new_producer_id(), 0)
        self._sequence = 0
        self._waiting: list[Unacknowledged] = []

    transactional_id: str | None = None

    def write(self, leader: Broker, name: str, content: Sequence[Content]) -> Batch | None:
        """Send a batch. Return it if the leader takes it."""
        if not self.send_again(leader) or len(self._waiting) >= MOST_IN_FLIGHT or self._numbers is None:
            return None
        sent = self._numbers._replace(sequence=self._sequence)
        one = Unacknowledged(name, content, sent, self._cluster.world.now + DELIVERY_SECONDS)
        batch = self._produce(leader, one)
        if batch is not None:
            self._sequence += len(content)
            self._waiting.append(one)
        return batch

    def send_again(self, leader: Broker) -> bool:
        """Send again what is not acknowledged and what the leader does not have. Return whether the producer goes on with its epoch."""
        self._forget_acknowledged()
        if any(one.deadline < self._cluster.world.now for one in self._waiting):
            self._begin_again()
            return False
        there = producers(leader.logs[self._key])
        for one in self._waiting:
            if one.sent.producer_id in there and there[one.sent.producer_id].sent_before(one.sent):
                continue
            if self._produce(leader, one) is None:
                return False
        return True

    def _forget_acknowledged(self) -> None:
        self._waiting = [one for one in self._waiting if not self._cluster.was_committed(self._key, one.name)]

    def _produce(self, leader: Broker, one: Unacknowledged) -> Batch | None:
        error, batch = self._cluster.transactions.produce(leader, self._key, one.name, one.content, one.sent, self.transactional_id)
        if error in LOST_COUNT:
            self._begin_again()
        return batch

    def _begin_again(self) -> None:
        """Take the next epoch. What is not acknowledged is given up, as after a failed delivery."""
        if self._numbers is not None:
            self._numbers = self._numbers._replace(producer_epoch=self._numbers.producer_epoch + 1)
        self._sequence = 0
        self._waiting.clear()


class TransactionalProducer(Producer):
    """A transactional producer. `own_epochs`: each transaction has an epoch of its own (KIP-890)."""

    def __init__(self, cluster: SimulatedCluster, key: Key, timeout: float, own_epochs: bool) -> None:
        super().__init__(cluster, key)
        self.transactional_id: str = f"application of {key[0]}-{key[1]}"
        self._timeout, self._own_epochs = timeout, own_epochs
        self._numbers = None

    def write(self, leader: Broker, name: str, content: Sequence[Content]) -> Batch | None:
        """Send a batch of the transaction, which begins with it if none is under way."""
        transactions = self._cluster.transactions
        if self._numbers is None:
            error, numbers = transactions.begin_producer(self.transactional_id, self._timeout)
            self._numbers = None if error else numbers
        if self._numbers is None:
            return None
        if (error := transactions.add_partition(self.transactional_id, self._numbers, self._key)) is not None:
            if error in LOST_COUNT:
                self._begin_again()
            return None
        return super().write(leader, name, content)

    def end(self, leader: Broker, commits: bool) -> None:
        """End the transaction, if the coordinator can. All that is committed is acknowledged before."""
        if self._numbers is None or (commits and (not self.send_again(leader) or self._waiting)):
            return
        self._forget_acknowledged()
        error, numbers = self._cluster.transactions.end_as_client(self.transactional_id, self._numbers, commits, self._own_epochs)
        if error in LOST_COUNT or (error is None and self._waiting):
            self._begin_again()
        elif error is None and numbers != self._numbers:
            self._numbers, self._sequence = numbers, 0

    def _begin_again(self) -> None:
        super()._begin_again()
        self._numbers = None


class Applications:
    """Writes records as plain, idempotent and transactional producers do. `fates`: transactional id and number of the transaction, by name of the batch."""

    def __init__(self, cluster: SimulatedCluster, counts: Counter[str], random: Random) -> None:
        self._cluster, self._counts = cluster, counts
        keys, has_own_epochs = list(cluster.controller.partitions), not cluster.release.is_oldest
        self._idempotent = {key: Producer(cluster, key) for key in keys}
        self._transactional = {
            key: TransactionalProducer(cluster, key, random.choice(TIMEOUTS), random.random() < 0.5 and has_own_epochs) for key in keys
        }
        self.fates: dict[str, tuple[str, int]] = {}

    def write(self, leader: Broker, key: Key, name: str, records: int, numbers: Sequence[int]) -> bool:
        """Write a batch, unless it is a plain one, or the leader does not take it. Return whether it is written. `numbers`: choose the producer."""
        kind, content = numbers[2] % 8, contents(leader.logs[key].end, name, records)
        if kind < PLAIN:
            return False
        if kind < IDEMPOTENT:
            written = self._idempotent[key].write(leader, name, content) is not None
            self._counts["batches of idempotent producers"] += written
            return written
        producer = self._transactional[key]
        written = producer.write(leader, name, content) is not None
        if written:
            self._counts["batches of transactions"] += 1
            self.fates[name] = self._cluster.transactions.under_way(producer.transactional_id)
        self.end(leader, key, numbers)
        return written

    def end(self, leader: Broker, key: Key, numbers: Sequence[int]) -> None:
        """End the transaction of a partition, or let it go on."""
        how = numbers[3] % 8
        if how < 4:
            self._transactional[key].end(leader, commits=how > 0)

    def go_on(self, leader: Broker, key: Key, numbers: Sequence[int]) -> None:
        """Let producers send again what is not acknowledged, and end their transactions."""
        self._idempotent[key].send_again(leader)
        self.end(leader, key, numbers)
