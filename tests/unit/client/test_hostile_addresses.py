# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses that a broker names: a password goes unencrypted to none beyond this machine, on whatever way the client learned it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_brokers import PASSWORD, Broker, brokers, plain_login, resolve

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import partition_states
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import connection_diagnosis, connection_probe
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import NodeClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.events import fleet

ELSEWHERE = "broker-2.example.com"
REFUSED = "the password unencrypted to broker-2.example.com"


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine, as far as its name says."""
    resolve(monkeypatch, {ELSEWHERE: lambda: ["127.0.0.1"]})


def test_describe_cluster_leads_no_password_to_another_machine() -> None:
    """A broker names the other address in DescribeCluster alone, and hangs up on what is asked next."""
    with brokers(2) as (near, far):
        own = (1, "127.0.0.1", near.port)
        near.names([own], [own, (2, ELSEWHERE, far.port)])
        with pytest.raises(RecoveryError, match=REFUSED), Cluster(plain_login([near.server])) as cluster:
            cluster.partitions()
        assert far.logins == []


def looked(near: Broker, far: Broker) -> fleet.ClusterObserver:
    """An event source that has learned both addresses, the second one from a broker."""
    observer = fleet.ClusterObserver(plain_login([near.server]))
    observer._learned = (near.server, f"{ELSEWHERE}:{far.port}")
    return observer


def test_what_an_event_source_learned_leads_no_password_to_another_machine() -> None:
    with brokers(2) as (near, far):
        near.names([(1, "127.0.0.1", near.port)])
        observer = looked(near, far)
        with pytest.raises(RecoveryError, match=REFUSED):
            observer.observe()
        assert far.requests == []


def test_an_event_source_forgets_what_it_learned_when_that_does_not_open_the_cluster() -> None:
    with brokers(2) as (near, far):
        near.names([(1, "127.0.0.1", near.port)])
        observer = looked(near, far)
        with pytest.raises(RecoveryError, match=REFUSED):
            observer.observe()
        observer._open().close()
        assert far.requests == []


def test_no_connection_to_another_machine_logs_in_unencrypted() -> None:
    """Whatever names the address: the client has it among its nodes."""
    with brokers(1) as (far,):
        with NodeClient(replace(plain_login(["127.0.0.1:1"]), bootstrap_servers=()), [f"{ELSEWHERE}:{far.port}"]) as asking:
            (node,) = asking._named()
            asking._ask_each({node: [partition_states.metadata(())]})
        assert far.requests == []
        assert REFUSED in asking.unreachable[node]


def test_looking_for_the_reason_does_not_log_in_unencrypted_on_another_machine() -> None:
    with brokers(1) as (far,):
        login = plain_login(["127.0.0.1:1"])
        with pytest.raises(connection_probe.ProbeError, match=REFUSED):
            connection_probe.probe(login, ELSEWHERE, far.port, 3.0)
        said = connection_diagnosis.diagnose(login, [f"{ELSEWHERE}:{far.port}"], OSError("closed"))
        assert REFUSED in said and PASSWORD not in said
        assert far.logins == []
