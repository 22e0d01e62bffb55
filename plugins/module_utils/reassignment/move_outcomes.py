# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of moves by what the cluster shows of their partitions. Pure: no I/O, no Kafka client."""

from __future__ import annotations

from collections.abc import Collection

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.cancellation import SETTLED_SECONDS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.results import REASSIGNED, MoveResult
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.validate import Move, leader_problem


def changed_before(move: Move, before: PartitionState | None, state: PartitionState | None, unfenced: Collection[int]) -> MoveResult | None:
    """Return the result of a move that is not valid any more, right before it is submitted, None if it is.

    `before`: the partition when the move was judged; `state`: now, None if it does not exist. `unfenced`: ids of live brokers.
    """
    if state is None or (before is not None and state.topic_id != before.topic_id):
        why = "the topic was deleted or created again meanwhile"
        return MoveResult.of(move, Outcome.STALE, kafka_errors.UNKNOWN_TOPIC_OR_PARTITION, why)
    if state.replicas != move.current:
        return MoveResult(*move.key, Outcome.STALE, state.replicas, move.target, None, "its replicas have changed meanwhile; run again")
    dead = [broker for broker in move.adding if broker not in unfenced]
    if dead:
        why = f"broker {dead[0]} was fenced meanwhile; start it, or name another one"
        return MoveResult.of(move, Outcome.FAILED, kafka_errors.BROKER_NOT_AVAILABLE, why)
    if problem := leader_problem(move, state, unfenced):
        return MoveResult.of(move, Outcome.FAILED, *problem)
    return None


def not_throttled(move: Move) -> MoveResult:
    """Return the result of a move that is not submitted, because a broker stated that the partition does not exist when its throttle was to be set."""
    why = "a broker states that it does not exist, so its throttle could not be set; run again if it exists"
    return MoveResult.of(move, Outcome.STALE, kafka_errors.UNKNOWN_TOPIC_OR_PARTITION, why)


def ended(
    move: Move, state: PartitionState | None, other: OngoingReassignment | None, since: float, doubt: str | None
) -> MoveResult | None:
    """Return the result of a move that has not been listed for `since` seconds, None if brokers may not have learned of its end yet.

    `other`: another reassignment of the partition that is under way. `doubt`: why it is not known whether Kafka accepted the move.
    """
    if other is not None:
        why = f"another process moves it to {list(other.target)}; wait until that has ended, then run again"
        return MoveResult.of(move, Outcome.FAILED, kafka_errors.REASSIGNMENT_IN_PROGRESS, why)
    settled = since >= SETTLED_SECONDS
    if state is not None and state.replicas == move.target and (settled or {*move.adding} <= {*state.isr}):
        return MoveResult.of(move, REASSIGNED)
    if not settled:
        return None
    if state is None:
        return MoveResult.of(move, Outcome.STALE, kafka_errors.UNKNOWN_TOPIC_OR_PARTITION, "the topic was deleted meanwhile")
    why = doubt or "another process has cancelled or replaced the move"
    return MoveResult(*move.key, Outcome.FAILED, state.replicas, move.target, None, f"{why}; run again")


def stalled(move: Move, seconds: float, unfenced: Collection[int], how: str) -> MoveResult:
    """Return the result of a move of which nothing was copied for so many seconds. `how`: what became of it."""
    dead = [broker for broker in move.adding if broker not in unfenced]
    why = f", broker {dead[0]} is fenced: start it, or name another one" if dead else ""
    return MoveResult.of(move, Outcome.FAILED, kafka_errors.REQUEST_TIMED_OUT, f"nothing was copied for {seconds:.0f} s{why}; {how}")


def arrived(result: MoveResult, other: OngoingReassignment | None, state: PartitionState | None) -> MoveResult:
    """Return the result of a move that had arrived, if a run that was stalled may have moved the partition since."""
    target = result.target_replicas
    if other is None and state is not None and state.replicas == target:
        return result
    now = other.original if other is not None else state.replicas if state is not None else None
    why = "a run that was stalled has moved it again since; run again"
    return MoveResult(*result.key, Outcome.FAILED, now, target, None, why)
