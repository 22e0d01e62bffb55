# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which brokers the controller may elect by itself, so that a partition waits for them, and whom it takes from the replica order. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import ElectionConfig, Registration, waited_for
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    COMING_BACK,
    FENCED,
    UNFENCED,
    PartitionEvidence,
    State,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.forecast import Doubt, doubt


def registration(state: State) -> Registration:
    """Return what the controller keeps of the partition."""
    return Registration(state.replicas, state.isr, state.eligible_leader_replicas, state.last_known_elr)


def waiting_for(evidence: PartitionEvidence, state: State, elr: bool | None) -> Iterator[tuple[int, str]]:
    """Yield id and state of each broker that the controller may elect by itself (KIP-966), those that are coming back first."""
    there = {log.broker_id for log in evidence.logs if not log.gone}
    waited = waited_for(registration(state), there, elr)
    if not waited:
        return
    # Survivors stand in the order of the assignment, the others in that of their ids.
    assigned = [log for broker in state.replicas for log in evidence.logs if log.broker_id == broker and log.answered]
    logs = [*assigned, *(log for log in evidence.logs if log not in assigned)]
    for wanted in (COMING_BACK, UNFENCED):
        yield from ((log.broker_id, wanted) for log in logs if log.broker_id in waited and log.broker_state == wanted)


def elected_on_return(evidence: PartitionEvidence, state: State, elr: bool | None) -> Iterator[int]:
    """Yield the fenced brokers that the controller may elect by itself if that broker comes back and no other does."""
    there = {log.broker_id for log in evidence.logs if not log.gone}
    kept = registration(state)
    for log in evidence.logs:
        if log.broker_state == FENCED and log.broker_id in waited_for(kept, {*there, log.broker_id}, elr):
            yield log.broker_id


def in_sync_on_return(evidence: PartitionEvidence, state: State, elr: bool | None) -> Iterator[int]:
    """Yield those of `elected_on_return` that hold every committed record if their logs are whole, and that are elected at least after a clean shutdown."""
    for broker in elected_on_return(evidence, state, elr):
        is_in_sync = broker in state.eligible_leader_replicas or broker in state.isr
        if is_in_sync and doubt_about(broker, evidence, state, elr) in (None, Doubt.SHUTDOWN):
            yield broker


def doubt_about(broker: int, evidence: PartitionEvidence, state: State, elr: bool | None) -> Doubt | None:
    """Return why it is not certain that the controller elects this broker by itself, when it is there. None if it is certain."""
    live = {log.broker_id for log in evidence.logs if log.broker_state == UNFENCED and not log.disk_failed}
    # What an unclean election would do is stated by itself.
    found = doubt(registration(state), live, ElectionConfig(elr, False, state.min_insync_replicas), broker)
    return Doubt.DISK if found is None and any(log.silent for log in evidence.logs if log.broker_id == broker) else found


def elects_best_first(evidence: PartitionEvidence, state: State, best_first: tuple[int, ...]) -> bool:
    """Return whether the controller, which takes the first live replica, would choose best-first from the order that stands.

    A broker that is coming back counts as live: it may be unfenced before the election.
    """
    gone = {log.broker_id for log in evidence.logs if log.gone}
    return [broker for broker in state.replicas if broker not in gone] == [broker for broker in best_first if broker not in gone]
