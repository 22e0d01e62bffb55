# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rig's gateways: what they add is true of the real brokers, what they do to the cluster follows KIP-1275's rules, all else is passed on."""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from integration import damaged
from integration.requestlog import RequestLog
from kafka.errors import KafkaProtocolError
from kafka.protocol.admin import DescribeClusterRequest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import api_versions, error_codes, kip1275, topic_rows
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from rig import Damage, KafkaCluster
from rig.gateway_rules import ELECTION, LOG_INFO, LOG_INFO_KEY, Fault
from rig.rpc import Unanswered, ask

SECONDS = 30.0
AHEAD, BEHIND, LOST, RETURNING = 2, 3, 1, 4
TOPIC = damaged.GATEWAYS

TopicPartition = tuple[str, int]


def through(cluster: KafkaCluster, request: Any, version: int | None = None, broker: int = AHEAD) -> Any:
    """Ask a gateway."""
    if version is not None:
        request.API_VERSION = version
    return ask(("127.0.0.1", cluster.gateways.ports[broker]), request, SECONDS)


def directly(cluster: KafkaCluster, request: Any, broker: int = AHEAD) -> Any:
    """Ask the broker behind it, on the same listener."""
    return ask(("127.0.0.1", cluster.brokers[broker].more_ports["GATEWAY"]), request, SECONDS)


def topic_id(cluster: KafkaCluster, topic: str) -> str:
    answer = directly(cluster, MetadataRequest[12](topics=[MetadataRequest.MetadataRequestTopic(topic_id=None, name=topic)]))
    return topic_rows.topic_id(answer.topics[0].topic_id)


def log_info(
    cluster: KafkaCluster, partitions: Mapping[str, Sequence[int]], broker: int = AHEAD, api_key: int = LOG_INFO_KEY
) -> kip1275.LogInfoPage:
    return kip1275.read_replica_log_info(through(cluster, kip1275.get_replica_log_info(partitions, api_key), 0, broker))


def elect(cluster: KafkaCluster, leaders: Mapping[TopicPartition, int]) -> dict[TopicPartition, str | None]:
    answer = through(cluster, kip1275.elect_designated(leaders, 10_000), 3)
    assert answer.error_code == 0
    return errors(kip1275.read_designated_election(answer))


def errors(answered: Mapping[TopicPartition, Refusal | None]) -> dict[TopicPartition, str | None]:
    """Kafka's names of errors."""
    return {key: refused and refused.error for key, refused in answered.items()}


def test_every_version_of_api_versions_offers_both_messages_and_what_the_broker_offers(damage: Damage) -> None:
    cluster = damage.cluster
    for version in range(5):
        requests = [ApiVersionsRequest[version](client_software_name="test", client_software_version="1") for _ in range(3)]
        real = directly(cluster, requests[0])
        native = {**api_versions.read_versions(real), LOG_INFO_KEY: (0, 0), 43: (0, 3)}
        answer = through(cluster, requests[1])
        assert api_versions.read_versions(answer) == native
        if version >= 3:
            reported = [(row.name, row.max_version_level) for row in real.finalized_features]
            assert [(row.name, row.max_version_level) for row in answer.finalized_features] == reported != []
        with cluster.gateways.with_rules([AHEAD], log_info=False, elections=False):
            assert api_versions.read_versions(through(cluster, requests[2])) == api_versions.read_versions(real)


def test_answers_to_unknown_versions_and_to_everything_else_are_passed_on_as_they_are(damage: Damage) -> None:
    cluster = damage.cluster
    frame = struct.pack(">hhih", 18, 99, 7, 4) + b"test" + b"\0\5test\0021\0"
    answers = []
    for port in (cluster.gateways.ports[AHEAD], cluster.brokers[AHEAD].more_ports["GATEWAY"]):
        with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
            connection.sendall(struct.pack(">i", len(frame)) + frame)
            answers.append(connection.recv(1 << 16))
    assert answers[0] == answers[1], "clients begin with the newest version that they know"
    assert struct.unpack_from(">h", answers[0], 8) == (35,)  # UNSUPPORTED_VERSION

    nodes = through(cluster, DescribeClusterRequest[0](include_cluster_authorized_operations=False)).brokers
    assert {node.broker_id: node.port for node in nodes} == {broker: cluster.gateways.ports[broker] for broker in (AHEAD, BEHIND)}
    client = AdminClient({"bootstrap.servers": cluster.gateway_servers, "log_level": 2})
    assert TOPIC in client.list_topics(timeout=SECONDS).topics


def test_log_info_is_what_the_broker_itself_says(damage: Damage) -> None:
    cluster, topic = damage.cluster, topic_id(damage.cluster, TOPIC)
    unknown = "AAECAwQFBgcICQoLDA0ODw"
    for broker in (AHEAD, BEHIND):
        page = log_info(cluster, {topic: [0, 1, 2, 3, 77], unknown: [0]}, broker)
        real = cluster.log_end_offsets(broker, [(TOPIC, partition) for partition in range(4)])
        assert {key[1]: row.log_end_offset for key, row in page.rows.items() if not row.error} == {key[1]: end for key, end in real.items()}
        states = cluster.describe(TOPIC)
        assert {row.partition_leader_epoch for row in page.rows.values() if not row.error} == {state.leader_epoch for state in states}
        errors = {key: row.error for key, row in page.rows.items() if row.error}
        assert errors == {(topic, 77): "UNKNOWN_TOPIC_OR_PARTITION", (unknown, 0): "UNKNOWN_TOPIC_ID"}
        registered = re.findall(rf"Successfully registered broker {broker} with broker epoch (\d+)", cluster.log_file(broker).read_text())
        assert (page.broker_epoch, page.has_more_data, page.throttle_time_ms) == (int(registered[-1]), False, 0)
    nowhere = topic_id(cluster, damaged.NOBODY)
    assert log_info(cluster, {nowhere: [0]}).rows[nowhere, 0].error == "NOT_LEADER_OR_FOLLOWER"


def test_log_info_ends_with_its_page_and_keeps_its_rules(damage: Damage) -> None:
    cluster, topic = damage.cluster, topic_id(damage.cluster, TOPIC)
    cluster.gateways.served()
    with cluster.gateways.with_rules(
        log_info_limit=3, throttle_time_ms=50, broker_epoch=7, api_key=501, errors={(TOPIC, 0): 56}, limited=frozenset({(TOPIC, 1)})
    ):
        page = log_info(cluster, {topic: [0, 1, 2, 3]}, api_key=501)
        assert (page.has_more_data, page.throttle_time_ms, page.broker_epoch) == (True, 50, 7)
        assert {key[1]: row.error for key, row in page.rows.items()} == {0: "KAFKA_STORAGE_ERROR", 1: "REQUEST_LIMIT_REACHED", 2: None}
        assert log_info(cluster, {topic: [1]}, api_key=501).rows[topic, 1].error is None
    assert len(log_info(cluster, {topic: [0, 1, 2, 3]}).rows) == 4
    assert [(row.message, len(row.partitions), row.answered) for row in cluster.gateways.served()] == [
        (LOG_INFO, 4, 2),
        (LOG_INFO, 1, 1),
        (LOG_INFO, 4, 4),
    ]
    many = log_info(cluster, {topic: range(1001)})
    assert (len(many.rows), many.has_more_data) == (1000, True)


def test_elections_keep_the_controllers_rules(damage: Damage) -> None:
    cluster = damage.cluster
    before = cluster.describe(TOPIC)
    online = f"already_online.{damaged.STRATEGIES[0]}"
    log = RequestLog(cluster)
    errors = elect(
        cluster,
        {(TOPIC, 0): LOST, (TOPIC, 1): RETURNING, (TOPIC, 77): AHEAD, ("nobody.knows", 0): AHEAD, (online, 0): BEHIND},
    )
    assert errors == {
        (TOPIC, 0): "ELIGIBLE_LEADERS_NOT_AVAILABLE",  # fenced
        (TOPIC, 1): "INVALID_REPLICA_ASSIGNMENT",  # no replica
        (TOPIC, 77): "UNKNOWN_TOPIC_OR_PARTITION",
        ("nobody.knows", 0): "UNKNOWN_TOPIC_OR_PARTITION",
        (online, 0): "ELECTION_NOT_NEEDED",  # its leader lives
    }
    kind = kip1275.ElectDesignatedRequest
    for leaders in ([AHEAD], [], [AHEAD, AHEAD, AHEAD], None):
        topics = [kind.TopicPartitions(topic=TOPIC, partitions=[0, 1], designated_leaders=leaders)]
        answer = through(cluster, kind(election_type=kip1275.DESIGNATED, topic_partitions=topics, timeout_ms=10_000), 3)
        assert error_codes.error_name(answer.error_code) == "INVALID_REQUEST"
    many = elect(cluster, {("nobody.knows", partition): AHEAD for partition in range(1003)})
    assert [partition for (_topic, partition), error in many.items() if error == "REQUEST_LIMIT_REACHED"] == [1000, 1001, 1002]
    assert cluster.describe(TOPIC) == before
    assert log.written() == {}


def test_a_designated_leader_is_elected_and_nothing_else_changes(damage: Damage) -> None:
    cluster = damage.cluster
    before = {state.partition: state for state in cluster.describe(TOPIC)}
    first_live = {number: next(broker for broker in state.replicas if broker != LOST) for number, state in before.items()}
    wanted = {0: AHEAD if first_live[0] == BEHIND else BEHIND, 1: first_live[1]}
    log = RequestLog(cluster)
    assert elect(cluster, {(TOPIC, number): leader for number, leader in wanted.items()}) == {(TOPIC, 0): None, (TOPIC, 1): None}
    assert log.written("gateway") == log.written() == {"ALTER_PARTITION_REASSIGNMENTS": 2, "ELECT_LEADERS": 1}
    with cluster.gateways.with_rules(election_limit=1):
        # As v2 does it: of two partitions, one over the limit, whichever is the first live replica.
        kind = kip1275.ElectDesignatedRequest
        topics = kip1275.designated_topics([(TOPIC, [2, 3], None)])
        answer = through(cluster, kind(election_type=1, topic_partitions=topics, timeout_ms=10_000), 3)
        assert errors(kip1275.read_designated_election(answer)) == {(TOPIC, 2): None, (TOPIC, 3): "REQUEST_LIMIT_REACHED"}
    cluster.wait_for_partitions([TOPIC], lambda state: state.leader >= 0 or state.partition == 3, "elected")
    after = {state.partition: state for state in cluster.describe(TOPIC)}
    assert {number: state.leader for number, state in after.items()} == {**wanted, 2: first_live[2], 3: -1}
    assert {number: state.replicas for number, state in after.items()} == {number: state.replicas for number, state in before.items()}


@pytest.mark.parametrize("fault", Fault)
def test_each_fault_is_what_it_says(damage: Damage, fault: Fault) -> None:
    cluster, topic = damage.cluster, topic_id(damage.cluster, TOPIC)
    caught: type[Exception] | None = {
        Fault.CUT: Unanswered,
        Fault.CORRELATION: KafkaProtocolError,
        Fault.GARBAGE: kip1275.MessageError,
        Fault.OTHER: kip1275.MessageError,
        Fault.DUPLICATE: kip1275.MessageError,
    }.get(fault)
    with cluster.gateways.with_rules([AHEAD], fault=fault, delay=0.05):
        if caught:
            with pytest.raises(caught):
                log_info(cluster, {topic: [0, 1]})
        else:
            rows = log_info(cluster, {topic: [0, 1]}).rows
            assert [key[1] for key in rows] == {Fault.SLOW: [0, 1], Fault.MISSING: [0], Fault.STRANGER: [0, 1, 9999]}[fault]
        assert len(log_info(cluster, {topic: [0, 1]}, broker=BEHIND).rows) == 2, "the other gateway has no such rule"
        assert elect(cluster, {("nobody.knows", 0): AHEAD}), "and the other message has no fault"
    with cluster.gateways.with_rules([AHEAD], fault=fault, fault_in=ELECTION):
        assert len(log_info(cluster, {topic: [0, 1]}).rows) == 2
