# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes records to one partition in transactions, with librdkafka's transactional producer.

Librdkafka finds brokers by itself, so a password or token is sent in clear text only with `allow_plaintext_secrets`. If it ends the process, the next
replay reads what was committed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

with suppress(ImportError):  # optional_imports.py says why
    from confluent_kafka import KafkaError, KafkaException, Message, Producer

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError

# A transaction is given up by its coordinator after this time, also that of a replay that was killed.
TRANSACTION_MS = 60_000
COMMIT_TRIES = 3
# Above every limit of a topic: the broker decides what is too large.
MESSAGE_BYTES = 1_000_000_000
_SILENT = logging.getLogger("kafka.replay")  # as in node_client.py: errors are results


class Written(NamedTuple):
    """A record to write. `timestamp`: ms since 1970."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: list[tuple[str, str | bytes | None]]


class ReplayProducer:
    """A transactional producer for one partition. Its first transaction fences every other producer with the same transactional id."""

    def __init__(self, connection: Connection, transactional_id: str) -> None:
        if connection.guarded_secret:
            raise ClusterError(
                "records are written with librdkafka, which logs in at every address that a broker names: set security_protocol to SASL_SSL, or "
                "allow_plaintext_secrets to true"
            )
        self._seconds = connection.request_timeout * COMMIT_TRIES
        self._refused: KafkaError | None = None
        self._producer = Producer(
            {
                **connection.for_librdkafka(),
                "transactional.id": transactional_id,
                "transaction.timeout.ms": TRANSACTION_MS,
                "compression.type": "lz4",
                "message.max.bytes": MESSAGE_BYTES,
                "linger.ms": 5,
                "logger": _SILENT,
            }
        )

    def fence(self) -> None:
        """End what an earlier producer with this id has begun. Raises ClusterError."""
        try:
            self._producer.init_transactions(self._seconds)
        except KafkaException as error:
            raise ClusterError(f"no transaction can be begun: {_text(error)}") from error

    def write(self, topic: str, partition: int, records: Iterable[Written]) -> None:
        """Write records in one transaction. Raises ClusterError if it is not committed, or if it is not known whether it is."""
        try:
            self._producer.begin_transaction()
            self.send(topic, partition, records)
            self.commit()
        except (KafkaException, BufferError) as error:
            with suppress(KafkaException):
                self._producer.abort_transaction(self._seconds)
            raise ClusterError(f"the records were not written: {_text(error)}") from error

    def send(self, topic: str, partition: int, records: Iterable[Written]) -> None:
        """Send the records of a transaction, and wait until the broker has them, for as long as it takes more of them. Raises KafkaException."""
        self._refused = None
        waiting = 0
        for record in records:
            self._producer.produce(
                topic, record.value, record.key, partition, self._delivered, timestamp=record.timestamp, headers=record.headers
            )
            self._producer.poll(0)
            waiting += 1
        # The coordinator ends this after TRANSACTION_MS: then the broker refuses what is left.
        while left := self._producer.flush(self._seconds):
            if left >= waiting:
                raise KafkaException(KafkaError(KafkaError.REQUEST_TIMED_OUT))
            waiting = left
        if self._refused is not None:
            raise KafkaException(self._refused)

    def commit(self) -> None:
        """Commit the transaction. Raises KafkaException."""
        for attempt in range(COMMIT_TRIES):
            try:
                self._producer.commit_transaction(self._seconds)
            except KafkaException as error:
                if attempt + 1 < COMMIT_TRIES and error.args[0].retriable():
                    continue
                raise
            return

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        self._refused = self._refused or error


def _text(error: Exception) -> str:
    cause: Any = error.args[0] if error.args else error
    if not hasattr(cause, "str"):
        return str(cause)
    times = "raise message.timestamp.before.max.ms or message.timestamp.after.max.ms of the topic"
    remedies = {
        KafkaError.MSG_SIZE_TOO_LARGE: "the headers of a replay make records larger: raise max.message.bytes of the topic",
        KafkaError.INVALID_TIMESTAMP: times,
        KafkaError.INVALID_RECORD: f"{times}, or leave out records without a key if it is compacted",
    }
    remedy = remedies.get(cause.code())
    return f"{cause.str()}; {remedy}" if remedy else str(cause.str())
