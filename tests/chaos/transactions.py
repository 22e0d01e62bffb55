"""A transactional producer for chaos, with an exact memory of what it has committed and what it has aborted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection
from random import Random

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as Assigned

from chaos.ledger import ALL, GIVE_UP_MS, Acknowledged, Ledger
from rig import KafkaCluster, RigError
from rig.admin import TopicPartition
from rig.clients import QUIET
from rig.stock import tool

SECONDS = 5.0
PARTITIONS = 8


class Transactions:
    """One producer with one transactional id. What it commits is a promise of the ledger once consumers with read_committed get it.

    `aborted`: values that no such consumer may ever get. `ended`: transactions that were to end, by partition: each leaves a marker there, or not.
    """

    def __init__(self, cluster: KafkaCluster, ledger: Ledger, random: Random, name: str) -> None:
        self._cluster, self._ledger, self._random, self._name = cluster, ledger, random, name
        self._producer: Producer | None = None
        self._open: dict[TopicPartition, dict[str, int]] = {}
        self._written = 0
        self.aborted: set[str] = set()
        self.ended: Counter[TopicPartition] = Counter()

    def go_on(self, led: Collection[TopicPartition], tag: str) -> None:
        """End the transaction that is open, and write another one. It stays open every other time."""
        self.end()
        chosen = self._random.sample(sorted(led), k=min(PARTITIONS, len(led)))
        if chosen and self._begin():
            self._write(chosen, tag)
            if self._random.random() < 0.5:
                self.end()

    def end(self) -> None:
        """Commit or abort the transaction that is open. What cannot be ended is neither committed nor aborted, as far as is known."""
        written, self._open = self._open, {}
        if self._producer is None or not written:
            return
        self.ended.update(written.keys())
        commit = self._random.random() < 0.7
        try:
            (self._producer.commit_transaction if commit else self._producer.abort_transaction)(SECONDS)
        except KafkaException:
            self._producer = None
            return
        if not commit:
            self.aborted |= {value for values in written.values() for value in values}
            return
        for key in self._readable(written):
            self._ledger.promises[key].update({value: Acknowledged(offset, ALL) for value, offset in written[key].items()})

    def _begin(self) -> bool:
        try:
            if self._producer is None:
                self._producer = self._new_producer()
                self._producer.init_transactions(SECONDS)
            self._producer.begin_transaction()
        except KafkaException:
            self._producer = None
        return self._producer is not None

    def _write(self, keys: Collection[TopicPartition], tag: str) -> None:
        assert self._producer is not None
        self._open = {key: {} for key in keys}
        try:
            for topic, partition in keys:
                for _ in range(self._random.randint(1, 3)):
                    self._written += 1
                    value = f"transaction {self._written}/{tag}".encode()
                    self._producer.produce(topic, value, key=value, partition=partition, on_delivery=self._remember)
            self._producer.flush(SECONDS)
        except (KafkaException, BufferError):
            self._producer = None

    def _remember(self, error: KafkaError | None, message: Message) -> None:
        key = str(message.topic()), int(message.partition() or 0)
        if error is None and key in self._open:
            self._open[key][(message.value() or b"").decode()] = int(message.offset() or 0)

    def _readable(self, keys: Collection[TopicPartition]) -> list[TopicPartition]:
        """Wait for the markers: Kafka answers the end of a transaction before it is in the logs. Return the partitions that are read to their end."""
        deadline, left = time.monotonic() + SECONDS, unreadable(self._cluster, keys)
        while left and time.monotonic() < deadline:
            left = unreadable(self._cluster, left)
        return [key for key in keys if key not in left]

    def _new_producer(self) -> Producer:
        return Producer({
            "bootstrap.servers": self._cluster.bootstrap_servers, **QUIET, "transactional.id": self._name, "linger.ms": 5,
            "message.timeout.ms": GIVE_UP_MS, "error_cb": lambda _error: None,
        })  # fmt: skip


def unreadable(cluster: KafkaCluster, keys: Collection[TopicPartition]) -> list[TopicPartition]:
    """The partitions that consumers with read_committed do not read to their end, because a transaction is open there."""
    options = {"bootstrap.servers": cluster.bootstrap_servers, **QUIET, "group.id": "unused"}
    readers = [Consumer({**options, "isolation.level": isolation}) for isolation in ("read_committed", "read_uncommitted")]
    found = []
    try:
        for key in keys:
            ends: set[int | None] = set()
            for reader in readers:
                try:
                    ends.add(reader.get_watermark_offsets(Assigned(*key), timeout=SECONDS)[1])
                except KafkaException:
                    ends.add(None)
            if len(ends) != 1 or None in ends:
                found.append(key)
    finally:
        for reader in readers:
            reader.close()
    return found


def abort_hanging(cluster: KafkaCluster, key: TopicPartition) -> None:
    """Abort what is open in a partition, as an operator does after the replay: with Kafka's own tool."""
    place = ["--topic", key[0], "--partition", str(key[1])]
    producers = _tool(cluster, "describe-producers", *place)
    for line in producers.splitlines()[1:]:
        *_others, start_offset = line.split()
        if start_offset.isdigit():
            _tool(cluster, "abort", *place, "--start-offset", start_offset)


def _tool(cluster: KafkaCluster, *arguments: str) -> str:
    done = tool(cluster, "org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", cluster.bootstrap_servers, *arguments)
    if done.returncode:
        raise RigError(f"kafka-transactions.sh {' '.join(arguments)} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout
