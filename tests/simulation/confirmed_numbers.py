# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators who confirm an election by its numbers: the right ones, one election too many, or that nothing is lost (option `confirm`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulation.judges import Judges

CONFIRM = "confirm"
RIGHT, ONE_MORE, NO_LOSS = "right", "one more", "no loss"


def draw_confirmation(random: Random) -> str:
    """Draw what is confirmed."""
    return random.choice((RIGHT, RIGHT, ONE_MORE, NO_LOSS))


def confirmed(options: Mapping[str, Any], elections: int) -> dict[str, Any]:
    """Return the options of an election with the text of their confirmation. `elections`: how many the plan has."""
    if CONFIRM not in options:
        return {**options}
    numbers = {RIGHT: f"elect {elections}", ONE_MORE: f"elect {elections + 1}", NO_LOSS: f"elect {elections}, lose at most 0"}
    return {**options, CONFIRM: numbers[options[CONFIRM]]}


def judge_confirmed(judges: Judges, options: Mapping[str, Any], entries: Sequence[Mapping[str, Any]], result: Mapping[str, Any]) -> None:
    """Judge a run that has ended by what its operator has confirmed. `entries`: of its plan, or those that the operator has named."""
    elected = {(row["topic"], row["partition"]) for row in result["results"] if row["outcome"] == "elected"}
    if options.get(CONFIRM) == ONE_MORE and elected:
        judges.add_violation(f"{len(elected)} partitions are elected, although {len(entries) + 1} were confirmed")
    upper = [entry.get("loss", {}).get("upper_bound") for entry in entries if (entry["topic"], entry["partition"]) in elected]
    if options.get(CONFIRM) == NO_LOSS and any(bound != 0 for bound in upper):
        judges.add_violation("partitions are elected that may lose records, although it was confirmed that none is lost")
