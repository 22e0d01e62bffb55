# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of SASL mechanisms agrees with kafka-python, with the options and with their documentation."""

from __future__ import annotations

import pytest
import yaml
from kafka.net.sasl import get_sasl_mechanism

from ansible_collections.streamops.kafka_recovery.plugins.doc_fragments.connection import ModuleDocFragment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import CONNECTION_ARGUMENTS, Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.loopback_peers import Secret
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.sasl import MECHANISMS

DOCUMENTED = yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"]


def test_the_documentation_names_every_mechanism() -> None:
    assert DOCUMENTED["sasl_mechanism"]["choices"] == list(MECHANISMS)


@pytest.mark.parametrize("name", MECHANISMS)
def test_kafka_python_has_the_mechanism_and_its_options_exist(name: str) -> None:
    assert get_sasl_mechanism(name)
    assert set(MECHANISMS[name].required) <= CONNECTION_ARGUMENTS.keys()


@pytest.mark.parametrize(
    "name, secret", {"PLAIN": "password", "OAUTHBEARER": "token", "SCRAM-SHA-256": None, "SCRAM-SHA-512": None}.items()
)
def test_a_secret_that_a_login_sends_is_guarded_unless_tls_hides_it(name: str, secret: str | None) -> None:
    def guarded(protocol: str, allowed: bool = False) -> Secret | None:
        return Connection(("127.0.0.1:1",), (), protocol, name, allow_plaintext_secrets=allowed).guarded_secret

    assert guarded("SASL_PLAINTEXT") == (Secret(secret, "SASL_SSL") if secret else None)
    assert guarded("SASL_PLAINTEXT", allowed=True) is guarded("SASL_SSL") is guarded("PLAINTEXT") is None


@pytest.mark.parametrize("name", MECHANISMS)
def test_either_a_user_or_a_client_of_a_token_endpoint_logs_in(name: str) -> None:
    assert MECHANISMS[name].names_principal != MECHANISMS[name].fetches_tokens
