# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests that read reassignments and change replica orders, as they arrive at a broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import fake_brokers
import pytest
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection

ALTER, LIST = 45, 46
KEY = ("t", 0)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[fake_brokers.Broker]:
    """One broker without reassignments, which accepts every replica order."""
    monkeypatch.setitem(fake_brokers.VERSIONS, LIST, (0, 0))
    with fake_brokers.brokers(1) as (one,):
        one.names([(1, "127.0.0.1", one.port)])
        listed = ListPartitionReassignmentsResponse(throttle_time_ms=0, error_code=0, error_message=None, topics=[])
        accepted = AlterPartitionReassignmentsResponse(throttle_time_ms=0, error_code=0, error_message=None, responses=[])
        one.answers |= {LIST: lambda _request: listed, ALTER: lambda _request: accepted}
        yield one


def received(broker: fake_brokers.Broker, kind: Any, api_key: int) -> Any:
    (request,) = (one for one in broker.requests if one.api_key == api_key)
    return kind.decode(request.flexible_body, version=request.version)


@pytest.mark.parametrize("seconds", [3.0, 45.0])
def test_the_controller_may_take_request_timeout_to_list_reassignments(broker: fake_brokers.Broker, seconds: float) -> None:
    broker.follows({1: 0.0})
    with Cluster(Connection((broker.server,), request_timeout=seconds)) as cluster:
        assert cluster.reassigning() == set()
    assert received(broker, ListPartitionReassignmentsRequest, LIST).timeout_ms == seconds * 1000


@pytest.mark.parametrize(("versions", "version"), [((0, 0), 0), ((0, 1), 1)])
def test_a_new_replica_order_does_not_allow_another_replication_factor_if_brokers_offer_kip_860(
    broker: fake_brokers.Broker, versions: tuple[int, int], version: int
) -> None:
    broker.follows({1: 0.0}, {ALTER: versions})
    with Cluster(Connection((broker.server,), request_timeout=3.0)) as cluster:
        cluster.reorder({KEY: (2, 1)})
    request = received(broker, AlterPartitionReassignmentsRequest, ALTER)
    assert (request.API_VERSION, request.timeout_ms, request.topics[0].partitions[0].replicas) == (version, 3000, [2, 1])
    assert version == 0 or request.allow_replication_factor_change is False
