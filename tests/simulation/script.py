# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of a simulated history: the cluster, how it is damaged, and what goes wrong while it is recovered. A seed gives one; it can be shortened."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from simulation.disk_script import DiskScript
from simulation.later_runs import LaterRun
from simulation.move_script import MoveScript
from simulation.replay_script import ReplayScript
from simulation.request_script import NO_REQUEST, RequestScript
from simulation.review_script import NO_REVIEW, ReviewScript
from simulation.steps import Step, Strike
from simulation.versions import NEWEST
from simulation.wrong_answers import WrongAnswersScript

LONG_HANG = 6.0  # seconds


@dataclass(frozen=True)
class Script:
    """A history. `seed`: of latencies and of all that happens by chance. `damage` comes before the recovery, `faults` while it works.

    topics       replicas of each partition, by topic
    controllers  whether control nodes read the metadata log of the controllers, for the history of ISRs
    kill_at      the step at which the first control node dies, None: it lives
    second       seconds after which a second control node recovers the same cluster, None: there is none
    duration     seconds for evidence, and for elections (kafka_recovery_duration)
    review       seconds between the plan and its elections
    strike       a broker that hangs or is killed at a request, None: there is none
    moves        what control nodes move; None: they only elect
    replay       how saved records are replayed at the end; None: they are not
    request      what operators ask for while faults strike
    reviews      what they hand in
    compacted    topics whose cleanup.policy is compact
    wrong_answers  a broker that answers wrongly; None: there is none
    damaged      chooses which files of the workdir are damaged, and how; None: none is
    quota        bytes per second that control nodes may read from each broker until faults end; None: there is no such quota
    between      what other tools do after the first run; then comes a run in check mode, and then another one
    lacks        permissions that the login of control nodes does not have until faults end
    commands     chooses which other commands operators run; None: none
    disks        what becomes of the disks of lost brokers; None: they are not read
    kafka        the release of all nodes
    drift        seconds by which the clocks of control nodes and controllers may be wrong
    later        recoveries after the first one, while faults still strike
    loses_power  control nodes that die lose power, and with it what they have not synced
    small_limits  sizes of requests, batches and buffers are small
    is_certain   the damage makes it certain what is saved and replayed
    least_brokers  so many brokers run when a recovery begins. No second broker states replicas if it is one
    """

    seed: int
    brokers: int
    topics: dict[str, list[list[int]]]
    min_isr: dict[str, int]
    elr: bool
    strategy: str
    controllers: bool
    damage: tuple[Step, ...]
    faults: tuple[Step, ...]
    kill_at: int | None = None
    second: float | None = None
    duration: float = 12.0
    review: float = 0.0
    strike: Strike | None = None
    moves: MoveScript | None = None
    replay: ReplayScript | None = None
    request: RequestScript = NO_REQUEST
    reviews: ReviewScript = NO_REVIEW
    disks: DiskScript | None = None
    compacted: tuple[str, ...] = ()
    later: tuple[LaterRun, ...] = ()
    drift: float = 0.0
    loses_power: bool = False
    small_limits: bool = False
    is_certain: bool = False
    wrong_answers: WrongAnswersScript | None = None
    damaged: int | None = None
    commands: int | None = None
    lacks: tuple[str, ...] = ()
    quota: int | None = None
    between: tuple[Step, ...] = ()
    kafka: str = NEWEST.name
    least_brokers: int = 2

    def to_json(self) -> str:
        """Return the script as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the script that `to_json` wrote. Raises ValueError for another text."""
        fields = json.loads(text)
        if not isinstance(fields, dict):
            raise ValueError("it is not an object")
        try:
            return cls._from_fields(fields)
        except (AttributeError, LookupError, TypeError) as error:
            raise ValueError(str(error)) from error

    @classmethod
    def _from_fields(cls, fields: dict[str, Any]) -> Self:
        for name in ("damage", "faults", "between"):
            fields[name] = tuple(Step(what, tuple(numbers), at) for what, numbers, at in fields.get(name, ()))
        fields["moves"] = MoveScript.from_fields(fields["moves"]) if fields.get("moves") else None
        fields["replay"] = ReplayScript.from_fields(fields["replay"]) if fields.get("replay") else None
        fields["later"] = tuple(map(LaterRun.from_fields, fields.get("later", ())))
        fields["lacks"] = tuple(fields.get("lacks", ()))
        fields["compacted"] = tuple(fields.get("compacted", ()))
        fields["disks"] = DiskScript(**fields["disks"]) if fields.get("disks") else None
        fields["wrong_answers"] = WrongAnswersScript(**fields["wrong_answers"]) if fields.get("wrong_answers") else None
        fields["request"] = RequestScript.from_fields(fields["request"]) if fields.get("request") else NO_REQUEST
        fields["reviews"] = ReviewScript.from_fields(fields["reviews"]) if fields.get("reviews") else NO_REVIEW
        if fields.get("strike"):
            fields["strike"] = Strike(*fields["strike"])
        return cls(**fields)
