# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Another user that listens on a loopback port gets no secret: neither the password of Kafka, nor a token, nor the secret of an OAuth client."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from fake_brokers import PASSWORD, brokers, plain_login, resolve
from listener import Listener, listener

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import partition_states
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import connection_probe, loopback_peers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import NodeClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.oauth import TokenSource
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import socket_users
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
OAUTH = Connection(("127.0.0.1:1",), (), "SASL_PLAINTEXT", "OAUTHBEARER")
SECRET = loopback_peers.Secret("password", "SASL_SSL")


class Taken(NamedTuple):
    """Where the process listens."""

    process: Listener
    host: str

    @property
    def server(self) -> str:
        """Its address."""
        return f"[{self.host}]:{self.process.port}" if ":" in self.host else f"{self.host}:{self.process.port}"


@pytest.fixture(params=["127.0.0.1", "::1"])
def taken(request: pytest.FixtureRequest) -> Iterator[Taken]:
    """Another user's process on a port of `host`. It keeps what it gets, and sends nothing: an answer that a client does not expect ends the connection."""
    with listener(request.param, greeting=b"") as process:
        yield Taken(process, request.param)


def asked(login: Connection) -> str:
    """Why the one bootstrap server does not answer."""
    with NodeClient(login, login.bootstrap_servers) as asking:
        (node,) = asking._named()
        asking._ask_each({node: [partition_states.metadata(())]})
        return asking.unreachable[node]


@only_root
def test_another_user_gets_no_connection_with_a_password(taken: Taken) -> None:
    said = asked(plain_login([taken.server]))
    assert "another user (uid 65534)" in said and "allow_plaintext_secrets" in said and PASSWORD not in said
    assert taken.process.received() == b""


@only_root
def test_another_user_gets_no_login_when_the_reason_is_looked_for(taken: Taken) -> None:
    login = plain_login([taken.server])
    with pytest.raises(connection_probe.ProbeError, match=r"another user \(uid 65534\)"):
        connection_probe.probe(login, taken.host, taken.process.port, 3.0)
    assert taken.process.received() == b""


@only_root
def test_another_user_gets_no_client_secret(taken: Taken) -> None:
    source = TokenSource(f"http://{taken.server}/token", "recovery", PASSWORD, None, None, True, 3.0)
    with pytest.raises(RecoveryError, match=r"another user \(uid 65534\).*use https://"):
        source.token()
    assert taken.process.received() == b""


@only_root
def test_the_same_port_of_ipv6_is_not_localhost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user listens on [::1], and `localhost` resolves to both addresses."""
    resolve(monkeypatch, {"localhost": lambda: ["::1", "127.0.0.1"]})
    with brokers(1) as (broker,), listener("::1", broker.port) as other:
        broker.names([(1, "localhost", broker.port)])
        with Cluster(plain_login([f"localhost:{broker.port}"])) as cluster:
            assert cluster.cluster_id == "made-up"
        assert other.received() == b""


@only_root
def test_leave_to_send_secrets_is_leave_for_all_processes(taken: Taken) -> None:
    assert "another user" not in asked(replace(plain_login([taken.server]), allow_plaintext_secrets=True, request_timeout=3))
    assert taken.process.received()


def test_processes_of_this_user_need_no_leave() -> None:
    with brokers(1) as (broker,):
        broker.names([(1, "127.0.0.1", broker.port)])
        with Cluster(plain_login([broker.server])) as cluster:
            assert cluster.cluster_id == "made-up"
        assert broker.logins


def test_what_listens_is_not_known_where_the_kernel_does_not_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket_users, "TABLES", (Path("/nowhere"), Path("/nowhere")))
    with brokers(1) as (broker,):
        said = asked(plain_login([broker.server]))
        assert "only Linux shows" in said and "allow_plaintext_secrets" in said
        assert broker.requests == []


def test_a_process_that_accepts_no_connection_is_not_known() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as stream:
        assert not loopback_peers.trusted(stream, "here", SECRET)
        with pytest.raises(loopback_peers.PeerError, match="is not found"):
            loopback_peers.check(stream, "here", SECRET, 0.1)
        with server.accept()[0]:
            assert loopback_peers.trusted(stream, "here", SECRET)


@pytest.mark.parametrize(
    ("login", "name"),
    [
        (OAUTH, "token"),
        (replace(OAUTH, sasl_mechanism="PLAIN"), "password"),
        (replace(OAUTH, sasl_mechanism="SCRAM-SHA-256"), None),
        (replace(OAUTH, security_protocol="SASL_SSL"), None),
        (replace(OAUTH, security_protocol="PLAINTEXT"), None),
        (replace(OAUTH, allow_plaintext_secrets=True), None),
    ],
)
def test_what_is_guarded(login: Connection, name: str | None) -> None:
    assert (login.guarded_secret and login.guarded_secret.name) == name
