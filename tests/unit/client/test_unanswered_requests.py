# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests that were sent and never answered are remembered, those that were answered or never sent are not."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

import fake_brokers
import pytest
from kafka.protocol.admin import AlterPartitionReassignmentsResponse, ElectLeadersResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import unanswered_requests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.address_client import AddressClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from rig.gateway_frames import Request

ELECT_LEADERS, REORDER, DESCRIBE_CLUSTER = 43, 45, 60
KEY = ("t", 0)
CHANGES = [(ELECT_LEADERS, "elect_unclean", [KEY], "elections_in_doubt"), (REORDER, "reorder", {KEY: (2, 1)}, "in_doubt")]


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[fake_brokers.Broker]:
    """One broker, which hangs up on requests to change something."""
    monkeypatch.setitem(fake_brokers.VERSIONS, ELECT_LEADERS, (0, 2))
    monkeypatch.setitem(fake_brokers.VERSIONS, REORDER, (0, 0))
    with fake_brokers.brokers(1) as (one,):
        one.names([(1, "127.0.0.1", one.port)])
        one.follows({1: 0.0})
        yield one


def opened(broker: fake_brokers.Broker) -> Cluster:
    return Cluster(Connection((broker.server,), request_timeout=3.0))


@pytest.mark.parametrize(("key", "method", "argument", "doubtful"), CHANGES)
def test_a_request_without_an_answer_is_in_doubt(
    broker: fake_brokers.Broker, key: int, method: str, argument: object, doubtful: str
) -> None:
    with opened(broker) as cluster:
        with pytest.raises(ClusterError):
            getattr(cluster, method)(argument)
        assert {*getattr(cluster, doubtful)} == {KEY}
        assert not cluster.in_doubt or cluster.in_doubt == {KEY: {1}}
        assert key in {request.api_key for request in broker.requests}


@pytest.mark.parametrize(("key", "method", "argument", "doubtful"), CHANGES)
def test_a_request_with_an_answer_is_not(broker: fake_brokers.Broker, key: int, method: str, argument: object, doubtful: str) -> None:
    answers = {
        ELECT_LEADERS: ElectLeadersResponse(throttle_time_ms=0, error_code=0, replica_election_results=[]),
        REORDER: AlterPartitionReassignmentsResponse(throttle_time_ms=0, error_code=0, error_message=None, responses=[]),
    }
    broker.answers[key] = lambda _request: answers[key]
    with opened(broker) as cluster:
        getattr(cluster, method)(argument)
        assert not getattr(cluster, doubtful)


def timed_out(error: int, row_error: int) -> dict[int, Any]:
    """Answers with an error for everything, and one for KEY."""
    elections = ElectLeadersResponse.ReplicaElectionResult
    orders = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
    election = elections.PartitionResult(partition_id=KEY[1], error_code=row_error, error_message=None)
    order = orders.ReassignablePartitionResponse(partition_index=KEY[1], error_code=row_error, error_message=None)
    return {
        ELECT_LEADERS: ElectLeadersResponse(
            throttle_time_ms=0, error_code=error, replica_election_results=[elections(topic=KEY[0], partition_result=[election])]
        ),
        REORDER: AlterPartitionReassignmentsResponse(
            throttle_time_ms=0, error_code=error, error_message=None, responses=[orders(name=KEY[0], partitions=[order])]
        ),
    }


@pytest.mark.parametrize(("error", "row_error", "in_doubt"), [(7, 0, {KEY}), (0, 7, {KEY}), (0, 41, set())])
@pytest.mark.parametrize(("key", "method", "argument", "doubtful"), CHANGES)
def test_a_request_that_timed_out_on_its_way_to_the_controller_is_in_doubt(
    broker: fake_brokers.Broker,
    key: int,
    method: str,
    argument: object,
    doubtful: str,
    error: int,
    row_error: int,
    in_doubt: set[tuple[str, int]],
) -> None:
    broker.answers[key] = lambda _request: timed_out(error, row_error)[key]
    with opened(broker) as cluster:
        (refused,) = getattr(cluster, method)(argument).values()
        assert refused.error == ("NOT_CONTROLLER" if row_error == 41 else "REQUEST_TIMED_OUT")
        assert {*getattr(cluster, doubtful)} == in_doubt


@pytest.mark.parametrize(("key", "method", "argument", "doubtful"), CHANGES)
def test_a_request_that_no_broker_takes_is_not(
    broker: fake_brokers.Broker, monkeypatch: pytest.MonkeyPatch, key: int, method: str, argument: object, doubtful: str
) -> None:
    monkeypatch.delitem(fake_brokers.VERSIONS, key)
    broker.follows({1: 0.0})
    with opened(broker) as cluster:
        with pytest.raises(ClusterError):
            getattr(cluster, method)(argument)
        assert not getattr(cluster, doubtful)


def test_an_election_of_designated_leaders_without_an_answer_is_in_doubt(
    broker: fake_brokers.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fake_brokers.VERSIONS, ELECT_LEADERS, (0, 3))
    broker.follows({1: 0.0})
    with NativeCluster(Connection((broker.server,), request_timeout=3.0)) as cluster:
        with pytest.raises(ClusterError):
            cluster.elect_designated({KEY: 1})
        assert cluster.elections_in_doubt == {KEY}
        assert ELECT_LEADERS in {request.api_key for request in broker.requests}


def test_only_the_broker_that_did_not_answer_is_in_doubt_when_another_one_does(broker: fake_brokers.Broker) -> None:
    answer = AlterPartitionReassignmentsResponse(throttle_time_ms=0, error_code=0, error_message=None, responses=[])
    with fake_brokers.brokers(1) as (other,):
        for one in (broker, other):
            one.names([(1, "127.0.0.1", broker.port), (2, "127.0.0.1", other.port)])
            one.follows({1: 0.0, 2: 0.0})
        other.answers[REORDER] = lambda _request: answer
        with Cluster(Connection((other.server,), request_timeout=3.0)) as cluster:
            cluster.reorder({KEY: (2, 1)})
            assert cluster.in_doubt in ({}, {KEY: {1}})
            assert bool(cluster.in_doubt) == (REORDER in {request.api_key for request in broker.requests})


@pytest.fixture
def other(broker: fake_brokers.Broker) -> Iterator[fake_brokers.Broker]:
    """A second broker, with the higher id, which answers elections."""
    with fake_brokers.brokers(1) as (other,):
        for one in (broker, other):
            one.names([(1, "127.0.0.1", broker.port), (2, "127.0.0.1", other.port)])
            one.follows({1: 0.0, 2: 0.0})
        other.answers[ELECT_LEADERS] = lambda _request: ElectLeadersResponse(throttle_time_ms=0, error_code=0, replica_election_results=[])
        yield other


def elections(broker: fake_brokers.Broker) -> int:
    return [request.api_key for request in broker.requests].count(ELECT_LEADERS)


def test_an_unclean_election_that_one_broker_has_got_is_not_sent_to_another_one(
    broker: fake_brokers.Broker, other: fake_brokers.Broker
) -> None:
    """Its guards are older by then. The next attempt reads them again, and asks another broker."""
    with Cluster(Connection((other.server,), request_timeout=3.0)) as cluster:
        with pytest.raises(ClusterError):
            cluster.elect_unclean([KEY])
        assert (elections(broker), elections(other)) == (1, 0)
        assert cluster.elections_in_doubt == {KEY}
        cluster.elect_unclean([KEY])
        assert (elections(broker), elections(other)) == (1, 1)


def test_a_preferred_election_is_sent_to_another_broker(broker: fake_brokers.Broker, other: fake_brokers.Broker) -> None:
    with Cluster(Connection((other.server,), request_timeout=3.0)) as cluster:
        cluster.elect("preferred", [KEY])
        assert (elections(broker), elections(other)) == (1, 1)


def test_an_unclean_election_that_a_broker_has_not_got_is_sent_to_another_one(
    broker: fake_brokers.Broker, other: fake_brokers.Broker
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    other.names([(1, "127.0.0.1", port), (2, "127.0.0.1", other.port)])
    with Cluster(Connection((other.server,), request_timeout=3.0)) as cluster:
        cluster.elect_unclean([KEY])
        assert elections(other) == 1
        assert not cluster.elections_in_doubt


def test_a_broker_that_hangs_is_silent_and_one_that_refuses_connections_is_not(broker: fake_brokers.Broker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging, socket.create_server(("127.0.0.1", 0)) as closed:
        ports = {2: hanging.getsockname()[1], 3: closed.getsockname()[1]}
        closed.close()
        broker.names([(1, "127.0.0.1", broker.port), *((node, "127.0.0.1", port) for node, port in ports.items())])
        broker.follows({1: 0.0})
        with Cluster(Connection((broker.server,), request_timeout=1.0)) as cluster:
            assert cluster.silent() == {2}
            assert cluster.silent({1, 3}) == set()
            assert not cluster.unreachable
            assert cluster.silent({4}) == set()


@pytest.mark.parametrize(("seconds", "silent"), [(0.0, set()), (30.0, {2})], ids=["it follows the controller", "it is cut off"])
def test_a_broker_that_answers_may_still_forward_a_change_until_it_reaches_the_controller(
    broker: fake_brokers.Broker, seconds: float, silent: set[int]
) -> None:
    with fake_brokers.brokers(1) as (other,):
        for one in (broker, other):
            one.names([(1, "127.0.0.1", broker.port), (2, "127.0.0.1", other.port)])
            one.follows({1: 0.0, 2: seconds})
        with opened(broker) as cluster:
            assert cluster.silent() == silent
            assert cluster.silent({1}) == set()


def test_a_broker_that_one_broker_leaves_out_may_still_hang(broker: fake_brokers.Broker) -> None:
    with fake_brokers.brokers(1) as (other,), socket.create_server(("127.0.0.1", 0)) as hanging:
        both = [(1, "127.0.0.1", broker.port), (2, "127.0.0.1", other.port)]
        broker.names(both)
        other.names([*both, (3, "127.0.0.1", hanging.getsockname()[1])])
        for one in (broker, other):
            one.follows({1: 0.0, 2: 0.0})
        with Cluster(Connection((broker.server,), request_timeout=1.0)) as cluster:
            assert cluster.silent({3}) == {3}
            assert cluster.silent() == {3}


@pytest.fixture
def other_servers() -> Iterator[tuple[fake_brokers.Broker, str, str]]:
    """A broker that describes the cluster after the first one has, the address of a broker that hangs, and one where nothing listens."""
    with (
        fake_brokers.brokers(1) as (late,),
        socket.create_server(("127.0.0.1", 0)) as hanging,
        socket.create_server(("127.0.0.1", 0)) as closed,
    ):
        addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in (hanging, closed)]
        closed.close()
        late.names([(2, "127.0.0.1", late.port), (3, "127.0.0.1", hanging.getsockname()[1])])
        late.follows({1: 0.0, 2: 0.0, 3: 0.0})
        at_once = late.answers[fake_brokers.METADATA]

        def answer(request: Request) -> Any:
            time.sleep(0.2)
            return at_once(request)

        late.answers[fake_brokers.METADATA] = answer
        yield late, addresses[0], addresses[1]


def test_a_broker_that_describes_only_itself_hides_no_broker_that_hangs(
    broker: fake_brokers.Broker, other_servers: tuple[fake_brokers.Broker, str, str]
) -> None:
    """It names no second broker. bootstrap_servers does."""
    with Cluster(Connection((broker.server, other_servers[0].server), request_timeout=1.0)) as cluster:
        assert cluster.listed() == {1}
        assert 3 in cluster.silent(None, {1, 2, 3})
        assert cluster.silent({3}) == {3}


def test_one_broker_alone_settles_nothing_while_another_server_may_hang(
    broker: fake_brokers.Broker, other_servers: tuple[fake_brokers.Broker, str, str]
) -> None:
    _late, hanging, _closed = other_servers
    with Cluster(Connection((broker.server, hanging), request_timeout=1.0)) as cluster:
        assert cluster.silent(None, {1, 3}) == {1, 3}
        assert cluster.silent({3}) == {3}


def test_a_second_port_of_one_broker_is_no_second_broker(
    broker: fake_brokers.Broker, other: fake_brokers.Broker, other_servers: tuple[fake_brokers.Broker, str, str]
) -> None:
    """It can name as many as it wants. bootstrap_servers are those that operators know."""
    assert other.port != broker.port
    _late, hanging, closed = other_servers
    with Cluster(Connection((broker.server, hanging), request_timeout=1.0)) as cluster:
        assert cluster.silent({3}) == {3}
    with Cluster(Connection((broker.server, closed), request_timeout=1.0)) as cluster:
        assert cluster.silent({3}) == set()


def test_the_only_broker_that_lives_settles_what_brokers_that_are_gone_have_got(
    broker: fake_brokers.Broker, other_servers: tuple[fake_brokers.Broker, str, str]
) -> None:
    _late, _hanging, closed = other_servers
    broker.names([(1, "127.0.0.1", broker.port), (2, "127.0.0.1", int(closed.rpartition(":")[2]))])
    with Cluster(Connection((broker.server, closed), request_timeout=1.0)) as cluster:
        assert cluster.silent(None, {1, 2, 3}) == set()
        assert cluster.silent({2, 3}) == set()


def test_only_brokers_are_unreachable(broker: fake_brokers.Broker, other_servers: tuple[fake_brokers.Broker, str, str]) -> None:
    """A server is the address of one. It has no id."""
    _late, hanging, closed = other_servers
    broker.names([(1, "127.0.0.1", broker.port), (2, "127.0.0.1", int(closed.rpartition(":")[2]))])
    broker.follows({1: 0.0, 2: 0.0})
    with Cluster(Connection((broker.server, hanging), request_timeout=1.0)) as cluster:
        cluster.confirm_cluster_id()
        cluster.silent()
        assert {row["broker_id"] for row in cluster.unreachable_rows()} <= {2}


def test_a_broker_of_which_one_broker_states_an_address_where_nothing_listens_may_still_hang(broker: fake_brokers.Broker) -> None:
    with (
        fake_brokers.brokers(1) as (other,),
        socket.create_server(("127.0.0.1", 0)) as hanging,
        socket.create_server(("127.0.0.1", 0)) as closed,
    ):
        refusing = closed.getsockname()[1]
        closed.close()
        both = [(1, "127.0.0.1", broker.port), (2, "127.0.0.1", other.port)]
        broker.names([*both, (3, "127.0.0.1", refusing)])
        other.names([*both, (3, "127.0.0.1", hanging.getsockname()[1])])
        for one in (broker, other):
            one.follows({1: 0.0, 2: 0.0})
        with Cluster(Connection((broker.server,), request_timeout=1.0)) as cluster:
            assert cluster.silent({3}) == {3}


@pytest.mark.parametrize("is_first", [True, False])
def test_a_broker_of_which_another_one_states_its_own_address_may_still_hang(broker: fake_brokers.Broker, is_first: bool) -> None:
    with fake_brokers.brokers(1) as (other,), socket.create_server(("127.0.0.1", 0)) as hanging:
        both = [(1, "127.0.0.1", broker.port), (2, "127.0.0.1", other.port)]
        liar, honest = (broker, other) if is_first else (other, broker)
        liar.names([*both, (3, "127.0.0.1", liar.port)])
        honest.names([*both, (3, "127.0.0.1", hanging.getsockname()[1])])
        for one in (broker, other):
            one.follows({1: 0.0, 2: 0.0, 3: 0.0})
        with Cluster(Connection((liar.server,), request_timeout=1.0)) as cluster:
            assert cluster.silent({3}) == {3}


def test_a_broker_whose_list_cannot_be_read_is_left_out(broker: fake_brokers.Broker) -> None:
    with fake_brokers.brokers(1) as (other,):
        both = [(1, "127.0.0.1", broker.port), (2, "127.0.0.1", other.port)]
        broker.names(both)
        other.names(both, [*both, both[0]])
        for one in (broker, other):
            one.follows({1: 0.0, 2: 0.0})
        with Cluster(Connection((broker.server,), request_timeout=1.0)) as cluster:
            assert cluster.silent({1}) == set()


def test_few_brokers_are_asked_which_ones_are_registered() -> None:
    """In a large cluster each answer has thousands of brokers."""
    with fake_brokers.brokers(6) as all_of_them:
        nodes = [(number, "127.0.0.1", one.port) for number, one in enumerate(all_of_them)]
        for one in all_of_them:
            one.names(nodes)
            one.follows(dict.fromkeys(range(6), 0.0))
        with Cluster(Connection((all_of_them[0].server,), request_timeout=1.0)) as cluster:
            assert cluster.silent() == set()
        asked = [one for one in all_of_them if DESCRIBE_CLUSTER in {request.api_key for request in one.requests}]
        assert 1 < len(asked) <= 3


def test_a_broker_that_is_not_listed_may_be_fenced_before_kafka_4(broker: fake_brokers.Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fake_brokers.VERSIONS, DESCRIBE_CLUSTER, (0, 1))
    broker.follows({1: 0.0})
    with opened(broker) as cluster:
        assert cluster.silent({1, 4}) == {4}
        assert cluster.silent(None, {1, 4}) == {4}
        assert cluster.silent() == set()


def test_one_broker_alone_does_not_decide_whether_fenced_brokers_are_listed(broker: fake_brokers.Broker) -> None:
    with fake_brokers.brokers(1) as (older,):
        for one in (broker, older):
            one.names([(1, "127.0.0.1", broker.port), (3, "127.0.0.1", older.port)])
            one.follows({1: 0.0, 3: 0.0})
        older.follows({1: 0.0, 3: 0.0}, {DESCRIBE_CLUSTER: (0, 1)})
        with Cluster(Connection((broker.server,), request_timeout=1.0)) as cluster:
            assert cluster.silent({2}) == {2}


@pytest.mark.parametrize(("version", "is_listed"), [(2, True), (1, False)])
def test_the_advice_on_a_broker_that_never_answers_works_on_this_kafka(broker: fake_brokers.Broker, version: int, is_listed: bool) -> None:
    """Before Kafka 4.0 no broker lists one that was stopped, so to stop or unregister it ends nothing."""
    broker.follows({1: 0.0}, {DESCRIBE_CLUSTER: (0, version)})
    with opened(broker) as cluster:
        advice = unanswered_requests.when_it_ends(cluster)
    assert ("has been stopped, and unregister it" in advice) == is_listed
    assert ("docs/interruptions.md" in advice) != is_listed


def test_brokers_that_answer_hang_nowhere_although_each_listener_states_its_own_addresses(broker: fake_brokers.Broker) -> None:
    """bootstrap_servers may name one broker by its internal listener and another one by its external one. Each of these addresses answers."""
    with fake_brokers.brokers(3) as (other, broker_outside, other_outside):
        inside = [(1, "127.0.0.1", broker.port), (2, "127.0.0.1", other.port)]
        outside = [(1, "127.0.0.1", broker_outside.port), (2, "127.0.0.1", other_outside.port)]
        for one, nodes in ((broker, inside), (other, inside), (broker_outside, outside), (other_outside, outside)):
            one.names(nodes)
            one.follows({1: 0.0, 2: 0.0})
        with Cluster(Connection((broker.server, other_outside.server), request_timeout=1.0)) as cluster:
            assert cluster.silent(None, {1, 2}) == set()
            assert cluster.silent({1}) == set()


def test_a_broker_of_which_all_others_state_their_own_addresses_may_still_hang(broker: fake_brokers.Broker) -> None:
    """Each of these addresses answers. But none of them answers as this broker."""
    with fake_brokers.brokers(1) as (other,):
        both = [(1, "127.0.0.1", broker.port), (2, "127.0.0.1", other.port)]
        for one in (broker, other):
            one.names([*both, (3, "127.0.0.1", one.port)])
            one.follows({1: 0.0, 2: 0.0, 3: 0.0})
        with Cluster(Connection((broker.server, other.server), request_timeout=1.0)) as cluster:
            assert cluster.silent({3}) == {3}


def test_an_address_that_no_broker_can_have_does_not_answer() -> None:
    hosts = ["[", "x]", "[::1]", "::1]", "a:b]:9", "SSL://127.0.0.1", "127.0.0.1]:1#"]
    impossible = [("", 0), ("127.0.0.1", -1), *((host, 9092) for host in hosts)]
    with AddressClient(Connection(("127.0.0.1:1",), request_timeout=1.0), impossible) as client:
        assert client.that_answer() == set()


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("host", ["[::1]", "[", "SSL://127.0.0.1"])
def test_a_broker_of_which_another_one_states_an_impossible_address_may_still_hang(
    broker: fake_brokers.Broker, host: str, is_first: bool
) -> None:
    with fake_brokers.brokers(1) as (other,), socket.create_server(("127.0.0.1", 0)) as hanging:
        both = [(1, "127.0.0.1", broker.port), (2, "127.0.0.1", other.port)]
        liar, honest = (broker, other) if is_first else (other, broker)
        liar.names([*both, (3, host, 9092)])
        honest.names([*both, (3, "127.0.0.1", hanging.getsockname()[1])])
        for one in (broker, other):
            one.follows({1: 0.0, 2: 0.0, 3: 0.0})
        with Cluster(Connection((broker.server, other.server), request_timeout=1.0)) as cluster:
            assert cluster.silent({3}) == {3}


def test_a_broker_of_which_another_one_states_a_second_port_of_its_own_may_still_hang(broker: fake_brokers.Broker) -> None:
    """That port answers, and nothing else states it. But the address that the third broker has by another one does not answer."""
    with fake_brokers.brokers(2) as (other, second_port), socket.create_server(("127.0.0.1", 0)) as hanging:
        both = [(1, "127.0.0.1", broker.port), (2, "127.0.0.1", other.port)]
        broker.names([*both, (3, "127.0.0.1", second_port.port)])
        other.names([*both, (3, "127.0.0.1", hanging.getsockname()[1])])
        for one in (broker, other):
            one.follows({1: 0.0, 2: 0.0, 3: 0.0})
        with Cluster(Connection((broker.server, other.server), request_timeout=1.0)) as cluster:
            assert cluster.silent({3}) == {3}


def test_a_broker_that_states_the_address_of_another_server_as_its_own_is_no_second_one(
    broker: fake_brokers.Broker, other_servers: tuple[fake_brokers.Broker, str, str]
) -> None:
    """Only one that lies does so. Two servers have to answer, each at its own address."""
    _late, hanging, _closed = other_servers
    broker.names([(1, "127.0.0.1", broker.port)], described=[(1, "127.0.0.1", int(hanging.rpartition(":")[2]))])
    with Cluster(Connection((broker.server, hanging), request_timeout=1.0)) as cluster:
        assert cluster.silent({3}) == {3}
        assert 3 in cluster.silent(None, {1, 3})
