# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts with logs that have forked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from simulation.certain_forks import ended_elsewhere, forked_offsets, forked_records
from simulation.damage_patterns import CALM, FORKED, REPLAYED_PATTERNS, draw_pattern
from simulation.request_script import NO_REQUEST
from simulation.review_script import NO_REVIEW
from simulation.script import Script
from simulation.steps import Step, draw_steps

FOUR_FORKED = 0.12  # of all histories


def with_forks(script: Script, random: Random, share: float = FOUR_FORKED) -> Script:
    """Return the script, of a share of seeds with logs that have forked for certain: an election must choose, and save records of the others."""
    if random.random() >= share:
        return script
    brokers, (first, *others) = random.choice((4, 5)), script.topics
    damage = (*draw_steps(random, CALM, random.randrange(0, 8)), *draw_pattern(random, random.choice(FORKED)))
    return replace(
        script,
        brokers=brokers,
        topics={
            first: [random.sample(range(1, brokers + 1), 4)],
            **{topic: script.topics[topic] for topic in others if brokers >= script.brokers},
        },
        strategy=random.choice(("aggressive", "balanced")),
        controllers=random.random() < 0.6,
        damage=without_loss(damage),
    )


def with_survivors(script: Script, random: Random) -> Script:
    """Return the script with several partitions to elect, of which several replicas live, so that one of them may answer wrongly."""
    script = replace(with_forks(script, random, 1.0), replay=None)
    (first, (replicas, *_)), *_ = script.topics.items()
    starts = draw_steps(random, {"start_first": 1}, random.choice((0, 1, 1, 2)))
    script = replace(
        script,
        topics={**script.topics, first: [random.sample(replicas, len(replicas)) for _ in range(random.choice((1, 2, 3)))]},
        damage=without_loss((*script.damage, *starts)),
    )
    if random.random() < 0.4:
        return script
    return replace(script, faults=(), kill_at=None, second=None, strike=None, request=NO_REQUEST, reviews=NO_REVIEW)


def with_forks_to_replay(script: Script, random: Random) -> Script:
    """Return the script with logs that have forked, of which one has records and ends of transactions that were committed in it alone."""
    pattern = [one for what in random.choice(REPLAYED_PATTERNS) for one in [what] * (random.choice((1, 2, 4)) if what == "write" else 1)]
    damage = (*draw_steps(random, CALM, random.randrange(0, 6)), *draw_pattern(random, pattern))
    brokers, (first, *_) = random.choice((3, 4)), script.topics
    return replace(
        script,
        brokers=brokers,
        topics={first: [random.sample(range(1, brokers + 1), 3)]},
        min_isr={first: random.choice((1, 1, 2))},
        damage=without_loss(damage),
        faults=script.faults if random.random() < 0.3 else (),
        strategy=random.choice(("aggressive", "balanced")),
    )


def with_certain_forks(script: Script, random: Random) -> Script:
    """Return the script with logs of which it is certain how they have forked, and which transactions or offsets of groups they have."""
    first, *_ = script.topics
    return replace(
        script,
        **random.choice((forked_records, forked_offsets, forked_offsets, ended_elsewhere))(first, random),
        faults=script.faults if random.random() < 0.2 else (),
        kill_at=script.kill_at if random.random() < 0.2 else None,
        second=None,
        request=NO_REQUEST,
        is_certain=True,
    )


def without_loss(damage: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps so that no broker comes back without the end of its logs."""
    return tuple(step._replace(numbers=(step.numbers[0], 0, *step.numbers[2:])) if step.what == "start_first" else step for step in damage)
