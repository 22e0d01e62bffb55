# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ListOffsets and Fetch: what requests have on the wire, and answers as plain data."""

from __future__ import annotations

from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse
from kafka.protocol.consumer.offsets import ListOffsetsRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import replica_log_fetch


def test_fetch_asks_as_a_replica_that_reads_to_the_log_end_and_outside_any_session() -> None:
    request = replica_log_fetch.fetch({("orders", 3): 179, ("orders", 1): 7, ("b", 0): 1}, 2048)
    again = FetchRequest.decode(bytes(request.encode(version=12)), version=12)
    assert (again.replica_id, again.session_id, again.session_epoch, again.min_bytes, again.max_wait_ms) == (-3, 0, -1, 0, 0)
    requested = {
        (topic.topic, row.partition): (row.fetch_offset, row.partition_max_bytes, row.current_leader_epoch)
        for topic in again.topics
        for row in topic.partitions
    }
    assert requested == {("orders", 3): (179, 2048, -1), ("orders", 1): (7, 2048, -1), ("b", 0): (1, 2048, -1)}
    assert {row.last_fetched_epoch for topic in again.topics for row in topic.partitions} == {-1}


def test_the_end_of_an_epoch_is_asked_for_as_a_follower_does_that_is_ahead_of_every_log() -> None:
    request = replica_log_fetch.fetch_epoch_ends({("orders", 3): 7, ("b", 0): 0}, 2048)
    again = FetchRequest.decode(bytes(request.encode(version=12)), version=12)
    requested = {
        (topic.topic, row.partition): (row.fetch_offset, row.last_fetched_epoch) for topic in again.topics for row in topic.partitions
    }
    assert (again.replica_id, requested) == (-3, {("orders", 3): (2**63 - 1, 7), ("b", 0): (2**63 - 1, 0)})


def test_the_end_of_an_epoch_comes_back_as_the_diverging_epoch() -> None:
    topic = FetchResponse.FetchableTopicResponse
    rows = [
        {"partition_index": 0, "error_code": 0, "diverging_epoch": topic.PartitionData.EpochEndOffset(epoch=4, end_offset=101)},
        {"partition_index": 1, "error_code": 1},
        {"partition_index": 2, "error_code": 0},
    ]
    empty = {"high_watermark": -1, "log_start_offset": -1, "aborted_transactions": [], "preferred_read_replica": -1, "records": b""}
    sent = FetchResponse(
        throttle_time_ms=0,
        error_code=0,
        session_id=0,
        responses=[topic(topic="orders", partitions=[topic.PartitionData(**empty, **row) for row in rows])],
    )
    assert replica_log_fetch.read_epoch_ends(FetchResponse.decode(bytes(sent.encode(version=12)), version=12)) == {
        ("orders", 0): replica_log_fetch.EpochEndAnswer(None, 4, 101),
        ("orders", 1): replica_log_fetch.EpochEndAnswer("OFFSET_OUT_OF_RANGE", None, None),
        ("orders", 2): replica_log_fetch.EpochEndAnswer(None, None, None),
    }


def test_list_offsets_asks_as_a_debugging_replica() -> None:
    request = replica_log_fetch.list_offsets([("orders", 3)])
    assert (request._min_version, request._max_version) == (4, 5)
    again = ListOffsetsRequest.decode(bytes(request.encode(version=5)), version=5)
    row = again.topics[0].partitions[0]
    assert (again.replica_id, again.isolation_level, row.partition_index, row.timestamp) == (-2, 0, 3, -1)


def test_an_error_of_a_fetch_comes_back_by_name() -> None:
    topic = FetchResponse.FetchableTopicResponse
    answer = FetchResponse(
        responses=[
            topic(topic="orders", partitions=[topic.PartitionData(partition_index=0, error_code=1, high_watermark=-1, log_start_offset=-1)])
        ]
    )
    assert replica_log_fetch.read_batches(answer) == {("orders", 0): replica_log_fetch.FetchedBatch("OFFSET_OUT_OF_RANGE", -1, -1, None)}
