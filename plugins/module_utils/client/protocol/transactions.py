# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transactions: the messages of KIP-664 that ask leaders for their producers and coordinators for their transactions, read back into plain data.

Nothing here does I/O; `downstream.py` decides whom to ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

with suppress(ImportError):  # libraries.py says why
    from kafka.protocol.admin import DescribeProducersRequest, DescribeTransactionsRequest, ListTransactionsRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.core import by_topic, error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import UNENDED, Producer, Transaction
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

STATE_TOPIC = "__transaction_state"
TRANSACTIONS_PER_REQUEST = 500
# A transaction that ended between the two questions.
FORGOTTEN = "TRANSACTIONAL_ID_NOT_FOUND"


def describe_producers(keys: Iterable[TopicPartition]) -> DescribeProducersRequest:
    """The producers that the replicas of one broker know of. READ on the topics."""
    topics = [DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=rows) for topic, rows in by_topic(keys).items()]
    return DescribeProducersRequest(topics=topics)


def read_producers(answer: Any) -> Iterator[tuple[TopicPartition, str | None, list[Producer]]]:
    """Error (Kafka's name, or None) and producers by partition."""
    for topic in answer.topics:
        for row in topic.partitions:
            found = [
                Producer(one.producer_id, one.producer_epoch, one.last_timestamp, one.current_txn_start_offset)
                for one in row.active_producers
            ]
            yield (topic.name, row.partition_index), error_name(row.error_code), found


def list_transactions(producer_ids: Iterable[int] = ()) -> ListTransactionsRequest:
    """The transactional ids that a broker coordinates: of these producers, in whatever state; without any named, those that are not ended.

    DESCRIBE on the transactional ids: those that one may not describe are left out without a word.
    """
    wanted = list(producer_ids)
    return ListTransactionsRequest(
        state_filters=[] if wanted else list(UNENDED), producer_id_filters=wanted, duration_filter=-1, transactional_id_pattern=None
    )


def read_listed(answer: Any) -> tuple[str | None, list[str]]:
    """Error (Kafka's name, or None: while a coordinator loads its transactions it tells of none) and transactional ids."""
    return error_name(answer.error_code), [row.transactional_id for row in answer.transaction_states]


def describe_transactions(transactional_ids: Iterable[str]) -> DescribeTransactionsRequest:
    """These transactions, as their coordinator has them."""
    return DescribeTransactionsRequest(transactional_ids=list(transactional_ids))


def read_described(answer: Any) -> tuple[list[Transaction], dict[str, str]]:
    """Transactions, and the errors (Kafka's names) of those that are not told, by transactional id."""
    found, refused = [], {}
    for row in answer.transaction_states:
        error = error_name(row.error_code)
        if error is None:
            partitions = frozenset((topic.topic, partition) for topic in row.topics for partition in topic.partitions)
            found.append(
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
    return found, refused
