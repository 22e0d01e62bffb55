# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read the messages of KIP-664: DescribeProducers for leaders, ListTransactions and DescribeTransactions for coordinators.

Pure: no I/O. `consumer_admin.py` chooses the brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.admin import DescribeProducersRequest, DescribeTransactionsRequest, ListTransactionsRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.error_codes import error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.topic_rows import by_topic
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import UNENDED, Producer, Transaction
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

STATE_TOPIC = "__transaction_state"
TRANSACTIONS_PER_REQUEST = 500
# A transaction that ended between the two requests.
FORGOTTEN = "TRANSACTIONAL_ID_NOT_FOUND"


def describe_producers(keys: Iterable[TopicPartition]) -> DescribeProducersRequest:
    """Build a request for the producers that one broker's replicas know (KIP-664). It needs READ on the topics."""
    topics = [DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=rows) for topic, rows in by_topic(keys).items()]
    return DescribeProducersRequest(topics=topics)


def read_producers(answer: Any) -> Iterator[tuple[TopicPartition, str | None, list[Producer]]]:
    """Yield each partition with its error (Kafka's name, or None) and its producers."""
    for topic in answer.topics:
        for row in topic.partitions:
            producers = [
                Producer(one.producer_id, one.producer_epoch, one.last_timestamp, one.current_txn_start_offset)
                for one in row.active_producers
            ]
            yield (topic.name, row.partition_index), error_name(row.error_code), producers


def list_transactions(producer_ids: Iterable[int] = ()) -> ListTransactionsRequest:
    """Build a request for the transactional ids that a broker coordinates (KIP-664): those of these producers in any state, or all unended ones.

    It needs DESCRIBE on the transactional ids: Kafka leaves the others out without an error.
    """
    ids = list(producer_ids)
    return ListTransactionsRequest(
        state_filters=[] if ids else list(UNENDED), producer_id_filters=ids, duration_filter=-1, transactional_id_pattern=None
    )


def read_listed(answer: Any) -> tuple[str | None, list[str]]:
    """Return the error (Kafka's name, or None) and the transactional ids. A coordinator that loads its transactions lists none."""
    return error_name(answer.error_code), [row.transactional_id for row in answer.transaction_states]


def describe_transactions(transactional_ids: Iterable[str]) -> DescribeTransactionsRequest:
    """Build a request for the coordinator's state of these transactions (KIP-664)."""
    return DescribeTransactionsRequest(transactional_ids=list(transactional_ids))


def read_described(answer: Any) -> tuple[list[Transaction], dict[str, str]]:
    """Return the transactions, and the errors (Kafka's names) of those that are not described, by transactional id."""
    transactions, refused = [], {}
    for row in answer.transaction_states:
        error = error_name(row.error_code)
        if error is None:
            partitions = frozenset((topic.topic, partition) for topic in row.topics for partition in topic.partitions)
            transactions.append(
                Transaction(
                    row.transactional_id,
                    row.transaction_state,
                    row.producer_id,
                    row.producer_epoch,
                    row.transaction_timeout_ms,
                    row.transaction_start_time_ms,
                    partitions,
                )
            )
        elif error != FORGOTTEN:
            refused[row.transactional_id] = error
    return transactions, refused
