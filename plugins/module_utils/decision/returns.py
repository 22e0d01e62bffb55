# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which brokers the controller elects by itself, or may elect, when they come back: sentences of explanations. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Decision
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import UNFENCED, ClusterHeader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.shared_sentences import elects, standing
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.waiting import doubt_about, elected_on_return


def elected_by_return(decision: Decision, cluster: ClusterHeader) -> Iterator[str]:
    """Yield what the controller does by itself (KIP-966) if one of the fenced brokers comes back, or reaches the controllers again."""
    state = decision.state
    for broker in elected_on_return(decision.evidence, state, cluster.elr):
        doubt = doubt_about(broker, decision.evidence, state, cluster.elr)
        if broker in state.eligible_leader_replicas:
            kind = "ELR"
        elif broker in state.isr:
            kind = f"last in the ISR{_without_elr(cluster)}"
        else:
            kind = "last known leader, its shutdown was unclean"
        if any(log.answered for log in decision.lost if log.broker_id == broker):
            # It needs no restart, so how it was shut down does not matter.
            yield f"broker {broker} runs and is cut off from the controllers: once it reaches them, the controller {elects(doubt)} it by itself ({kind})"
            continue
        unknown = "" if doubt is None else f", {doubt}"
        yield f"should broker {broker} come back before an election, the controller {elects(doubt)} it by itself ({kind}{unknown})"


def waited_for(decision: Decision, cluster: ClusterHeader) -> Iterator[str]:
    """Yield what the brokers are that the partition waits for."""
    state = decision.state
    for broker, broker_state in decision.waiting_for:
        alive = "alive and " if broker_state == UNFENCED else ""
        kind = standing(broker, state.isr, state.eligible_leader_replicas, cluster.elr, broker_state == UNFENCED)
        in_isr = broker in state.isr and broker not in state.eligible_leader_replicas
        yield f"broker {broker} is {alive}{kind}{_without_elr(cluster) if in_isr else ''}"


def _without_elr(cluster: ClusterHeader) -> str:
    return ", eligible leader replicas are off" if cluster.eligible_leader_replicas_version == 0 else ""
