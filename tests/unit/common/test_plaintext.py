# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets go unencrypted to no other machine without explicit leave."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import CONNECTION_ARGUMENTS, Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

PLAIN = {"sasl_mechanism": "PLAIN", "sasl_username": "u", "sasl_password": "hush"}
SCRAM = {**PLAIN, "sasl_mechanism": "SCRAM-SHA-256"}
OAUTH = {
    "sasl_mechanism": "OAUTHBEARER",
    "sasl_oauth_token_endpoint": "https://login.example.com/token",
    "sasl_oauth_client_id": "u",
    "sasl_oauth_client_secret": "hush",
}
OPEN, CLOSED = {"security_protocol": "SASL_PLAINTEXT"}, {"security_protocol": "SASL_SSL"}
HERE, THERE = {"bootstrap_servers": ["127.0.0.1:9092", "localhost:9093", "[::1]:9094"]}, {"bootstrap_servers": ["localhost:9092", "b:9093"]}
HTTP = {"sasl_oauth_token_endpoint": "http://login.example.com/token"}


def connected(*options: dict[str, Any]) -> Connection:
    given = {name: value for each in options for name, value in each.items()}
    return Connection.from_params({name: spec.get("default") for name, spec in CONNECTION_ARGUMENTS.items()} | given)


REFUSED = {
    "password": ([OPEN, PLAIN, THERE], ["SASL_PLAINTEXT with PLAIN", "the password unencrypted to b:9093", "use SASL_SSL"]),
    "token": ([OPEN, OAUTH, THERE], ["SASL_PLAINTEXT with OAUTHBEARER", "the token unencrypted to b:9093", "use SASL_SSL"]),
    "to a controller": ([OPEN, PLAIN, HERE, {"controller_bootstrap_servers": ["c:9093"]}], ["unencrypted to c:9093"]),
    "client secret": ([CLOSED, OAUTH, HERE, HTTP], ["sasl_oauth_client_secret unencrypted", "use https://"]),
}


@pytest.mark.parametrize("options, words", REFUSED.values(), ids=REFUSED)
def test_a_secret_is_not_sent_unencrypted_without_leave(options: list[dict[str, Any]], words: list[str]) -> None:
    with pytest.raises(RecoveryError) as refused:
        connected(*options)
    assert [word for word in [*words, "kafka_allow_plaintext_secrets: true"] if word not in str(refused.value)] == []
    assert "hush" not in str(refused.value) and len(str(refused.value)) < 220
    assert connected(*options, {"allow_plaintext_secrets": True})


ACCEPTED = {
    "on loopback": [OPEN, PLAIN, HERE],
    "token on loopback": [OPEN, OAUTH, HERE, {"sasl_oauth_token_endpoint": "http://[::1]:8080/token"}],
    "SCRAM sends no password": [OPEN, SCRAM, THERE],
    "TLS": [CLOSED, PLAIN, THERE],
    "no login": [{"security_protocol": "SSL"}, OAUTH, HTTP, THERE],
}


@pytest.mark.parametrize("options", ACCEPTED.values(), ids=ACCEPTED)
def test_what_stays_here_or_is_encrypted_needs_no_leave(options: list[dict[str, Any]]) -> None:
    connected(*options).check_plaintext(["127.0.0.1:9092"])


def test_a_broker_on_loopback_that_advertises_another_machine_gets_no_password() -> None:
    with pytest.raises(RecoveryError, match=r"unencrypted to broker-2\.example\.com:9092"):
        connected(OPEN, PLAIN, HERE).check_plaintext(["127.0.0.1:9092", "broker-2.example.com:9092"])
