# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts with topics that are changed, or whose offsets are committed, while the cluster is damaged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from simulation.damage_patterns import CALM, FORKS, draw_pattern
from simulation.drawn_forks import without_loss
from simulation.group_log import GROUP_LOG
from simulation.script import Script
from simulation.steps import LATE, OF_PARTITIONS, Step, draw_step, draw_steps

WRITES = ("write", "copy", "alone")  # of histories with replays; after these steps groups commit offsets
RETENTION, COMPACTION, CREATED_AGAIN = 0.12, 0.12, 0.06  # of all histories of elections
INTERNAL = 0.06  # of all histories of elections


def with_changed_topics(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with logs whose start moves, or that are compacted, or with topics that are created again."""
    drawn = random.random()
    if drawn < RETENTION + COMPACTION + CREATED_AGAIN:
        # What healthy snapshots and groups know is compared with logs that have changed.
        script = replace(script, damage=tuple(with_commits(script.damage, random)))
        if random.random() < 0.5:
            snapshots = random.choice(((0.0, 60.0), (0.0, 40.0, 40.0, 40.0), (0.0, 40.0, 700.0)))
            script = replace(script, request=replace(script.request, snapshots=snapshots))
    if drawn < RETENTION:
        return _with_more(script, random, ("delete_records", "expire"))
    if drawn > RETENTION + COMPACTION + CREATED_AGAIN:
        return script
    # Batches of idempotent producers are cleaned in another way, and their transactions end with their topic.
    replay = None if script.replay is None else replace(script.replay, producers=False)
    if drawn < RETENTION + COMPACTION:
        compacted = tuple(topic for topic in script.topics if random.random() < 0.8) or (*script.topics,)[:1]
        return _with_more(replace(script, compacted=compacted, replay=replay), random, ("clean",))
    again = draw_step("create_again", random, random.randrange(1000))
    if random.random() < 0.5:
        at = random.randrange(len(script.damage) + 1)
        return replace(script, replay=replay, damage=(*script.damage[:at], again, *script.damage[at:]))
    late = again._replace(at=random.uniform(0, max(LATE, script.review)))
    return replace(script, replay=replay, faults=(*script.faults, late))


def with_internal_topic(script: Script, random: Random) -> Script:
    """Return the script, of some seeds with __consumer_offsets as a topic, which goes with another partition: its election comes first."""
    if random.random() >= INTERNAL:
        return script
    (replicas, *_), *_ = script.topics.values()
    topics = {**script.topics, GROUP_LOG[0]: [random.sample(replicas, len(replicas))]}
    number = sum(map(len, script.topics.values()))
    alone, crash = (draw_step(what, random, number) for what in ("alone", "crash_leader"))
    of_first = [
        step._replace(numbers=(0, *step.numbers[1:])) if step.what in OF_PARTITIONS else step
        for step in draw_pattern(random, random.choice(FORKS))
    ]
    damage = (*with_commits([*draw_steps(random, CALM, random.randrange(0, 6)), alone, *of_first], random), crash)
    return replace(
        script,
        topics=topics,
        min_isr={**script.min_isr, GROUP_LOG[0]: 1},
        damage=without_loss(damage),
        replay=None,  # records of internal topics are not replayed
    )


def _with_more(script: Script, random: Random, kinds: Sequence[str]) -> Script:
    """Return the script with more steps of these kinds."""
    damage: list[Step] = []
    for step in script.damage:
        damage.append(step)
        while random.random() < 0.3:
            damage.append(draw_step(random.choice(kinds), random, step.numbers[0]))
    late = [
        draw_step(random.choice(kinds), random, random.randrange(1000))._replace(at=random.uniform(0, 2 * LATE))
        for _ in range(random.choice((0, 0, 1, 3)))
    ]
    return replace(script, damage=tuple(damage), faults=(*script.faults, *late))


def with_commits(damage: Sequence[Step], random: Random) -> Iterator[Step]:
    """Yield the steps, and after some of them that a group commits an offset."""
    for step in damage:
        yield step
        if step.what in WRITES and random.random() < 0.4:
            yield Step("commit_offset", (step.numbers[0], random.randrange(2), 0, 0))
