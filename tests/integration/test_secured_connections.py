# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every login gets in, with both clients; and whatever is wrong with one is named, with the option and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from integration.listeners import renaming_port
from integration.secured import ALTER, GROUPS, KEY, LOGINS, READ, SURVIVORS, USER, Fortress
from integration.secured import PLAIN as PLAIN_PASSWORD
from integration.secured import SCRAM as SCRAM_PASSWORD
from integration.support import failure, run_module

from rig.acls import Acl
from rig.secured import SCRAM_MECHANISMS

# Far more than any answer here takes: an error that comes before it was not waited for.
LIMIT = 60
SCRAM = "SCRAM-SHA-512"
Options = dict[str, Any]


@pytest.fixture(scope="module")
def open_fortress(fortress: Fortress) -> Fortress:
    """The login decides alone who gets in."""
    fortress.grant([ALTER, READ, GROUPS, Acl("DESCRIBE_CONFIGS", "TOPIC", "*")])
    return fortress


def answered(options: Options) -> dict[str, Any]:
    """What librdkafka (configs) and kafka-python (everything else) get as options."""
    answer = run_module("kafka_partition_info", {**options, "state": "under_min_isr", "request_timeout": LIMIT})
    assert answer.returncode == 0, answer
    assert answer.stderr == ""
    return answer.result


@pytest.mark.parametrize("login", LOGINS)
def test_every_login_gets_in_with_both_clients(open_fortress: Fortress, login: str) -> None:
    found = answered(open_fortress.login(login))
    assert found["cluster_id"] == open_fortress.cluster.cluster_id
    assert {row["broker_id"] for row in found["brokers"] if row["broker_state"] == "unfenced"} == set(SURVIVORS)


def test_a_login_without_encryption_gets_in_where_brokers_offer_that(open_fortress: Fortress) -> None:
    options = open_fortress.at("BARE", sasl_mechanism=SCRAM, sasl_username=USER, sasl_password=SCRAM_PASSWORD)
    assert answered(options)["cluster_id"] == open_fortress.cluster.cluster_id


def test_a_password_goes_unencrypted_to_brokers_on_this_machine_alone(open_fortress: Fortress) -> None:
    options = open_fortress.at("BARE_PLAIN", sasl_mechanism="PLAIN", sasl_username=USER, sasl_password=PLAIN_PASSWORD)
    assert answered(options)["cluster_id"] == open_fortress.cluster.cluster_id
    with renaming_port(options["bootstrap_servers"][0], b"127.0.0.1", b"broker-01") as address:
        advertised = {**options, "bootstrap_servers": [address], "request_timeout": 5}
        refused = failure("kafka_partition_info", advertised)
        opted_in = failure("kafka_partition_info", {**advertised, "allow_plaintext_secrets": True})
    assert "sends the password unencrypted to broker-01:" in refused and "kafka_allow_plaintext_secrets: true" in refused
    assert "the name broker-01 cannot be resolved" in opted_in, "then the brokers are asked by the names that they advertise"


def test_a_locked_key_opens_with_its_password(open_fortress: Fortress) -> None:
    options = open_fortress.at("MTLS", **open_fortress.client(password=KEY), client_key_password=KEY)
    assert answered(options)["cluster_id"] == open_fortress.cluster.cluster_id


# What is wrong, and what the error has to say.
FAULTS: dict[str, tuple[Callable[[Fortress], Options], list[str]]] = {
    "wrong_scram_password": (lambda f: {**f.login(SCRAM), "sasl_password": "wrong"}, ["login was refused", "sasl_password", "credentials"]),
    "wrong_plain_password": (lambda f: {**f.login("PLAIN"), "sasl_password": "wrong"}, ["login was refused", "sasl_password"]),
    "unknown_user": (lambda f: {**f.login(SCRAM), "sasl_username": "nobody"}, ["login was refused", "sasl_username"]),
    "wrong_oauth_secret": (
        lambda f: {**f.login("OAUTHBEARER"), "sasl_oauth_client_secret": "wrong"},
        ["sasl_oauth_token_endpoint", "HTTP 401", "check sasl_oauth_client_id and sasl_oauth_client_secret"],
    ),
    "expired_server_certificate": (lambda f: f.at("EXPIRED"), ["the broker's certificate has expired", "renew it"]),
    "unknown_ca": (
        lambda f: {**f.login(SCRAM), "ca_cert": str(f.certificates.unknown_ca)},
        ["signed by an unknown CA", "unknown-ca.pem does not include it", "set ca_cert"],
    ),
    "wrong_host_name": (lambda f: f.at("MISNAMED"), ["for another host name", "'127.0.0.1'"]),
    "advertised_by_a_wrong_name": (
        lambda f: {**f.at("MISNAMED"), "bootstrap_servers": [f.servers("MISNAMED")[0].replace("127.0.0.1", "localhost")]},
        ["for another host name", "'127.0.0.1'"],
    ),
    "no_client_certificate": (lambda f: f.at("MTLS"), ["client_cert", "client_key"]),
    "expired_client_certificate": (lambda f: f.at("MTLS", **f.client(expired=True)), ["refused client_cert", "expired on", "renew it"]),
    "client_certificate_of_an_unknown_ca": (lambda f: f.at("MTLS", **f.client(unknown=True)), ["refused client_cert", "truststore"]),
    "other_mechanism": (
        lambda f: f.at("BARE", sasl_mechanism="PLAIN", sasl_username=USER, sasl_password="wrong"),
        ["PLAIN", "sasl_mechanism", *SCRAM_MECHANISMS],
    ),
    "login_without_sasl": (lambda f: {**f.at("SASL"), "security_protocol": "SSL"}, ["security_protocol", "SASL"]),
    "sasl_without_a_login": (
        lambda f: {**f.login("PLAIN"), **f.client(), "bootstrap_servers": f.servers("MTLS")},
        ["set security_protocol to SSL"],
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_refusal_is_named_with_its_remedy_and_not_waited_for(open_fortress: Fortress, fault: str) -> None:
    options, words = FAULTS[fault][0](open_fortress), FAULTS[fault][1]
    before = refusals(open_fortress)
    msg = failure("kafka_partition_info", {**options, "request_timeout": LIMIT})
    assert [word for word in words if word not in msg] == [], msg
    assert "gives no Kafka answer" not in msg
    assert "answer did not come" not in msg
    # Every address once, and the one that is looked at more closely once more (its TLS, then its login): nothing is tried over and over.
    assert refusals(open_fortress) - before <= len(open_fortress.servers("SASL")) * 3


def refusals(fortress: Fortress, why: str = "Failed authentication with") -> int:
    """How many connections the live brokers have refused so far."""
    return sum(fortress.cluster.log_file(broker).read_text().count(why) for broker in SURVIVORS)


def test_a_login_that_is_refused_is_not_tried_over_and_over(open_fortress: Fortress) -> None:
    before = refusals(open_fortress, "invalid credentials")
    failure("kafka_partition_info", {**open_fortress.login(SCRAM), "sasl_password": "wrong", "request_timeout": LIMIT})
    # One by one on each broker, at most once more by the client library itself, and once to find out why: accounts get locked.
    assert 0 < refusals(open_fortress, "invalid credentials") - before <= 2 * len(SURVIVORS) + 1
