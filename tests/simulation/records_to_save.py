# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damage after which records of two brokers are saved in many small pieces, limits that do not allow it, and what strikes meanwhile."""

from __future__ import annotations

from random import Random
from typing import Any

from simulation.logins import DESCRIBE_CONFIGS
from simulation.request_script import CHECK, RequestScript
from simulation.review_script import NO_REVIEW
from simulation.steps import (
    FULL_AT_A_FETCH,
    HANGS_AT_A_FETCH,
    LATER_AT_A_FETCH,
    OF_PARTITIONS,
    STOPPED_AT_A_FETCH,
    Step,
    Strike,
    draw_step,
)

PARTITIONS = 2
# Options of the election. Records of these histories are of some hundred bytes.
LIMITS: tuple[dict[str, Any], ...] = (
    {"max_saved_bytes": 400}, {"max_saved_run_bytes": 400}, {"max_saved_partition_bytes": 300}, {"save_timeout": 2.0, "saved_bytes_per_second": 50},
    {"save_timeout": 0.02}, {},
)  # fmt: skip
SECONDS_OF_A_SLOW_BROKER, TIMEOUT = 2.0, 2.5


def records_to_save(random: Random) -> dict[str, Any]:
    """Return fields of a script. Each of three leaders writes records that no other replica copies, and is lost. They come back, and one of them is elected."""
    long, replicas = random.choice((4, 8)), random.sample(range(1, 5), 4)
    lost = [*["write"] * long, "crash_leader"]
    pattern = (*lost, *lost, "write", "crash_leader", "write", "lose_isr", "start_first", "start_first", "start_first")
    damage = [
        step for what in pattern for step in (_steps_of_both(what, random) if what == "write" else [_noticed(draw_step(what, random, 0))])
    ]
    return {
        "brokers": 4, "topics": {"orders": [replicas] * PARTITIONS}, "min_isr": {"orders": 1}, "strategy": "aggressive", "compacted": (),
        "damage": tuple(damage), "faults": (), "kill_at": None, "second": None, "review": 0.0, "between": (), "duration": 12.0, "reviews": NO_REVIEW,
        "small_limits": True, **_strike(random, replicas[0]),
    }  # fmt: skip


def _strike(random: Random, alive: int) -> dict[str, Any]:
    """Return what strikes while records are read, or which limit does not allow to save them; and what the login may not read.

    alive  a broker that is not lost, although an operator may name it
    """
    what = random.choice((None, None, None, FULL_AT_A_FETCH, HANGS_AT_A_FETCH, LATER_AT_A_FETCH, STOPPED_AT_A_FETCH))
    lacks = (DESCRIBE_CONFIGS,) if random.random() < 0.3 else ()
    options = (
        random.choice((*LIMITS, {"lost_brokers": [alive]}))
        if what is None
        else {"save_timeout": TIMEOUT}
        if what == HANGS_AT_A_FETCH
        else {}
    )
    seconds = SECONDS_OF_A_SLOW_BROKER if what == HANGS_AT_A_FETCH else random.choice((0.02, 0.5))
    is_predictable = "save_timeout" not in options and random.random() < 0.5
    return {
        "strike": None if what is None else Strike(what, random.randrange(6), seconds),
        "request": RequestScript(rehearsal=CHECK if is_predictable else None, options=options),
        "lacks": lacks,
    }


def _steps_of_both(what: str, random: Random) -> list[Step]:
    return [draw_step(what, random, partition) for partition in range(PARTITIONS)]


def _noticed(step: Step) -> Step:
    """Return the step so that the controller knows of it before the next one, and no broker comes back without the end of its logs."""
    first, second, third, _last = step.numbers
    return step._replace(numbers=(first, second if step.what in OF_PARTITIONS else 0, third, 1))
