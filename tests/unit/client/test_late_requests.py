# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No broker gets a change after its caller has given up, nor an unclean election that cannot be sent soon after its guards were read."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import fake_brokers
import pytest
from kafka import errors
from kafka.protocol.admin import AlterPartitionReassignmentsResponse, ElectLeadersResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.change_client import ONCE_SECONDS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import leader_elections
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CUT_OFF
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError

API_VERSIONS, ELECT_LEADERS, REORDER = 18, 43, 45
KEY = ("t", 0)


class Pair:
    """Two brokers, and a client that has set an order. `writer` answered that, and asked for a pause of `throttle_ms`; `other` is the other one."""

    def __init__(self, cluster: Cluster, brokers: dict[int, fake_brokers.Broker], throttle_ms: int) -> None:
        self.cluster, self._throttle_ms, self.got = cluster, throttle_ms, dict[int, int]()
        for number, broker in brokers.items():
            broker.answers[ELECT_LEADERS] = lambda _request, number=number: self._count(number, elected())
            broker.answers[REORDER] = lambda _request, number=number: self._count(number, ordered(self._throttle_ms))
        cluster.reorder({KEY: (2, 1)})
        ((number, _),) = self.got.items()
        self.writer, self.other = number, 3 - number
        self._brokers = brokers
        self.got.clear()
        self._throttle_ms = 0

    def _count(self, broker: int, answer: Any) -> Any:
        self.got[broker] = self.got.get(broker, 0) + 1
        return answer

    def hang_in_the_handshake(self, seconds: float, *, both: bool = False) -> None:
        """Cut the connection to the writer, which then takes some seconds to state its versions. `both`: to the other, too."""
        for number in (self.writer, *([self.other] if both else ())):
            self._delay_versions(self._brokers[number], seconds)
            self._disconnect(number)

    def _disconnect(self, number: int) -> None:
        self.cluster._manager.call_soon(lambda: self.cluster._manager.close(number))
        time.sleep(0.1)

    def end_the_hang(self, number: int) -> None:
        """Cut the connection to this broker, which states its versions at once from now on."""
        self._brokers[number].follows({1: 0.0, 2: 0.0})
        self._disconnect(number)

    @staticmethod
    def _delay_versions(broker: fake_brokers.Broker, seconds: float) -> None:
        right = broker.answers[API_VERSIONS]

        def late(request: Any) -> Any:
            time.sleep(seconds)
            return right(request)

        broker.answers[API_VERSIONS] = late

    def end_the_writer(self) -> None:
        """Let nothing listen on its port any more."""
        listener = self._brokers[self.writer]._listener
        listener.shutdown(socket.SHUT_RDWR)
        with socket.create_server(("127.0.0.1", 0)) as another:
            os.dup2(another.fileno(), listener.fileno())
        self._disconnect(self.writer)


def elected() -> Any:
    return ElectLeadersResponse(throttle_time_ms=0, error_code=0, replica_election_results=[])


def ordered(throttle_ms: int) -> Any:
    return AlterPartitionReassignmentsResponse(throttle_time_ms=throttle_ms, error_code=0, error_message=None, responses=[])


@pytest.fixture(autouse=True)
def versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fake_brokers.VERSIONS, ELECT_LEADERS, (0, 2))
    monkeypatch.setitem(fake_brokers.VERSIONS, REORDER, (0, 0))


@contextmanager
def pair(timeout: float, throttle_ms: int = 0) -> Iterator[Pair]:
    with fake_brokers.brokers(2) as (one, two):
        for broker in (one, two):
            broker.names([(1, "127.0.0.1", one.port), (2, "127.0.0.1", two.port)])
            broker.follows({1: 0.0, 2: 0.0})
        with Cluster(Connection((two.server,), request_timeout=timeout)) as cluster:
            yield Pair(cluster, {1: one, 2: two}, throttle_ms)


@pytest.mark.parametrize(("method", "argument"), [("elect_unclean", [KEY]), ("reorder", {KEY: (2, 1)})])
def test_no_broker_gets_a_change_whose_caller_has_given_up(method: str, argument: Any) -> None:
    with pair(timeout=2.0, throttle_ms=500) as both:
        both.hang_in_the_handshake(1.7)
        with suppress(ClusterError):
            getattr(both.cluster, method)(argument)
        got = dict(both.got)
        time.sleep(1.5)
        assert both.got == got


def test_an_election_that_waits_for_handshakes_is_sent_to_no_broker_when_its_guards_are_old() -> None:
    with pair(timeout=ONCE_SECONDS + 1) as both:
        both.hang_in_the_handshake(60, both=True)
        with pytest.raises(ClusterError, match="too old"):
            both.cluster.elect_unclean([KEY])
        assert both.got == {} and not both.cluster.elections_in_doubt


def test_a_broker_that_was_not_ready_when_another_one_answered_does_not_get_the_request_later() -> None:
    with pair(timeout=3.0) as both:
        both.hang_in_the_handshake(0.6)
        request = partial(leader_elections.elect, "unclean", [KEY], 3000)
        node, _answer = both.cluster._ask_any(request, [both.writer, both.other], hedge_after=0.2)
        time.sleep(1.0)
        assert node == both.other
        assert both.got == {both.other: 1}


def test_a_request_that_was_not_ready_within_its_share_of_the_time_is_not_called_too_old() -> None:
    with pair(timeout=3.0) as both:
        both.hang_in_the_handshake(60)
        request = partial(leader_elections.elect, "unclean", [KEY], 3000)
        with deadline.until(time.monotonic() + 0.3), pytest.raises(errors.KafkaTimeoutError, match=CUT_OFF):
            both.cluster._ask_any(request, [both.writer], hedge_after=3.0, written_by=time.monotonic() + 3.0)


def test_a_broker_that_was_not_ready_for_one_election_does_not_delay_the_next_one() -> None:
    """No broker was ready for the first one, so the broker that has answered last is still the same."""
    with pair(timeout=2 * ONCE_SECONDS + 1) as both:
        both.hang_in_the_handshake(60, both=True)
        with pytest.raises(ClusterError, match="too old"):
            both.cluster.elect_unclean([KEY])
        both.end_the_hang(both.other)
        began = time.monotonic()
        both.cluster.elect_unclean([KEY])
        assert both.got == {both.other: 1}
        assert time.monotonic() - began < ONCE_SECONDS / 4


def test_no_broker_gets_an_election_whose_guards_were_old_before_it_was_to_be_sent() -> None:
    """The process was stalled in between."""
    with pair(timeout=2.0) as both:
        with pytest.raises(ClusterError, match="too old"):
            both.cluster.elect_unclean([KEY], time.monotonic() - 0.1)
        assert both.got == {} and not both.cluster.elections_in_doubt


def test_an_election_does_not_wait_for_a_broker_that_throttles_but_is_sent_to_another_one() -> None:
    with pair(timeout=2 * ONCE_SECONDS + 1, throttle_ms=int(2000 * ONCE_SECONDS)) as both:
        both.cluster.elect_unclean([KEY])
        assert both.got == {both.other: 1}


def test_a_broker_that_hangs_in_the_handshake_leaves_time_to_another_one_and_does_not_get_the_next_election_first() -> None:
    """Nothing was sent to it, and another broker lives. Attempts are few."""
    with pair(timeout=ONCE_SECONDS + 1) as both:
        both.hang_in_the_handshake(60)
        both.cluster.elect_unclean([KEY])
        assert both.got == {both.other: 1}
        began = time.monotonic()
        both.cluster.elect_unclean([KEY])
        assert both.got == {both.other: 2}
        assert time.monotonic() - began < ONCE_SECONDS / 2


def test_an_election_is_not_kept_for_the_end_of_a_new_login_on_the_same_connection() -> None:
    """KIP-368: kafka-python keeps requests meanwhile, and writes them when the broker has answered, however late."""
    with pair(timeout=ONCE_SECONDS + 3) as both:
        connection = both.cluster._manager._conns[both.writer]
        connection._reauth._reauthenticating = True

        def done() -> None:
            connection._reauth._reauthenticating = False
            connection.send_buffered()

        login = threading.Timer(ONCE_SECONDS + 1, lambda: both.cluster._manager.call_soon(done))
        login.start()
        both.cluster.elect_unclean([KEY])
        login.join()
        time.sleep(0.2)
        assert both.got == {both.other: 1}


def test_an_election_waits_for_a_new_login_that_is_answered_soon() -> None:
    with pair(timeout=ONCE_SECONDS + 3) as both:
        reauth = both.cluster._manager._conns[both.writer]._reauth
        reauth._reauthenticating = True

        def done() -> None:
            reauth._reauthenticating = False

        threading.Timer(0.2, done).start()
        both.cluster.elect_unclean([KEY])
        assert both.got == {both.writer: 1}


def test_an_election_is_not_kept_for_the_connection_after_one_that_ends_in_a_new_login() -> None:
    with pair(timeout=ONCE_SECONDS + 3) as both:
        both.cluster._manager._conns[both.writer]._reauth._reauthenticating = True
        threading.Timer(0.2, both.hang_in_the_handshake, [60]).start()
        both.cluster.elect_unclean([KEY])
        assert both.got == {both.other: 1}


def test_why_a_broker_refuses_connections_is_not_found_out_before_another_one_gets_the_election(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker that answered last has just died, and another one hangs: to find out costs seconds, and then the guards are old for all others."""
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        right = fake_brokers.Broker.names

        def names(broker: fake_brokers.Broker, nodes: Any) -> None:
            right(broker, [(0, "127.0.0.1", hanging.getsockname()[1]), *nodes])

        monkeypatch.setattr(fake_brokers.Broker, "names", names)
        with pair(timeout=2 * ONCE_SECONDS) as both:
            both.end_the_writer()
            both.cluster.elect_unclean([KEY])
            assert both.got == {both.other: 1}
