# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What consumers send: as a consumer, and a canary that brokers take."""

from __future__ import annotations

import pytest
from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse
from kafka.protocol.consumer.offsets import ListOffsetsRequest, OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from kafka.protocol.producer.produce import ProduceRequest, ProduceResponse
from kafka.record.memory_records import MemoryRecords

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import consumers, error_codes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.consumers import CanaryResult
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumers import EpochEnd
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import read_batch


def test_offsets_are_those_that_consumers_see() -> None:
    request = consumers.list_offsets([("t", 3)], consumers.EARLIEST, consumers.READ_COMMITTED)
    again = ListOffsetsRequest.decode(bytes(request.encode(version=7)), version=7)
    row = again.topics[0].partitions[0]
    assert (again.replica_id, again.isolation_level, row.partition_index, row.timestamp) == (-1, 1, 3, -2)


def test_a_partition_is_fetched_back_as_a_consumer_would() -> None:
    again = FetchRequest.decode(bytes(consumers.fetch_back({("t", 3): 120}, 2048).encode(version=12)), version=12)
    assert (again.replica_id, again.isolation_level, again.topics[0].partitions[0].fetch_offset) == (-1, 0, 120)


@pytest.mark.parametrize(
    ("error", "stable", "aborted", "expected"),
    [
        (0, 30, [(4, 11)], 11),
        (0, 30, [(5, 11)], -1),
        (0, 30, None, -1),
        (0, 22, [], None),  # a transaction before it is open
        (6, 30, [(4, 11)], None),
        (0, 30, [(4, 23)], -1),
        (0, 30, [(4, -7)], -1),
    ],
)
def test_a_leader_says_where_an_aborted_transaction_begins(
    error: int, stable: int, aborted: list[tuple[int, int]] | None, expected: int | None
) -> None:
    request = consumers.fetch_aborted(("t", 3), 22)
    again = FetchRequest.decode(bytes(request.encode(version=12)), version=12)
    assert (again.replica_id, again.isolation_level, again.topics[0].partitions[0].fetch_offset) == (-1, 1, 22)

    topic = FetchResponse.FetchableTopicResponse
    kind = topic.PartitionData
    rows = None if aborted is None else [kind.AbortedTransaction(producer_id=pid, first_offset=first) for pid, first in aborted]
    row = kind(
        partition_index=3, error_code=error, high_watermark=30, last_stable_offset=stable, log_start_offset=0, aborted_transactions=rows,
        preferred_read_replica=-1, records=b"",
    )  # fmt: skip
    answer = FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=[topic(topic="t", partitions=[row])])
    read = FetchResponse.decode(bytes(answer.encode(version=12)), version=12)
    assert consumers.read_aborted(4, 22, read) == {("t", 3): expected}


def test_ends_of_epochs_are_asked_and_read_by_partition() -> None:
    request = consumers.epoch_ends({("t", 3): 2, ("t", 1): 5, ("u", 0): 0})
    again = OffsetForLeaderEpochRequest.decode(bytes(request.encode(version=4)), version=4)
    asked = {
        (topic.topic, row.partition): (row.leader_epoch, row.current_leader_epoch) for topic in again.topics for row in topic.partitions
    }
    assert (again.replica_id, asked) == (-1, {("t", 3): (2, -1), ("t", 1): (5, -1), ("u", 0): (0, -1)})

    topic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
    reported = [
        topic.EpochEndOffset(error_code=0, partition=3, leader_epoch=1, end_offset=100),
        topic.EpochEndOffset(error_code=0, partition=1, leader_epoch=-1, end_offset=-1),
        topic.EpochEndOffset(error_code=6, partition=2, leader_epoch=1, end_offset=7),
    ]
    answer = OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=[topic(topic="t", partitions=reported)])
    again = OffsetForLeaderEpochResponse.decode(bytes(answer.encode(version=4)), version=4)
    assert list(consumers.read_epoch_ends(again)) == [(("t", 3), EpochEnd(1, 100))]


def test_a_canary_is_one_record_with_a_key_for_the_whole_isr() -> None:
    request = consumers.canaries([("t", 0), ("t", 4)], "who and when", 800)
    for version in (9, 12):
        again = ProduceRequest.decode(bytes(request.encode(version=version)), version=version)
        assert (again.acks, again.timeout_ms, again.transactional_id) == (-1, 800, None)
        (topic,) = again.topic_data
        assert (topic.name, [row.index for row in topic.partition_data]) == ("t", [0, 4])
        batch = MemoryRecords(bytes(topic.partition_data[1].records)).next_batch()
        assert batch.validate_crc() and batch.magic == 2
        assert [(record.key, record.value) for record in batch] == [(consumers.CANARY_KEY, b"who and when")]
    written = read_batch(consumers._records("x"))
    assert written is not None and (written.base_offset, written.last_offset, written.transactional) == (0, 0, False)


def test_canaries_come_back_with_offsets_or_errors() -> None:
    topic = ProduceResponse.TopicProduceResponse
    reported = [topic.PartitionProduceResponse(index=number, error_code=error, base_offset=7) for number, error in ((0, 0), (1, 19))]
    answer = ProduceResponse(responses=[topic(name="t", partition_responses=reported)], throttle_time_ms=0)
    again = ProduceResponse.decode(bytes(answer.encode(version=9)), version=9)
    assert consumers.read_canaries(again) == {("t", 0): CanaryResult(None, 7), ("t", 1): CanaryResult(error_codes.error_name(19), 7)}
