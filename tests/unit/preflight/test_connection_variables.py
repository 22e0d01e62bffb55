# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connection variables: named as an inventory has them, and no secret is shown."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import CONNECTION_ARGUMENTS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.connection_variables import connection_problems

SERVERS = {"kafka_bootstrap_servers": "broker-1:9092"}
SECRET = "hunter-Zx9"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for option in CONNECTION_ARGUMENTS:
        monkeypatch.delenv(f"KAFKA_{option.upper()}", raising=False)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "east has no kafka_bootstrap_servers in the inventory: name some brokers"),
        ({"bootstrap_servers": "broker-1"}, "kafka_bootstrap_servers: 'broker-1' is not host:port, such as broker-1.example.com:9092"),
        ({"controller_bootstrap_servers": ["x:y"]}, "kafka_controller_bootstrap_servers: 'x:y' is not host:port"),
        ({"security_protocol": "TLS"}, "kafka_security_protocol is TLS: it must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"security_protocol": "SASL_SSL"}, "kafka_security_protocol is SASL_SSL, which needs kafka_sasl_mechanism (PLAIN, SCRAM-SHA-256"),
        ({"sasl_mechanism": "SCRAM"}, "kafka_sasl_mechanism is SCRAM: it must be one of PLAIN"),
        ({"sasl_mechanism": "PLAIN", "sasl_username": "me"}, "kafka_sasl_mechanism is PLAIN, which needs kafka_sasl_password"),
        ({"client_cert": "/etc/hosts"}, "kafka_client_cert needs kafka_client_key"),
        ({"ca_cert": "/no/where.pem"}, "kafka_ca_cert: file not found: /no/where.pem"),
        ({"request_timeout": 0}, "kafka_request_timeout must be more than 0 seconds"),
    ],
)
def test_a_wrong_variable_is_named_as_the_inventory_has_it(variables: dict[str, Any], expected: str) -> None:
    servers = {} if not variables else SERVERS
    (text,) = connection_problems("east", {**servers, **{f"kafka_{name}": value for name, value in variables.items()}})
    assert text.startswith(expected), text


def test_a_good_connection_has_no_problem_and_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    login = {
        "kafka_security_protocol": "SASL_SSL",
        "kafka_sasl_mechanism": "PLAIN",
        "kafka_sasl_username": "me",
        "kafka_sasl_password": SECRET,
    }
    assert connection_problems("east", {**SERVERS, **login, "kafka_ca_cert": "certs/beside-the-playbook.pem"}) == []
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "broker-1:9092")
    assert connection_problems("east", {}) == []


def test_no_secret_is_shown() -> None:
    secrets = {f"kafka_{option}": SECRET for option, spec in CONNECTION_ARGUMENTS.items() if spec.get("no_log")}
    texts = connection_problems("east", {**SERVERS, **secrets, "kafka_sasl_mechanism": "PLAIN"})
    assert texts and not any(SECRET in text for text in texts)
