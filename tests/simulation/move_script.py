# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What control nodes do in a simulated history of moves: drawn from a seed, as the rest of its script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

RATES = 1024, 2000, 6000  # bytes per second; KIP-179 allows no less than 1024
SECONDS = "move", "move", "recover", "absent", "present", "cleaned", "leftovers"
PLAIN_MOVES = {"wait": True, "concurrent_moves": 1000, "on_interrupt": "auto", "duration": None}
Target = tuple[str, int, tuple[int, ...]]  # topic, partition, replicas


@dataclass(frozen=True)
class MoveScript:
    """What control nodes do.

    targets   new replicas of partitions
    throttle  of the moves, bytes per second, None: none
    options   others of the module kafka_partition_reassignment
    standing  rate of a throttle that the operator sets before, None: none; `expires_after`: seconds, None: never
    others    whose throttles are set before and must stay: of a `topic`, a `broker`
    second    what a second control node does
    ending    how the operator comes to an end: `move` (runs the moves again), `leftovers` (cancels them, and removes what is left)
    """

    targets: tuple[Target, ...]
    throttle: int | None
    options: Mapping[str, Any]
    standing: int | None
    expires_after: float | None
    others: tuple[str, ...]
    second: str
    ending: str

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> MoveScript:
        """Return what was written as JSON."""
        targets = tuple((topic, number, tuple(replicas)) for topic, number, replicas in fields["targets"])
        return cls(**{**fields, "targets": targets, "others": tuple(fields["others"])})


def draw_moves(random: Random, brokers: int, topics: Mapping[str, Sequence[Sequence[int]]]) -> MoveScript:
    """Draw what control nodes do on such a cluster."""
    throttle = random.choice(RATES) if random.random() < 0.8 else None
    waits = random.random() < 0.9
    options: dict[str, Any] = {"wait": waits, "concurrent_moves": random.choice((1, 1000))}
    options["on_interrupt"] = random.choice(("auto", "leave", "cancel")) if waits else "leave"
    options["duration"] = random.choice((None, None, 3.0)) if waits else None
    standing = random.choice(RATES) if random.random() < 0.2 else None
    return MoveScript(
        _targets(random, brokers, topics),
        throttle,
        options,
        standing,
        expires_after=random.choice((None, 1.0, 20.0)) if standing else None,
        others=tuple(one for one in ("topic", "broker") if random.random() < 0.3),
        second=random.choice(SECONDS),
        ending=random.choice(("move", "move", "leftovers")),
    )


def _targets(random: Random, brokers: int, topics: Mapping[str, Sequence[Sequence[int]]]) -> tuple[Target, ...]:
    """Draw new replicas, of some partitions at least: mostly as many as before."""
    found: list[Target] = []
    for topic, partitions in topics.items():
        for number, replicas in enumerate(partitions):
            size = len(replicas) if random.random() < 0.6 else random.randrange(1, min(brokers, 4) + 1)
            if random.random() < 0.8 or not found:
                found.append((topic, number, tuple(random.sample(range(1, brokers + 1), size))))
    return tuple(found)
