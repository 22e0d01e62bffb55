# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Handshake: a login comes to an end, whatever the other side answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from fake_brokers import (
    API_VERSIONS,
    PASSWORD,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    VERSIONS,
    Broker,
    api_versions,
    authenticated,
    brokers,
    options,
    plain_login,
)
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import partition_states
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import connection_probe, oauth
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import NodeClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

ROUNDS_TO_GIVE_UP = 100  # by a client that goes on for ever
FOR_EVER = 30.0  # seconds


@pytest.fixture
def broker() -> Iterator[Broker]:
    with brokers(1) as (broker,):
        yield broker


@pytest.fixture
def login(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Connection:
    """OAUTHBEARER with a token that needs no endpoint."""
    monkeypatch.setattr(oauth.TokenSource, "token", lambda _self: "token")
    credentials = {"token_endpoint": "http://127.0.0.1:1/token", "client_id": "recovery", "client_secret": "hush"}
    oauthbearer = {"sasl_mechanism": "OAUTHBEARER", **{f"sasl_oauth_{name}": value for name, value in credentials.items()}}
    return Connection.from_params(options([broker.server], security_protocol="SASL_PLAINTEXT", request_timeout=1.0, **oauthbearer))


def slowly(answer: Any, seconds: float) -> Any:
    time.sleep(seconds)
    return answer


def endless(broker: Broker) -> None:
    """One more round, always."""

    def answer(_request: object) -> Any:
        assert len(broker.logins) < ROUNDS_TO_GIVE_UP, "the client does not give up"
        return authenticated(b"{}")

    broker.answers[SASL_AUTHENTICATE] = answer


def test_a_login_has_no_more_rounds_than_a_mechanism_needs(broker: Broker, login: Connection) -> None:
    endless(broker)
    with pytest.raises(connection_probe.ProbeError, match="within 4 rounds") as refused:
        connection_probe.probe(login, "127.0.0.1", broker.port, 5.0)
    assert refused.value.credentials
    assert len(broker.logins) == connection_probe.SASL_ROUNDS


@pytest.mark.parametrize("offered", [["A" * 30_000], ["SCRAM-SHA-512\x1b[31m"], ["GSSAPI", *(f"M{number}" for number in range(5_000))]])
def test_a_listener_cannot_fill_the_error_with_mechanisms(broker: Broker, offered: list[str]) -> None:
    broker.answers[SASL_HANDSHAKE] = lambda _request: SaslHandshakeResponse[1](error_code=33, mechanisms=offered)
    with pytest.raises(connection_probe.ProbeError, match=r"does not support PLAIN; set sasl_mechanism to one of (none|GSSAPI)") as refused:
        connection_probe.probe(plain_login([broker.server]), "127.0.0.1", broker.port, 5.0)
    assert len(str(refused.value)) < 200 and str(refused.value).isprintable()


@pytest.mark.parametrize(("message", "shown"), [(None, ""), ("no such user\n", r"no such user\n"), ("x" * 10_000, "x" * 299 + "…")])
def test_a_listener_cannot_fill_the_error_with_its_message(broker: Broker, message: str | None, shown: str) -> None:
    broker.answers[SASL_AUTHENTICATE] = lambda _request: SaslAuthenticateResponse[1](error_code=58, error_message=message, auth_bytes=b"")
    with pytest.raises(connection_probe.ProbeError) as refused:
        connection_probe.probe(plain_login([broker.server]), "127.0.0.1", broker.port, 5.0)
    assert str(refused.value).endswith(f"(the broker's message: {shown})")


def test_all_steps_share_one_time_limit(broker: Broker) -> None:
    """Each step comes within the limit, and all of them do not."""
    broker.answers |= {
        API_VERSIONS: lambda _request: slowly(api_versions(VERSIONS), 0.4),
        SASL_AUTHENTICATE: lambda _request: slowly(authenticated(), 0.4),
    }
    with pytest.raises(TimeoutError):
        connection_probe.probe(plain_login([broker.server]), "127.0.0.1", broker.port, 0.6)


@pytest.mark.slow
def test_connections_give_up_a_login_without_end_within_the_time_limit(broker: Broker, login: Connection) -> None:
    """kafka-python ends it by the clock."""
    broker.answers[SASL_AUTHENTICATE] = lambda _request: slowly(authenticated(b"{}"), 0.05)
    with NodeClient(login, [broker.server]) as asking:
        (node,) = asking._named()
        assert asking._ask_each({node: [partition_states.metadata(())]}) == {node: []}
    assert len(broker.logins) < ROUNDS_TO_GIVE_UP


@pytest.mark.slow
def test_a_cluster_whose_logins_have_no_end_is_an_error(broker: Broker, login: Connection) -> None:
    broker.answers[SASL_AUTHENTICATE] = lambda _request: slowly(authenticated(b"{}"), 0.05)
    ended: list[BaseException] = []

    def opened() -> None:
        try:
            Cluster(login).__enter__()
        except RecoveryError as error:
            ended.append(error)

    thread = threading.Thread(target=opened, daemon=True)
    thread.start()
    thread.join(FOR_EVER)
    assert ended and "does not end within" in str(ended[0])


def test_a_challenge_that_is_not_answered_is_named_with_the_remedy(broker: Broker) -> None:
    login = Connection.from_params(
        options(
            [broker.server],
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="SCRAM-SHA-512",
            sasl_username="recovery",
            sasl_password=PASSWORD,
        )
    )
    broker.answers |= {
        SASL_HANDSHAKE: lambda _request: SaslHandshakeResponse(error_code=0, mechanisms=[login.sasl_mechanism]),
        SASL_AUTHENTICATE: lambda _request: authenticated(b"r=nonce,s=c2FsdA==,i=1000000"),
    }
    with pytest.raises(connection_probe.ProbeError, match=r"1000000 iterations of SCRAM.*kafka-configs\.sh"):
        connection_probe.probe(login, "127.0.0.1", broker.port, 5.0)
    with NodeClient(login, [broker.server]) as asking:
        (node,) = asking._named()
        asking._ask_each({node: [partition_states.metadata(())]})
        assert "1000000 iterations of SCRAM" in asking.unreachable[node]
