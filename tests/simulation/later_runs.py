# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recoveries after the first one while faults still strike: each with damage before it, faults, and a control node that is killed or stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from simulation.steps import SECONDS_OF_HELD, Step, draw_second, draw_step_number, draw_steps


@dataclass(frozen=True)
class LaterRun:
    """A recovery. `damage` comes before it, `faults` while it works. `kill_at`, `stop_at`: as those of the first one.

    wrong  chooses a broker that answers wrongly from now on, and how, in a history with wrong answers; None: all answers are right
    """

    damage: tuple[Step, ...]
    faults: tuple[Step, ...]
    kill_at: int | None = None
    stop_at: int | None = None
    wrong: int | None = None

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> LaterRun:
        """Return what was written as JSON."""
        damage, faults = (tuple(Step(what, tuple(numbers), at) for what, numbers, at in fields[name]) for name in ("damage", "faults"))
        return cls(damage, faults, fields["kill_at"], fields["stop_at"], fields.get("wrong"))


def draw_later_runs(
    random: Random, draw_damage: Callable[[Random], Sequence[Step]], kinds: dict[str, int], count: int
) -> tuple[LaterRun, ...]:
    """Draw so many recoveries. `kinds`: faults, with their weights."""
    runs = []
    for _ in range(count):
        struck = random.choice(("kill", "kill", "stop", "faults", "faults", "faults"))
        faults = draw_steps(random, kinds, random.choice((1, 2, 2)) if struck == "faults" else random.choice((0, 0, 1)))
        runs.append(
            LaterRun(
                tuple(draw_damage(random)) if random.random() < 0.8 else (),
                tuple(
                    step._replace(at=random.uniform(0, SECONDS_OF_HELD) if not at else draw_second(random))
                    for at, step in enumerate(faults)
                ),
                draw_step_number(random) if struck == "kill" else None,
                draw_step_number(random) if struck == "stop" else None,
            )
        )
    return tuple(runs)
