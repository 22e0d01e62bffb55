"""Producing with an exact memory: which value was acknowledged for which partition, at which offset, and what the acknowledgement was worth."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from chaos.keys import is_compacted, key_of
from chaos.operations import Operations
from rig import KafkaCluster
from rig.admin import TopicPartition
from rig.clients import QUIET

ALL, LEADER = "all", "1"
IDEMPOTENT = "idempotent"
SILENT = logging.getLogger("chaos.ledger")  # librdkafka writes about the end of an idempotent producer
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False
# A record that its leader does not take is soon given up: brokers die here all the time, and what was not acknowledged was not promised.
GIVE_UP_MS = 5000
RETRIES = 4


class Acknowledged(NamedTuple):
    """One promise of the cluster. `acks`: "all" (every in-sync replica has it) or "1" (its leader alone has it)."""

    offset: int
    acks: str


class Ledger:
    """Writes unique values and remembers what was acknowledged, by partition and value.

    `operations` has what all in-sync replicas acknowledged, and what was read, with times.
    With `idempotent`, an idempotent producer writes what all in-sync replicas acknowledge to partitions of even number.
    """

    def __init__(self, cluster: KafkaCluster, idempotent: bool = False) -> None:
        self.promises: defaultdict[TopicPartition, dict[str, Acknowledged]] = defaultdict(dict)
        self.operations = Operations()
        options = {
            "bootstrap.servers": cluster.bootstrap_servers,
            **cluster.settings.security.librdkafka(),
            **QUIET,
            "linger.ms": 5,
            "message.timeout.ms": GIVE_UP_MS,
            "message.send.max.retries": RETRIES,
            "retry.backoff.ms": 100,
        }
        self._producers = {acks: Producer({**options, "acks": acks}) for acks in (ALL, LEADER)}
        self._idempotent = {**options, "acks": ALL, "enable.idempotence": True, "logger": SILENT}
        self._desynchronized = idempotent
        self._written = 0

    def write(self, amounts: Mapping[TopicPartition, tuple[int, str]], tag: str) -> int:
        """Write (number, acks) records to each partition; returns how many were acknowledged. `tag` says in every value when it was written."""
        before = sum(map(len, self.promises.values()))
        if self._desynchronized:
            self._desynchronized = False
            self._producers[IDEMPOTENT] = Producer(self._idempotent)
        for key, (number, acks) in amounts.items():
            for place in range(number):
                self._written += 1
                # A key at most once in each call, so that the later of two records has the greater offset.
                value = f"{self._written}/{tag}/{acks}" + (f"#{place}" if is_compacted(key[0]) else "")
                self._producer(acks, key[1]).produce(
                    key[0], value.encode(), key_of(value).encode(), key[1], on_delivery=self.remember(acks)
                )
        deadline = time.monotonic() + GIVE_UP_MS / 1000 + 5
        for producer in self._producers.values():
            try:
                producer.flush(max(0.1, deadline - time.monotonic()))
            except (KafkaException, SystemError):
                # An idempotent producer ends when an election has lost records that it had written. Its application starts a new one.
                self._desynchronized = True
        return sum(map(len, self.promises.values())) - before

    def _producer(self, acks: str, partition: int) -> Producer:
        return self._producers[IDEMPOTENT if acks == ALL and partition % 2 == 0 and IDEMPOTENT in self._producers else acks]

    def remember(self, acks: str):  # type: ignore[no-untyped-def]  # a delivery callback of librdkafka
        """The callback of a record that is written now with these acks: an acknowledgement is a promise."""
        call = time.monotonic_ns()

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                key = str(message.topic()), int(message.partition() or 0)
                value, offset = (message.value() or b"").decode(), int(message.offset() or 0)
                self.promises[key][value] = Acknowledged(offset, acks)
                if acks == ALL:
                    self.operations.append(key, call, offset, value)

        return delivered

    def commit(self, key: TopicPartition, call: int, read: Sequence[tuple[int, str]]) -> None:
        """What a consumer has read from `call` on is committed, whatever its acknowledgement was worth."""
        self.operations.read(key, call, read)
        self.promises[key].update({value: Acknowledged(offset, ALL) for offset, value in read})

    def close(self) -> None:
        """Give up what is under way."""
        for producer in self._producers.values():
            producer.purge()
            producer.flush(1)
