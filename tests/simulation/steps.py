# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of a script: what happens, and when; and how they are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

OF_PARTITIONS = {
    "write", "replicate", "copy", "catch_up", "shrink", "alone", "crash_leader", "lose_isr", "hand_over", "cancel_elsewhere", "throttle_elsewhere",
    "elect_unclean", "fail_leaders_disk", "cut_off_leader", "write_to_old_leader", "go_on", "commit_offset",
    "reorder_elsewhere", "move_elsewhere", "set_min_isr", "allow_unclean",
    "delete_records", "expire", "clean", "create_again",
}  # fmt: skip
CUT = -1.0  # a connection
# What strikes while records are saved, which needs no certain request: in place of the name of one.
OLD_LEADERS, FULL_DISK, HANGING_BROKER, LATER_STARTS = "old leaders write", "disk is full", "a broker hangs", "logs start later"
FULL_AT_A_FETCH, HANGS_AT_A_FETCH, LATER_AT_A_FETCH, STOPPED_AT_A_FETCH = (
    "disk is full at a fetch",
    "a broker hangs at a fetch",
    "logs start later at a fetch",
    "SIGTERM at a fetch",
)
AT_FETCHES = FULL_AT_A_FETCH, HANGS_AT_A_FETCH, LATER_AT_A_FETCH, STOPPED_AT_A_FETCH
SAVING = OLD_LEADERS, FULL_DISK, HANGING_BROKER, LATER_STARTS, *AT_FETCHES
# The requests, waits and writes of a recovery that nothing disturbs, and the seconds that it takes: at most if it elects, and if all is held.
STEPS, STEPS_OF_HELD = 112, 54
SECONDS, SECONDS_OF_HELD = 0.36, 0.12
LATE = 0.3  # seconds of a recovery in which most faults strike; without faults it takes about so long
STEPS_AFTER_CHANGE, SECONDS_AFTER_CHANGE = 30, 0.15  # of a run that elects, from its first change of the cluster on


class Strike(NamedTuple):
    """The broker that gets request number `number` (from 0) of the kind `request` hangs for `seconds` when it is sent; 0: it is killed.

    CUT as `seconds`: it carries out the request, and the connection is cut before its answer. `kills_run`: the control node that sends the request dies soon
    after.

    One of SAVING as `request`: this happens when the folder number `number` is made for saved records. OLD_LEADERS: old leaders take records. FULL_DISK: the
    disk of the control nodes is full for `seconds`. HANGING_BROKER: a broker hangs for `seconds`. LATER_STARTS: replicas delete their oldest records.
    Of AT_FETCHES the same happens when fetch number `number` is sent after the first such folder is made, to the broker that gets it, or all its records are
    deleted; or the control node gets SIGTERM.
    """

    request: str
    number: int
    seconds: float
    kills_run: bool = False


class Step(NamedTuple):
    """Something that happens: `what` it is, with numbers that choose partition, broker and so on.

    `at`: seconds after the recovery has begun; negative: after its first change of the cluster.
    """

    what: str
    numbers: tuple[int, ...]
    at: float = 0.0


def draw_step(what: str, random: Random, partition: int) -> Step:
    """Draw a step of this kind, of a partition by its number if it is about one."""
    first, *others = (random.randrange(1000) for _ in range(4))
    return Step(what, (partition if what in OF_PARTITIONS else first, *others))


def draw_steps(random: Random, kinds: dict[str, int], count: int) -> Iterator[Step]:
    """Draw so many steps. `kinds`: with their weights."""
    favourite = random.randrange(1000)  # most steps are about one partition: what they come to together is worth more
    for what in random.choices(list(kinds), list(kinds.values()), k=count):
        yield draw_step(what, random, favourite if random.random() < 0.7 else random.randrange(1000))


def draw_step_number(random: Random) -> int:
    """Draw the step at which a control node is struck."""
    return random.randrange(1, random.choice((STEPS, STEPS_OF_HELD)))


def draw_step_after_change(random: Random) -> int:
    """Draw the step at which a control node is struck, counted from its first change of the cluster on."""
    return -random.randrange(1, STEPS_AFTER_CHANGE)


def draw_second(random: Random) -> float:
    """Draw the second at which a fault strikes a recovery."""
    return random.uniform(0, random.choice((SECONDS, SECONDS_OF_HELD)))
