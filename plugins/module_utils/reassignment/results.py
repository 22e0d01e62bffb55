# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of reassignments, by partition, and the result of a task. Pure: no I/O, no Kafka client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, in_recovery_order
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.previews import one_of_each_kind_first
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import (
    CANCEL,
    MOVING,
    REFUSED,
    STALE,
    SUBMIT,
    UNCHANGED,
    Move,
    Verdict,
)

REASSIGNED, CANCELLED = "reassigned", "cancelled"
OUTCOMES = (Outcome.FAILED, Outcome.STALE, Outcome.HELD, MOVING, CANCELLED, REASSIGNED, UNCHANGED)  # worst first
NOT_BEGUN = "nothing was submitted, because other partitions were refused"
GRANT = "this client may not move replicas; grant ALTER on the cluster"


@dataclass(frozen=True)
class MoveResult:
    """The result of one partition. `replicas`: those that it has (moving: that it had), None if unknown; `error`: Kafka's name."""

    topic: str
    partition: int
    outcome: str
    replicas: tuple[int, ...] | None
    target_replicas: tuple[int, ...] | None
    error: str | None = None
    message: str | None = None

    @property
    def key(self) -> TopicPartition:
        """Return the topic and the number of the partition."""
        return self.topic, self.partition

    @classmethod
    def of(cls, move: Move, outcome: str, error: str | None = None, message: str | None = None) -> MoveResult:
        """Return the result of a move with this outcome: with the target replicas if it has arrived, else with the current ones."""
        arrived = outcome in (REASSIGNED, UNCHANGED)
        return cls(*move.key, outcome, move.target if arrived else move.current, move.target, error, message)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready values: tuples as lists."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def predict_results(verdicts: Iterable[Verdict], wait: bool, may_alter: bool = True) -> dict[TopicPartition, MoveResult]:
    """Return the predicted result of each partition. If one partition is refused, moves and cancellations of the others are held.

    `wait`: whether the task waits until the replicas are in sync. `may_alter`: False if ALTER on the cluster is not granted.
    """
    verdicts = list(verdicts)
    outcomes = {
        SUBMIT: REASSIGNED if wait else MOVING,
        MOVING: REASSIGNED if wait else MOVING,
        CANCEL: CANCELLED,
        UNCHANGED: UNCHANGED,
    }
    found = {}
    refused = any(verdict.action == REFUSED for verdict in verdicts)
    for verdict in verdicts:
        move = verdict.move
        if verdict.action in (REFUSED, STALE) or move is None:
            current, target = (move.current, move.target) if move else (None, None)
            outcome = Outcome.STALE if verdict.action == STALE else Outcome.FAILED
            result = MoveResult(*verdict.key, outcome, current, target, verdict.error, verdict.message)
        elif verdict.action in (SUBMIT, CANCEL) and not may_alter:
            result = MoveResult.of(move, Outcome.FAILED, kafka_errors.CLUSTER_AUTHORIZATION_FAILED, GRANT)
        elif verdict.action in (SUBMIT, CANCEL) and refused:
            result = MoveResult.of(move, Outcome.HELD, message=NOT_BEGUN)
        else:
            result = MoveResult.of(move, outcomes[verdict.action])
        found[verdict.key] = result
    return found


def report(results: Collection[MoveResult], changed: bool, preview: int, stopped: str | None = None) -> dict[str, Any]:
    """Return `changed`, `summary` (counts by outcome), `errors` (counts by Kafka's name) and `results` (rows, worst first) of a module.

    `failed` and `msg` are set if a partition has failed or is stale, or if the run was stopped. `preview`: maximum of rows. `stopped`: the
    sentence why the run ended early, None if it did not.
    """
    ordered = sorted(results, key=lambda result: (OUTCOMES.index(result.outcome), *in_recovery_order(result.key)))
    ordered = one_of_each_kind_first(ordered, lambda result: (result.outcome, result.error))
    counts = Counter(result.outcome for result in ordered)
    found: dict[str, Any] = {
        "changed": changed,
        "summary": {outcome: counts[outcome] for outcome in OUTCOMES},
        "errors": dict(sorted(Counter(result.error for result in ordered if result.error).items())),
        "results": [result.as_dict() for result in ordered[:preview]],
    }
    bad = [result for result in ordered if result.outcome in (Outcome.FAILED, Outcome.STALE)]
    parts = [stopped] if stopped else []
    if bad:
        first = bad[0]
        why = ": ".join(part for part in (first.error, first.message) if part)
        parts.append(f"{len(bad)} of {len(ordered)} partitions failed, first {first.topic}-{first.partition}: {why}")
        if not changed and not stopped:
            parts.append("nothing was submitted")
    if parts:
        found |= {"failed": True, "msg": "; ".join(parts)}
    return found


def diff(verdicts: Iterable[Verdict], results: Mapping[TopicPartition, MoveResult]) -> dict[str, str]:
    """Return Ansible's diff: `before` and `after`, each with one line for each partition whose replicas change."""
    before, after = [], []
    for verdict in verdicts:
        move, outcome = verdict.move, results[verdict.key].outcome
        if move is None or verdict.action not in (SUBMIT, CANCEL) or outcome not in (REASSIGNED, MOVING, CANCELLED):
            continue
        name = f"{printable(move.topic)}-{move.partition}: replicas"
        if outcome == CANCELLED:
            before.append(f"{name} {list(move.current)}, moving to {list(move.target)}\n")
            after.append(f"{name} {list(move.current)}\n")
        else:
            before.append(f"{name} {list(move.current)}\n")
            after.append(f"{name} {list(move.target)}\n")
    return {"before": "".join(before), "after": "".join(after)}
