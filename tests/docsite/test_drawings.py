# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drawings: they are what their script draws, what they say of logs is what the rules say, and they can be read by day and by night."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from playwright.sync_api import Browser
from unit.partition_situations import FENCED, Log, Situation, documents_of, healthy

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Action, Decision, Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decode import read
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import ClusterHeader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import bounds
from docsite.drawings import CASES, DRAWINGS, FOLDER, Case

ENOUGH = 4.5  # WCAG's contrast of small text
INSIDE = """() => {
  const paper = document.querySelector('rect.paper').getBBox()
  return Array.from(document.querySelectorAll('text')).filter(text => {
    const box = text.getBBox()
    return box.x < 6 || box.y < 2 || box.x + box.width > paper.width - 6 || box.y + box.height > paper.height - 2
  }).map(text => text.textContent)
}"""
COLOURS = """() => {
  const fills = name => [...new Set(Array.from(document.querySelectorAll(name)).map(found => getComputedStyle(found).fill))]
  return {words: fills('text'), ink: fills('text.strong.middle, text.number:not(.soft)'), paper: fills('rect.paper'), boxes: fills('rect.box:not(.win)')}
}"""


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_file_is_what_is_drawn(name: str) -> None:
    assert (FOLDER / f"{name}.svg").read_text() == DRAWINGS[name]().svg(), "run python -m docsite.drawings"


def test_no_other_drawings_lie_about() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(DRAWINGS)


def decided(case: Case) -> Decision:
    logs: dict[int, Log | str] = {case.lost: FENCED}
    logs |= {broker: Log(epochs, (0,) * len(epochs), case.high_watermark) for broker, epochs in case.survivors.items()}
    seen = None if case.snapshot_mark is None else healthy(60, case.snapshot_mark, case.snapshot_mark, None)
    (document,) = documents_of(Situation("drawn", logs, healthy=seen).rows())
    return decide(read(document), Policy())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_drawn_of_logs_is_what_the_rules_say(case: Case) -> None:
    found = decided(case)
    truncated = {row.other.broker_id: row.common_offset for row in found.relations if row.beyond_common != 0}
    assert found.winner is not None
    assert (found.word, found.winner.broker_id, truncated) == (case.evidence, case.winner, case.truncated)
    assert found.action == (Action.ELECT if case.evidence == "prefix" else Action.HOLD)


def test_the_loss_that_is_drawn_is_the_one_that_a_plan_states() -> None:
    case = CASES["loss"]
    stated = bounds(decided(case), ClusterHeader())
    assert (stated.lower_bound, stated.lower_bound_from) == (case.lower_bound, "healthy_snapshot")
    assert (stated.upper_bound, stated.upper_bound_from) == (None, "unknown")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read(browser: Browser, scheme: Any) -> None:
    window = browser.new_context(color_scheme=scheme)
    page = window.new_page()
    for name in DRAWINGS:
        page.goto((FOLDER / f"{name}.svg").as_uri())
        assert (name, page.evaluate(INSIDE)) == (name, [])
        found = page.evaluate(COLOURS)
        pairs = [*itertools.product(found["words"], found["paper"]), *itertools.product(found["ink"], found["boxes"])]
        assert (name, [pair for pair in pairs if contrast(*pair) < ENOUGH]) == (name, [])
    window.close()


def contrast(one: str, other: str) -> float:
    """Of two colours, as WCAG reckons it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
