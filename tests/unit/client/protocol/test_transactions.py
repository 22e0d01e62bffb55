# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KIP-664's messages: what goes over the wire, and answers as plain data."""

from __future__ import annotations

from kafka.protocol.admin import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import transactions
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import UNENDED, Producer, Transaction

LOADING, AUTHORIZATION_FAILED, NOT_FOUND = 14, 53, 105


def test_leaders_are_asked_for_the_producers_of_many_partitions() -> None:
    request = transactions.describe_producers([("a", 1), ("b", 0), ("a", 2)])
    again = DescribeProducersRequest.decode(bytes(request.encode(version=0)), version=0)
    assert [(topic.name, topic.partition_indexes) for topic in again.topics] == [("a", [1, 2]), ("b", [0])]


def test_producers_come_back_with_the_start_of_their_transaction() -> None:
    topic = DescribeProducersResponse.TopicResponse
    row = topic.PartitionResponse
    one = row.ProducerState(
        producer_id=4000, producer_epoch=2, last_sequence=9, last_timestamp=123, coordinator_epoch=0, current_txn_start_offset=97
    )
    reported = [
        row(partition_index=0, error_code=0, error_message=None, active_producers=[one]),
        row(partition_index=1, error_code=6, error_message="moved", active_producers=[]),
    ]
    answer = DescribeProducersResponse(throttle_time_ms=0, topics=[topic(name="t", partitions=reported)])
    again = DescribeProducersResponse.decode(bytes(answer.encode(version=0)), version=0)
    assert list(transactions.read_producers(again)) == [
        (("t", 0), None, [Producer(4000, 2, 123, 97)]),
        (("t", 1), "NOT_LEADER_OR_FOLLOWER", []),
    ]


def test_transactions_are_listed_by_state_or_by_producer() -> None:
    for version in (0, 1, 2):
        every = ListTransactionsRequest.decode(bytes(transactions.list_transactions().encode(version=version)), version=version)
        assert (every.state_filters, every.producer_id_filters) == (list(UNENDED), [])
        some = ListTransactionsRequest.decode(bytes(transactions.list_transactions([7, 9]).encode(version=version)), version=version)
        assert (some.state_filters, some.producer_id_filters) == ([], [7, 9])


def test_a_coordinator_that_is_still_loading_is_not_one_without_transactions() -> None:
    kind = ListTransactionsResponse.TransactionState
    listed = [kind(transactional_id="payments-1", producer_id=4000, transaction_state="Ongoing")]
    answer = ListTransactionsResponse(throttle_time_ms=0, error_code=LOADING, unknown_state_filters=[], transaction_states=listed)
    again = ListTransactionsResponse.decode(bytes(answer.encode(version=2)), version=2)
    error, names = transactions.read_listed(again)
    assert (error, names) == (transactions.error_name(LOADING), ["payments-1"])
    assert error is not None


def test_transactions_come_back_whole_and_refusals_by_name() -> None:
    request = transactions.describe_transactions(["a", "b"])
    assert DescribeTransactionsRequest.decode(bytes(request.encode(version=0)), version=0).transactional_ids == ["a", "b"]
    kind = DescribeTransactionsResponse.TransactionState

    def row(name: str, error: int) -> DescribeTransactionsResponse:
        topics = [kind.TopicData(topic="t", partitions=[0, 3])]
        return kind(
            error_code=error, transactional_id=name, transaction_state="Ongoing", transaction_timeout_ms=60_000,
            transaction_start_time_ms=5, producer_id=4000, producer_epoch=2, topics=topics,
        )  # fmt: skip

    reported = [row("a", 0), row("b", AUTHORIZATION_FAILED), row("c", NOT_FOUND)]
    answer = DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=reported)
    again = DescribeTransactionsResponse.decode(bytes(answer.encode(version=0)), version=0)
    found, refused = transactions.read_described(again)
    assert found == [Transaction("a", "Ongoing", 4000, 2, 60_000, 5, frozenset({("t", 0), ("t", 3)}))]
    assert refused == {"b": "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}, "one that has ended meanwhile was not refused"
