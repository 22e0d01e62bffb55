# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Control nodes are killed, and get signals, so many steps after their first change of the cluster. Then faults strike, too."""

from __future__ import annotations

from pathlib import Path

from simulation.cluster import SESSION_SECONDS
from simulation.drawn_script import drawn
from simulation.history import History
from simulation.script import Script
from simulation.steps import Step
from simulation.world import World

STEPS = ("MetadataRequest to 1", "AlterPartitionReassignmentsRequest to 1", "fsync 5", "ElectLeadersRequest to 1", "fsync 5")


def killed_at(kill_at: int, steps: tuple[str, ...] = STEPS) -> int:
    """Return how many steps a control node makes before it dies."""
    world, made = World(1), list[str]()

    def work() -> None:
        for step in steps:
            world.step(step)
            made.append(step)

    (process,) = world.run({"first": work}, {"first": kill_at}).values()
    assert process.killed == (len(made) < len(steps))
    return len(made)


def test_steps_are_counted_from_the_begin_or_from_the_first_change() -> None:
    assert [killed_at(step) for step in (1, 2, 5, 9)] == [0, 1, 4, 5]
    assert [killed_at(step) for step in (-1, -2, -4, -9)] == [1, 2, 4, 5]


def test_a_control_node_that_changes_nothing_is_not_killed_after_its_change() -> None:
    assert killed_at(-1, STEPS[:1]) == 1


def test_a_run_that_can_change_nothing_is_struck_from_its_beginning_on(tmp_path: Path) -> None:
    """It has nothing to elect: each partition has a leader, or no replica that runs."""
    script = Script(1, 2, {"orders": [[1, 2]]}, {"orders": 1}, False, "balanced", False, (), ())
    history, fault = History(script, tmp_path), Step("hang", (0, 0, 0, 0), -0.1)
    cluster, steps = history._cluster, list[dict[str, int]]()
    for broker in (2, 1):
        steps.append(history._steps("first", -3))
        cluster.crash(broker)
        cluster.world.wait(SESSION_SECONDS + 1)
    steps.append(history._steps("first", -3))
    history._let_strike([fault])
    assert not cluster.world.at_first_change
    cluster.world.wait(0.2)
    cluster.start(2, clean=False)
    steps.append(history._steps("first", -3))
    history._let_strike([fault])
    assert len(cluster.world.at_first_change) == 1
    assert steps == [{"first": 3}, {"first": 3}, {"first": 3}, {"first": -3}]
    assert history._steps("first", 7) == {"first": 7} and history._steps("first", None) == {}


def test_what_happens_at_the_first_change_happens_once() -> None:
    world, happened = World(1), list[str]()
    world.at_first_change = [lambda: happened.append("one"), lambda: happened.append("other")]

    def work() -> None:
        for step in STEPS:
            world.step(step)

    world.run({"first": work, "second": work})
    assert happened == ["one", "other"]


def test_many_kills_signals_and_faults_are_drawn_from_the_first_change_on() -> None:
    scripts = [script for script in map(drawn, range(200)) if script.moves is None]
    kills = [at for script in scripts for at in (script.kill_at, *(run.kill_at for run in script.later)) if at is not None]
    faults = [step.at for script in scripts for faults in (script.faults, *(run.faults[1:] for run in script.later)) for step in faults]
    for drawn_at in (kills, faults):
        assert 0.5 < sum(at < 0 for at in drawn_at) / len(drawn_at) < 0.7
