# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated nodes refuse a login what Kafka's authorizer refuses it, and no more."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    DescribeClusterRequest,
    DescribeGroupsRequest,
    DescribeLogDirsRequest,
    DescribeQuorumRequest,
    DescribeTopicPartitionsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
    ListGroupsRequest,
    ListPartitionReassignmentsRequest,
)
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.consumer.fetch import FetchRequest
from kafka.protocol.consumer.offsets import OffsetForLeaderEpochRequest
from kafka.protocol.metadata import MetadataRequest

from simulation.cluster import SimulatedCluster
from simulation.groups import NAMES
from simulation.kafka_errors import code
from simulation.logins import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CLUSTER_ACTION,
    DESCRIBE_CLUSTER,
    DESCRIBE_GROUP,
    DESCRIBE_TOPIC,
    GROUP,
    READ_TOPIC,
    TOPIC,
)
from simulation.world import World

FUTURE_REPLICA, CONSUMER = -3, -1


def cluster_without(*lacked: str) -> SimulatedCluster:
    """Return a cluster of two topics with a record each, whose control nodes lack these permissions."""
    cluster = SimulatedCluster(World(1), 2, {"orders": [[1, 2]], "payments": [[1, 2]]}, {"orders": 1, "payments": 1}, elr=True)
    for topic in ("orders", "payments"):
        cluster.write((topic, 0), topic, 1)
        cluster.replicate((topic, 0), 2)
        cluster.groups.commit(NAMES[0], (topic, 0), cluster.brokers[1].logs[topic, 0])
    cluster.lacking = lacked
    return cluster


def asked(cluster: SimulatedCluster, request: Any) -> Any:
    """Return the answer of broker 1."""
    return cluster.brokers[1].answer(request)


def fetched(cluster: SimulatedCluster, replica: int) -> dict[str, tuple[int, bool]]:
    """Fetch the first record of each topic. Return error and whether there are records, by topic."""
    topic = FetchRequest.FetchTopic
    rows = [
        topic(topic=name, partitions=[topic.FetchPartition(partition=0, fetch_offset=0, last_fetched_epoch=-1, partition_max_bytes=1000)])
        for name in ("orders", "payments")
    ]
    answer = asked(cluster, FetchRequest(replica_id=replica, max_bytes=10_000, isolation_level=0, topics=rows))
    return {one.topic: (row.error_code, bool(row.records)) for one in answer.responses for row in one.partitions}


@pytest.mark.parametrize("replica", [FUTURE_REPLICA, CONSUMER])
def test_a_client_reads_records_with_read_on_the_topic(replica: int) -> None:
    answered = 0, True
    assert fetched(cluster_without(CLUSTER_ACTION), replica) == {"orders": answered, "payments": answered}
    assert fetched(cluster_without(READ_TOPIC), replica) == {"orders": answered, "payments": (code(TOPIC), False)}


def test_the_metadata_log_needs_cluster_action() -> None:
    def read(*lacked: str) -> Any:
        cluster = cluster_without(*lacked)
        topic = FetchRequest.FetchTopic
        partition = topic.FetchPartition(
            partition=0, fetch_offset=0, current_leader_epoch=cluster.metadata_log.epoch, partition_max_bytes=1000
        )
        request = FetchRequest(replica_id=CONSUMER, topics=[topic(topic_id=uuid.UUID(int=1), partitions=[partition])])
        return cluster.controllers[cluster.controller_id].answer(request)

    assert read(READ_TOPIC, DESCRIBE_CLUSTER).error_code == 0
    refused = read(CLUSTER_ACTION)
    assert (refused.error_code, refused.responses) == (code(CLUSTER), [])


@pytest.mark.parametrize(
    ("request_", "rows"),
    [
        (DescribeQuorumRequest(topics=[]), "topics"),
        (ListPartitionReassignmentsRequest(topics=None), "topics"),
        (DescribeLogDirsRequest(topics=None), "results"),
    ],
    ids=lambda one: getattr(one, "name", one),
)
def test_the_state_of_the_cluster_needs_describe_on_it(request_: Any, rows: str) -> None:
    assert asked(cluster_without(), request_).error_code == 0
    refused = asked(cluster_without(DESCRIBE_CLUSTER), request_)
    assert (refused.error_code, getattr(refused, rows)) == (code(CLUSTER), [])


def test_controllers_do_not_describe_the_quorum_either() -> None:
    cluster = cluster_without(DESCRIBE_CLUSTER)
    answers = [one.answer(DescribeQuorumRequest(topics=[])) for one in cluster.controllers.values()]
    assert {one.error_code for one in answers} == {code(CLUSTER)}


def test_a_login_without_describe_on_the_cluster_seems_to_have_no_operation() -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True, endpoint_type=1)
    assert asked(cluster_without(DESCRIBE_CLUSTER), request).authorized_operations == frozenset()
    assert asked(cluster_without(), request).authorized_operations


def described(cluster: SimulatedCluster, names: list[str]) -> dict[str, tuple[int, bool, int]]:
    """Return error, whether there is an id, and the number of partitions, by topic. `names`: none for all topics."""
    kind, metadata = DescribeTopicPartitionsRequest, MetadataRequest
    rows = [kind.TopicRequest(name=name) for name in names]
    answers = [
        asked(cluster, kind(topics=rows, response_partition_limit=100, cursor=None)),
        asked(cluster, metadata(topics=[metadata.MetadataRequestTopic(name=name) for name in names] or None)),
    ]
    one, other = ({row.name: (row.error_code, row.topic_id.int > 0, len(row.partitions)) for row in answer.topics} for answer in answers)
    assert one == other
    return one


def test_a_topic_that_may_not_be_described_is_refused_by_name_and_left_out_of_lists() -> None:
    cluster, unknown = cluster_without(DESCRIBE_TOPIC), (code("UNKNOWN_TOPIC_OR_PARTITION"), False, 0)
    assert described(cluster, ["orders", "payments", "other"]) == {
        "orders": (0, True, 1),
        "payments": (code(TOPIC), False, 0),
        "other": unknown,
    }
    assert described(cluster, []) == {"orders": (0, True, 1)}
    assert {*described(cluster_without(), [])} == {"orders", "payments"}


def test_ends_of_epochs_need_describe_on_the_topic_or_cluster_action() -> None:
    topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    rows = [topic(topic="payments", partitions=[topic.OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=0)])]

    def error(*lacked: str) -> int:
        answer = asked(cluster_without(*lacked), OffsetForLeaderEpochRequest(replica_id=CONSUMER, topics=rows))
        return int(answer.topics[0].partitions[0].error_code)

    assert (error(DESCRIBE_TOPIC), error(CLUSTER_ACTION), error(DESCRIBE_TOPIC, CLUSTER_ACTION)) == (0, 0, code(TOPIC))


def test_groups_are_listed_with_describe_on_the_cluster_or_on_them() -> None:
    def listed(*lacked: str) -> int:
        cluster = cluster_without(*lacked)
        return sum(len(one.answer(ListGroupsRequest()).groups) for one in cluster.brokers.values())

    assert (listed(DESCRIBE_GROUP), listed(DESCRIBE_CLUSTER), listed(DESCRIBE_GROUP, DESCRIBE_CLUSTER)) == (1, 1, 0)


def test_a_group_is_described_with_describe_on_it_and_offsets_of_a_hidden_topic_are_left_out() -> None:
    group = OffsetFetchRequest.OffsetFetchRequestGroup
    request = OffsetFetchRequest(groups=[group(group_id=NAMES[0], topics=None)])
    refused = cluster_without(DESCRIBE_GROUP)
    (row,) = asked(refused, request).groups
    assert (row.error_code, row.topics) == (code(GROUP), [])
    assert [one.error_code for one in asked(refused, DescribeGroupsRequest(groups=[*NAMES])).groups] == [code(GROUP)] * len(NAMES)
    hidden = cluster_without(DESCRIBE_TOPIC)
    (row,) = hidden.brokers[hidden.transactions.coordinator or 1].answer(request).groups
    assert (row.error_code, [one.name for one in row.topics]) == (0, ["orders"])


def test_a_change_is_refused_as_a_whole_and_for_each_partition() -> None:
    cluster, kind = cluster_without(ALTER), AlterPartitionReassignmentsRequest.ReassignableTopic
    before = cluster.controller.partitions["orders", 0].replicas
    moved = asked(
        cluster,
        AlterPartitionReassignmentsRequest(
            timeout_ms=1000,
            topics=[kind(name="orders", partitions=[kind.ReassignablePartition(partition_index=0, replicas=[2, 1])])],
        ),
    )
    elections = ElectLeadersRequest(
        election_type=0, timeout_ms=1000, topic_partitions=[ElectLeadersRequest.TopicPartitions(topic="orders", partitions=[0])]
    )
    elected = asked(cluster, elections)
    assert (moved.error_code, [row.error_code for one in moved.responses for row in one.partitions]) == (code(CLUSTER), [code(CLUSTER)])
    assert {one.answer(elections).error_code for one in cluster.controllers.values()} == {code(CLUSTER)}
    assert (elected.error_code, [row.error_code for one in elected.replica_election_results for row in one.partition_result]) == (
        code(CLUSTER),
        [code(CLUSTER)],
    )
    assert cluster.controller.partitions["orders", 0].replicas == before


def test_a_change_of_configs_is_refused_by_resource() -> None:
    kind = IncrementalAlterConfigsRequest.AlterConfigsResource
    resources = [kind(resource_type=2, resource_name="orders", configs=[]), kind(resource_type=4, resource_name="1", configs=[])]
    answer = asked(cluster_without(ALTER_CONFIGS), IncrementalAlterConfigsRequest(resources=resources, validate_only=False))
    assert [row.error_code for row in answer.responses] == [code(TOPIC), code(CLUSTER)]
