# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands for confluent-kafka's transactional Producer: writes to a simulated cluster, as librdkafka does with acks=all.

A request that was sent is carried out although the control node dies, or no longer waits for its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from unit.record_batches import Content

from simulation.broker import Broker
from simulation.cluster import SimulatedCluster
from simulation.kraft import Key
from simulation.logs import Batch, Sent
from simulation.transport import HANG_SECONDS, LATENCY

BATCH_RECORDS = 3  # so that transactions have several batches
RETRY_SECONDS = 0.1  # retry.backoff.ms
RETRIABLE = {"NO_ANSWER", "NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS", "CONCURRENT_TRANSACTIONS", "COORDINATOR_NOT_AVAILABLE"}
FENCED = {"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}
Answer = tuple[str | None, Any]
Delivered = Callable[[KafkaError | None, Any], None]


class SimulatedProducer:
    """A producer with the options of librdkafka that the product gives it."""

    def __init__(self, cluster: SimulatedCluster, config: Mapping[str, Any]) -> None:
        self._cluster, self._world = cluster, cluster.world
        self._id: str = config["transactional.id"]
        self._timeout = config["transaction.timeout.ms"] / 1000
        self._request_seconds = config["socket.timeout.ms"] / 1000
        self._sent = Sent(-1, -1)
        self._sequences: dict[Key, int] = {}
        self._added: set[Key] = set()
        self._queue: list[tuple[Key, Content, Delivered]] = []

    # --- what the product calls ----------------------------------------------------------------------------------------

    def init_transactions(self, seconds: float) -> None:
        """Get a producer id and epoch, when the transaction of the producer before has ended."""
        self._sent = self._until(seconds, lambda: self._coordinate("InitProducerId", self._begin))
        self._sequences.clear()

    def begin_transaction(self) -> None:
        """Begin a transaction, which the coordinator learns with its first record."""
        self._added.clear()

    def produce(
        self, topic: str, value: bytes | None, key: bytes | None, partition: int, on_delivery: Delivered, timestamp: int, headers: Any
    ) -> None:
        """Queue a record."""
        encoded = [(name, content.encode() if isinstance(content, str) else content) for name, content in headers]
        self._queue.append(((topic, partition), (timestamp, key, value, encoded), on_delivery))

    def poll(self, _seconds: float) -> None:
        """Send nothing: `flush` does."""

    def flush(self, seconds: float) -> int:
        """Send what is queued. Return how many records are still queued when the time is over."""
        end = self._world.now + seconds
        while self._queue and self._world.now < end:
            key = self._queue[0][0]
            batch = [row for row in self._queue[:BATCH_RECORDS] if row[0] == key]
            try:
                self._until(end - self._world.now, partial(self._send, key, [content for _, content, _ in batch]))
                error = None
            except KafkaException as problem:
                error = problem.args[0]
                if error.code() == KafkaError._TIMED_OUT:
                    break
            done, self._queue = (self._queue, []) if error else (batch, self._queue[len(batch) :])
            for _, _, on_delivery in done:
                on_delivery(error, None)
        return len(self._queue)

    def commit_transaction(self, seconds: float) -> None:
        """Commit. Its marker is written later."""
        self._end(seconds, commits=True)

    def abort_transaction(self, seconds: float) -> None:
        """Forget what is queued, and abort."""
        self._queue.clear()
        self._end(seconds, commits=False)

    # --- requests --------------------------------------------------------------------------------------------------------

    def _begin(self) -> Answer:
        return self._cluster.transactions.begin_producer(self._id, self._timeout)

    def _end(self, seconds: float, commits: bool) -> None:
        if self._added:
            transactions, sent = self._cluster.transactions, self._sent
            self._until(seconds, lambda: self._coordinate("EndTxn", lambda: (transactions.end(self._id, sent, commits), None)))
        self._added.clear()

    def _send(self, key: Key, content: Sequence[Content]) -> Answer:
        """Send a batch to the leader, and wait until it is acknowledged."""
        transactions, sent = self._cluster.transactions, self._sent
        if key not in self._added:
            error, _ = self._coordinate("AddPartitionsToTxn", lambda: (transactions.add_partition(self._id, sent, key), None))
            if error is not None:
                return error, None
            self._added.add(key)
        sequence = self._sequences.setdefault(key, 0)
        numbers = sent._replace(sequence=sequence)
        name = f"replayed {key[0]}-{key[1]}, producer {sent.producer_id} {sent.producer_epoch} {sequence}"
        leader = self._known_leader(key)
        if leader is None:
            return "NOT_LEADER_OR_FOLLOWER", None

        def is_acknowledged(answer: Answer) -> Answer | None:
            batch: Batch | None = answer[1]
            if batch is None:
                return answer
            if not self._cluster.leads(leader, key) or not leader.logs[key].has(batch):
                return "NOT_LEADER_OR_FOLLOWER", None
            return (None, batch) if leader.logs[key].high_watermark > batch.last else None

        error, batch = self._request(
            "Produce", leader, lambda: transactions.produce(leader, key, name, content, numbers, self._id), is_acknowledged
        )
        if error is None:
            self._sequences[key] = sequence + len(content)
        return error, batch

    def _coordinate(self, what: str, act: Callable[[], Answer]) -> Answer:
        """Send a request to the coordinator, as far as any broker that answers knows it."""
        coordinator = self._cluster.transactions.coordinator
        if coordinator is None or not any(map(self._answers, self._cluster.brokers.values())):
            return "COORDINATOR_NOT_AVAILABLE", None
        return self._request(what, self._cluster.brokers[coordinator], act)

    def _known_leader(self, key: Key) -> Broker | None:
        """Return the leader as the newest metadata say that a broker answers, None if no broker answers, or there is no leader."""
        images = [one for one in self._cluster.brokers.values() if self._answers(one)]
        newest = max(images, key=lambda one: one.image_version, default=None)
        return None if newest is None else self._cluster.brokers.get(newest.image[key].leader)

    @staticmethod
    def _answers(broker: Broker) -> bool:
        return broker.running and not broker.hangs and not broker.unreachable

    def _request(
        self, what: str, broker: Broker, act: Callable[[], Answer], ready: Callable[[Answer], Answer | None] = lambda answer: answer
    ) -> Answer:
        """Let a broker carry something out, and return the answer; NO_ANSWER if it is late, or lost. `ready`: returns the answer once the broker has it."""
        self._world.step(f"{what} to {broker.node_id}")
        is_cut = self._cluster.before_request(f"{what}Request", broker.node_id)
        incarnation, answers, gives_up = broker.incarnation, list[Answer](), False

        def is_alive() -> bool:
            return broker.running and broker.incarnation == incarnation

        def arrive() -> None:
            if not is_alive():
                answers.append(("NO_ANSWER", None))
            elif broker.hangs or (broker.unreachable and not gives_up):
                self._world.after(HANG_SECONDS, arrive)
            elif not broker.unreachable:
                carried_out = act()
                if is_cut:
                    answers.append(("NO_ANSWER", None))
                else:
                    answer(carried_out)

        def answer(carried_out: Answer) -> None:
            if not is_alive():
                answers.append(("NO_ANSWER", None))
            elif broker.hangs or broker.unreachable or (known := ready(carried_out)) is None:
                if not gives_up:
                    self._world.after(HANG_SECONDS, lambda: answer(carried_out))
            else:
                self._world.after(self._latency(), lambda: answers.append(known))

        self._world.after(self._latency(), arrive)
        self._world.wait(self._request_seconds, lambda: bool(answers))
        gives_up = True
        return answers[0] if answers else ("NO_ANSWER", None)

    def _latency(self) -> float:
        return self._world.random.uniform(*LATENCY)

    def _until(self, seconds: float, act: Callable[[], Answer]) -> Any:
        """Try again until the time is over or there is an answer. Raises KafkaException."""
        end = self._world.now + seconds
        while True:
            error, found = act()
            if error is None:
                return found
            if error not in RETRIABLE:
                code = KafkaError._FENCED if error in FENCED else KafkaError.INVALID_TXN_STATE
                raise KafkaException(KafkaError(code, error, fatal=error in FENCED, txn_requires_abort=error not in FENCED))
            if self._world.now >= end:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, error, retriable=True))
            self._world.sleep(RETRY_SECONDS)
