# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is really lost lies within the bounds, in every state of a small partition and for every elected survivor; what breaks them is shown to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from model.logs import common
from model.loss import at_least, at_most, clean, lacking, lost
from model.partition import Bounds, Lost, Partition
from model.search import Findings, search, states

SMALL: dict[str, Any] = {"records": 2, "epochs": 2}
VARIANTS = {
    "ELR": Bounds(2, eligible_leader_replicas=True, **SMALL),
    "min ISR changes": Bounds(2, min_isr_changes=True, **SMALL),
}
# What upper bounds do not count: records that a log has lost by itself, and those that an earlier unclean election gave up.
BREAKING = {
    "power cuts": Bounds(2, power_cuts=True, **SMALL),
    "unclean elections": Bounds(2, unclean_elections=True, **SMALL),
}


def judged(offline: Iterable[Lost], by_choice: bool = False) -> Counter[str]:
    """Every election of any survivor: is the loss less than the lower bound, more than the upper one, or within, and how tight are they?

    `by_choice`: of what another survivor holds.
    """
    found: Counter[str] = Counter()
    for state in offline:
        committed = state.committed
        if by_choice:
            committed = tuple(log[: max(common(one.log, log) for one in state.survivors)] for log in committed)
        for winner in {one.log for one in state.survivors}:
            really, lower, upper = lost(committed, winner), at_least(state.survivors, winner), at_most(state.survivors, winner)
            found["overstated"] += lower > really
            found["understated"] += upper is not None and upper < really
            found["unknown" if upper is None else "exact" if upper == really else "wider"] += 1
            found["proven"] += lower > 0
    return found


def test_losses_lie_within_their_bounds(found: dict[int, Findings], four: Findings) -> None:
    counts = [judged(findings.offline) for findings in (found[1], found[2], four)]
    for counted in counts:
        assert (counted["overstated"], counted["understated"]) == (0, 0)
        assert counted["proven"]
        assert counted["unknown"]
    assert not counts[0]["exact"], "at min ISR 1 a leader alone may commit anything"
    assert counts[1]["exact"] > counts[1]["wider"] > 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_that_holds_whatever_else_happens(variant: str) -> None:
    counted = judged(search(VARIANTS[variant]).offline)
    assert (counted["overstated"], counted["understated"]) == (0, 0)
    assert counted["exact"]


@pytest.mark.parametrize("variant", BREAKING)
def test_what_breaks_upper_bounds_is_what_the_guide_says(variant: str) -> None:
    offline = search(BREAKING[variant]).offline
    counted = judged(offline)
    assert counted["overstated"] == 0
    assert counted["understated"], "or the guide's words about it would be idle"
    if variant == "unclean elections":
        assert not judged(offline, by_choice=True)["understated"], "what it gave up is gone from all survivors"


@pytest.mark.parametrize("bounds", [Bounds(2, eligible_leader_replicas=True, **SMALL), Bounds(1, **SMALL)])
def test_isr_and_elr_and_the_sum_of_all_replicas_hold_what_was_committed(bounds: Bounds) -> None:
    partition = Partition(bounds)
    eligible = 0
    for state in states(partition):
        replicas = partition.replicas(state)
        eligible += any(one.eligible for one in replicas)
        for winner in {one.log for one in replicas}:
            upper = lacking(clean(replicas), winner)
            assert upper is not None
            assert lost(state.committed, winner) <= upper
            assert upper <= max(len(one.log) - common(one.log, winner) for one in replicas), (
                "all replicas, without knowing who is in the ISR"
            )
    assert bool(eligible) == bounds.eligible_leader_replicas
