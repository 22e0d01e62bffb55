# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a simulated broker answers about producers and transactions (KIP-98, KIP-664), and about leader epochs to consumers (KIP-320)."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin import DescribeProducersResponse, DescribeTransactionsResponse, ListTransactionsResponse
from kafka.protocol.consumer.offsets import OffsetForLeaderEpochResponse
from kafka.protocol.producer import WriteTxnMarkersResponse

from simulation.kafka_errors import code
from simulation.kraft import Key
from simulation.log_answers import leader_error
from simulation.logs import End
from simulation.producer_logs import producers
from simulation.transactions import Transaction

if TYPE_CHECKING:
    from simulation.broker import Broker


def epoch_ends(broker: Broker, request: Any) -> Any:
    kind = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
    topics = [
        kind(
            topic=one.topic, partitions=[_epoch_end(broker, kind.EpochEndOffset, (one.topic, row.partition), row) for row in one.partitions]
        )
        for one in request.topics
    ]
    return OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=topics)


def _epoch_end(broker: Broker, kind: Any, key: Key, row: Any) -> Any:
    error, (epoch, end) = leader_error(broker, key), (-1, -1)
    if error is None:
        epoch, end = broker.logs[key].end_of_epoch(row.leader_epoch)
    return kind(error_code=code(error), partition=key[1], leader_epoch=epoch, end_offset=end)


def describe_producers(broker: Broker, request: Any) -> Any:
    kind = DescribeProducersResponse.TopicResponse
    topics = [
        kind(name=one.name, partitions=[_producers(broker, kind.PartitionResponse, (one.name, number)) for number in one.partition_indexes])
        for one in request.topics
    ]
    return DescribeProducersResponse(throttle_time_ms=0, topics=topics)


def _producers(broker: Broker, kind: Any, key: Key) -> Any:
    error = leader_error(broker, key)
    known = producers(broker.logs[key]) if error is None else {}
    rows = [
        kind.ProducerState(
            producer_id=producer, producer_epoch=state.epoch, last_sequence=-1, last_timestamp=-1, coordinator_epoch=state.coordinator_epoch,
            current_txn_start_offset=-1 if state.begins is None else state.begins,
        )
        for producer, state in known.items()
    ]  # fmt: skip
    return kind(partition_index=key[1], error_code=code(error), error_message=None, active_producers=rows)


def write_markers(broker: Broker, request: Any) -> Any:
    """Append markers. Kafka answers when they are in all replicas; here the answer is early."""
    kind = WriteTxnMarkersResponse.WritableTxnMarkerResult
    topic = kind.WritableTxnMarkerTopicResult
    rows = []
    for one in request.markers:
        end = End(one.producer_id, one.producer_epoch, one.transaction_result, one.coordinator_epoch)
        topics = [
            topic(
                name=each.name,
                partitions=[
                    topic.WritableTxnMarkerPartitionResult(
                        partition_index=number,
                        error_code=code(_written(broker, (each.name, number), end)),
                    )
                    for number in each.partition_indexes
                ],
            )
            for each in one.topics
        ]
        rows.append(kind(producer_id=one.producer_id, topics=topics))
    return WriteTxnMarkersResponse(markers=rows)


def _written(broker: Broker, key: Key, end: End) -> str | None:
    transactions = broker.cluster.transactions
    error, marker = transactions.append_marker(broker, key, end)
    transactions.ended_by_requests += [marker] if marker is not None else []
    return error


def list_transactions(broker: Broker, request: Any) -> Any:
    kind = ListTransactionsResponse.TransactionState
    states, ids = {*request.state_filters}, {*request.producer_id_filters}
    rows = [
        kind(transactional_id=one.transactional_id, producer_id=one.producer_id, transaction_state=one.state)
        for one in _coordinated(broker).values()
        if (not states or one.state in states) and (not ids or one.producer_id in ids)
    ]
    return ListTransactionsResponse(throttle_time_ms=0, error_code=0, unknown_state_filters=[], transaction_states=rows)


def describe_transactions(broker: Broker, request: Any) -> Any:
    own = _coordinated(broker)
    rows = [_described(DescribeTransactionsResponse.TransactionState, name, own.get(name)) for name in request.transactional_ids]
    return DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=rows)


def _described(kind: Any, name: str, one: Transaction | None) -> Any:
    if one is None:
        return kind(
            error_code=code("TRANSACTIONAL_ID_NOT_FOUND"), transactional_id=name, transaction_state="", transaction_timeout_ms=0,
            transaction_start_time_ms=-1, producer_id=-1, producer_epoch=-1, topics=[],
        )  # fmt: skip
    topics = [
        kind.TopicData(topic=topic, partitions=[number for _, number in rows])
        for topic, rows in groupby(sorted(one.left or one.partitions), key=lambda key: key[0])
    ]
    return kind(
        error_code=0, transactional_id=name, transaction_state=one.state, transaction_timeout_ms=int(one.timeout * 1000),
        transaction_start_time_ms=-1 if one.started_at < 0 else int(one.started_at * 1000), producer_id=one.producer_id,
        producer_epoch=one.producer_epoch, topics=topics if one.started_at >= 0 else [],
    )  # fmt: skip


def _coordinated(broker: Broker) -> dict[str, Transaction]:
    transactions = broker.cluster.transactions
    return transactions.by_id if transactions.coordinator == broker.node_id else {}
