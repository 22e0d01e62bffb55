# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SCRAM: how often a broker may have the password hashed."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from typing import Any

import pytest
from kafka.net.sasl import get_sasl_mechanism

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.scram import LEAST_ITERATIONS, MOST_ITERATIONS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.connection import Connection

LOGIN = Connection(("localhost:9092",), (), "SASL_SSL", "SCRAM-SHA-512", "recovery", "hush", validate_certs=False)


def challenged(extra: str) -> Any:
    """The mechanism, as connections make it, after the first message of a broker."""
    mechanism = get_sasl_mechanism(LOGIN.sasl_mechanism)(host="localhost", **LOGIN.for_kafka_python())
    nonce = mechanism.auth_bytes().decode().partition(",r=")[2]
    mechanism.receive(f"r={nonce}server,s={base64.b64encode(b'salt of the user').decode()},{extra}".encode())
    return mechanism


@pytest.mark.parametrize("iterations", ["1", "0", "-4096", "4095", "1000001", "9" * 5000, "", "many", "4096,i=1"])
def test_a_broker_that_wants_a_weak_proof_or_an_endless_one_gets_none(iterations: str) -> None:
    with pytest.raises(ValueError, match=f"iterations of SCRAM must be {LEAST_ITERATIONS} to {MOST_ITERATIONS}") as refused:
        challenged(f"i={iterations}")
    assert len(str(refused.value)) < 120


@pytest.mark.parametrize("iterations", [4096, 16384])
def test_what_kafka_itself_uses_is_answered(iterations: int) -> None:
    mechanism = challenged(f"i={iterations}")
    assert b",p=" in mechanism.auth_bytes()
    with pytest.raises(ValueError, match="wrong signature"):
        mechanism.receive(b"v=" + base64.b64encode(b"forged"))


@pytest.mark.parametrize("module", ["asking", "handshake"])
def test_whatever_connects_uses_it(module: str) -> None:
    prefix = "ansible_collections.streamops.kafka_recovery.plugins.module_utils"
    code = f"import {prefix}.{module}\nfrom kafka.net.sasl import get_sasl_mechanism as of\nprint(of('SCRAM-SHA-256').__name__, of('SCRAM-SHA-512').__name__)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "BoundedScram BoundedScram\n"
