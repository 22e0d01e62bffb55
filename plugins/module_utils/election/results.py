# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of designated elections, from Kafka's answer and who leads afterwards. Pure: no I/O, no Kafka client."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.guards import Entry, Live, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_orders import NOT_ANSWERED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import CLEAN_LEADER, ELECTED, FAILED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode, of_kafka
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.leader_eligibility import other_electors, own_choice

NOT_VISIBLE = Refusal("", "no leader became visible")
NOT_NEEDED = "ELECTION_NOT_NEEDED"
# The same replicas in another order can be nothing else that is invalid.
NOT_REGISTERED = "INVALID_REPLICA_ASSIGNMENT"


def not_reordered(entry: Entry, live: Live, refused: Refusal) -> Result:
    """The failure of a partition whose replica order was not changed."""
    what = "its replica order was not accepted"
    if refused.error == NOT_REGISTERED:
        first = [broker for broker in entry.best_first if broker in live.unfenced]
        remedy = f"Kafka takes no order with an unregistered broker, so reassign it to its registered replicas, {first} first, then make a new plan"
        return _refused(entry, ReasonCode.REPLICA_NOT_REGISTERED, f"{what} ({remedy})", refused)
    code = ReasonCode.NOT_ANSWERED if refused == NOT_ANSWERED else ReasonCode.REPLICA_ORDER_REFUSED
    return _refused(entry, code, what, refused)


def _refused(entry: Entry, code: ReasonCode, what: str, refused: Refusal) -> Result:
    """A failure with what Kafka says of it."""
    return replace(Result.of(entry, FAILED, code, f"{what}: {refused}"), error=refused.error or None)


def judge(entry: Entry, live: Live, state: PartitionState | None, refused: Refusal | None) -> Result:
    """Say what came of an election, from who leads now, and from whom the controller would have elected by itself before."""
    if state is None or state.leader < 0:
        return _refused(entry, _failure(refused), "the controller elected no replica", refused or NOT_VISIBLE)
    if state.leader == entry.designated_leader:
        return Result.of(entry, ELECTED, leader=state.leader)
    others = other_electors(entry.unclean_leader_election_enable)
    if state.leader in entry.survivors:
        reason = (
            f"the survivor {state.leader} leads: broker {entry.designated_leader} died before the election and it was the next best, "
            f"or it was elected by {others}"
        )
        return Result.of(entry, ELECTED, ReasonCode.OTHER_SURVIVOR_ELECTED, reason, state.leader)
    choice = own_choice(state.leader, live.states[entry.key], state, entry.survivors, live.elr)
    if choice is not None:
        return Result.of(entry, CLEAN_LEADER, *choice, state.leader)
    reason = (
        f"broker {state.leader} leads, whose log was not read: it came back while every survivor was gone, "
        f"or it was elected by {others}; records may be lost"
    )
    return Result.of(entry, ELECTED, ReasonCode.UNREAD_REPLICA_ELECTED, reason, state.leader)


def _failure(refused: Refusal | None) -> ReasonCode:
    """The code of an election after which no leader is there to be seen."""
    if refused == NOT_ANSWERED:
        return ReasonCode.NOT_ANSWERED
    return ReasonCode.NO_LEADER_VISIBLE if refused is None or refused.error == NOT_NEEDED else of_kafka(refused.error)
