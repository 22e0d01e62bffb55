# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts with faults that strike where chance alone seldom does: at a change, while records are saved, while a broker is out of reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from simulation.damage_patterns import CALM, FORKS, OLD_LEADER, OTHERS, STRUCK_REQUESTS, UNCLEAN_BEFORE, draw_pattern
from simulation.script import LONG_HANG, Script
from simulation.steps import (
    CUT,
    FULL_DISK,
    HANGING_BROKER,
    LATE,
    LATER_STARTS,
    OLD_LEADERS,
    SECONDS_AFTER_CHANGE,
    Step,
    Strike,
    draw_step,
    draw_step_after_change,
    draw_steps,
)
from simulation.world import CHANGES

CUTS, CUTS_OF_STRIKES = 0.15, 0.3  # of all histories without another strike; of those that strike at a request
THROTTLING = ("IncrementalAlterConfigsRequest",)
STRUCK_THROTTLES = 0.3  # of all histories of throttled moves without another strike
MOST_THROTTLING = 14  # requests: each change of a throttle is validated before it is made
BUSY, SAVED_UNDER_FAULTS = 0.06, 0.06  # of all histories of elections
OUT_OF_REACH, ELECTED_BEFORE, TWO_LEADERS, DISK_FILLED, KILLED_AT_A_CHANGE = 0.15, 0.08, 0.06, 0.05, 0.08  # of all histories
AT_CHANGES, FIRST_AT_CHANGES = 0.6, 0.25  # of kills, signals and faults; of the first faults of later runs, of which many change nothing


def struck_at_changes(script: Script, random: Random) -> Script:
    """Return the script, with many of its kills, signals and faults from the first change of a run on. Runs change the cluster late, and for a short time."""
    if script.moves is not None:
        return script

    def step(at: int | None) -> int | None:
        return at if at is None or random.random() >= AT_CHANGES else draw_step_after_change(random)

    def strikes(faults: Sequence[Step], first: float = AT_CHANGES) -> tuple[Step, ...]:
        return tuple(
            one if random.random() >= share else one._replace(at=-random.uniform(0.001, SECONDS_AFTER_CHANGE))
            for one, share in zip(faults, (first, *[AT_CHANGES] * len(faults)), strict=False)
        )

    later = tuple(
        replace(run, faults=strikes(run.faults, FIRST_AT_CHANGES), kill_at=step(run.kill_at), stop_at=step(run.stop_at))
        for run in script.later
    )
    request = replace(script.request, stop_at=step(script.request.stop_at))
    return replace(script, faults=strikes(script.faults), kill_at=step(script.kill_at), request=request, later=later)


def with_rare_events(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with a broker that control nodes do not reach, or with an unclean election before."""
    if random.random() < OUT_OF_REACH:
        hidden = draw_step("hide", random, 0)._replace(at=random.choice((0.0, random.uniform(0, LATE))))
        script = replace(script, faults=(*script.faults, hidden))
    if random.random() < ELECTED_BEFORE:
        damage = (*draw_steps(random, CALM, random.randrange(0, 6)), *draw_pattern(random, random.choice(UNCLEAN_BEFORE)))
        script = replace(script, damage=damage)
    elif random.random() < TWO_LEADERS:
        damage = (*draw_steps(random, CALM, random.randrange(0, 6)), *draw_pattern(random, random.choice(OLD_LEADER)))
        late = [draw_step("write_to_old_leader", random, 0)._replace(at=random.uniform(0, LATE)) for _ in range(random.choice((0, 1, 2)))]
        # This strategy elects although the old leader, which is fenced, has more records.
        strategy = random.choice((script.strategy, "aggressive"))
        script = replace(script, damage=damage, faults=(*script.faults, *late), strategy=strategy)
        if random.random() < 0.5:
            script = replace(script, strike=Strike(OLD_LEADERS, random.randrange(3), 0.0))
    if random.random() < SAVED_UNDER_FAULTS:
        script = _with_faults_while_saving(script, random)
    elif random.random() < DISK_FILLED:
        # What is forked is elected by this strategy, and so there is something to save.
        damage = (*draw_steps(random, CALM, random.randrange(0, 6)), *draw_pattern(random, random.choice(FORKS)))
        strike = Strike(FULL_DISK, random.randrange(3), random.choice((0.005, 0.02, 0.1)))
        script = replace(script, damage=damage, strategy="aggressive", strike=strike)
    elif random.random() < KILLED_AT_A_CHANGE:
        what = random.choice(CHANGES)
        strike = Strike(what, random.choice((0, 0, 0, 1)), random.choice((LONG_HANG, 15.0)), kills_run=random.random() < 0.7)
        between = draw_steps(random, OTHERS, random.choice((0, 1, 1, 2)))
        script = replace(script, strike=strike, kill_at=None, between=tuple(between))
    return script


def _with_faults_while_saving(script: Script, random: Random) -> Script:
    """Return the script with logs that have forked, of which a broker hangs while they are saved, or which start later then."""
    damage = (*draw_steps(random, CALM, random.randrange(0, 6)), *draw_pattern(random, random.choice(FORKS)))
    number, seconds = random.choice((0, 0, 1, 2)), random.choice((0.0, 0.0, 2.0, 6.0, 15.0))
    strike = Strike(HANGING_BROKER if seconds else LATER_STARTS, number, seconds)
    options = random.choice(({}, {"save_timeout": 2.0}, {"save_timeout": 2.0, "saved_bytes_per_second": 50}))
    request = replace(script.request, options={**script.request.options, **options})
    return replace(script, damage=damage, strategy="aggressive", strike=strike, request=request)


def with_cut_connections(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with a connection that is cut when the broker has carried out a request: the answer is lost, and no broker hangs."""
    if script.strike is not None and script.strike.request in STRUCK_REQUESTS:
        return script if random.random() >= CUTS_OF_STRIKES else replace(script, strike=script.strike._replace(seconds=CUT))
    if script.strike is not None or random.random() >= CUTS:
        return script
    requests = THROTTLING if script.moves is not None and random.random() < 0.5 else CHANGES
    return replace(script, strike=Strike(random.choice(requests), random.choice((0, 0, 1, 2)), CUT, kills_run=random.random() < 0.2))


def with_struck_throttles(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with a broker that hangs, is killed, or loses its connection at a change of a throttle."""
    if script.moves is None or script.moves.throttle is None or script.strike is not None or random.random() >= STRUCK_THROTTLES:
        return script
    seconds = random.choice((CUT, 0.0, 2.0, 6.0, 15.0, 25.0))
    return replace(script, strike=Strike(*THROTTLING, random.randrange(MOST_THROTTLING), seconds, kills_run=random.random() < 0.5))


def with_busy_brokers(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with brokers that learn late of what the controller decides."""
    if random.random() >= BUSY:
        return script
    busy = draw_step("make_busy", random, 0)._replace(at=random.uniform(0, LATE))
    return replace(script, faults=(*script.faults, busy))
