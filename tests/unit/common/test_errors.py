# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts of brokers in errors: one line of limited length."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import (
    LONGEST_ERROR,
    LONGEST_QUOTE,
    AnswerError,
    RecoveryError,
    quoted,
)

MODULE = """
import sys
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule
module = PrintableModule({})
module.warn("warning " + "x" * 1_000_000)
module.fail_json("error " + "x" * 1_000_000)
"""


@given(st.text(max_size=400))
def test_a_quote_is_the_start_of_a_text(text: str) -> None:
    shown = quoted(text)
    assert len(shown) <= LONGEST_QUOTE and shown.isprintable()
    assert shown == text or "…" in shown[-1:] or not text.isprintable()


def test_nothing_is_quoted_if_a_broker_sends_nothing() -> None:
    assert quoted(None) == quoted("") == ""


@pytest.mark.parametrize("letter", ["x", "\0", "\U000e0001"])
def test_an_error_that_is_too_long_keeps_its_start_and_its_remedy(letter: str) -> None:
    text = str(AnswerError(f"broker 1 sends {letter * 5_000_000}"))
    assert len(text) == LONGEST_ERROR and text.isprintable()
    assert text.startswith("broker 1 sends ") and text.endswith("proxies between them and this host")
    assert str(RecoveryError("x" * LONGEST_ERROR)) == "x" * LONGEST_ERROR


def test_messages_and_warnings_of_modules_have_a_limited_length() -> None:
    arguments = json.dumps({"ANSIBLE_MODULE_ARGS": {}})
    done = subprocess.run([sys.executable, "-c", MODULE], input=arguments, capture_output=True, text=True, check=False)
    result = json.loads(done.stdout)
    assert len(result["msg"]) == LONGEST_ERROR and result["msg"].startswith("error x")
    assert '"warning x' in done.stdout and len(done.stdout) < 3 * LONGEST_ERROR
