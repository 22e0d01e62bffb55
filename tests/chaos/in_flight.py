"""Records that a leader has in its log when it dies, and has not acknowledged: their idempotent producer lives on, and sends them again."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaException, Producer

from chaos.ledger import ALL, SILENT, Ledger
from rig import KafkaCluster
from rig.admin import TopicPartition
from rig.clients import QUIET
from rig.proxy import Mode

LATE_SECONDS = 0.4
GIVE_UP_MS = 600_000
FLUSH_SECONDS = 30.0
RECORDS = 2


class InFlight:
    """One idempotent producer. Its acknowledgements count as promises of the ledger when `finish` has taken them."""

    def __init__(self, cluster: KafkaCluster, ledger: Ledger) -> None:
        self._cluster, self._ledger = cluster, ledger
        options = {"bootstrap.servers": cluster.bootstrap_servers, **QUIET, "linger.ms": 5, "message.timeout.ms": GIVE_UP_MS}
        self._producer = Producer({**options, "enable.idempotence": True, "logger": SILENT})

    @contextmanager
    def during(self, broker: int, keys: Collection[TopicPartition], tag: str) -> Iterator[None]:
        """Inside the context the broker has the records of these partitions, and its answers are on their way. It must die there."""
        self._produce(keys, f"{tag}.known", 1)
        self._flush()  # the producer knows the leaders
        self._cluster.proxies.set(Mode.DELAY, [broker], LATE_SECONDS)
        try:
            self._produce(keys, f"{tag}.in flight", RECORDS)
            time.sleep(1.5 * LATE_SECONDS)
            yield
        finally:
            self._cluster.proxies.set(Mode.PASS, [broker])

    def finish(self) -> None:
        """Wait until the new leaders have acknowledged what the old ones did not."""
        self._flush()

    def _produce(self, keys: Collection[TopicPartition], tag: str, number: int) -> None:
        for topic, partition in keys:
            for place in range(number):
                value = f"{place}/{tag}".encode()
                self._producer.produce(topic, value, key=value, partition=partition, on_delivery=self._ledger.remember(ALL))

    def _flush(self) -> None:
        try:
            self._producer.flush(FLUSH_SECONDS)
        except (KafkaException, SystemError):  # see Ledger.write: what was not acknowledged was not promised
            self._producer.purge()
