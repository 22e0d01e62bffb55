# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts with configs of topics that other tools change, before and during recoveries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from simulation.damage_patterns import CALM
from simulation.later_runs import LaterRun
from simulation.script import Script
from simulation.steps import LATE, Step, draw_step, draw_steps

MIN_ISR, RAISED = 0.15, 0.25  # of all histories of elections, and of those
UNCLEAN = 0.25  # of all histories of elections without other commands, disks and wrong input
IN_DAMAGE, IN_LATER_RUNS, IN_FAULTS = 0.12, 0.3, 0.3
TO_TWO, PLAIN = (0, 1, 1), (1, 0, 0)
# The first leader dies with records that the second one lacks. That one commits records alone, and a replica that is not in sync copies some of them. Then
# min.insync.replicas is raised: of a history in which it had always been 2 the first leader would have all that was committed.
COMMITTED_BEFORE: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("shrink", (2, 0, 0)),
    ("write", PLAIN),
    ("crash_leader", (0, 0, 1)),
    ("write", PLAIN),
    ("write", PLAIN),
    ("replicate", (2, 0, 0)),
    ("set_min_isr", TO_TWO),
    ("crash", (0, 0, 1)),
    ("crash_leader", (0, 0, 1)),
    ("start_first", (0, 1, 0)),
    ("start_first", (0, 1, 0)),
)


def with_other_min_isr(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with min.insync.replicas that another tool changes: before the recovery, while it works, and between recoveries.

    If nothing happens while the first one works, this does not either: its prediction holds then.
    """
    if script.moves is not None or script.is_certain or random.random() >= MIN_ISR:
        return script
    if random.random() < RAISED:
        script = _with_a_raise(script, random)
    else:
        script = replace(script, damage=_with_changes(script.damage, random, "set_min_isr"))
    later = tuple(_with_changes_before(run, random, "set_min_isr") for run in script.later)
    if not script.faults or random.random() >= IN_FAULTS:
        return replace(script, later=later)
    late = draw_step("set_min_isr", random, random.randrange(1000))._replace(at=random.uniform(0, LATE))
    return replace(script, later=later, faults=(*script.faults, late))


def _with_a_raise(script: Script, random: Random) -> Script:
    first, *_ = script.topics
    replicas = random.sample(range(1, 4), 3)
    steps = [Step(what, (replicas[2] - 1 if what == "crash" else 0, *numbers)) for what, numbers in COMMITTED_BEFORE]
    before = (one for one in draw_steps(random, CALM, random.randrange(0, 4)) if one.what != "hand_over")
    return replace(
        script,
        brokers=3,
        topics={first: [replicas]},
        min_isr={first: 1},
        elr=script.elr and random.random() < 0.5,
        controllers=True,
        damage=(*before, *steps),
        replay=None,
        compacted=(),
        wrong_answers=None,
    )


def with_unclean_elections(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with topics that allow unclean elections, from the beginning, from some moment on, or for a while."""
    is_other = script.moves or script.is_certain or script.commands is not None or script.disks or script.wrong_answers
    if is_other or script.damaged is not None or random.random() >= UNCLEAN:
        return script
    allowed = tuple(Step("allow_unclean", (number, 1, 0, 0)) for number in range(len(script.topics)) if random.random() < 0.3)
    damage = (*allowed, *_with_changes(script.damage, random, "allow_unclean"))
    if script.faults:  # else a prediction of the first run holds
        late = draw_step("allow_unclean", random, 0)._replace(at=random.uniform(0, LATE))
        script = replace(script, faults=(*script.faults, late))
    later = tuple(_with_changes_before(run, random, "allow_unclean") for run in script.later)
    return replace(script, damage=damage, later=later)


def _with_changes(steps: Sequence[Step], random: Random, what: str) -> tuple[Step, ...]:
    changed: list[Step] = []
    for step in (*steps, None):
        if random.random() < IN_DAMAGE:
            changed.append(draw_step(what, random, steps[0].numbers[0] if steps and random.random() < 0.7 else random.randrange(1000)))
        changed += [] if step is None else [step]
    return tuple(changed)


def _with_changes_before(run: LaterRun, random: Random, what: str) -> LaterRun:
    return replace(run, damage=_with_changes(run.damage, random, what)) if random.random() < IN_LATER_RUNS else run
