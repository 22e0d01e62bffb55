# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was slow excuses the run in which it was, and the next one only if it has hardly ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.drawn_script import drawn
from simulation.events import Events
from simulation.history import History
from simulation.later_runs import LaterRun
from simulation.request_script import NO_REQUEST
from simulation.review_script import NO_REVIEW
from simulation.steps import Step
from simulation.world import World

# Each lasts for two seconds or a little more or less, but the last ones.
SLOW = ("hang", 1), ("cut_off", 1), ("hide", 0), ("lose_controller", 2), ("hang_controller", 1)


@pytest.mark.parametrize(("what", "place"), SLOW)
def test_what_was_slow_excuses_no_run_that_begins_when_all_is_well(what: str, place: int) -> None:
    cluster = SimulatedCluster(World(1), 3, {"orders": [[1, 2, 3]]}, {"orders": 1}, elr=False)
    events = Events(cluster, Counter())
    events.happen(Step(what, (0, place, 0, 0)))
    assert events.slowed
    cluster.world.wait(SESSION_SECONDS)
    events.begin_run()
    assert events.slowed
    cluster.world.wait(3.0)
    assert events.slowed
    events.begin_run()
    assert not events.slowed


def test_a_run_is_not_excused_by_what_was_slow_in_the_one_before(tmp_path: Path) -> None:
    slow, calm = LaterRun((), (Step("hang", (0, 0, 0, 0)),)), LaterRun((), ())
    script = replace(
        drawn(1), damage=(), faults=(), strike=None, second=None, kill_at=None, request=NO_REQUEST, reviews=NO_REVIEW, wrong_answers=None,
        damaged=None, commands=None, disks=None, moves=None, replay=None, between=(), later=(slow, calm, calm),
    )  # fmt: skip
    history = History(script, tmp_path)
    recover, slowed = history._recover_later, list[bool]()

    def noted(run_id: str, later: LaterRun) -> None:
        recover(run_id, later)
        slowed.append(history._events.slowed)

    history._recover_later = noted  # type: ignore[method-assign]
    assert history.play().violations == []
    assert slowed == [True, False, False]
