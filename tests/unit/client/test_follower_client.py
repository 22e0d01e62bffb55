# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brokers that follow the active controller are asked for the state of the cluster. One that is cut off answers with what it knew before."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import fake_brokers
import pytest
from fake_brokers import DESCRIBE_CLUSTER, DESCRIBE_QUORUM, METADATA, Broker
from kafka.protocol.admin import DescribeClusterResponse, DescribeConfigsResponse, DescribeTopicPartitionsResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import follower_client
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import readiness

DESCRIBE_CONFIGS, DESCRIBE_TOPIC_PARTITIONS = 32, 75
OFFERED = {DESCRIBE_CONFIGS: (1, 4), DESCRIBE_QUORUM: (0, 2), DESCRIBE_TOPIC_PARTITIONS: (0, 0)}
CUT_OFF, FOLLOWING, LOST = 1, 2, 3
KEY = ("orders", 0)
TOPIC_ID = uuid.uuid4()
CLUSTER_AUTHORIZATION_FAILED = 31


@dataclass(frozen=True)
class Split:
    """Broker `cut_off` knows what was before broker LOST died and it lost the controllers itself. `following` knows that the partition has no leader."""

    cut_off: Broker
    following: Broker

    @property
    def ports(self) -> dict[int, int]:
        return {CUT_OFF: self.cut_off.port, FOLLOWING: self.following.port, LOST: 1}

    def nodes(self, brokers: Collection[int]) -> list[tuple[int, str, int]]:
        return [(broker, "127.0.0.1", self.ports[broker]) for broker in sorted(brokers)]

    def knows(self, broker: Broker, unfenced: Collection[int], leader: int) -> None:
        """What a broker says of the cluster, and of the partition."""
        rows = [
            DescribeClusterResponse.DescribeClusterBroker(broker_id=node, host=host, port=port, rack=None, is_fenced=node not in unfenced)
            for node, host, port in self.nodes(self.ports)
        ]
        described = fake_brokers.cluster(self.nodes(unfenced))
        described.brokers = rows
        broker.answers |= {
            METADATA: lambda _request: fake_brokers.metadata(self.nodes(unfenced)),
            DESCRIBE_CLUSTER: lambda _request: described,
            DESCRIBE_TOPIC_PARTITIONS: lambda _request: orders(leader),
            DESCRIBE_CONFIGS: lambda _request: DescribeConfigsResponse(throttle_time_ms=0, results=[]),
        }

    def opened(self, *servers: Broker) -> Cluster:
        return Cluster(Connection(tuple(server.server for server in servers), request_timeout=5.0))


def orders(leader: int) -> Any:
    row = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
    partition = row.DescribeTopicPartitionsResponsePartition(
        error_code=0, partition_index=0, leader_id=leader, leader_epoch=7 + (leader < 0), replica_nodes=[LOST, FOLLOWING, CUT_OFF],
        isr_nodes=[LOST], eligible_leader_replicas=[], last_known_elr=[], offline_replicas=[],
    )  # fmt: skip
    topic = row(error_code=0, name="orders", topic_id=TOPIC_ID, is_internal=False, partitions=[partition], topic_authorized_operations=0)
    return DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=[topic], next_cursor=None)


def times(broker: Broker, api_key: int) -> int:
    return sum(request.api_key == api_key for request in broker.requests)


@pytest.fixture
def split() -> Iterator[Split]:
    with fake_brokers.brokers(2) as (cut_off, following):
        split = Split(cut_off, following)
        split.knows(cut_off, {CUT_OFF, FOLLOWING, LOST}, LOST)
        split.knows(following, {FOLLOWING}, -1)
        # It takes the question, and hangs up instead of waiting for a controller.
        cut_off.answers[fake_brokers.API_VERSIONS] = lambda _request: fake_brokers.api_versions(fake_brokers.VERSIONS | OFFERED)
        following.follows({FOLLOWING: 0.1, CUT_OFF: 60.0}, OFFERED)
        yield split


SERVERS: dict[str, Callable[[Split], Sequence[Broker]]] = {
    "cut off": lambda split: [split.cut_off],
    "cut off first": lambda split: [split.cut_off, split.following],
    "following first": lambda split: [split.following, split.cut_off],
}


@pytest.mark.parametrize("servers", SERVERS.values(), ids=SERVERS)
def test_what_a_broker_says_that_is_cut_off_from_the_controllers_is_not_used(
    split: Split, servers: Callable[[Split], Sequence[Broker]]
) -> None:
    with split.opened(*servers(split)) as cluster:
        assert {key: state.leader for key, state in cluster.partitions().items()} == {KEY: -1}
        assert cluster.unfenced() == {FOLLOWING}
        assert cluster.partitions().keys() == {KEY}
    assert times(split.cut_off, DESCRIBE_TOPIC_PARTITIONS) == 0
    assert times(split.following, DESCRIBE_QUORUM) == 1, "the quorum is described once"
    with split.opened(*servers(split)) as cluster:
        found = readiness.partitions(cluster, [KEY])
    assert found.rows["count"] == 1
    assert {row["broker_id"]: row["broker_state"] for row in found.rows["brokers"]} == {
        CUT_OFF: "fenced",
        FOLLOWING: "unfenced",
        LOST: "fenced",
    }


def test_a_broker_that_the_broker_that_is_cut_off_does_not_know_is_met_through_bootstrap_servers(split: Split) -> None:
    split.knows(split.cut_off, {CUT_OFF}, CUT_OFF)
    nodes = split.nodes({CUT_OFF})
    split.cut_off.names(nodes)
    with split.opened(split.cut_off, split.following) as cluster:
        assert {key: state.leader for key, state in cluster.partitions().items()} == {KEY: -1}
        assert cluster.unfenced() == {FOLLOWING}


def test_a_broker_that_was_fenced_when_another_was_cut_off_is_met_through_that_one(split: Split) -> None:
    split.knows(split.cut_off, {CUT_OFF, LOST}, LOST)
    with split.opened(split.cut_off) as cluster:
        assert {key: state.leader for key, state in cluster.partitions().items()} == {KEY: -1}
        assert cluster.unfenced() == {FOLLOWING}


def test_a_broker_that_never_answers_for_the_controllers_answers_other_questions(split: Split) -> None:
    ended = threading.Event()
    split.cut_off.answers[DESCRIBE_QUORUM] = lambda _request: ended.wait(30) and fake_brokers.quorum({})
    with split.opened(split.cut_off) as cluster:
        states = {row["broker_id"]: row["broker_state"] for row in cluster.broker_states()}
        assert (states[CUT_OFF], cluster.cut_off) == ("fenced", {CUT_OFF})
    ended.set()


def test_without_any_broker_that_reaches_the_controllers_nothing_is_read(split: Split) -> None:
    del split.following.answers[DESCRIBE_QUORUM]
    with split.opened(split.cut_off) as cluster, pytest.raises(ClusterError, match=r"broker 1 \(127.0.0.1:.*old.*bootstrap_servers"):
        cluster.partitions()
    assert times(split.cut_off, DESCRIBE_TOPIC_PARTITIONS) == times(split.following, DESCRIBE_TOPIC_PARTITIONS) == 0


def test_a_broker_that_passes_the_question_on_and_does_not_fetch_is_not_asked(split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower_client, "FOLLOWING_SECONDS", 0.0)
    split.following.follows({FOLLOWING: 60.0, CUT_OFF: 60.0}, OFFERED)
    with (
        split.opened(split.following) as cluster,
        pytest.raises(ClusterError, match=r"broker 2 .*fetch the metadata log.*bootstrap_servers"),
    ):
        cluster.unfenced()


def test_brokers_that_fetch_from_a_new_active_controller_after_a_moment_are_waited_for(
    split: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower_client, "FOLLOWING_PAUSE", 0.0)
    known: list[dict[int, float]] = [{FOLLOWING: 0.1}, {}, {}]
    split.following.answers[DESCRIBE_QUORUM] = lambda _request: fake_brokers.quorum(known.pop() if len(known) > 1 else known[0])
    with split.opened(split.cut_off) as cluster:
        assert {key: state.leader for key, state in cluster.partitions().items()} == {KEY: -1}
        assert len(known) == 1


def test_a_broker_that_is_cut_off_later_is_not_asked_any_more(split: Split) -> None:
    split.knows(split.following, {CUT_OFF, FOLLOWING}, LOST)
    split.cut_off.follows({FOLLOWING: 0.1, CUT_OFF: 0.1}, OFFERED)
    with split.opened(split.cut_off) as cluster:
        assert cluster.unfenced() == {CUT_OFF, FOLLOWING, LOST}
        split.knows(split.following, {FOLLOWING}, -1)
        del split.cut_off.answers[DESCRIBE_QUORUM]
        states = {row["broker_id"]: row["broker_state"] for row in cluster.broker_states()}
        assert states == {CUT_OFF: "fenced", FOLLOWING: "unfenced", LOST: "fenced"}
        assert {key: state.leader for key, state in cluster.partitions().items()} == {KEY: -1}


def test_if_all_that_followed_are_cut_off_the_other_brokers_are_asked(split: Split) -> None:
    split.knows(split.cut_off, {CUT_OFF, FOLLOWING}, LOST)
    split.cut_off.follows({CUT_OFF: 0.1, FOLLOWING: 60.0}, OFFERED)
    with split.opened(split.cut_off) as cluster:
        assert cluster.unfenced() == {CUT_OFF, FOLLOWING}
        del split.cut_off.answers[DESCRIBE_QUORUM]
        states = {row["broker_id"]: row["broker_state"] for row in cluster.broker_states()}
        assert states == {CUT_OFF: "fenced", FOLLOWING: "unfenced", LOST: "fenced"}


def test_without_the_permission_to_describe_the_quorum_the_broker_that_passes_the_question_on_is_asked(split: Split) -> None:
    split.following.answers[DESCRIBE_QUORUM] = lambda _request: fake_brokers.quorum({}, CLUSTER_AUTHORIZATION_FAILED)
    with split.opened(split.cut_off) as cluster:
        assert {key: state.leader for key, state in cluster.partitions().items()} == {KEY: -1}
        assert cluster.unfenced() == {FOLLOWING}
