# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of the protocol: each broker is spoken to in its own."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest
from fake_brokers import (
    API_VERSIONS,
    DESCRIBE_CLUSTER,
    DESCRIBE_QUORUM,
    LIST_OFFSETS,
    METADATA,
    VERSIONS,
    Broker,
    api_versions,
    brokers,
    log_ends,
    options,
    quorum,
)

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import partition_states, replica_log_fetch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError

KEY = ("t", 0)
OLD = {**VERSIONS, LIST_OFFSETS: (0, 1)}
FEW = {key: VERSIONS[key] for key in (METADATA, API_VERSIONS)}


def offers(broker: Broker, versions: Mapping[int, tuple[int, int]], seconds: float = 0.0) -> None:
    """Have it offer these versions, after a while."""

    def answer(_request: object) -> Any:
        time.sleep(seconds)
        return api_versions(versions)

    broker.answers[API_VERSIONS] = answer


@pytest.mark.parametrize("versions", [OLD, FEW], ids=["old", "few"])
def test_a_bootstrap_server_does_not_choose_the_versions_of_others(versions: Mapping[int, tuple[int, int]]) -> None:
    with brokers(2) as (good, bad):
        nodes = [(1, "127.0.0.1", good.port), (2, "127.0.0.1", bad.port)]
        good.names(nodes)
        bad.names(nodes)
        good.answers[LIST_OFFSETS] = lambda _request: log_ends("t", 5)
        offers(bad, versions, 0.3)
        with Cluster(Connection.from_params(options([good.server, bad.server], request_timeout=3.0))) as cluster:
            (named,) = (node for node, server in cluster._named().items() if server == bad.server)
            # The connection to it is made last. The one to broker 1 breaks, and is made again.
            cluster._ask_each({named: [partition_states.metadata(())]})
            good.answers.pop(LIST_OFFSETS)
            cluster.log_ends({1: [KEY]})
            good.answers[LIST_OFFSETS] = lambda _request: log_ends("t", 5)
            ends = again(cluster)
        assert ends[KEY].partition_leader_epoch == 5
        assert {request.version for request in good.requests if request.api_key == LIST_OFFSETS} == {5}


def again(cluster: Cluster) -> dict[tuple[str, int], replica_log_fetch.LogEnd]:
    """The log ends of broker 1, as soon as the client connects to it again."""
    for _time in range(50):
        if found := cluster.log_ends({1: [KEY]})[1]:
            return found
    raise AssertionError(cluster.unreachable)


def test_a_request_that_no_broker_offers_is_an_error_and_not_a_traceback() -> None:
    with brokers(1) as (broker,):
        broker.names([(1, "127.0.0.1", broker.port)])
        offers(broker, {key: VERSIONS[key] for key in VERSIONS if key != DESCRIBE_CLUSTER})
        with pytest.raises(ClusterError, match=r"no broker supports this request: .*DescribeCluster"):
            Cluster(Connection.from_params(options([broker.server]))).__enter__()


@pytest.mark.parametrize("offered", [{DESCRIBE_QUORUM: (0, 0)}, {}], ids=["Kafka 3.2", "Kafka with ZooKeeper"])
def test_a_broker_that_is_too_old_is_refused_with_the_remedy_and_not_with_a_broken_connection(
    offered: Mapping[int, tuple[int, int]],
) -> None:
    with brokers(1) as (broker,):
        broker.names([(1, "127.0.0.1", broker.port)])
        broker.answers[DESCRIBE_QUORUM] = lambda _request: quorum({})  # Kafka 3.2 names no broker in it
        offers(broker, {**VERSIONS, **offered})
        with (
            Cluster(Connection.from_params(options([broker.server]))) as cluster,
            pytest.raises(
                ClusterError, match=r"DescribeQuorum.* Kafka must be 3\.3 or newer and run with KRaft: upgrade the brokers"
            ) as error,
        ):
            cluster.partitions()
    assert "\n" not in str(error.value)
