# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damage of clusters that are large in one way: many partitions with identical logs, or logs with many leader epochs."""

from __future__ import annotations

from random import Random
from typing import Any

from simulation.disk_script import draw_disks
from simulation.steps import Step

TOPICS = ("orders", "payments")
PARTITIONS = (8, 16, 24)
ALTERNATIONS = (4, 12, 70)


def many_partitions(random: Random) -> dict[str, Any]:
    """Return fields of a script: all brokers go down, and all but the last one come back, with identical logs of many partitions.

    Other partitions have leaders, and the load is uneven: some brokers have more replicas than others.
    """
    brokers = random.choice((3, 4, 5))
    some = random.sample(range(1, brokers + 1), 3)
    topics = {
        topic: [
            random.sample(some if random.random() < 0.6 else range(1, brokers + 1), random.choice((2, 3)))
            for _ in range(random.choice(PARTITIONS))
        ]
        for topic in TOPICS[: random.choice((1, 2))]
    }
    order = random.sample(range(brokers), brokers)
    damage = [Step("crash", (broker, 0, 0, 1), 0.0) for broker in order] + [_step("start_first", random) for _ in order[1:]]
    return {"brokers": brokers, "topics": topics, "min_isr": dict.fromkeys(topics, 1), "damage": tuple(damage)}


def many_epochs(random: Random) -> dict[str, Any]:
    """Return fields of a script: two replicas are leaders in turn, by unclean elections, and never see each other's records."""
    brokers = random.choice((3, 4))
    replicas = random.sample(range(1, brokers + 1), random.choice((2, 3)))
    damage = [_step("write", random), _step("copy", random), _step("lose_isr", random)]
    for _ in range(random.choice(ALTERNATIONS)):
        damage += [_step(what, random) for what in ("start_first", "elect_unclean", "write", "write", "lose_isr")]
    damage += [_step("start_first", random)] * random.choice((1, 2, 2))
    return {
        "brokers": brokers, "topics": {TOPICS[0]: [replicas]}, "min_isr": {TOPICS[0]: 1}, "damage": tuple(damage),
        "strategy": random.choice(("aggressive", "balanced")), "duration": random.choice((0.05, 0.3, 12.0)), "disks": draw_disks(random),
    }  # fmt: skip


def _step(what: str, random: Random) -> Step:
    """Return a step without loss of the end of a log."""
    return Step(what, (random.randrange(1000), 0, random.randrange(1000), 1), 0.0)
