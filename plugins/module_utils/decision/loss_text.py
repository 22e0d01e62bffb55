# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bounds of the loss, and what they do not count, as sentences for the operator. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Decision
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    CONSUMER_GROUP,
    FENCED_BROKER,
    HEALTHY_SNAPSHOT,
    ClusterHeader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.log_pairs import brokers_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import (
    ALL_REPLICAS,
    ELR,
    ISR,
    ISR_HISTORY,
    Loss,
    age,
    held_by,
    is_current,
    is_given_up,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import broker_list, client_name, plural

_LOWER: Mapping[str, str] = {
    "high_watermark": "a survivor's high watermark",
    CONSUMER_GROUP: "the committed offset of a consumer group",
    HEALTHY_SNAPSHOT: "the high watermark of the last healthy snapshot",
    FENCED_BROKER: "the high watermark of a fenced broker",
}
_UPPER: Mapping[str, str] = {
    ISR_HISTORY: "the ISR history",
    ELR: "the log of an eligible leader replica",
    ISR: "the log of a member of the ISR",
    ALL_REPLICAS: "the logs of all replicas",
}
_NOTHING: Mapping[str, str] = {
    ISR_HISTORY: "the ISR history shows that its log holds every committed record",
    ELR: "its log holds all that an eligible leader replica holds",
    ISR: "its log holds all that a member of the ISR holds",
    ALL_REPLICAS: "every replica answered, and none holds more",
}
_NO_PROOF = "no proof"
_CONTRADICTION = "what is proven to be committed contradicts the rest of the evidence"
# The most unconfirmed offsets that an explanation names. A client may commit as many as it likes.
_MOST_UNCOUNTED = 3


def loss_text(decision: Decision, loss: Loss, cluster: ClusterHeader) -> str | None:
    """Return one sentence with the bounds of `loss`, in offsets. None if there is no survivor to elect."""
    if decision.winner is None:
        return None
    text = _bounds(loss)
    # An exact number needs no guess.
    if loss.upper_bound is None or loss.upper_bound != (loss.lower_bound or 0):
        text += _estimate(decision, loss, cluster)
    if loss.upper_bound is None:
        text += f", how many at most is not known: {_why_unknown(decision)}"
    if loss.gaps and loss.upper_bound != 0:
        text += f" (there are fewer records than offsets where there is {' or '.join(loss.gaps).replace('_', ' ')})"
    return text


def uncounted_text(decision: Decision) -> str | None:
    """Return which offsets of consumer groups the bounds leave out, the greatest first. None if there are none beyond the winner's log."""
    winner = decision.winner
    if winner is None or not decision.evidence.proofs:
        return None
    groups = {(proof.offset, proof.name or "") for proof in decision.evidence.proofs if proof.source == CONSUMER_GROUP}
    confirmed = {(point.offset, point.name) for point in decision.points}
    confirmed |= {(proof.offset, proof.name or "") for row in decision.fenced for proof in held_by(row.other, decision.evidence)}
    beyond = sorted((-offset, name) for offset, name in groups - confirmed if offset > winner.end)
    if not beyond:
        return None
    named = ", ".join(f"offset {-offset}, committed by consumer group {client_name(name)}" for offset, name in beyond[:_MOST_UNCOUNTED])
    more = f" and {len(beyond) - _MOST_UNCOUNTED} more" if len(beyond) > _MOST_UNCOUNTED else ""
    return f"not counted, because no batch confirms {plural(len(beyond), 'it', 'them')}: {named}{more}"


def _bounds(loss: Loss) -> str:
    least, most = loss.lower_bound or 0, loss.upper_bound
    counted = "committed offset" if loss.gaps else "committed record"
    lost = counted + plural(most or least, " is lost", "s are lost")
    by_least, by_most = _LOWER.get(loss.lower_bound_from, _NO_PROOF), _UPPER.get(loss.upper_bound_from, _NO_PROOF)
    if most == 0:
        proof = _NOTHING.get(loss.upper_bound_from, _NO_PROOF)
        return f"nothing that was committed is lost: {proof} (unless a crash before had cost a log the end that was not yet flushed)"
    if most == least:
        return f"{most} {lost} (by {by_most})"
    if most is not None:
        return f"between {least} (by {by_least}) and {most} (by {by_most}) {lost}" if least else f"at most {most} {lost} (by {by_most})"
    return f"at least {least} {lost} (by {by_least})" if least else "committed records may be lost"


def _estimate(decision: Decision, loss: Loss, cluster: ClusterHeader) -> str:
    """Return the estimate, or why there is none."""
    healthy, milliseconds = decision.evidence.healthy, age(decision.evidence, cluster)
    if loss.estimate is not None and milliseconds is not None:
        return f", about {loss.estimate} by the rate of the last healthy snapshot ({milliseconds // 1000} s before)"
    if healthy is None:
        return ", not estimated (no healthy snapshot has it)"
    if not is_current(healthy, decision.state):
        return ", not estimated (the last healthy snapshot is of another topic of this name, or of a later time)"
    if decision.winner is not None and is_given_up(healthy, decision, decision.winner):
        return ", not estimated (an unclean election since the last healthy snapshot may have given up some of its offsets)"
    if healthy.append_rate is None:
        return ", not estimated (the last healthy snapshot has no rate)"
    return ", not estimated (the last healthy snapshot is younger than the evidence: a clock went backwards)"


def _why_unknown(decision: Decision) -> str:
    """Return why nothing bounds the loss."""
    gap = decision.isr_proof.gap
    # A log that holds every committed record bounds the loss, unless more is proven to be lost.
    if decision.contradicted or _has_complete_log(decision):
        return _CONTRADICTION
    if unsure := brokers_of(decision.hidden_forks):
        return f"what it lacks of the logs of {broker_list(sorted(unsure))} is not known, because they fork"
    if gap is not None:
        # If logs fork, the explanation has stated the gap already.
        return "the ISR history gives no bound" if decision.tails else f"the ISR history gives no bound, {gap}"
    absent = [log.broker_id for log in (*decision.unread, *decision.unanswered)]
    if decision.evidence.history is None and absent:
        return f"what {broker_list(absent)} alone held is not known without the ISR history"
    if any(row.common_offset is None for row in decision.relations):
        return "not all logs could be compared"
    uncompared = [row.other.broker_id for row in decision.fenced if row.common_offset is None]
    if uncompared:
        logs = plural(len(uncompared), "the log of the fenced", "the logs of the fenced")
        return f"{logs} {broker_list(uncompared)} could not be compared"
    return _CONTRADICTION


def _has_complete_log(decision: Decision) -> bool:
    """Whether the winner's log, or one that was compared with it, holds every committed record."""
    state, winner, unsure = decision.state, decision.winner, brokers_of(decision.hidden_forks)
    complete = (*decision.isr_proof.holders, *state.eligible_leader_replicas, *state.isr)
    if winner is None or winner.broker_id in complete:
        return winner is not None
    compared = [row.other.broker_id for row in (*decision.relations, *decision.fenced) if row.common_offset is not None]
    return any(broker in complete and broker not in unsure for broker in compared)
