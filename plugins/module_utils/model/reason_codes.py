# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reason codes: why a partition has its outcome, for programs (docs/reason-codes.md). The sentence with a code is for people, and is never parsed.

The codes of held partitions that come from a decision are those of `decision.held_text.REASONS`. Pure.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class ReasonCode(StrEnum):
    """One code for each reason. Codes are stable: they are part of results files, plans and history tables."""

    # Held by the decision.
    CLUSTER_METADATA = "cluster_metadata"
    STRATEGY_NONE = "strategy_none"
    INCOMPLETE = "incomplete"
    RETENTION_GAP = "retention_gap"
    WAIT_FOR_CLEAN_LEADER = "wait_for_clean_leader"
    WAIT_FOR_ELR = "wait_for_elr"
    AHEAD_OF_CONTROLLER = "ahead_of_controller"
    FORKED = "forked"
    FORKED_PROVEN = "forked_proven"
    WEAK = "weak"
    TIERED_STORAGE = "tiered_storage"
    CONTRADICTED = "contradicted"
    CORRUPT = "corrupt"
    FENCED_BROKER_HOLDS_MORE = "fenced_broker_holds_more"
    BELOW_HIGH_WATERMARK = "below_high_watermark"
    NO_SURVIVOR = "no_survivor"
    MUST_BE_NAMED = "must_be_named"
    REASSIGNMENT_IN_PROGRESS = "reassignment_in_progress"

    # Held by the run.
    DATA_LOSS_NOT_ALLOWED = "data_loss_not_allowed"
    INTERRUPTED = "interrupted"
    LIMIT_REACHED = "limit_reached"
    UNKNOWN_WITHOUT_BROKERS = "unknown_without_brokers"
    BROKERS_DISAGREE = "brokers_disagree"
    NO_SECOND_BROKER = "no_second_broker"
    TAIL_NOT_SAVED = "tail_not_saved"

    # Held by a revival.
    REPLICA_NOT_LOST = "replica_not_lost"
    NOT_REVIVABLE = "not_revivable"
    UNUSABLE_REPLICAS = "unusable_replicas"
    OFFSETS_NOT_RESET = "offsets_not_reset"

    # Stale: the cluster has changed since the evidence was collected.
    TOPIC_RECREATED = "topic_recreated"
    LEADER_EPOCH_CHANGED = "leader_epoch_changed"
    LEADER_LOST = "leader_lost"
    REPLICAS_CHANGED = "replicas_changed"
    OTHER_ORDER = "other_order"
    DESIGNATED_LEADER_LOST = "designated_leader_lost"
    REPLICA_RETURNED = "replica_returned"
    SURVIVOR_SILENT = "survivor_silent"
    BROKER_RESTARTED = "broker_restarted"
    LOG_CHANGED = "log_changed"
    EVIDENCE_CHANGED = "evidence_changed"
    DECIDED_OTHERWISE = "decided_otherwise"

    # Online with a leader that was there before.
    LEADS_ALREADY = "leads_already"
    ELECTION_NOT_NEEDED = "election_not_needed"
    APPEARED = "appeared"

    # Online with a leader that this run did not designate.
    ELECTED_FROM_ELR = "elected_from_elr"
    ELECTED_FROM_ELR_OR_AS_LAST_KNOWN_LEADER = "elected_from_elr_or_as_last_known_leader"
    ELECTED_FROM_ELR_OR_UNCLEAN = "elected_from_elr_or_unclean"
    ELECTED_FROM_FORMER_ELR = "elected_from_former_elr"
    ELECTED_FROM_ISR = "elected_from_isr"
    ELECTED_AS_LAST_KNOWN_LEADER = "elected_as_last_known_leader"
    ELECTED_BY_OTHERS = "elected_by_others"
    ELECTED_UNSEEN = "elected_unseen"
    ELECTED_SINCE_PLAN = "elected_since_plan"
    OTHER_SURVIVOR_ELECTED = "other_survivor_elected"
    UNREAD_REPLICA_ELECTED = "unread_replica_elected"

    # Failed.
    NOT_A_REPLICA = "not_a_replica"
    REQUEST_FAILED = "request_failed"
    NOT_ANSWERED = "not_answered"
    REPLICA_ORDER_REFUSED = "replica_order_refused"
    REPLICA_NOT_REGISTERED = "replica_not_registered"
    REPLICA_ORDER_NOT_VISIBLE = "replica_order_not_visible"
    NO_LEADER_VISIBLE = "no_leader_visible"
    NOT_EMPTY = "not_empty"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = "eligible_leaders_not_available"
    PARTITION_OFFLINE = "partition_offline"
    PREFERRED_LEADER_OFFLINE = "preferred_leader_offline"
    PREFERRED_LEADER_NOT_IN_SYNC = "preferred_leader_not_in_sync"
    UNKNOWN_TOPIC_OR_PARTITION = "unknown_topic_or_partition"
    CLUSTER_AUTHORIZATION_FAILED = "cluster_authorization_failed"
    KAFKA_ERROR = "kafka_error"


# Leaders that the plan did not choose and that may lack committed records.
DOUBTFUL = frozenset(
    {
        ReasonCode.ELECTED_FROM_ELR_OR_AS_LAST_KNOWN_LEADER,
        ReasonCode.ELECTED_FROM_ELR_OR_UNCLEAN,
        ReasonCode.ELECTED_FROM_FORMER_ELR,
        ReasonCode.ELECTED_FROM_ISR,
        ReasonCode.ELECTED_AS_LAST_KNOWN_LEADER,
        ReasonCode.ELECTED_BY_OTHERS,
        ReasonCode.ELECTED_SINCE_PLAN,
        ReasonCode.UNREAD_REPLICA_ELECTED,
    }
)
# Kafka's errors that have a code of their own.
_OF_KAFKA = {
    name.upper(): name
    for name in (
        ReasonCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ReasonCode.UNKNOWN_TOPIC_OR_PARTITION,
        ReasonCode.CLUSTER_AUTHORIZATION_FAILED,
    )
}


def of_kafka(error: str) -> ReasonCode:
    """Return the reason code of a partition whose election Kafka refused. `error`: Kafka's name. KAFKA_ERROR for an error without its own code."""
    return _OF_KAFKA.get(error, ReasonCode.KAFKA_ERROR)


class Reason(NamedTuple):
    """Why a partition has its outcome: the code for machines, the sentence for people."""

    code: ReasonCode
    sentence: str
