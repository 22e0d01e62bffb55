# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SCRAM: how often a broker may have the password hashed."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
from typing import Any

import pytest
from kafka.net.sasl import get_sasl_mechanism

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import scram
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.scram import LEAST_ITERATIONS, MOST_ITERATIONS

SALT = b"salt of the user"
LOGIN = Connection(("localhost:9092",), (), "SASL_SSL", "SCRAM-SHA-512", "recovery", "hush", validate_certs=False)


@pytest.fixture(autouse=True)
def unused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has hashed no password."""
    scram.salt_password.cache_clear()
    monkeypatch.setattr(scram, "_budget", scram.IterationBudget())


def challenged(extra: str, salt: bytes = SALT) -> Any:
    """The mechanism, as connections make it, after the first message of a broker."""
    mechanism = get_sasl_mechanism(LOGIN.sasl_mechanism)(host="localhost", **LOGIN.for_kafka_python())
    nonce = mechanism.auth_bytes().decode().partition(",r=")[2]
    mechanism.receive(f"r={nonce}server,s={base64.b64encode(salt).decode()},{extra}".encode())
    return mechanism


@pytest.mark.parametrize("iterations", ["1", "0", "-4096", "4095", "65537", "1000000", "9" * 3000, "", "many", "4096,i=1"])
def test_a_broker_that_wants_a_weak_proof_or_an_endless_one_gets_none(iterations: str) -> None:
    count = iterations.partition(",")[0][:10]
    with pytest.raises(
        ValueError, match=rf"{count}.* iterations of SCRAM.* {LEAST_ITERATIONS} to {MOST_ITERATIONS}.*kafka-configs"
    ) as refused:
        challenged(f"i={iterations}")
    assert len(str(refused.value)) < 250


def test_a_long_challenge_is_not_read() -> None:
    with pytest.raises(ValueError, match=r"a challenge of [0-9]+ bytes"):
        challenged("i=4096", bytes(10_000))


def test_brokers_that_ask_for_the_same_proof_cost_one_computation(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[tuple[Any, ...]] = []

    def pbkdf2_hmac(*arguments: Any) -> bytes:
        computed.append(arguments)
        return always(*arguments)

    always = hashlib.pbkdf2_hmac
    monkeypatch.setattr(hashlib, "pbkdf2_hmac", pbkdf2_hmac)
    proofs = {challenged("i=65536").auth_bytes().rpartition(b",p=")[2] for _broker in range(5)}
    assert len(proofs) == 5, "each login has its own nonce"
    assert computed == [("sha512", b"hush", SALT, 65536)]


def test_all_salts_together_have_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scram, "_budget", scram.IterationBudget(3 * LEAST_ITERATIONS))
    for number in range(3):
        challenged("i=4096", b"%d" % number)
    with pytest.raises(ValueError, match=r"4096 iterations of SCRAM, .* 12288 in a minute"):
        challenged("i=4096", b"3")
    challenged("i=4096", b"0")  # is known


def test_the_budget_is_there_again_after_a_minute() -> None:
    budget = scram.IterationBudget(100)
    budget.take(100, 1000.0)
    with pytest.raises(ValueError, match="the limit is 100"):
        budget.take(60, 1030.0)
    budget.take(40, 1030.0)
    budget.take(100, 1100.0)


@pytest.mark.parametrize("iterations", [4096, 16384])
def test_what_kafka_itself_uses_is_answered(iterations: int) -> None:
    mechanism = challenged(f"i={iterations}")
    assert b",p=" in mechanism.auth_bytes()
    with pytest.raises(ValueError, match="wrong signature"):
        mechanism.receive(b"v=" + base64.b64encode(b"forged"))


@pytest.mark.parametrize("module", ["node_client", "connection_probe"])
def test_whatever_connects_uses_it(module: str) -> None:
    prefix = "ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport"
    code = f"import {prefix}.{module}\nfrom kafka.net.sasl import get_sasl_mechanism as of\nprint(of('SCRAM-SHA-256').__name__, of('SCRAM-SHA-512').__name__)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "BoundedScram BoundedScram\n"
