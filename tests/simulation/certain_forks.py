# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damage after which it is certain what is saved and replayed: logs that fork where transactions, or offsets of groups, are lost."""

from __future__ import annotations

from random import Random
from typing import Any

from simulation.group_log import GROUP_LOG
from simulation.steps import Step

# Steps with the numbers that matter: which follower copies; of records how many, which kind, and how their transaction goes on (applications.py).
PLAIN, OPEN, COMMITTED, ABORT, COMMIT = (1, 0, 0), (1, 6, 4), (1, 6, 1), (1, 1, 0), (1, 1, 1)
LAST_LEADER: tuple[tuple[Any, ...], ...] = (
    ("write", *PLAIN),
    ("copy", 1),
    ("alone",),
    ("write", *PLAIN),
    ("lose_isr",),
    ("start_first", 0),
)
CERTAIN_FORKS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "a COMMIT that only one log has": (
        ("write", *PLAIN), ("catch_up",), ("write", *OPEN), ("catch_up",), ("alone",), ("go_on", *COMMIT), ("write", *PLAIN), ("lose_isr",),
        ("elect_unclean",), *LAST_LEADER
    ),
    "three branches": (
        ("write", *PLAIN), ("catch_up",), ("write", *PLAIN), ("write", *PLAIN), ("write", *PLAIN), ("crash_leader",), ("write", *PLAIN),
        ("write", *PLAIN), ("crash_leader",), *LAST_LEADER, ("start_first", 0)
    ),
}  # fmt: skip
# The same, each with its partition: that of the records is 0, that of `__consumer_offsets` is 1.
OFFSETS_BEFORE: tuple[tuple[Any, ...], ...] = (
    ("write", 0, *PLAIN), ("catch_up", 0), ("commit_offset", 0, 0), ("commit_offset", 0, 1), ("catch_up", 1), ("write", 0, *PLAIN), ("catch_up", 0),
    ("alone", 1), ("commit_offset", 0), ("write", 0, *PLAIN), ("catch_up", 0), ("commit_offset", 0), ("commit_offset", 0)
)  # fmt: skip
OFFSETS_AFTER: tuple[tuple[Any, ...], ...] = (
    ("write", 0, *PLAIN), ("catch_up", 0), ("commit_offset", 0), ("copy", 1, 1), ("alone", 1), ("commit_offset", 0), ("lose_isr", 1), ("start_first", 1, 0)
)  # fmt: skip
_CLUSTER = {"brokers": 4, "strategy": "aggressive"}
# Of five replicas the fourth has the records of a transaction that was aborted, and not its end. Another tool elects the third. It takes no record of the
# next transaction of the producer, as too few replicas are in sync, but its COMMIT once the fifth is.
ENDED_ELSEWHERE: tuple[tuple[Any, ...], ...] = (
    ("write", *PLAIN), ("catch_up",), ("write", *OPEN), ("copy", 2), ("copy", 0), ("shrink", 4), ("shrink", 3), ("shrink", 2), ("copy", 0), ("go_on", *ABORT),
    ("copy", 0), ("wait",), ("lose_isr",), ("elect_unclean",), ("write", *COMMITTED), ("copy", 1), ("wait",), ("copy", 1), ("alone",), ("write", *PLAIN),
    ("lose_isr",)
)  # fmt: skip


def ended_elsewhere(topic: str, random: Random) -> dict[str, Any]:
    """Return fields of a script with a transaction whose end the log that is saved lacks, and that of the next one in the log that is elected."""
    damage = tuple(Step(what, (0, *numbers, 1, 1, 1, 1)[:4]) for what, *numbers in ENDED_ELSEWHERE)
    replicas = random.sample(range(1, 6), 5)
    return {**_CLUSTER, "brokers": 5, "elr": False, "topics": {topic: [replicas]}, "min_isr": {topic: 2}, "damage": damage}


def forked_records(topic: str, random: Random) -> dict[str, Any]:
    """Return fields of a script with a partition whose logs have forked in one of these ways."""
    steps = random.choice(list(CERTAIN_FORKS.values()))
    damage = tuple(Step(what, (0, *numbers, 1, 1, 1, 1)[:4]) for what, *numbers in steps)
    return {**_CLUSTER, "topics": {topic: [random.sample(range(1, 5), 4)]}, "min_isr": {topic: 1}, "damage": damage}


def forked_offsets(topic: str, random: Random) -> dict[str, Any]:
    """Return fields of a script with a log of `__consumer_offsets` that has forked. In some the records, too, that a group has read are lost."""
    replicas, groups = random.sample(range(1, 5), 4), GROUP_LOG[0]
    lost = (("alone", 0), ("write", 0, *PLAIN), ("commit_offset", 0, 0)) if random.random() < 0.4 else ()
    steps = (*OFFSETS_BEFORE, *lost, ("crash_leader", 1), ("elect_unclean", 1), *((("elect_unclean", 0),) if lost else ()), *OFFSETS_AFTER)
    damage = tuple(Step(str(what), (number, *others, random.randrange(2), 1, 1, 1)[:4]) for what, number, *others in steps)
    return {**_CLUSTER, "topics": {topic: [replicas], groups: [replicas]}, "min_isr": {topic: 1, groups: 1}, "damage": damage}
