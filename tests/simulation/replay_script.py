# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is drawn for the replay at the end of a simulated history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

MOST_STEPS = 60  # a replay makes about so many requests, waits and writes
LATE = 0.5  # seconds of a replay in which most faults strike


@dataclass(frozen=True)
class ReplayScript:
    """How saved records are replayed.

    kill_at  the step at which the first control node dies, None: it lives
    second   seconds after which a second control node replays the same, None: there is none
    """

    kill_at: int | None
    second: float | None

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> ReplayScript:
        """Return what was written as JSON."""
        return cls(**fields)


def drawn_replay(random: Random) -> ReplayScript:
    """Draw a replay."""
    return ReplayScript(
        kill_at=random.randrange(1, MOST_STEPS) if random.random() < 0.6 else None,
        second=random.uniform(0, LATE) if random.random() < 0.3 else None,
    )
