# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens in simulated histories, with weights, and the orders of it that chance alone seldom finds."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from simulation.steps import Step, draw_step, draw_steps

DAMAGE = {
    "write": 12, "replicate": 10, "shrink": 3, "alone": 5, "crash_leader": 5, "crash": 1, "shut_down": 1, "start": 6, "wait": 2, "hand_over": 1,
    "fail_disk": 1, "fail_leaders_disk": 1, "hang": 1
}  # fmt: skip
CALM = {"write": 4, "replicate": 4, "hand_over": 1}
FAULTS = {
    "crash": 3, "shut_down": 1, "start": 4, "hang": 3, "cut_off": 2, "lose_controller": 3, "crash_leader": 2, "write": 1, "fill_disk": 1,
    "fail_disk": 1, "hang_controller": 2
}  # fmt: skip
# In a history of moves: before them, and while they are under way, which takes some seconds.
BEFORE_MOVES = {"write": 12, "replicate": 6, "shrink": 2, "crash": 1, "hand_over": 1, "fail_disk": 1}
FAULTS_OF_MOVES = {
    "crash": 2, "shut_down": 1, "start": 3, "hang": 5, "cut_off": 2, "lose_controller": 2, "crash_leader": 1, "write": 2, "cancel_elsewhere": 1,
    "throttle_elsewhere": 2, "fail_disk": 1
}  # fmt: skip
# Ways to damage that chance alone finds seldom: forks, a tail that only an old leader has, survivors of different lengths, a committed record in the log with
# the older epoch (Raft's figure 8), a leader whose disk fails, a broker that is cut off for long. All but the last end without a leader.
PATTERNS = (
    ("write", "crash_leader", "write", "copy", "alone", "write", "lose_isr", "start_first"),
    ("write", "crash_leader", "write", "write", "alone", "lose_isr", "start_first"),
    ("write", "replicate", "shrink", "write", "replicate", "alone", "write", "lose_isr"),
    ("write", "copy", "alone", "write", "lose_isr"),
    ("write", "copy", "crash_leader", "write", "crash_leader", "start_first", "catch_up", "alone", "lose_isr", "start_first"),
    ("shrink", "write", "hand_over", "write", "crash_leader", "write", "alone", "write", "lose_isr", "start_first"),
    ("write", "copy", "alone", "write", "fail_leaders_disk", "wait", "lose_isr"),
    ("alone", "write", "crash_leader", "cut_off", "start", "wait", "wait"),
)
FORKS = PATTERNS[:2]
# Another tool has elected uncleanly before: the history of ISRs proves nothing from then on.
UNCLEAN_BEFORE = (
    (
        "write", "copy", "write", "lose_isr", "start_first", "elect_unclean", "write", "copy", "shrink", "write", "alone", "write", "lose_isr"
    ),
    (
        "write", "alone", "write", "lose_isr", "elect_unclean", "write", "start_first", "write", "copy", "alone", "write", "lose_isr",
        "start_first"
    ),
)  # fmt: skip
# A leader is cut off, and producers still write to it after another one was elected, and while that one's partition is recovered.
OLD_LEADER = (
    ("write", "copy", "cut_off_leader", "write_to_old_leader", "write", "copy", "alone", "write", "lose_isr"),
    ("write", "copy", "write", "cut_off_leader", "write", "lose_isr", "write_to_old_leader"),
)
# Logs of four replicas that have forked: a leader goes before any other replica has the end of its log, and comes back when the others have gone on.
FORKED = (
    ("write", "crash_leader", "write", "copy", "alone", "write", "lose_isr", "start_first"),
    ("write", "copy", "crash_leader", "write", "crash_leader", "start_first", "catch_up", "alone", "lose_isr", "start_first"),
    ("write", "crash_leader", "write", "crash_leader", "write", "copy", "alone", "write", "lose_isr", "start_first", "start_first"),
    ("write", "copy", "write", "crash_leader", "write", "copy", "alone", "write", "copy", "write", "lose_isr", "start_first"),
)
# Logs that have forked, of which one has records and ends of transactions that were committed in it alone.
REPLAYED_PATTERNS = (
    (
        "write", "copy", "alone", "go_on", "write", "lose_isr", "elect_unclean", "write", "copy", "write", "alone", "write", "lose_isr",
        "start_first"
    ),
    ("write", "copy", "write", "alone", "write", "lose_isr", "elect_unclean", "write", "copy", "go_on", "alone", "lose_isr", "start_first"),
)  # fmt: skip
# What other tools do between a run that was killed at a change and the next one.
OTHERS = {"reorder_elsewhere": 3, "move_elsewhere": 2, "unregister": 1, "create_again": 1}
# A broker may hang, or be killed, when it gets one of the first requests of these kinds: few of them are sent, and chance alone seldom strikes there.
STRUCK_REQUESTS = (
    "ElectLeadersRequest", "ElectLeadersRequest", "AlterPartitionReassignmentsRequest", "AlterPartitionReassignmentsRequest", "FetchRequest",
    "ListOffsetsRequest", "DescribeTopicPartitionsRequest",
)  # fmt: skip


def draw_damage(random: Random) -> tuple[Step, ...]:
    """Draw what happens before a recovery."""
    if random.random() < 0.25:
        return tuple(draw_steps(random, DAMAGE, random.randrange(8, 50)))
    before = draw_steps(random, CALM, random.randrange(0, 12))
    return (*before, *draw_pattern(random, random.choice(PATTERNS)), *draw_steps(random, DAMAGE, random.choice((0, 0, 0, 1, 3))))


def draw_pattern(random: Random, pattern: Sequence[str]) -> list[Step]:
    """Return the steps of a pattern. In it the controller mostly knows of one crash before the next one."""
    return [
        step._replace(numbers=(*step.numbers[:3], int(random.random() < 0.9))) for step in [draw_step(what, random, 0) for what in pattern]
    ]
