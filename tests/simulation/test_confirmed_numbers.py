# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Confirmed numbers: their texts, and what the judge finds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from simulation.confirmed_numbers import CONFIRM, NO_LOSS, ONE_MORE, RIGHT, confirmed, judge_confirmed

SAFE, DEAR = {"upper_bound": 0}, {"upper_bound": None}


@pytest.mark.parametrize(("kind", "text"), [(RIGHT, "elect 2"), (ONE_MORE, "elect 3"), (NO_LOSS, "elect 2, lose at most 0"), (None, None)])
def test_the_text_has_the_numbers_of_the_plan(kind: str | None, text: str | None) -> None:
    options = {"max_partitions": 5, **({CONFIRM: kind} if kind else {})}
    assert confirmed(options, 2) == {"max_partitions": 5, **({CONFIRM: text} if text else {})}


@pytest.mark.parametrize(
    ("kind", "elected", "loss", "is_bad"),
    [(RIGHT, 1, DEAR, False), (ONE_MORE, 0, SAFE, False), (ONE_MORE, 1, SAFE, True), (NO_LOSS, 1, SAFE, False), (NO_LOSS, 1, DEAR, True)],
)
def test_elections_that_were_not_confirmed_are_found(kind: str, elected: int, loss: dict[str, Any], is_bad: bool) -> None:
    violations: list[str] = []
    judges: Any = SimpleNamespace(add_violation=violations.append)
    entries = [{"topic": "orders", "partition": number, "loss": loss} for number in range(2)]
    rows = [{"topic": "orders", "partition": number, "outcome": "elected" if number < elected else "held"} for number in range(2)]
    judge_confirmed(judges, {CONFIRM: kind}, entries, {"results": rows})
    assert bool(violations) == is_bad
