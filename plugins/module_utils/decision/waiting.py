# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which brokers the controller may elect by itself, so that a partition waits for them. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import Registration, waited_for
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.document import (
    COMING_BACK,
    UNFENCED,
    PartitionEvidence,
    State,
)


def waiting_for(evidence: PartitionEvidence, state: State, elr: bool | None) -> Iterator[tuple[int, str]]:
    """Yield whom the controller may elect by itself, because the broker is there or comes back: first those that come back."""
    there = {log.broker_id for log in evidence.logs if not log.gone}
    waited = waited_for(Registration(state.replicas, state.isr, state.eligible_leader_replicas, state.last_known_elr), there, elr)
    # Survivors stand in the order of the assignment, the others in that of their ids.
    assigned = [log for broker in state.replicas for log in evidence.logs if log.broker_id == broker and log.answered]
    logs = [*assigned, *(log for log in evidence.logs if log not in assigned)]
    for wanted in (COMING_BACK, UNFENCED):
        yield from ((log.broker_id, wanted) for log in logs if log.broker_id in waited and log.broker_state == wanted)
