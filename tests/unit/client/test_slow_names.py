# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that the resolver resolves slowly: no other request waits for them."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from fake_brokers import LIST_OFFSETS, brokers, log_ends, options, resolve

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import addresses, connection_diagnosis
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node

pytestmark = pytest.mark.slow

SLOW = [f"broker-{number}.example.com" for number in range(2, 8)]
TIMEOUT = 2.0
# Each of them, one after the other.
ALL_IN_TURN = 3.0 * len(SLOW)
KEY = ("t", 0)


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A resolver that never answers for these names, or not while the test runs."""
    over = threading.Event()

    def wait() -> list[str]:
        over.wait(3.0)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    resolve(monkeypatch, dict.fromkeys(SLOW, wait))
    yield
    over.set()


def test_brokers_whose_names_are_not_resolved_are_unreachable_and_no_others() -> None:
    with brokers(2) as running:
        nodes = [(number, "127.0.0.1", broker.port) for number, broker in enumerate(running)]
        for broker in running:
            broker.names([*nodes, *((number, host, 9092) for number, host in enumerate(SLOW, start=2))])
            broker.answers[LIST_OFFSETS] = lambda _request: log_ends("t", 1)
        with Cluster(Connection.from_params(options([running[0].server], request_timeout=TIMEOUT))) as cluster:
            began = time.monotonic()
            ends = cluster.log_ends({number: [KEY] for number in [*range(2, 8), 0, 1]})
            assert time.monotonic() - began < ALL_IN_TURN / 2
            assert {node for node, found in ends.items() if found} == {0, 1}
            assert set(cluster.unreachable) == set(range(2, 8))
            assert SLOW[0] in cluster.unreachable[2] and "cannot be resolved" in cluster.unreachable[2]


def test_looking_at_fenced_brokers_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_diagnosis, "NAME_SECONDS", 0.5)
    with brokers(1) as (broker,):
        fenced = [Node(number, host, 9092, None, True) for number, host in enumerate(SLOW, start=2)]
        began = time.monotonic()
        assert connection_diagnosis.fenced_that_answer([*fenced, Node(1, "127.0.0.1", broker.port, None, True)]) == {1}
        assert time.monotonic() - began < 2.5


def test_the_reason_for_a_name_that_is_not_resolved_comes_in_time() -> None:
    began = time.monotonic()
    said = connection_diagnosis.diagnose(Connection(("127.0.0.1:1",), request_timeout=0.5), [f"{SLOW[0]}:9092"], OSError("closed"))
    assert time.monotonic() - began < 2.5
    assert f"the name {SLOW[0]} cannot be resolved (the resolver does not answer in time)" in said


def test_a_name_that_no_request_needs_any_more_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "THREADS", 1)
    resolver = addresses.Resolver()
    lookups = [resolver.lookup(host, 9092) for host in SLOW]
    assert [lookup.cancel() for lookup in lookups[1:]] == [True] * 5
    with pytest.raises(socket.gaierror, match="Temporary failure"):
        lookups[0].result(10)


def test_localhost_is_127_0_0_1_first() -> None:
    found = addresses.Resolver().resolve("localhost", 9092, 10)
    assert found[0][4][0] == "127.0.0.1"
