# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges see a run that exceeds its limits, that elects what is not named, and bounds that do not hold what is really lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.events import Events
from simulation.judges import Judges
from simulation.kraft import Key
from simulation.limits_judge import LimitsJudge
from simulation.loss_judge import LossJudge
from simulation.model_judge import ModelJudge
from simulation.world import World

KEY: Key = ("orders", 0)


class Loss:
    """Broker 3 led, and is lost. Broker 2 has three committed records that broker 1 lacks. An election takes broker 1."""

    def __init__(self, workdir: Path) -> None:
        self.cluster = cluster = SimulatedCluster(World(1), 3, {"orders": [[3, 1, 2]]}, {"orders": 1}, elr=False)
        self.events = Events(cluster, Counter())
        self.losses = LossJudge(cluster)
        self.judges = Judges(cluster, workdir, self.events, ModelJudge(cluster, True, False, False), gives_up=True)
        cluster.shrink(KEY, 1)
        cluster.world.wait(1)
        assert cluster.write(KEY, "committed", 3)
        cluster.replicate(KEY, 2)
        cluster.shrink(KEY, 2)
        cluster.crash(3)
        cluster.world.wait(SESSION_SECONDS + 1)

    def elect(self, **limits: Any) -> list[str]:
        """Elect, and return what is wrong with that by these limits."""
        judge = LimitsJudge(self.judges, self.cluster, limits, "aggressive")
        self.cluster.elect(KEY, unclean=True)
        judge.judge()
        return self.judges.violations


@pytest.fixture
def loss(tmp_path: Path) -> Loss:
    return Loss(tmp_path)


def test_a_run_may_elect_within_its_limits(loss: Loss) -> None:
    assert loss.elect(max_partitions=1, max_offline_brokers=1, allowed_strategies=["aggressive"]) == []


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        ({"max_partitions": 0}, "1 partitions are elected, and max_partitions is 0"),
        ({"max_offline_brokers": 0}, "elect of orders-0, although 1 brokers are offline, and max_offline_brokers is 0"),
        ({"allowed_strategies": ["balanced"]}, "elect of orders-0, although aggressive is not an allowed strategy"),
    ],
)
def test_a_run_may_not_exceed_its_limits(loss: Loss, limits: dict[str, Any], what: str) -> None:
    assert loss.elect(**limits) == [what]


def test_what_a_broker_carries_out_late_is_no_change_of_this_run(loss: Loss) -> None:
    loss.cluster.world.late = True
    assert loss.elect(max_partitions=0) == []


def test_what_is_not_named_may_not_be_elected(loss: Loss) -> None:
    loss.judges.unnamed = {KEY}
    assert loss.elect() == ["elect of orders-0, which is not named, although others are"]


@pytest.mark.parametrize(
    ("lower", "upper", "what"),
    [
        (0, 3, None),
        (None, None, None),
        (4, 5, "is said to lose at least 4 records (x) if broker 1 leads, and loses 3"),
        (0, 2, "is said to lose at most 2 records (x) if broker 1 leads, and loses 3"),
    ],
)
def test_bounds_hold_what_is_lost(loss: Loss, lower: int | None, upper: int | None, what: str | None) -> None:
    bounds = {"lower_bound": lower, "lower_bound_from": "x", "upper_bound": upper, "upper_bound_from": "x"}
    assert loss.losses.violation(KEY, 1, bounds) == what


def test_records_that_a_broker_has_lost_void_upper_bounds_but_those_of_the_elr(loss: Loss) -> None:
    loss.cluster.start(3, clean=False, lost_batches=1)
    bounds = {"lower_bound": 0, "lower_bound_from": "x", "upper_bound": 0}
    assert loss.losses.violation(KEY, 1, {**bounds, "upper_bound_from": "isr"}) is None
    assert loss.losses.violation(KEY, 1, {**bounds, "upper_bound_from": "elr"}) is not None


def test_what_another_broker_has_lost_of_another_partition_voids_no_bound(loss: Loss) -> None:
    loss.events.harmed.add(3)
    loss.cluster.lost_ends["orders", 1] = {"committed"}
    bounds = {"lower_bound": 0, "lower_bound_from": "x", "upper_bound": 0, "upper_bound_from": "isr"}
    assert loss.losses.violation(KEY, 1, bounds) is not None


def test_what_an_election_has_lost_is_not_lost_again(loss: Loss) -> None:
    loss.elect()
    assert loss.losses.violation(KEY, 1, {"lower_bound": 0, "lower_bound_from": "x", "upper_bound": 0, "upper_bound_from": "x"}) is None
