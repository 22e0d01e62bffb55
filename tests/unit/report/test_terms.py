# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The meanings of codes on the report's page are those of the guides."""

from __future__ import annotations

import re

import pytest
from docsite.places import anchors
from report_samples import incident, partition, sample
from repository_root import ROOT

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Word
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import DESIGNATED_BY_HAND, Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.recovery_queries import PLANNED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.terms import MEANINGS, guide, terms


def plain(markdown: str) -> str:
    """A paragraph of a guide without links and signs of Markdown."""
    text = re.sub(r" \([^()]*\[[^\]]*\]\([^)]*\)\)", "", markdown)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return text.replace("`", "").replace(" (KIP-966)", "")


def test_every_code_has_a_meaning_and_nothing_else_has_one() -> None:
    assert {*MEANINGS} == {*ReasonCode, *Outcome, PLANNED, *Word, DESIGNATED_BY_HAND}


@pytest.mark.parametrize("code", MEANINGS)
def test_the_meaning_is_that_of_the_guide(code: str) -> None:
    path, _, anchor = guide(code).partition("#")
    text = (ROOT / path).read_text()
    assert anchor in anchors(text)
    (section,) = re.findall(rf"(?ms)^##+ `{code}`\n\n(.*?)\n\n", text)
    assert plain(section).startswith(MEANINGS[code])


def test_the_page_explains_the_codes_that_it_shows_and_no_others() -> None:
    assert [row["code"] for row in terms(incident())] == [
        "held",
        "clean_leader",
        "elected",
        "already_online",
        "forked",
        "no_survivor",
        "prefix",
    ]
    assert [
        row["code"] for row in terms(sample([partition("east", "t", 0, "held", reason_code="<b>", evidence="unheard_of")], risk=False))
    ] == ["held"]
