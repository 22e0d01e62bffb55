# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reason codes: each is used, and no sentence of a result is taken apart for a code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import ACCEPTED, Word
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.held_text import REASONS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import reason_codes
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode, of_kafka

CODE_FOLDERS = ("plugins", "roles", "playbooks", "extensions", "tests")
# What is said of an incident is not about a partition.
OTHERS = (Path(__file__), ROOT / "tests/unit/events/test_auto_recovery_ledger.py")
# The reason of a result about a partition, and what would take it apart or look into it for a code.
TAKEN_APART = re.compile(
    r"""\b(reason|message)\b(["']\])?[^\n=]{0,12}\.r?(partition|split)\(["']:"""
    r"""|\b(reason|message)\b(["']\])?[^\n=]{0,12}\.startswith\((f?["'][a-z]+(_[a-z]+)*(:|["'])|f["']\{[A-Z_]+\}|[A-Z_]+\b)"""
    r"""|regexp_extract\(\s*["']\w*reason"""
    r"""|\.search\(\w*\.reason"""
)


def taken_apart(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if TAKEN_APART.search(line)]


def test_what_a_decision_can_say_has_a_code() -> None:
    held = {word.value for word in Word} - {word.value for word in ACCEPTED[Strategy.BALANCED]}
    assert {*REASONS} | held <= {*ReasonCode}


def test_every_code_is_used() -> None:
    sources = [path.read_text() for path in (ROOT / "plugins").rglob("*.py") if path != Path(reason_codes.__file__)]
    used = {name for text in sources for name in re.findall(r"ReasonCode\.([A-Z_]+)\b", text)}
    kafkas = {"ELIGIBLE_LEADERS_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PARTITION", "CLUSTER_AUTHORIZATION_FAILED", "KAFKA_ERROR"}
    assert {code.name for code in ReasonCode} == used | kafkas | {code.upper() for code in REASONS}


def test_an_error_of_kafka_has_its_own_code_or_the_common_one() -> None:
    assert of_kafka("ELIGIBLE_LEADERS_NOT_AVAILABLE") == "eligible_leaders_not_available"
    assert of_kafka("NOT_CONTROLLER") == "kafka_error"


@pytest.mark.parametrize(
    "line",
    [
        'words = {str(row.get("reason") or "").partition(":")[0] for row in rows}',
        'stopped = (result.reason or "").startswith(INTERRUPTED)',
        'stopped = (result.message or "").startswith(f"{INTERRUPTED}:")',
        'assert row["reason"].startswith("data_loss_not_allowed")',
        'return str(row["reason"]).split(":", maxsplit=1)[0]',
        'F.regexp_extract("result_reason", "x", 1)',
        "if _DOUBT.search(result.reason)",
    ],
)
def test_the_search_finds_what_it_is_for(line: str) -> None:
    assert taken_apart(line) == [line]


def test_no_reason_is_taken_apart_for_its_code() -> None:
    paths = [path for folder in CODE_FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".yml", ".j2")]
    found = {str(path.relative_to(ROOT)): lines for path in paths if path not in OTHERS and (lines := taken_apart(path.read_text()))}
    assert found == {}
