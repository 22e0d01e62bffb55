# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why partitions have no leader, and what to do, each in at most LONGEST characters. docs/reason-codes.md has more of each code. Pure."""

from __future__ import annotations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.next_steps import PLANNED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode as Code

LONGEST = 60

_PLAN_AGAIN = "plan again"
_RUN_AGAIN = "run again"
_DISKS_FIRST = "read the lost brokers' disks, start them. Else force it"
_FIND_OUT = "find out why before you force it"

# By reason code: why, and what to do.
_SHORT: dict[str, tuple[str, str]] = {
    Code.CLUSTER_METADATA: ("controllers elect the leader of their log themselves", "check the controllers"),
    Code.STRATEGY_NONE: ("the strategy none elects nothing", "plan with the strategy balanced"),
    Code.INCOMPLETE: ("a log was not read, or could not be compared", "repair that, then plan again"),
    Code.RETENTION_GAP: ("two logs have no offset in common", _DISKS_FIRST),
    Code.WAIT_FOR_CLEAN_LEADER: ("the controller may elect a broker that is coming back", "wait for that broker, then plan again"),
    Code.WAIT_FOR_ELR: ("a member of ISR or ELR has not answered", "bring that broker back, then plan again"),
    Code.AHEAD_OF_CONTROLLER: ("a log has a leader epoch that was never issued", "plan again. If it stays: find out why"),
    Code.FORKED: ("logs fork, and nothing proves a branch", _DISKS_FIRST),
    Code.FORKED_PROVEN: ("logs fork, and one branch is proven to be committed", _DISKS_FIRST),
    Code.WEAK: ("the last epoch of a log could not be read", _DISKS_FIRST),
    Code.TIERED_STORAGE: ("remote storage may have records that no live log has", _DISKS_FIRST),
    Code.CONTRADICTED: ("proofs name different branches of the logs", _FIND_OUT),
    Code.CORRUPT: ("two logs have other bytes at one offset of one epoch", _FIND_OUT),
    Code.FENCED_BROKER_HOLDS_MORE: ("a broker that is fenced or lost has more records", "repair its connection, or start it, then plan again"),
    Code.BELOW_HIGH_WATERMARK: ("committed records are proven to be lost", "start a broker with a better log, or force it"),
    Code.NO_SURVIVOR: ("no live broker that answers has a log", "read a lost broker's disk (rescue), start it, plan again"),
    Code.MUST_BE_NAMED: ("the election needs your consent by name", "read in the plan what it costs, then name it"),
    Code.REASSIGNMENT_IN_PROGRESS: ("replicas are moving, which cannot end without a leader", "cancel the move, then plan again"),
    Code.DATA_LOSS_NOT_ALLOWED: ("the run was not allowed to elect", "read the plan, then elect"),
    Code.INTERRUPTED: ("the run was stopped before", _RUN_AGAIN),
    Code.LIMIT_REACHED: ("a limit of the run is reached", "raise the limit if you mean it, then run again"),
    Code.BROKERS_DISAGREE: ("two brokers state different things", "repair or stop the wrong one, then run again"),
    Code.NO_SECOND_BROKER: ("no second broker confirms the replicas", "start or repair another broker, then run again"),
    Code.TAIL_NOT_SAVED: ("records of a survivor could not be saved before", "repair what the results name, then run again"),
    Code.UNKNOWN_TOPIC_OR_PARTITION: ("the cluster has no such partition, or hides it", "correct the name, or grant DESCRIBE"),
    Code.TOPIC_RECREATED: ("the topic was deleted or created again", _PLAN_AGAIN),
    Code.REPLICA_NOT_REGISTERED: ("one of the replicas is on a broker that is not registered", "move it to other brokers (docs/reassignment.md)"),
    Code.REPLICA_ORDER_REFUSED: ("Kafka refused the order of replicas", "correct the cause, then run again"),
    Code.CLUSTER_AUTHORIZATION_FAILED: ("the login may not elect", "grant ALTER on the cluster, then run again"),
    Code.ELIGIBLE_LEADERS_NOT_AVAILABLE: ("no replica is on a live broker", "start one of its brokers, then run again"),
}  # fmt: skip
_OF_OUTCOME: dict[str, tuple[str, str]] = {
    PLANNED: ("the plan designates their leaders", "read it, then elect them"),
    Outcome.STALE: ("the cluster has changed since the evidence was collected", _RUN_AGAIN),
    Outcome.FAILED: ("the election failed", "read why in the results, then run again"),
}


def short_reason(outcome: str, code: str | None) -> tuple[str, str]:
    """Return why partitions with this outcome and reason code have no leader, and what to do."""
    return _SHORT.get(code or "") or _OF_OUTCOME.get(outcome, ("see the results", _RUN_AGAIN))
