# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cluster: pages of partitions that do not end. No real broker makes them."""

from __future__ import annotations

import math
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import fake_brokers
import pytest
from kafka.errors import KafkaTimeoutError
from kafka.protocol.admin import DescribeClusterResponse, DescribeTopicPartitionsResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import (
    partition_client,
    registration_client,
    replica_log_client,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import (
    error_codes,
    partition_states,
    replica_log_fetch,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.kept_memory import size_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import READ, TURNS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch

GREATEST = 2**63 - 1
TOPIC = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
TOPIC_ID = uuid.UUID(int=1)
CURSOR = DescribeTopicPartitionsResponse.Cursor
PAGES_TO_GIVE_UP = 20  # by a client that goes on for ever


def test_no_row_about_a_log_takes_more_than_is_counted_for_it() -> None:
    longest = max((name for code in range(-1, error_codes.CODES) if (name := error_codes.error_name(code))), key=len)
    batch = LastBatch(GREATEST, GREATEST, GREATEST, GREATEST, GREATEST, True, True)
    assert size_of(replica_log_fetch.LogEnd(longest, GREATEST, GREATEST, GREATEST)) <= replica_log_client.LOG_END_BYTES
    assert size_of(replica_log_fetch.FetchedBatch(longest, GREATEST, GREATEST, batch)) <= replica_log_client.BATCH_BYTES


class Paging(Cluster):
    """A cluster that gives one partition per page; `cursor` makes the cursor of page 0, 1, ..."""

    def __init__(self, cursor: Callable[[int], tuple[str, int]]) -> None:
        super().__init__(Connection(("127.0.0.1:1",), request_timeout=1.0))
        self.cursor = cursor
        self.pages = 0

    def _answered_by(
        self, make: Callable[[], Any], nodes: Sequence[Any], hedge_after: float, purpose: str, written_by: float = math.inf
    ) -> tuple[Any, Any]:
        name, partition = self.cursor(self.pages)
        self.pages += 1
        assert self.pages < PAGES_TO_GIVE_UP, "the client does not give up"
        row = TOPIC.DescribeTopicPartitionsResponsePartition(
            partition_index=partition, leader_id=1, leader_epoch=0, replica_nodes=[1], isr_nodes=[1], offline_replicas=[]
        )
        cursor = CURSOR(topic_name=name, partition_index=partition)
        return 1, DescribeTopicPartitionsResponse(topics=[TOPIC(name="a", topic_id=TOPIC_ID, partitions=[row])], next_cursor=cursor)


@pytest.mark.parametrize("cursors", [[("a", 1)], [("b", 1), ("a", 7)], [("b", 2), ("b", 1)]])
def test_a_cursor_that_does_not_move_on_is_refused(cursors: Sequence[tuple[str, int]]) -> None:
    with pytest.raises(ClusterError, match="page"):
        Paging(lambda page: cursors[page % len(cursors)]).partitions()


class Hanging(Cluster):
    """100 brokers that follow the active controller. `seconds`: how long a change may take before its caller gets an error."""

    seconds: float = 0.0

    def _current(self) -> set[int]:
        return set(range(100))

    def _ask_any(
        self, make: Callable[[], Any], nodes: Sequence[Any], hedge_after: float, purpose: str = READ, written_by: float = math.inf
    ) -> tuple[Any, Any]:
        self.seconds = deadline.at_most(float("inf"))
        raise KafkaTimeoutError


def test_a_change_waits_for_some_hanging_brokers_and_not_for_all_of_them() -> None:
    cluster = Hanging(Connection(("127.0.0.1:1",), request_timeout=10.0))
    with pytest.raises(ClusterError):
        cluster.elect_unclean([("t", 0)])
    assert 0 < cluster.seconds <= TURNS * 10.0
    with pytest.raises(ClusterError), deadline.until(time.monotonic() + 7.0):
        cluster.reorder({("t", 0): (1, 2)})
    assert 0 < cluster.seconds <= 7.0


def test_there_are_no_more_partitions_than_a_cluster_can_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_client, "PARTITIONS", 9)
    with pytest.raises(ClusterError, match="more than 9 partitions"):
        Paging(lambda page: ("a", page)).partitions()


def test_lists_of_replicas_are_bounded_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_client, "REPLICA_IDS", 9, raising=False)
    with pytest.raises(ClusterError, match="5 partitions have 10 replicas in their lists"):
        Paging(lambda page: ("a", page)).partitions()


@pytest.mark.parametrize(
    ("leader", "without"), [(1, []), (2, ["1 partitions of groups have no leader"]), (-1, ["1 partitions of groups have no leader"])]
)
def test_a_coordinators_partition_whose_leader_is_fenced_has_no_leader(leader: int, without: list[str]) -> None:
    cluster = Cluster(Connection(("127.0.0.1:1",), request_timeout=1.0))
    cluster._nodes = [Node(1, "a", 1, None, False), Node(2, "b", 1, None, True)]
    state = PartitionState("groups", 0, "id", leader, 1, (1, 2), (), (), (), ())
    assert cluster._leaderless({state.key: state}) == without


def test_a_cluster_that_no_longer_names_a_living_broker_is_an_error_and_not_a_traceback() -> None:
    """A broker can name living brokers in its first answer and none in its second."""
    with pytest.raises(ClusterError, match="lists no live broker any more"):
        Cluster(Connection(("127.0.0.1:1",), request_timeout=1.0))._ask(lambda: partition_states.metadata(()))


def test_fenced_brokers_stay_known_while_another_thread_reads_the_brokers_again() -> None:
    """Metadata leaves them out, DescribeCluster has them: batches side by side must not see the one without the other."""
    found: list[Any] = []
    with fake_brokers.brokers(2) as (alive, fenced):
        ports = {1: alive.port, 2: fenced.port}
        row = DescribeClusterResponse.DescribeClusterBroker
        described = fake_brokers.cluster([(1, "127.0.0.1", alive.port)])
        described.brokers = [
            row(broker_id=node, host="127.0.0.1", port=port, rack=None, is_fenced=node > 1) for node, port in ports.items()
        ]

        def describe(_request: Any) -> Any:
            if watched:
                # Between the two answers.
                found.append(cluster.log_ends({2: [("t", 0)]})[2])
            return described

        watched = False
        alive.answers |= {
            fake_brokers.METADATA: lambda _request: fake_brokers.metadata([(1, "127.0.0.1", alive.port)]),
            fake_brokers.DESCRIBE_CLUSTER: describe,
        }
        alive.follows({1: 0.1, 2: 9.0})
        fenced.follows({1: 0.1})
        fenced.answers[fake_brokers.LIST_OFFSETS] = lambda _request: fake_brokers.log_ends("t", 5)
        with Cluster(Connection((alive.server,), request_timeout=5.0)) as cluster:
            watched = True
            assert cluster.unfenced() == {1}
        assert len(found) == 1 and found[0]["t", 0].log_end_offset == 7


def test_a_fenced_broker_that_answers_is_cut_off_and_one_that_hangs_is_asked_once_and_not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broker 3 may be about to start: its port accepts connections."""
    monkeypatch.setattr(registration_client, "FENCED_MS", 500)
    ended = threading.Event()
    with fake_brokers.brokers(3) as (alive, cut_off, hung):
        ports = {1: alive.port, 2: cut_off.port, 3: hung.port, 4: 1}
        row = DescribeClusterResponse.DescribeClusterBroker
        rows = [row(broker_id=node, host="127.0.0.1", port=port, rack=None, is_fenced=node > 1) for node, port in ports.items()]
        described = fake_brokers.cluster([(1, "127.0.0.1", alive.port)])
        described.brokers = rows
        alive.answers |= {
            fake_brokers.METADATA: lambda _request: fake_brokers.metadata([(1, "127.0.0.1", alive.port)]),
            fake_brokers.DESCRIBE_CLUSTER: lambda _request: described,
        }
        alive.follows({1: 0.1, 2: 9.0, 3: 9.0, 4: 9.0})
        hung.answers = {fake_brokers.API_VERSIONS: lambda _request: ended.wait(30) and fake_brokers.api_versions({})}
        with Cluster(Connection((alive.server,), request_timeout=20.0)) as cluster:
            began = time.monotonic()
            for _look in range(2):
                states = {found["broker_id"]: found["broker_state"] for found in cluster.broker_states()}
                assert states == {1: "unfenced", 2: "fenced", 3: "coming_back", 4: "fenced"}
                assert cluster.cut_off == {2}
            assert time.monotonic() - began < 10
            assert len(hung.requests) <= 1 and not cluster.unreachable
            # It can be asked for logs, too.
            cut_off.answers[fake_brokers.LIST_OFFSETS] = lambda _request: fake_brokers.log_ends("t", 5)
            assert cluster.log_ends({2: [("t", 0)]})[2]["t", 0].log_end_offset == 7
        ended.set()


def test_a_broker_with_short_pages_is_not_asked_for_all_of_them() -> None:
    pages = 75  # API key of DescribeTopicPartitions

    def page(numbers: Sequence[int], following: int | None) -> Any:
        rows = [
            TOPIC.DescribeTopicPartitionsResponsePartition(
                partition_index=number, leader_id=1, leader_epoch=0, replica_nodes=[1], isr_nodes=[1], offline_replicas=[]
            )
            for number in numbers
        ]
        cursor = None if following is None else CURSOR(topic_name="a", partition_index=following)
        topic = TOPIC(error_code=0, name="a", topic_id=TOPIC_ID, is_internal=False, partitions=rows, topic_authorized_operations=0)
        return DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=[topic], next_cursor=cursor)

    with fake_brokers.brokers(2) as (brief, whole):
        count = iter(range(PAGES_TO_GIVE_UP))
        brief.answers[pages] = lambda _request: page([number := next(count)], number + 1)
        whole.answers[pages] = lambda _request: page(range(1, PAGES_TO_GIVE_UP), None)
        nodes = [(1, "127.0.0.1", brief.port), (2, "127.0.0.1", whole.port)]
        for broker in (brief, whole):
            broker.names(nodes)
            broker.follows({1: 0.0, 2: 0.0}, {pages: (0, 0)})
        with Cluster(Connection((brief.server,), request_timeout=10.0)) as cluster:
            cluster._last_nodes["read"] = 1
            states = cluster.partitions({("a", number) for number in range(PAGES_TO_GIVE_UP)})
        assert len(states) == PAGES_TO_GIVE_UP
        assert [sum(request.api_key == pages for request in broker.requests) for broker in (brief, whole)] == [1, 1]


@pytest.mark.parametrize(("api_key", "versions"), [(fake_brokers.LIST_OFFSETS, (0, 3)), (fake_brokers.FETCH, (0, 11))])
def test_a_broker_that_offers_no_version_with_these_rows_is_not_asked(api_key: int, versions: tuple[int, int]) -> None:
    """A tuple is written field by field, so another version would get something else than was meant."""
    with fake_brokers.brokers(1) as (old,):
        old.names([(1, "127.0.0.1", old.port)])
        offered = fake_brokers.VERSIONS | {api_key: versions}
        old.answers |= {fake_brokers.API_VERSIONS: lambda _request: fake_brokers.api_versions(offered)}
        with Cluster(Connection((old.server,), request_timeout=20.0)) as cluster:
            key = ("t", 0)
            found: Any = cluster.batches({1: {key: 6}}) if api_key == fake_brokers.FETCH else cluster.log_ends({1: [key]})
            assert not found.get(1)
            assert 1 in cluster.unreachable
        assert api_key not in {request.api_key for request in old.requests}


def test_brokers_that_name_no_cluster_id_are_refused() -> None:
    with fake_brokers.brokers(1) as (broker,):
        broker.follows({1: 0.0})
        nodes = [(1, "127.0.0.1", broker.port)]
        broker.names(nodes)
        nameless = fake_brokers.metadata(nodes)
        nameless.cluster_id = None
        broker.answers[fake_brokers.METADATA] = lambda _request: nameless
        with pytest.raises(ClusterError, match="no cluster id"), Cluster(Connection((broker.server,), request_timeout=3.0)):
            pass
