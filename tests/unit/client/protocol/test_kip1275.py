# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KIP-1275's messages: byte by byte what its text and the protocol guide say, and nothing else is taken for one of them.

The guide's encoding of flexible versions: an array or a string begins with its length + 1 as an unsigned varint (7 bits per byte, lowest first, the
high bit says that more follow), 0 is null; numbers are big-endian; a uuid is its 16 bytes; a structure ends with the number of its tagged fields.
"""

from __future__ import annotations

import base64
import struct
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.errors import KafkaProtocolError
from kafka.protocol.admin import ElectLeadersRequest, ElectLeadersResponse
from kafka.protocol.parser import KafkaProtocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import kip1275, topic_rows
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.kip1275 import (
    LogInfoPage,
    MessageError,
    ReplicaLogInfo,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal

TOPIC_ID = "AAECAwQFBgcICQoLDA0ODw"  # the bytes 00 01 02 ... 0f
LogInfoRequest, LogInfoResponse = kip1275.log_info_messages(93)


def hexed(text: str) -> bytes:
    """Bytes of lines of hexadecimal digits, each with a comment."""
    return bytes.fromhex("".join(line.partition("#")[0] for line in text.splitlines()))


LOG_INFO_REQUEST = hexed(
    """
    02                                  # TopicPartitions: 1 + 1
    00010203 04050607 08090a0b 0c0d0e0f # TopicId
    03                                  # Partitions: 2 + 1
    00000000                            # 0
    00000103                            # 259
    00                                  # no tagged fields of the topic
    00                                  # none of the request
    """
)
LOG_INFO_RESPONSE = hexed(
    """
    000003e8                            # ThrottleTimeMs 1000
    00000000 00001388                   # BrokerEpoch 5000
    01                                  # HasMoreData
    02                                  # TopicPartitionLogInfoList: 1 + 1
    00010203 04050607 08090a0b 0c0d0e0f # TopicId
    03                                  # PartitionLogInfo: 2 + 1
    00000000                            # Partition 0
    00000007                            # PartitionLeaderEpoch 7
    00000001 00000000                   # LogEndOffset 2 to the power of 32
    0000                                # ErrorCode
    00                                  # no tagged fields of the partition
    00000103                            # Partition 259
    ffffffff                            # PartitionLeaderEpoch -1
    ffffffff ffffffff                   # LogEndOffset -1
    0038                                # ErrorCode 56, KAFKA_STORAGE_ERROR
    00                                  # no tagged fields of the partition
    00                                  # none of the topic
    00                                  # none of the response
    """
)
ELECT_REQUEST = hexed(
    """
    02                                  # ElectionType 2: designated
    03                                  # TopicPartitions: 2 + 1
    07 6f7264657273                     # Topic: 6 + 1, orders
    03                                  # Partitions: 2 + 1
    00000003 00000000                   # 3 and 0
    03                                  # DesignatedLeaders: 2 + 1, by the same index
    00000002 00000004                   # 2 for partition 3, 4 for partition 0
    00                                  # no tagged fields of the topic
    02 62                               # Topic: 1 + 1, b
    02 00000001                         # Partitions: 1 + 1, 1
    02 00000003                         # DesignatedLeaders: 1 + 1, 3
    00                                  # no tagged fields of the topic
    00002710                            # TimeoutMs 10000
    00                                  # no tagged fields of the request
    """
)
ELECT_RESPONSE = hexed(
    """
    00000000                            # ThrottleTimeMs
    0000                                # ErrorCode
    02                                  # ReplicaElectionResults: 1 + 1
    07 6f7264657273                     # Topic: 6 + 1, orders
    04                                  # PartitionResult: 3 + 1
    00000003 0000 00 00                 # PartitionId 3, no error, ErrorMessage null, no tagged fields
    00000000 0054 03 6e6f 00            # PartitionId 0, 84 is ELECTION_NOT_NEEDED, "no", no tagged fields
    00000001 0089 01 00                 # PartitionId 1, 137 is REQUEST_LIMIT_REACHED, "", no tagged fields
    00                                  # no tagged fields of the topic
    00                                  # none of the response
    """
)


def test_get_replica_log_info_is_written_as_the_kip_gives_it() -> None:
    assert bytes(kip1275.get_replica_log_info({TOPIC_ID: [0, 259]}, 93).encode(version=0)) == LOG_INFO_REQUEST


def test_get_replica_log_info_is_read_as_the_kip_gives_it() -> None:
    (topic,) = LogInfoRequest.decode(LOG_INFO_REQUEST, version=0).topic_partitions
    assert (topic.topic_id.bytes, topic.partitions) == (bytes(range(16)), [0, 259])


def test_an_answer_to_get_replica_log_info_is_read_as_the_kip_gives_it() -> None:
    page = kip1275.read_replica_log_info(LogInfoResponse[0].decode(LOG_INFO_RESPONSE))
    rows = {(TOPIC_ID, 0): ReplicaLogInfo(None, 2**32, 7), (TOPIC_ID, 259): ReplicaLogInfo("KAFKA_STORAGE_ERROR", -1, -1)}
    assert page == LogInfoPage(broker_epoch=5000, has_more_data=True, throttle_time_ms=1000, rows=rows)


def test_an_answer_to_get_replica_log_info_is_written_as_the_kip_gives_it() -> None:
    assert bytes(LogInfoResponse.decode(LOG_INFO_RESPONSE, version=0).encode()) == LOG_INFO_RESPONSE


def test_the_designated_election_is_written_as_the_kip_gives_it_with_leaders_matched_by_index() -> None:
    request = kip1275.elect_designated({("orders", 3): 2, ("b", 1): 3, ("orders", 0): 4}, 10_000)
    assert bytes(request.encode(version=3)) == ELECT_REQUEST
    assert request._min_version == 3  # an older broker must never take it for the election of any live replica


def test_the_designated_election_is_read_as_the_kip_gives_it() -> None:
    request = kip1275.ElectDesignatedRequest.decode(ELECT_REQUEST, version=3)
    assert (request.election_type, request.timeout_ms) == (2, 10_000)
    reported = [(topic.topic, topic.partitions, topic.designated_leaders) for topic in request.topic_partitions]
    assert reported == [("orders", [3, 0], [2, 4]), ("b", [1], [3])]


def test_the_answer_to_an_election_is_that_of_v2_both_ways() -> None:
    answer = kip1275.ElectDesignatedResponse[3].decode(ELECT_RESPONSE)
    assert bytes(answer.encode()) == ELECT_RESPONSE == bytes(ElectLeadersResponse.decode(ELECT_RESPONSE, version=2).encode())
    elected = {
        ("orders", 3): None,
        ("orders", 0): Refusal("ELECTION_NOT_NEEDED", "no"),
        ("orders", 1): Refusal("REQUEST_LIMIT_REACHED", None),
    }
    assert kip1275.read_designated_election(answer) == elected


def test_the_numbers_that_no_release_has_fixed_are_the_callers() -> None:
    (_, kind) = kip1275.log_info_messages(93)
    row = kind.TopicPartitionLogInfo.PartitionLogInfo(partition=0, partition_leader_epoch=-1, log_end_offset=-1, error_code=1001)
    topics = [kind.TopicPartitionLogInfo(topic_id=uuid.UUID(bytes=bytes(range(16))), partition_log_info=[row])]
    answer = kind(throttle_time_ms=0, broker_epoch=1, has_more_data=False, topic_partition_log_info_list=topics)
    assert kip1275.read_replica_log_info(answer, 1001).rows[TOPIC_ID, 0].error == "REQUEST_LIMIT_REACHED"
    assert kip1275.read_replica_log_info(answer).rows[TOPIC_ID, 0].error == "UNKNOWN_1001"
    elected = kip1275.ElectDesignatedResponse[3].decode(ELECT_RESPONSE)
    assert kip1275.read_designated_election(elected, 84)["orders", 0] == Refusal("REQUEST_LIMIT_REACHED", "no")
    assert kip1275.elect_designated({("b", 1): 3}, 10_000, 7).election_type == 7


def test_null_stands_for_no_topics_and_for_no_designated_leaders() -> None:
    nothing = kip1275.ElectDesignatedRequest(election_type=2, topic_partitions=None, timeout_ms=1)
    assert bytes(nothing.encode(version=3)) == hexed("02 00 00000001 00")
    assert kip1275.ElectDesignatedRequest.decode(hexed("02 00 00000001 00"), version=3).topic_partitions is None
    undesignated = kip1275.ElectDesignatedRequest(
        election_type=1, topic_partitions=kip1275.designated_topics([("b", [1], None)]), timeout_ms=1
    )
    wire = hexed("01 02 02 62 02 00000001 00 00 00000001 00")
    assert bytes(undesignated.encode(version=3)) == wire
    assert kip1275.ElectDesignatedRequest.decode(wire, version=3).topic_partitions[0].designated_leaders is None
    assert bytes(LogInfoRequest(topic_partitions=None).encode(version=0)) == hexed("00 00")
    assert LogInfoRequest.decode(hexed("00 00"), version=0).topic_partitions is None


def test_older_versions_of_the_election_are_those_of_kafka_python() -> None:
    topics = [("orders", [3, 0])]
    for version in range(3):
        kind = kip1275.ElectDesignatedRequest
        ours = kind(election_type=1, topic_partitions=[kind.TopicPartitions(topic=t, partitions=p) for t, p in topics], timeout_ms=9)
        kind = ElectLeadersRequest
        theirs = kind(election_type=1, topic_partitions=[kind.TopicPartitions(topic=t, partitions=p) for t, p in topics], timeout_ms=9)
        assert bytes(ours.encode(version=version)) == bytes(theirs.encode(version=version))


@pytest.mark.parametrize("leaders", [[], [1], [1, 2, 3]])
def test_a_list_of_leaders_of_another_length_than_that_of_the_partitions_is_refused(leaders: list[int]) -> None:
    with pytest.raises(MessageError, match=f"topic orders has 2 partitions and {len(leaders)} designated leaders"):
        kip1275.designated_topics([("b", [0], [1]), ("orders", [0, 1], leaders)])


def test_what_is_no_topic_id_is_refused() -> None:
    for text in ("", "orders", TOPIC_ID[:-2], TOPIC_ID + "AAAA"):
        with pytest.raises(MessageError, match="is not a valid topic id"):
            kip1275.get_replica_log_info({text: [0]}, 93)


topic_ids = st.uuids().map(lambda value: base64.urlsafe_b64encode(value.bytes).decode().rstrip("="))
int16s, int32s, int64s = (st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (16, 32, 64))
numbers = st.integers(0, 2**31 - 1)


@given(st.dictionaries(topic_ids, st.lists(int32s, max_size=300), max_size=4))
def test_every_request_for_log_info_comes_back(partitions: dict[str, list[int]]) -> None:
    again = LogInfoRequest.decode(bytes(kip1275.get_replica_log_info(partitions, 93).encode(version=0)), version=0)
    assert {topic_rows.topic_id(topic.topic_id or uuid.UUID(int=0)): topic.partitions for topic in again.topic_partitions} == partitions


infos = st.tuples(int16s.filter(lambda code: code != 0), int64s, int32s) | st.tuples(st.just(0), st.integers(0, 2**63 - 1), int32s)
answers = st.dictionaries(topic_ids, st.dictionaries(numbers, infos, max_size=200), max_size=3)


def log_info(rows: dict[str, dict[int, tuple[int, int, int]]], more: bool = False, epoch: int = 1, throttle: int = 0) -> Any:
    kind = LogInfoResponse.TopicPartitionLogInfo
    return LogInfoResponse(
        throttle_time_ms=throttle,
        broker_epoch=epoch,
        has_more_data=more,
        topic_partition_log_info_list=[
            kind(
                topic_id=uuid.UUID(bytes=base64.urlsafe_b64decode(topic + "==")),
                partition_log_info=[
                    kind.PartitionLogInfo(partition=number, partition_leader_epoch=leader_epoch, log_end_offset=end, error_code=code)
                    for number, (code, end, leader_epoch) in reported.items()
                ],
            )
            for topic, reported in rows.items()
        ],
    )


@given(answers, st.booleans(), int64s, numbers)
def test_every_log_info_comes_back(rows: dict[str, dict[int, tuple[int, int, int]]], more: bool, epoch: int, throttle: int) -> None:
    wire = bytes(log_info(rows, more, epoch, throttle).encode(version=0))
    page = kip1275.read_replica_log_info(LogInfoResponse[0].decode(wire))
    reported = {
        (topic, number): (kip1275.error_name(code), end, leader_epoch)
        for topic, partitions in rows.items()
        for number, (code, end, leader_epoch) in partitions.items()
    }
    assert page == LogInfoPage(epoch, more, throttle, {key: ReplicaLogInfo(*row) for key, row in reported.items()})


@given(st.dictionaries(st.tuples(st.text(max_size=200), numbers), int32s, max_size=50), numbers)
def test_every_designated_election_comes_back(leaders: dict[tuple[str, int], int], timeout_ms: int) -> None:
    again = kip1275.ElectDesignatedRequest.decode(bytes(kip1275.elect_designated(leaders, timeout_ms).encode(version=3)), version=3)
    assert again.timeout_ms == timeout_ms
    assert {
        (topic.topic, number): leader
        for topic in again.topic_partitions
        for number, leader in zip(topic.partitions, topic.designated_leaders, strict=True)
    } == leaders


@pytest.mark.parametrize("wire", [LOG_INFO_RESPONSE, ELECT_RESPONSE], ids=["log info", "election"])
def test_an_answer_that_ends_anywhere_else_is_refused(wire: bytes) -> None:
    kind = LogInfoResponse[0] if wire is LOG_INFO_RESPONSE else kip1275.ElectDesignatedResponse[3]
    for length in range(len(wire)):
        with pytest.raises(MessageError):
            kind.decode(wire[:length])
    with pytest.raises(MessageError, match="2 bytes too many"):
        kind.decode(wire + b"\0\0")


BEFORE_TOPICS = 4 + 8 + 1


@pytest.mark.parametrize(
    "wire",
    [
        pytest.param(LOG_INFO_RESPONSE[:BEFORE_TOPICS] + b"\0\0", id="null for the topics"),
        pytest.param(LOG_INFO_RESPONSE[: BEFORE_TOPICS + 17] + b"\0\0\0", id="null for the partitions"),
        pytest.param(
            LOG_INFO_RESPONSE[:BEFORE_TOPICS] + b"\xff\xff\xff\xff\x0f" + LOG_INFO_RESPONSE[BEFORE_TOPICS + 1 :], id="4 billion topics"
        ),
        pytest.param(LOG_INFO_RESPONSE[:BEFORE_TOPICS] + b"\xff" * 40, id="a length that does not end"),
        pytest.param(LOG_INFO_RESPONSE[:-1] + b"\x01\x05\x64abc", id="a tagged field of 100 bytes that has 3"),
        pytest.param(LOG_INFO_RESPONSE[:-1] + b"\xff\xff\xff\xff\x0f", id="4 billion tagged fields"),
        pytest.param(bytes(ELECT_RESPONSE), id="the answer to an election"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_is_not_exactly_a_log_info_is_refused(wire: bytes) -> None:
    with pytest.raises(MessageError, match="GetReplicaLogInfoResponse v0"):
        LogInfoResponse[0].decode(wire)


def test_a_topic_name_that_is_cut_off_or_no_text_is_refused() -> None:
    for wire in ("00000000 0000 02 ff 6f", "00000000 0000 02 07 6f726465ffff 01 00 00", "00000000 0000 02 00 01 00 00"):
        with pytest.raises(MessageError, match="ElectLeadersResponse v3"):
            kip1275.ElectDesignatedResponse[3].decode(hexed(wire))


def test_tagged_fields_of_later_days_are_skipped() -> None:
    later = LOG_INFO_RESPONSE[:-1] + b"\x01\x05\x03abc"
    assert kip1275.read_replica_log_info(LogInfoResponse[0].decode(later)).broker_epoch == 5000


@given(st.binary(max_size=200) | st.builds(lambda head, tail: LOG_INFO_RESPONSE[:head] + tail, st.integers(0, 70), st.binary(max_size=60)))
def test_whatever_comes_is_read_or_refused(wire: bytes) -> None:
    for kind, read in (
        (LogInfoResponse[0], kip1275.read_replica_log_info),
        (kip1275.ElectDesignatedResponse[3], kip1275.read_designated_election),
    ):
        try:
            read(kind.decode(wire))
        except MessageError as error:
            assert str(error)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (log_info({TOPIC_ID: {0: (0, -1, 3)}}), "log end offset -1 for partition 0"),
        (log_info({TOPIC_ID: {-1: (0, 5, 3)}}), "for partition -1"),
        (log_info({TOPIC_ID: {}}, throttle=-5), "throttle time of -5 ms"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(answer: Any, said: str) -> None:
    with pytest.raises(MessageError, match=said):
        kip1275.read_replica_log_info(answer)


def test_a_repeated_partition_is_refused_and_a_repeated_topic_is_not() -> None:
    answer = log_info({TOPIC_ID: {0: (0, 5, 3)}})
    answer.topic_partition_log_info_list += log_info({TOPIC_ID: {1: (0, 6, 3)}}).topic_partition_log_info_list
    assert len(kip1275.read_replica_log_info(answer).rows) == 2
    answer.topic_partition_log_info_list += log_info({TOPIC_ID: {1: (0, 6, 3)}}).topic_partition_log_info_list
    with pytest.raises(MessageError, match=f"partition 1 of topic id {TOPIC_ID} twice"):
        kip1275.read_replica_log_info(answer)


def exchange(request: Any, version: int, answer: bytes) -> Any:
    """What kafka-python makes of the bytes that answer this request."""
    request.API_VERSION = version
    wire = KafkaProtocol(client_id="test")
    correlation_id = wire.send_request(request)
    body = struct.pack(">i", correlation_id) + answer
    ((_correlation_id, decoded),) = wire.receive_bytes(struct.pack(">i", len(body)) + body)
    return decoded


def test_one_process_speaks_every_version_and_key_side_by_side() -> None:
    """kafka-python knows one class per API key. 43 is ElectLeaders, and whatever key GetReplicaLogInfo gets may be another message's here."""
    flexible = b"\0"  # the tagged fields of the answer's header
    for _again in range(2):
        kind = ElectLeadersRequest
        old = kind(election_type=1, topic_partitions=[kind.TopicPartitions(topic="b", partitions=[1])], timeout_ms=1)
        assert type(exchange(old, 2, flexible + ELECT_RESPONSE)) is ElectLeadersResponse
        new = kip1275.elect_designated({("b", 1): 3}, 1)
        assert type(exchange(new, 3, flexible + ELECT_RESPONSE)) is kip1275.ElectDesignatedResponse
        for api_key in (93, 501, 3):
            asked = kip1275.get_replica_log_info({TOPIC_ID: [0]}, api_key)
            assert api_key == asked.API_KEY
            answer = exchange(asked, 0, flexible + LOG_INFO_RESPONSE)
            assert type(answer) is kip1275.log_info_messages(api_key)[1]


@pytest.mark.parametrize("answer", [b"", b"\0", b"\0" + ELECT_RESPONSE, b"\0" + LOG_INFO_RESPONSE[:-3], LOG_INFO_RESPONSE])
def test_kafka_python_hands_the_refusal_to_the_caller(answer: bytes) -> None:
    """Its connections close themselves over a KafkaProtocolError alone; after any other the caller would wait for its time limit."""
    with pytest.raises(MessageError) as caught:
        exchange(kip1275.get_replica_log_info({TOPIC_ID: [0]}, 93), 0, answer)
    assert isinstance(caught.value, KafkaProtocolError)
    assert "KafkaProtocolError" not in str(caught.value)
