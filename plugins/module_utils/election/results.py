# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of designated elections, from Kafka's answer and who leads afterwards. Pure: no I/O, no Kafka client."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Live, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_orders import NOT_ANSWERED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode, of_kafka
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.leader_eligibility import other_electors, own_choice

NOT_VISIBLE = Refusal("", "no leader became visible")


def not_reordered(entry: Entry, live: Live, refused: Refusal) -> Result:
    """Return the FAILED result of a partition whose replica order was not changed. `refused`: Kafka's refusal, or NOT_ANSWERED."""
    what = "its replica order was not accepted"
    # The same replicas in another order are invalid only if one of them is not registered.
    if refused.error == kafka_errors.INVALID_REPLICA_ASSIGNMENT:
        first = [broker for broker in entry.best_first if broker in live.unfenced]
        remedy = f"Kafka takes no order with an unregistered broker, so reassign it to its registered replicas, {first} first, then make a new plan"
        return _refused(entry, ReasonCode.REPLICA_NOT_REGISTERED, f"{what} ({remedy})", refused)
    code = ReasonCode.NOT_ANSWERED if refused == NOT_ANSWERED else ReasonCode.REPLICA_ORDER_REFUSED
    return _refused(entry, code, what, refused)


def not_allowed(entry: Entry) -> Result:
    """Return the FAILED result of an election that this client may not request: what `judge` would return of it."""
    return _no_leader(entry, Refusal(kafka_errors.CLUSTER_AUTHORIZATION_FAILED, "grant ALTER on the cluster"))


def _refused(entry: Entry, code: ReasonCode, what: str, refused: Refusal) -> Result:
    """Return a FAILED result with Kafka's refusal."""
    return replace(Result.of(entry, Outcome.FAILED, code, f"{what}: {refused}"), error=refused.error or None)


def _no_leader(entry: Entry, refused: Refusal | None) -> Result:
    return _refused(entry, _failure(refused), "the controller elected no replica", refused or NOT_VISIBLE)


def judge(entry: Entry, live: Live, state: PartitionState | None, refused: Refusal | None) -> Result:
    """Return the result of an election, from the present leader and from the brokers that the controller would have elected by itself.

    `live`: right before the election. `state`: after it, None if the partition is gone. `refused`: Kafka's refusal, None if it elected.
    """
    if state is None or state.leader < 0:
        return _no_leader(entry, refused)
    if state.leader == entry.designated_leader:
        return Result.of(entry, Outcome.ELECTED, leader=state.leader)
    others = other_electors(entry.unclean_leader_election_enable)
    if state.leader in entry.survivors:
        reason = (
            f"the survivor {state.leader} leads: broker {entry.designated_leader} died before the election and it was the next best, "
            f"or it was elected by {others}"
        )
        return Result.of(entry, Outcome.ELECTED, ReasonCode.OTHER_SURVIVOR_ELECTED, reason, state.leader)
    choice = own_choice(state.leader, live.states[entry.key], state, entry.survivors, live.elr)
    if choice is not None:
        return Result.of(entry, Outcome.CLEAN_LEADER, *choice, state.leader)
    reason = (
        f"broker {state.leader} leads, whose log was not read: it came back while every survivor was gone, "
        f"or it was elected by {others}; records may be lost"
    )
    return Result.of(entry, Outcome.ELECTED, ReasonCode.UNREAD_REPLICA_ELECTED, reason, state.leader)


def _failure(refused: Refusal | None) -> ReasonCode:
    """Return the reason code of an election after which no leader is visible."""
    if refused == NOT_ANSWERED:
        return ReasonCode.NOT_ANSWERED
    return ReasonCode.NO_LEADER_VISIBLE if refused is None or refused.error == kafka_errors.ELECTION_NOT_NEEDED else of_kafka(refused.error)
