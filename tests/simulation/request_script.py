# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What operators ask for in a simulated history, apart from the strategy: drawn from a seed, as the rest of its script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from simulation.kraft import Key
from simulation.lost_names import DOWN, LOST_BROKERS
from simulation.steps import draw_step_number

CHECK, HELD = "check", "held"
OPTION, FILE = "option", "file"
CANCEL, NAMED = "cancel", "named"
# Options of kafka_designated_election, each with the values that are drawn for it. Records of these histories are of some hundred bytes.
LIMITS: Mapping[str, tuple[Any, ...]] = {
    "save_records": (False,),
    "max_saved_bytes": (1, 100, 400, 1 << 20),
    "max_saved_run_bytes": (1, 100, 400, 1 << 20),
    "max_saved_partition_bytes": (1, 100, 400, 1 << 20),
    "saved_bytes_per_second": (50, 500, 1 << 20),
    "max_offline_brokers": (0, 1, 2),
    "max_partitions": (1, 2),
    LOST_BROKERS: (DOWN, DOWN, DOWN, [1], [2, 3]),
    "allowed_strategies": (["balanced"], ["none", "balanced"], ["aggressive"]),
    "decide_again": (False,),
    "save_timeout": (0.01, 2.0),
    "election_attempts": (0, 1),
    "remove_expired_throttle": (True,),
    "quorum_before": (
        {"leader_id": 101, "leader_epoch": 1, "looked_at": 1_795_000_000.0, "voters": []},
        {"leader_id": 102, "leader_epoch": 7, "looked_at": 1_795_000_000.0, "voters": []},
    ),
}

# Options of the evidence and of the plan, likewise. Some name what is no topic or no strategy.
EVIDENCE: Mapping[str, tuple[Any, ...]] = {
    "first_answer_seconds": (0.2, 2.0),
    "max_evidence_rows": (1, 3, 1000),
    "topic_strategies": (
        {"orders": "aggressive"}, {"orders": "none"}, {"payments": "aggressive", "orders": "balanced"}, {"orders": "kip966_balanced"},
        {"orders": "bold"}, {"a b": "none"},
    ),
}  # fmt: skip
WITH_OPTIONS = 0.3  # of all that ask for something

# Limits that most elections exceed.
TIGHT: Mapping[str, tuple[Any, ...]] = {
    "max_partitions": (0, 0, 1),
    "max_offline_brokers": (0, 0, 1),
    "allowed_strategies": (["none"], ["none", "balanced"]),
}
HELD_BACK = 0.2  # of all that ask for something


@dataclass(frozen=True)
class RequestScript:
    """What operators ask for while faults strike. The last runs, in peace, have no limits.

    rehearsal  a run before the first one that must change nothing: CHECK (check mode), HELD (without allow_data_loss), None: there is none
    stop_at    the step at which the first control node gets SIGTERM, None: it gets none
    strategy   of these runs, None: that of the script
    named      how partitions are named: OPTION, FILE, None: they are not
    subset     chooses those that are named, None: all are
    evidence   options of the evidence and of the plan
    options    of kafka_designated_election
    moves      what a second control node does in a history of moves instead: CANCEL, NAMED (a standing throttle of replicas that are named)
    snapshots  seconds before each healthy snapshot that is taken before the damage
    """

    rehearsal: str | None = None
    stop_at: int | None = None
    strategy: str | None = None
    named: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    snapshots: tuple[float, ...] = ()
    moves: str | None = None
    subset: int | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def strategies(self) -> set[str]:
        """The strategies that are asked for."""
        return {one for one in (self.strategy, *self.evidence.get("topic_strategies", {}).values()) if one is not None}

    def of(self, keys: Sequence[Key]) -> list[Key] | None:
        """Return which of these partitions are named, one at least, None if none is."""
        if self.named is None:
            return None
        if self.subset is None:
            return [*keys]
        return [key for number, key in enumerate(keys) if self.subset >> number & 1] or [*keys[:1]]

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> RequestScript:
        """Return what was written as JSON."""
        return cls(**{**fields, "snapshots": tuple(fields["snapshots"])})


NO_REQUEST = RequestScript()


def draw_request(random: Random) -> RequestScript:
    """Draw what operators ask for."""
    limits = random.sample(list(LIMITS), random.choice((0, 1, 1, 2)))
    request = RequestScript(
        rehearsal=random.choice((CHECK, CHECK, HELD)) if random.random() < 0.4 else None,
        stop_at=draw_step_number(random) if random.random() < 0.3 else None,
        strategy=random.choice(("none", "kip966_balanced", "aggressive")) if random.random() < 0.15 else None,
        named=random.choice((OPTION, FILE)) if random.random() < 0.3 else None,
        options={name: random.choice(LIMITS[name]) for name in limits},
        snapshots=random.choice(((0.0,), (0.0, 60.0), (0.0, 40.0, 700.0))) if random.random() < 0.5 else (),
        moves=random.choice((CANCEL, NAMED)) if random.random() < 0.5 else None,
        subset=random.randrange(64) if random.random() < 0.7 else None,
    )
    if random.random() < WITH_OPTIONS:
        name = random.choice([*EVIDENCE, "topic_strategies"])
        request = replace(request, evidence={name: random.choice(EVIDENCE[name])})
    if random.random() >= HELD_BACK:
        return request
    limit = random.choice(list(TIGHT))
    return replace(request, options={**request.options, limit: random.choice(TIGHT[limit])})
