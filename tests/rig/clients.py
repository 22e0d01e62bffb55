"""Producing with a memory of what was acknowledged, and reading back, through confluent-kafka."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka import TopicPartition as Assigned
from confluent_kafka.admin import AdminClient, OffsetSpec

from rig.admin import TopicPartition
from rig.errors import RigError
from rig.listeners import ListenerSecurity

# Brokers die and come back all the time here: reconnect soon, and do not write about it to the terminal.
QUIET = {"log_level": 2, "log.connection.close": False, "reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 500}
EARLIEST = 0
QUEUED_VALUES = 1_000_000
# librdkafka sends one partition per request, and a broker answers the requests of a connection one after the other: with acks=all that
# is one round of replication per partition. So many partitions are spread over several producers.
PRODUCERS = 8


class Writer:
    """Produces to named partitions and remembers the values by what their acknowledgement was worth."""

    def __init__(self, bootstrap_servers: str, security: ListenerSecurity) -> None:
        self._config = {"bootstrap.servers": bootstrap_servers, **security.librdkafka(), **QUIET}
        self._producers: dict[tuple[str, int], Producer] = {}
        # values acknowledged by the whole ISR, and values acknowledged by the leader alone, in the order of their acknowledgement
        self.acknowledged: defaultdict[TopicPartition, list[str]] = defaultdict(list)
        self.leader_only: defaultdict[TopicPartition, list[str]] = defaultdict(list)

    def write(self, values: Mapping[TopicPartition, Sequence[str]], acks: str = "all", seconds: float = 120, must: bool = True) -> int:
        """Produce these values to their partitions; returns how many were acknowledged.

        Values of one partition keep their order. `acks` is "all", "1", "0" or "committed": acknowledged by the leader, and then seen below
        the high watermark, which is worth the same as "all" and much faster for thousands of partitions. With `must`, an unacknowledged
        value is a RigError.
        """
        deadline = time.monotonic() + seconds
        delivered, failures = self._deliver(values, acks, deadline)
        if must and failures:
            raise RigError(f"{len(failures)} values were not acknowledged within {seconds:g} s, the first: {failures[0]}")
        if acks == "committed":
            self._wait_until_committed({key: rows[-1][0] + 1 for key, rows in delivered.items()}, deadline)
        memory = self.acknowledged if acks in {"all", "committed"} else self.leader_only
        for key, rows in delivered.items():
            memory[key] += [value for _offset, value in rows]
        return sum(map(len, delivered.values()))

    def _deliver(
        self, values: Mapping[TopicPartition, Sequence[str]], acks: str, deadline: float
    ) -> tuple[dict[TopicPartition, list[tuple[int, str]]], list[str]]:
        """Acknowledged (offset, value) by partition, and the failures in words."""
        delivered: defaultdict[TopicPartition, list[tuple[int, str]]] = defaultdict(list)
        failures: list[str] = []

        def remember(error: KafkaError | None, message: Message) -> None:
            if error is None:
                delivered[_key(message)].append((int(message.offset() or 0), (message.value() or b"").decode()))
            else:
                failures.append(f"{message.topic()}-{message.partition()}: {error.str()}")

        used: set[Producer] = set()
        for (topic, partition), texts in values.items():
            producer = self._producer("1" if acks == "committed" else acks, partition % PRODUCERS)
            used.add(producer)
            for text in texts:
                producer.produce(topic, value=text.encode(), partition=partition, on_delivery=remember)
            producer.poll(0)
        for producer in used:
            if producer.flush(max(0.1, deadline - time.monotonic())):
                producer.purge()
                producer.flush(5)  # delivers the failures
        return delivered, failures

    def _wait_until_committed(self, ends: Mapping[TopicPartition, int], deadline: float) -> None:
        """Wait until the high watermark of each partition has reached the given offset."""
        admin = AdminClient(self._config)
        waiting = dict(ends)
        while waiting:
            answers = admin.list_offsets(
                {Assigned(topic, partition): OffsetSpec.latest() for topic, partition in waiting}, request_timeout=30
            )
            for assigned, answer in answers.items():
                key = (assigned.topic, assigned.partition)
                if answer.result().offset >= waiting[key]:
                    del waiting[key]
            if waiting and time.monotonic() > deadline:
                raise RigError(f"{len(waiting)} partitions did not commit what their leaders acknowledged, the first: {min(waiting)}")

    def close(self) -> None:
        """Give up whatever is still under way and disconnect."""
        for producer in self._producers.values():
            producer.purge()
            producer.flush(1)
        self._producers.clear()

    def _producer(self, acks: str, number: int) -> Producer:
        if (acks, number) not in self._producers:
            # 20 ms let the values of a partition travel as one batch
            options = {"acks": acks, "linger.ms": 20, "queue.buffering.max.messages": QUEUED_VALUES}
            self._producers[acks, number] = Producer({**self._config, **options})
        return self._producers[acks, number]


def read(
    bootstrap_servers: str,
    security: ListenerSecurity,
    partitions: Iterable[TopicPartition],
    seconds: float = 60,
    isolation: str = "read_committed",
) -> dict[TopicPartition, list[tuple[int, str]]]:
    """Every (offset, value) of these partitions, from the beginning to the end as consumers see it (the high watermark).

    RigError when a partition's end is not reached in time, for example because it has no leader.
    """
    found: dict[TopicPartition, list[tuple[int, str]]] = {key: [] for key in partitions}
    if not found:
        return found
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            **security.librdkafka(),
            **QUIET,
            "group.id": "rig-read",  # asked for by the library; assigned partitions join no group
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 50,
            "isolation.level": isolation,
        }
    )
    unfinished = set(found)
    deadline = time.monotonic() + seconds
    try:
        consumer.assign([Assigned(topic, partition, EARLIEST) for topic, partition in found])
        while unfinished:
            if time.monotonic() > deadline:
                topic, partition = min(unfinished)
                raise RigError(
                    f"{len(unfinished)} partitions could not be read to their end within {seconds:g} s, the first: {topic}-{partition}"
                )
            for message in consumer.consume(10_000, timeout=0.2):
                _take(message, found, unfinished)
    finally:
        consumer.close()
    return found


def _take(message: Message, found: dict[TopicPartition, list[tuple[int, str]]], unfinished: set[TopicPartition]) -> None:
    key = _key(message)
    error: Any = message.error()
    if error is None:
        found[key].append((int(message.offset() or 0), (message.value() or b"").decode()))
    elif error.code() == KafkaError._PARTITION_EOF:
        unfinished.discard(key)
    elif error.fatal():
        raise RigError(f"reading {key[0]}-{key[1]}: {error.str()}")


def _key(message: Message) -> TopicPartition:
    return str(message.topic()), int(message.partition() or 0)
