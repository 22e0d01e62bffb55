# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers in texts: what is none is None, wherever a broker or a person wrote it, and never a traceback."""

from __future__ import annotations

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64, whole_number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import isr_history
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import topic_configs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import diff, model

NO_NUMBERS = ["", "²", "٣", "-1", "+1", "1_0", " 1", "1\n", "two", "9" * 5000, "2147483648"]


def test_a_number_is_what_the_digits_say() -> None:
    assert [whole_number(text) for text in ("0", "05", "2147483647")] == [0, 5, 2**31 - 1]
    assert (whole_number("9223372036854775807", MOST_INT64), whole_number("9223372036854775808", MOST_INT64)) == (MOST_INT64, None)
    assert {whole_number(text) for text in NO_NUMBERS} == {None}


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_is_not_known(text: str) -> None:
    assert topic_configs.parse({"min.insync.replicas": text}).min_insync_replicas is None
    assert model.partition_of(f"{text}:1") is None
    configs = isr_history._Configs(topics={"t": text})
    assert configs.in_force("t", 3) is None
    assert isr_history._Configs(brokers={"": "2", "1": text}).in_force("t", 3) is None


@pytest.mark.parametrize("text", ["²", "fast", "9" * 5000])
def test_a_rate_that_is_no_number_is_shown_as_none(text: str) -> None:
    assert diff._rate(1, model.LEADER_RATE, text, "4096")["before"] is None


@pytest.mark.parametrize("port", [text for text in NO_NUMBERS if text.strip() == text] + ["0", "65536"])
def test_a_port_that_is_no_number_is_refused(port: str) -> None:
    with pytest.raises(RecoveryError, match=r"bootstrap_servers: .* is not host:port"):
        Connection((f"broker:{port}",))._check()
