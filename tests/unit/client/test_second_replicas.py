# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The replicas of partitions as a second broker states them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import fake_brokers
import pytest
from kafka.protocol.admin import DescribeTopicPartitionsResponse
from kafka.protocol.metadata import MetadataResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import StatedReplicas
from rig.gateway_frames import Request

PAGES = 75  # API key of DescribeTopicPartitions
TOPIC = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
KEYS = {("t", 0), ("t", 1)}


def page(replicas: Sequence[int], count: int = 2, leader: int = -1) -> Any:
    rows = [
        TOPIC.DescribeTopicPartitionsResponsePartition(
            partition_index=number, leader_id=leader, leader_epoch=0, replica_nodes=list(replicas), isr_nodes=[], offline_replicas=[]
        )
        for number in range(count)
    ]
    topic = TOPIC(error_code=0, name="t", topic_id=uuid.UUID(int=1), is_internal=False, partitions=rows, topic_authorized_operations=0)
    return DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=[topic], next_cursor=None)


def pages(broker: fake_brokers.Broker) -> int:
    return sum(request.api_key == PAGES for request in broker.requests)


def opened(brokers: Sequence[fake_brokers.Broker], nodes: fake_brokers.Nodes, named: Sequence[int] = (0,)) -> Cluster:
    for number, broker in enumerate(brokers):
        broker.names(nodes)
        broker.follows({node: 0.0 for node, _host, _port in nodes}, {PAGES: (0, 0)})
        broker.answers.setdefault(PAGES, lambda _request, number=number: page([1, 2, 3 + number]))  # type: ignore[misc]
    return Cluster(Connection(tuple(brokers[number].server for number in named), request_timeout=5.0))


def of_brokers(brokers: Sequence[fake_brokers.Broker]) -> fake_brokers.Nodes:
    return [(number, "127.0.0.1", broker.port) for number, broker in enumerate(brokers, 1)]


def test_another_broker_states_them_in_one_request() -> None:
    with fake_brokers.brokers(2) as (first, second), opened((first, second), of_brokers((first, second))) as cluster:
        states = cluster.partitions(KEYS)
        (describer,) = {state.described_by for state in states.values()}
        assert describer in (1, 2)
        other = 3 - describer
        assert cluster.second_replicas(states.values()) == dict.fromkeys(
            KEYS, StatedReplicas(other, (1, 2, 2 + other), next(iter(states.values())).topic_id)
        )
        assert (pages(first), pages(second)) == (1, 1)
        assert {state.described_by for state in cluster.partitions(KEYS).values()} == {describer}, "reads go where they went before"


def test_a_partition_that_it_does_not_have_is_stated_so() -> None:
    with fake_brokers.brokers(2) as (first, second), opened((first, second), of_brokers((first, second))) as cluster:
        states = cluster.partitions(KEYS)
        other = (second, first)[next(iter(states.values())).described_by == 2]
        other.answers[PAGES] = lambda _request: page([1, 2, 3], count=1)
        found = cluster.second_replicas(states.values())
        assert (found["t", 0].replicas, found["t", 1].replicas) == ((1, 2, 3), None)
        assert found["t", 1].broker == found["t", 0].broker


def test_it_states_the_leader_too() -> None:
    with fake_brokers.brokers(2) as (first, second), opened((first, second), of_brokers((first, second))) as cluster:
        states = cluster.partitions(KEYS)
        other = (second, first)[next(iter(states.values())).described_by == 2]
        other.answers[PAGES] = lambda _request: page([1, 2, 3], leader=2)
        assert {stated.leader for stated in cluster.second_replicas(states.values()).values()} == {2}


def test_brokers_with_the_address_of_the_first_one_are_no_second_broker() -> None:
    """A broker that states wrong replicas may state its own address for all others."""
    with fake_brokers.brokers(1) as (one,), opened((one,), [(1, "127.0.0.1", one.port), (2, "127.0.0.1", one.port)]) as cluster:
        assert cluster.second_replicas(cluster.partitions(KEYS).values()) == {}


def test_a_broker_that_bootstrap_servers_names_is_asked_before_those_that_only_brokers_name() -> None:
    with fake_brokers.brokers(3) as three, opened(three, of_brokers(three), named=(0, 2)) as cluster:
        cluster._last_nodes["read"] = 1
        found = cluster.second_replicas(cluster.partitions(KEYS).values())
        assert {stated.broker for stated in found.values()} == {3}


def test_without_an_answer_of_another_broker_nothing_is_stated() -> None:
    with fake_brokers.brokers(2) as (first, second), opened((first, second), of_brokers((first, second))) as cluster:
        states = cluster.partitions(KEYS)
        other = (second, first)[next(iter(states.values())).described_by == 2]
        del other.answers[PAGES]
        assert cluster.second_replicas(states.values()) == {}


@pytest.mark.parametrize("number", [0, 1])
def test_brokers_without_describe_topic_partitions_state_them_in_metadata(number: int) -> None:
    """Kafka before 3.7."""
    with fake_brokers.brokers(2) as brokers:
        nodes = of_brokers(brokers)

        def topics(replicas: Sequence[int]) -> Any:
            row = MetadataResponse.MetadataResponseTopic
            one = row.MetadataResponsePartition(
                error_code=0,
                partition_index=0,
                leader_id=-1,
                leader_epoch=0,
                replica_nodes=list(replicas),
                isr_nodes=[],
                offline_replicas=[],
            )
            answer = fake_brokers.metadata(nodes)
            answer.topics = [row(error_code=0, name="t", topic_id=uuid.UUID(int=1), is_internal=False, partitions=[one])]
            return answer

        for index, broker in enumerate(brokers):
            broker.names(nodes)
            broker.follows({1: 0.0, 2: 0.0})

            def answered(_request: Request, index: int = index) -> Any:
                return topics([1, 2, 3 + index])

            broker.answers[fake_brokers.METADATA] = answered
        with Cluster(Connection((brokers[number].server,), request_timeout=5.0)) as cluster:
            states = cluster.partitions({("t", 0)})
            (stated,) = cluster.second_replicas(states.values()).values()
            assert stated.replicas == (1, 2, 2 + (stated.broker or 0)) and stated.broker != states["t", 0].described_by
