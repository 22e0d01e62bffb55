# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages: what goes over the wire says what the protocol guide says, and answers come back as plain data."""

from __future__ import annotations

import struct
import uuid
from typing import Any

import pytest
from kafka.protocol.admin import (
    DescribeQuorumResponse,
    DescribeTopicPartitionsResponse,
    ElectLeadersResponse,
)
from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse
from kafka.protocol.consumer.offsets import ListOffsetsRequest
from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import core
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import AnswerError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch, read_batch


def header(magic: int = 2, attributes: int = 0, records: int = 5) -> bytes:
    """Of a batch with the offsets 120 to 124, without its records."""
    return struct.pack(">qiibIhiqqqhii", 120, 49, 3, magic, 0xDEADBEEF, attributes, 4, 1000, 2000, -1, -1, -1, records)


def test_a_batch_header_is_read_as_the_message_format_lays_it_out() -> None:
    assert read_batch(header() + b"records") == LastBatch(120, 124, 3, 0xDEADBEEF, 2000)
    assert read_batch(memoryview(header())) == LastBatch(120, 124, 3, 0xDEADBEEF, 2000)


@pytest.mark.parametrize(("attributes", "transactional"), [(0, False), (0b0100, False), (0b1_0000, True), (0b11_0000, True)])
def test_a_batch_of_a_transaction_and_its_marker_are_told_from_others(attributes: int, transactional: bool) -> None:
    batch = read_batch(header(attributes=attributes))
    assert batch is not None
    assert (batch.transactional, batch.cleaned) == (transactional, False)


@pytest.mark.parametrize(("attributes", "records"), [(0, 4), (0, 0), (0b100_0000, 5)])
def test_a_batch_that_the_cleaner_has_rewritten_has_gaps_or_a_time_for_its_tombstones(attributes: int, records: int) -> None:
    batch = read_batch(header(attributes=attributes, records=records))
    assert batch is not None
    assert batch.cleaned


@pytest.mark.parametrize("records", [None, b"", header()[:-1], header(magic=1)])
def test_what_is_no_batch_of_format_v2_is_none(records: bytes | None) -> None:
    assert read_batch(records) is None


def test_fetch_asks_as_a_replica_that_reads_to_the_log_end_and_outside_any_session() -> None:
    request = core.fetch({("orders", 3): 179, ("orders", 1): 7, ("b", 0): 1}, 2048)
    again = FetchRequest.decode(bytes(request.encode(version=12)), version=12)
    assert (again.replica_id, again.session_id, again.session_epoch, again.min_bytes, again.max_wait_ms) == (-3, 0, -1, 0, 0)
    asked = {
        (topic.topic, row.partition): (row.fetch_offset, row.partition_max_bytes, row.current_leader_epoch)
        for topic in again.topics
        for row in topic.partitions
    }
    assert asked == {("orders", 3): (179, 2048, -1), ("orders", 1): (7, 2048, -1), ("b", 0): (1, 2048, -1)}
    assert {row.last_fetched_epoch for topic in again.topics for row in topic.partitions} == {-1}


def test_the_end_of_an_epoch_is_asked_for_as_a_follower_does_that_is_ahead_of_every_log() -> None:
    request = core.fetch_epoch_ends({("orders", 3): 7, ("b", 0): 0}, 2048)
    again = FetchRequest.decode(bytes(request.encode(version=12)), version=12)
    asked = {(topic.topic, row.partition): (row.fetch_offset, row.last_fetched_epoch) for topic in again.topics for row in topic.partitions}
    assert (again.replica_id, asked) == (-3, {("orders", 3): (2**63 - 1, 7), ("b", 0): (2**63 - 1, 0)})


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
    assert core.read_epoch_ends(FetchResponse.decode(bytes(sent.encode(version=12)), version=12)) == {
        ("orders", 0): core.EpochEndAnswer(None, 4, 101),
        ("orders", 1): core.EpochEndAnswer("OFFSET_OUT_OF_RANGE", None, None),
        ("orders", 2): core.EpochEndAnswer(None, None, None),
    }


def test_list_offsets_asks_as_a_debugging_replica() -> None:
    request = core.list_offsets([("orders", 3)])
    assert (request._min_version, request._max_version) == (4, 5)
    again = ListOffsetsRequest.decode(bytes(request.encode(version=5)), version=5)
    row = again.topics[0].partitions[0]
    assert (again.replica_id, again.isolation_level, row.partition_index, row.timestamp) == (-2, 0, 3, -1)


def test_error_codes_have_the_names_that_kafka_gives_them() -> None:
    names = {code: core.error_name(code) for code in (-1, 0, 3, 6, 10, 17, 31, 39, 56, 83, 84, 136)}
    assert names == {
        -1: "UNKNOWN_SERVER_ERROR",
        0: None,
        3: "UNKNOWN_TOPIC_OR_PARTITION",
        6: "NOT_LEADER_OR_FOLLOWER",
        10: "MESSAGE_TOO_LARGE",
        17: "INVALID_TOPIC_EXCEPTION",
        31: "CLUSTER_AUTHORIZATION_FAILED",
        39: "INVALID_REPLICA_ASSIGNMENT",
        56: "KAFKA_STORAGE_ERROR",
        83: "ELIGIBLE_LEADERS_NOT_AVAILABLE",
        84: "ELECTION_NOT_NEEDED",
        136: "UNKNOWN_136",
    }


def test_an_error_of_a_fetch_comes_back_by_name() -> None:
    topic = FetchResponse.FetchableTopicResponse
    answer = FetchResponse(
        responses=[
            topic(topic="orders", partitions=[topic.PartitionData(partition_index=0, error_code=1, high_watermark=-1, log_start_offset=-1)])
        ]
    )
    assert core.read_batches(answer) == {("orders", 0): core.FetchedBatch("OFFSET_OUT_OF_RANGE", -1, -1, None)}


def test_vote_versions_are_what_a_controller_offers() -> None:
    def offered(*rows: tuple[int, int, int]) -> Any:
        kind = ApiVersionsResponse.ApiVersion
        return ApiVersionsResponse(api_keys=[kind(api_key=key, min_version=low, max_version=high) for key, low, high in rows])

    assert core.read_vote_versions(offered((1, 4, 17), (52, 0, 2))) == (0, 2)
    assert core.read_vote_versions(offered((1, 4, 17))) is None  # a broker


def test_a_feature_is_off_where_it_is_not_finalized_and_unknown_where_a_broker_does_not_tell() -> None:
    def told(epoch: int, version: int = 4) -> Any:
        row = ApiVersionsResponse.FinalizedFeatureKey(name="eligible.leader.replicas.version", max_version_level=1, min_version_level=1)
        sent = ApiVersionsResponse(api_keys=[], finalized_features_epoch=epoch, finalized_features=[row]).encode(version=version)
        return ApiVersionsResponse.decode(bytes(sent), version=version)

    assert core.read_feature_level(told(7), "eligible.leader.replicas.version") == 1
    assert core.read_feature_level(told(7), "group.version") == 0
    assert core.read_feature_level(told(-1), "eligible.leader.replicas.version") is None
    assert core.read_feature_level(told(7, version=2), "eligible.leader.replicas.version") is None


def described(**fields: Any) -> Any:
    """A DescribeTopicPartitions answer with one partition."""
    topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
    given = {"partition_index": 0, "leader_id": 1, "leader_epoch": 0, "replica_nodes": [1], "isr_nodes": [1], "offline_replicas": []}
    name, identity = fields.pop("name", "orders"), fields.pop("topic_id", uuid.UUID(int=7))
    row = topic.DescribeTopicPartitionsResponsePartition(**{**given, **fields})
    return DescribeTopicPartitionsResponse(topics=[topic(name=name, topic_id=identity, partitions=[row])])


def test_a_topic_id_of_zeros_is_an_id() -> None:
    (state,) = core.read_topic_partitions(described(topic_id=None))
    assert state.topic_id == "A" * 22


@pytest.mark.parametrize(
    "fields",
    [{"name": None}, {"name": "a\x1b[2J"}, {"name": "x" * 250}, {"partition_index": -1}, {"replica_nodes": []}, {"replica_nodes": [1, -1]}]
    + [{name: ids} for name in ("replica_nodes", "isr_nodes", "offline_replicas", "last_known_elr") for ids in ([1, 1], list(range(33)))],
)
def test_a_partition_that_no_cluster_has_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(AnswerError, match="a broker describes partition"):
        core.read_topic_partitions(described(**fields))


@pytest.mark.parametrize("ids", [[1, 1], [-1, 2], list(range(3_000))])
def test_brokers_that_no_cluster_has_are_refused(ids: list[int]) -> None:
    row = MetadataResponse.MetadataResponseBroker
    answer = MetadataResponse(brokers=[row(node_id=number, host="h", port=9092, rack=None) for number in ids])
    with pytest.raises(AnswerError, match=f"names {len(ids)} brokers"):
        core.read_nodes(answer)


@pytest.mark.parametrize(("host", "rack"), [("h" * 256, None), ("h", "r" * 256)])
def test_brokers_with_names_beyond_any_are_refused(host: str, rack: str | None) -> None:
    answer = MetadataResponse(brokers=[MetadataResponse.MetadataResponseBroker(node_id=7, host=host, port=9092, rack=rack)])
    with pytest.raises(AnswerError, match=r"gives broker 7 a host of .* the limit is 255"):
        core.read_nodes(answer)


@pytest.mark.parametrize("partitions", [None, 0, 2])
def test_a_quorum_without_its_log_is_refused(partitions: int | None) -> None:
    topic = DescribeQuorumResponse.TopicData
    topics = [] if partitions is None else [topic(topic_name="__cluster_metadata", partitions=[topic.PartitionData()] * partitions)]
    with pytest.raises(AnswerError, match=r"has [0-9]+ topics"):
        core.quorum_error(DescribeQuorumResponse(error_code=0, topics=topics))


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (None, None),
        ("", None),
        ("Not now.", "Not now."),
        ("a\x1b[2J\nb", "a\\x1b[2J\\nb"),
        ("x" * 300, "x" * 300),
        ("x" * 301, "x" * 299 + "…"),
        ("\0" * 5_000_000, ("\\x00" * 75)[:299] + "…"),
    ],
)
def test_what_kafka_says_beside_an_error_is_one_line_of_bounded_length(said: str | None, kept: str | None) -> None:
    results = ElectLeadersResponse.ReplicaElectionResult
    elected = results.PartitionResult(partition_id=0, error_code=83, error_message=said)
    election = ElectLeadersResponse(replica_election_results=[results(topic="a", partition_result=[elected])])
    assert core.read_election(election) == {("a", 0): Refusal("ELIGIBLE_LEADERS_NOT_AVAILABLE", kept)}


@pytest.mark.parametrize(
    ("error", "retriable"),
    [
        ("NOT_CONTROLLER", True),
        ("REQUEST_TIMED_OUT", True),
        ("NOT_LEADER_OR_FOLLOWER", True),
        ("KAFKA_STORAGE_ERROR", True),
        ("CLUSTER_AUTHORIZATION_FAILED", False),
        ("UNSUPPORTED_VERSION", False),
        ("UNKNOWN_SERVER_ERROR", False),
        ("UNKNOWN_137", False),
        ("", False),
    ],
)
def test_errors_are_tried_again_as_kafkas_clients_do(error: str, retriable: bool) -> None:
    assert core.is_retriable(error) == retriable
