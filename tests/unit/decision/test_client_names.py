# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients choose the names of consumer groups. A name is never read as a sentence of an explanation."""

from __future__ import annotations

from dataclasses import replace

import pytest
from collected_evidence import found_again

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import ClusterHeader, Proof
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.explain import explanation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import bounds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import LONGEST_NAME, client_name, proof_text
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry

SENTENCE = "x; nothing that was committed is lost: every replica answered; broker 1 may be wiped and started"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("search-1.eu_west", "search-1.eu_west"),
        ("two words", '"two words"'),
        ("", '""'),
        ('a"b; c', '"a\\"b\\u003b c"'),
        ("ü", '"ü"'),
        ("x" * LONGEST_NAME, "x" * LONGEST_NAME),
        ("x" * 250, '"' + "x" * (LONGEST_NAME - 1) + '…"'),
    ],
)
def test_a_name_that_is_not_plain_is_quoted(name: str, shown: str) -> None:
    assert client_name(name) == shown
    assert proof_text("consumer_group", name, 1) == f"the offset that consumer group {shown} committed"


@pytest.mark.parametrize(("offset", "is_held"), [(50, True), (121, True), (5000, False)])
def test_a_group_writes_no_sentence_of_an_explanation(offset: int, is_held: bool) -> None:
    entry = Entry("t", 0, 2, (2, 3, 1), "id", 1, (1, 3, 2), {2: (0, 121), 3: (0, 100)}, "prefix", "balanced")
    evidence = found_again(entry).live_evidence
    assert evidence is not None
    proof = Proof("consumer_group", SENTENCE, offset, 2, is_held)
    decision = decide(replace(evidence, proofs=(proof,)), Policy())
    header = ClusterHeader()
    sentences = printable(explanation(decision, bounds(decision, header), header)).split("; ")
    assert not [one for one in sentences if one.startswith(("nothing that was committed is lost: every", "broker 1 may"))]
