# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is drawn for the replay at the end of a simulated history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from simulation.steps import CUT, Step, Strike, draw_steps

MOST_STEPS = 60  # a replay makes about so many requests, waits and writes
LATE = 0.5  # seconds in which most faults strike; without faults a replay takes a few
FAULTS = {
    "crash": 2, "crash_leader": 3, "shut_down": 1, "start": 4, "hang": 4, "hide": 2, "cut_off": 2, "cut_off_leader": 1, "hand_over": 3, "shrink": 2,
    "lose_controller": 1, "write": 3, "go_on": 3, "fill_disk": 1, "fail_leaders_disk": 1
}  # fmt: skip
STRUCK_REQUESTS = (
    "ProduceRequest", "ProduceRequest", "EndTxnRequest", "EndTxnRequest", "AddPartitionsToTxnRequest", "InitProducerIdRequest", "FetchRequest",
    "ListOffsetsRequest", "WriteTxnMarkersRequest"
)  # fmt: skip


@dataclass(frozen=True)
class ReplayScript:
    """How saved records are replayed.

    kill_at  the step at which the first control node dies, None: it lives
    second   seconds after which a second control node replays the same, None: there is none
    faults   what goes wrong meanwhile
    strike   a broker that hangs or is killed at a request, or whose answer is lost, None: there is none
    producers  whether idempotent and transactional producers write some of the records
    before   what applications do between the recovery and the replay
    is_named whether an operator names leaders for partitions that are held, before all brokers run again
    stop_at  the step at which the first control node gets SIGTERM, None: it gets none
    wrong    chooses which brokers answer wrongly in check mode, and how, None: none does
    """

    kill_at: int | None
    second: float | None
    faults: tuple[Step, ...]
    strike: Strike | None
    producers: bool
    before: tuple[Step, ...]
    is_named: bool
    stop_at: int | None = None
    wrong: int | None = None

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> ReplayScript:
        """Return what was written as JSON."""
        steps = {name: tuple(Step(what, tuple(numbers), at) for what, numbers, at in fields[name]) for name in ("faults", "before")}
        return cls(**{**fields, **steps, "strike": Strike(*fields["strike"]) if fields["strike"] else None})


def draw_replay(random: Random) -> ReplayScript:
    """Draw a replay."""
    return ReplayScript(
        kill_at=random.randrange(1, MOST_STEPS) if random.random() < 0.6 else None,
        second=random.uniform(0, 4 * LATE) if random.random() < 0.3 else None,
        faults=tuple(
            step._replace(at=random.choice((random.uniform(0, LATE), random.uniform(0, 8 * LATE))))
            for step in draw_steps(random, FAULTS, random.choice((0, 0, 1, 2, 3)))
        ),
        strike=Strike(
            random.choice(STRUCK_REQUESTS),
            random.choice((0, 0, 1, 2)),
            random.choice((CUT, CUT, 2.0, 6.0, 15.0, 0.0)),
            random.random() < 0.4,
        )
        if random.random() < 0.6
        else None,
        producers=random.random() < 0.7,
        before=tuple(draw_steps(random, {"write": 2, "go_on": 3}, random.choice((0, 2, 4)))),
        is_named=random.random() < 0.8,
        stop_at=random.randrange(1, MOST_STEPS) if random.random() < 0.15 else None,
        wrong=random.randrange(1 << 20) if random.random() < 0.5 else None,
    )
