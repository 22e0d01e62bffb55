# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run in check mode predicts the next one, unless something happens between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from simulation.cluster import SimulatedCluster
from simulation.kraft import Key
from simulation.rehearsal import Rehearsal
from simulation.request_script import CHECK, HELD
from simulation.world import World

KEY: Key = ("orders", 0)


class Judges:
    """Stands for the judges of a history."""

    def __init__(self) -> None:
        self.violations: list[str] = []

    def state(self, *_: str) -> tuple[int, list[str]]:
        return 0, []

    def add_violation(self, text: str) -> None:
        self.violations.append(text)


class Rehearsed:
    """A rehearsal on a cluster of which broker 1 has led the only partition, and is down."""

    def __init__(self, kind: str = CHECK) -> None:
        self.cluster = SimulatedCluster(World(1), 3, {"orders": [[1, 2]]}, {"orders": 1}, elr=False)
        self.cluster.shrink(KEY, 2)
        self.cluster.crash(1)
        self.cluster.world.wait(12)
        self.happened = 0
        judges: Any = Judges()
        self.judges: Judges = judges
        self.rehearsal = Rehearsal(kind, judges, self.cluster, lambda: self.happened)


def result(outcome: str, leader: int | None = None, key: Key = KEY) -> dict[str, Any]:
    row = {"topic": key[0], "partition": key[1], "outcome": outcome, "leader": leader, "reason": "", "reason_code": None}
    return {"changed": outcome == "elected", "summary": {outcome: 1}, "results": [row], "warnings": []}


@pytest.mark.parametrize(
    ("predicted", "then", "is_right"),
    [
        (result("elected", 2), result("elected", 2), True),
        (result("elected", 2), result("elected", 3), False),
        (result("held"), result("elected", 2), False),
        (result("held"), result("held", key=("orders", 1)), False),
        (None, None, True),
        (None, result("held"), False),
        (result("held"), None, False),
    ],
)
def test_the_next_run_keeps_the_prediction(predicted: dict[str, Any] | None, then: dict[str, Any] | None, is_right: bool) -> None:
    one = Rehearsed()
    one.rehearsal.judge(predicted)
    assert one.rehearsal.holds and one.rehearsal.judge_next(then)
    assert (one.judges.violations == []) == is_right


def test_a_run_in_check_mode_says_whether_it_would_elect_a_leader() -> None:
    one = Rehearsed()
    one.rehearsal.judge({**result("elected", 2), "changed": False})
    assert "changed of a run that must change nothing" in one.judges.violations[0]


@pytest.mark.parametrize(
    "happens",
    [
        lambda one: one.cluster.start(1, clean=True),
        lambda one: one.cluster.crash(3),
        lambda one: setattr(one.cluster.brokers[2], "hangs", True),
        lambda one: setattr(one.cluster, "disk_is_full", True),
        lambda one: setattr(one.cluster, "has_controller", False),
        lambda one: setattr(one, "happened", 1),
        lambda one: one.cluster.elect(KEY, True),
    ],
)
def test_what_happens_in_between_ends_the_prediction(happens: Callable[[Rehearsed], Any]) -> None:
    one = Rehearsed()
    one.rehearsal.judge(result("held"))
    happens(one)
    assert not one.rehearsal.holds


def test_committed_offsets_that_come_within_reach_may_prove_more_if_check_mode_warns() -> None:
    for warnings, is_right in ((["once __consumer_offsets has a leader, committed offsets can be read"], True), ([], False)):
        one = Rehearsed()
        one.rehearsal.judge({**result("held"), "warnings": warnings})
        assert one.rehearsal.judge_next(result("elected", 2))
        assert (one.judges.violations == []) == is_right


def test_what_happens_during_the_next_run_ends_the_prediction() -> None:
    one = Rehearsed()
    one.rehearsal.judge(result("held"))
    assert one.rehearsal.holds
    one.happened += 1
    assert not one.rehearsal.judge_next(result("elected", 2)) and one.judges.violations == []


def test_a_run_without_allow_data_loss_and_one_that_was_killed_predict_nothing() -> None:
    held = Rehearsed(HELD)
    held.rehearsal.judge(result("held"))
    assert not held.rehearsal.holds and not Rehearsed().rehearsal.holds
