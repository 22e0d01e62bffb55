# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connection options: what each client is given, and which option is named when one cannot be used."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import CONNECTION_ARGUMENTS, Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from rig.tokens import Issuer


def params(**given: Any) -> dict[str, Any]:
    return (
        {name: spec.get("default") for name, spec in CONNECTION_ARGUMENTS.items()} | {"bootstrap_servers": ["a:9092", " b:9093 "]} | given
    )


def test_the_client_gets_the_connection() -> None:
    connection = Connection.from_params(
        params(security_protocol="SASL_SSL", sasl_mechanism="PLAIN", sasl_username="u", sasl_password="p", request_timeout=2.5)
    )
    options = connection.for_kafka_python()
    assert options["bootstrap_servers"] == ["a:9092", "b:9093"]
    assert (options["sasl_plain_username"], options["sasl_plain_password"]) == ("u", "p")
    assert options["request_timeout_ms"] == 2500
    assert options["security_protocol"] == "SASL_SSL"


def test_certificates_are_checked_by_default() -> None:
    strict = Connection.from_params(params(security_protocol="SSL"))
    loose = Connection.from_params(params(security_protocol="SSL", validate_certs=False))
    assert strict.for_kafka_python()["ssl_context"].verify_mode == ssl.CERT_REQUIRED
    assert strict.for_kafka_python()["ssl_context"].check_hostname
    assert loose.for_kafka_python()["ssl_context"].verify_mode == ssl.CERT_NONE


def test_the_client_shows_a_token(tmp_path: Path) -> None:
    with Issuer(tmp_path).endpoint({"recovery": "hush"}) as endpoint:
        login = {"sasl_oauth_token_endpoint": endpoint, "sasl_oauth_client_id": "recovery", "sasl_oauth_client_secret": "hush"}
        connection = Connection.from_params(params(security_protocol="SASL_SSL", sasl_mechanism="OAUTHBEARER", **login))
        options = connection.for_kafka_python()
        assert options["sasl_oauth_token_provider"].token()
    assert options["sasl_plain_username"] is None


def test_without_a_login_no_token_is_fetched() -> None:
    login = {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token_endpoint": "http://127.0.0.1:1/token", "sasl_oauth_client_id": "recovery"}
    assert Connection.from_params(params(security_protocol="SSL", **login)).for_kafka_python()["sasl_oauth_token_provider"] is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"bootstrap_servers": []}, "bootstrap_servers is empty"),
        ({"bootstrap_servers": ["kafka1"]}, "'kafka1' is not host:port"),
        ({"bootstrap_servers": ["kafka1:0"]}, "'kafka1:0' is not host:port"),
        ({"bootstrap_servers": ["kafka1:http"]}, "'kafka1:http' is not host:port"),
        ({"request_timeout": 0.0}, "request_timeout"),
        (
            {"sasl_oauth_token_endpoint": "issuer.example.com/token"},
            "sasl_oauth_token_endpoint: 'issuer.example.com/token' is not an http",
        ),
        ({"sasl_oauth_token_endpoint": "https://user:hunter@login.example.com/token"}, "sasl_oauth_token_endpoint has an @"),
        ({"sasl_oauth_token_endpoint": "user:hunter/x@login.example.com/token"}, "sasl_oauth_token_endpoint has an @"),
        ({"ca_cert": "/nowhere/ca.pem"}, "ca_cert: file not found: /nowhere/ca.pem"),
        ({"client_cert": "/nowhere/c.pem", "client_key": "/nowhere/k.pem"}, "client_cert: file not found:"),
    ],
)
def test_the_option_is_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises(RecoveryError, match=words) as refused:
        Connection.from_params(params(**given))
    assert "hunter" not in str(refused.value)


def test_a_file_that_holds_no_certificate_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_text("hello")
    with pytest.raises(RecoveryError, match="ca_cert"):
        Connection.from_params(params(security_protocol="SSL", ca_cert=str(path))).for_kafka_python()


def test_secrets_are_kept_out_of_logs_and_reprs() -> None:
    secrets = {"sasl_password": "hush", "client_key_password": "hush", "sasl_oauth_client_secret": "hush"}
    assert {name for name, spec in CONNECTION_ARGUMENTS.items() if spec.get("no_log")} == set(secrets)
    assert "hush" not in repr(Connection.from_params(params(**secrets)))
