# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damage after which only committed offsets prove which branch was committed, and they can be read once `__consumer_offsets` has a leader again."""

from __future__ import annotations

from random import Random
from typing import Any

from simulation.group_log import GROUP_LOG
from simulation.steps import Step

FIRST, THIRD = "first", "third"
PLACES = FIRST, "second", THIRD

# Each step with its partition, that of the records is 0, that of `__consumer_offsets` is 1, or with a place in the list of replicas. In the end the log of the
# first replica has one branch, that of the third one the other. The third one starts again, and so does not know how much was committed.
# The first leader goes before another replica has its last record. The second one is elected, and a group reads what it has.
DAMAGE: tuple[tuple[Any, ...], ...] = (
    ("write", 0), ("catch_up", 0), ("commit_offset", 0, 0), ("catch_up", 1), ("write", 0), ("crash", FIRST), ("write", 0), ("copy", 0), ("copy", 0),
    ("commit_offset", 0, 1), ("catch_up", 1), ("crash", THIRD), ("alone", 1), ("write", 0), ("crash_leader", 1), ("start_first", 0, 0),
    ("start_first", 0, 0)
)  # fmt: skip


def proven_by_offsets(topic: str, random: Random) -> dict[str, Any]:
    """Return fields of a script with such damage of a topic."""
    first, second, third = replicas = random.sample(range(1, 5), 3)
    group_log = [second, *random.sample([first, third], 2)]
    damage = tuple(
        Step(what, (at if at in (0, 1) else replicas[PLACES.index(at)] - 1, *numbers, 1, 1, 1)[:4]) for what, at, *numbers in DAMAGE
    )
    return {
        "brokers": 4, "topics": {topic: [[first, second, third]], GROUP_LOG[0]: [group_log]}, "min_isr": {topic: 1, GROUP_LOG[0]: 1},
        "damage": damage, "controllers": random.random() < 0.5, "strategy": random.choice(("aggressive", "balanced")),
        "replay": None,  # records of internal topics are not replayed
    }  # fmt: skip
