# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What outcomes, reason codes and kinds of evidence mean, in the words of docs/reason-codes.md and docs/decisions.md. Pure: no I/O.

The page is read during an outage and without a network, so it has the meaning of each code that it shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Word
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import DESIGNATED_BY_HAND
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode

MEANINGS = {
    "failed": "The election failed, was tried again election_attempts times if that could help, or could not be verified.",
    "stale": "The cluster has changed since the evidence was collected. Nothing was written for the partition.",
    "held": "It is not elected on purpose. The reason says why.",
    "clean_leader": (
        "A broker came back during the election and the controller elected it: from the ELR, without loss, or as the last member of "
        "the ISR or the last known leader, after whose unclean shutdown the end of its log may be missing."
    ),
    "elected": (
        "It has the designated leader. If that broker died in between, it has the next best survivor, with a reason; also if another "
        "run or tool has elected that one."
    ),
    "already_online": "It had a live leader. Nothing was changed.",
    "planned": "The plan designates a leader, and it is not elected yet.",
    "cluster_metadata": "The partition is the metadata log. Controllers elect its leader among themselves.",
    "strategy_none": "The strategy none elects nothing.",
    "incomplete": (
        "One of four cases. A replica that may hold more records did not answer, or its broker is coming back. Or all answered, and a "
        "log could not be compared. Or logs fork, and not all offsets that groups committed could be read. "
        "Or the evidence of the partition is damaged or contradicts itself."
    ),
    "retention_gap": (
        "Two logs have no offset in common: one starts, after retention or DeleteRecords, where the other has ended already, or "
        "later. They cannot be compared, now or later."
    ),
    "wait_for_clean_leader": (
        "A broker is coming back or alive, and the controller elects it, or may elect it: the reason names what is unknown."
    ),
    "wait_for_elr": (
        "Strategy kip966_balanced: a member of ISR, ELR or last known ELR has not answered, or answers and is cut off from the controllers."
    ),
    "ahead_of_controller": (
        "A log, of a survivor or of a fenced broker that answers, has a leader epoch that the controller has not issued, as after a "
        "rebuilt metadata quorum."
    ),
    "forked": "Logs fork, and it is not known which branch is committed.",
    "forked_proven": "Logs fork, and proof of commitment is on one branch.",
    "weak": "The last-written epoch of a survivor could not be read. Its log ranks behind logs with as many proven records.",
    "tiered_storage": (
        "The topic has tiered storage, and nothing proves that the log of the best survivor holds every committed record. "
        "What lost brokers copied to remote storage may be more than it has, and is readable no longer with such a leader"
    ),
    "contradicted": "Proof of commitment and the ISR history name different branches.",
    "fenced_broker_holds_more": (
        "A fenced broker that answers, or the disk of a lost broker that was read, holds more than the best survivor, or the logs "
        "could not be compared."
    ),
    "corrupt": "Two survivors have different bytes at one offset from one leader epoch.",
    "below_high_watermark": (
        "Another survivor's high watermark, or an offset that a consumer group committed on its branch, proves that committed records "
        "would be lost."
    ),
    "no_survivor": "No replica is on a live broker that answers.",
    "must_be_named": (
        "The election is possible, and needs consent: the evidence is corrupt, contradicted or below_high_watermark, or it is "
        "__transaction_state."
    ),
    "reassignment_in_progress": (
        "A reassignment is in progress, and the election needs a replica order that would replace it. Without a leader the "
        "reassignment cannot complete. The native backend needs no replica order and does not hold."
    ),
    "data_loss_not_allowed": "The run was not allowed to elect.",
    "unknown_without_brokers": (
        "Dry run of kafka_leader_election with controllers only: no broker answers, so the leader that Kafka would elect is not known."
    ),
    "interrupted": "The run was stopped before the turn of this partition.",
    "limit_reached": (
        "The partition was decided again once internal topics had leaders, and its election would go beyond max_partitions or "
        "max_offline_brokers, or a lost broker shows signs of life."
    ),
    "brokers_disagree": (
        "Two brokers state different replicas of the partition, or another order of them, or one states that it has a live leader. "
        "The reason has both statements."
    ),
    "tail_not_saved": (
        "The election would destroy records of a survivor, and these could not be saved: the survivor does not answer, or its log was "
        "not read although its broker is alive or coming back, its records are damaged, the disk of the workdir is full, or they are "
        "more than a limit such as kafka_recovery_max_saved_bytes. kafka_leader_election saves nothing, and holds every such "
        "partition."
    ),
    "replica_not_lost": "Revival: a broker that has, or may have, the log of the partition is not named in lost_brokers.",
    "not_revivable": "Revival: the topic has tiered storage, or that is not known, or it is an internal topic that must not be empty.",
    "unusable_replicas": "Revival: the new replicas are empty, named twice, not alive, or fewer than before.",
    "offsets_not_reset": "Revival: reset_groups is set, and the groups cannot be read, or Kafka refuses to reset one of them.",
    "no_second_broker": (
        "The election needs another replica order, and only one broker that follows the active controller answers. So no second "
        "broker confirms which replicas the partition has."
    ),
    "topic_recreated": "The topic was deleted, or created again. Revival: during the run.",
    "leader_epoch_changed": (
        "The partition had a leader in between. Revival: during the run, so a replica with its records may have led it."
    ),
    "leader_lost": "The plan found the partition online, and it has no live leader now.",
    "replicas_changed": "The partition has other replicas.",
    "other_order": "The replicas are in another order: another run is electing the partition, or was killed during that.",
    "designated_leader_lost": (
        "The designated broker is not alive any more. Revival: one of the new brokers was lost during the run, and the reassignment "
        "is cancelled."
    ),
    "replica_returned": (
        "A broker came back with a replica that was not read. Revival: a lost broker starts, or a new replica has copied records from "
        "one that returned."
    ),
    "survivor_silent": "A survivor does not answer for its replica any more.",
    "broker_restarted": "A survivor has registered again, with another broker epoch. Its earlier answers prove nothing.",
    "log_changed": "A survivor's log has another end, or another last-written epoch.",
    "evidence_changed": (
        "A log or a broker changed since the evidence was collected again for the election, or that evidence cannot be used."
    ),
    "decided_otherwise": (
        "The present evidence holds the partition, or elects another broker than the plan. (If a broker is coming back, or a "
        "reassignment is under way, the partition is held instead."
    ),
    "leads_already": "The plan found the partition online, and it still has a live leader.",
    "election_not_needed": "kafka_leader_election: the partition has the leader that the election is for.",
    "appeared": (
        "The plan did not find the partition: its topic was deleted, or hidden from this client. Now it is there and has a live "
        "leader. A topic that was created again starts empty."
    ),
    "elected_from_elr": "The controller elected by itself, from the eligible leader replicas.",
    "elected_from_elr_or_as_last_known_leader": "The controller elected the leader, and brokers do not report which of the two it was.",
    "elected_from_elr_or_unclean": (
        "Elected from the eligible leader replicas if the broker was shut down cleanly. Else an unclean election made it the leader, "
        "by unclean.leader.election.enable or by another tool. Brokers do not report which of the two it was."
    ),
    "elected_from_former_elr": (
        "The controller elected by itself, from eligible leader replicas that were on record before the feature was switched off. A "
        "broker does not leave them after an unclean shutdown."
    ),
    "elected_from_isr": (
        "The controller elected a member of the ISR by itself. With eligible leader replicas a broker leaves the ISR after an unclean "
        "shutdown, without them the last member stays."
    ),
    "elected_as_last_known_leader": "The controller elected the last known leader by itself, after an unclean shutdown.",
    "elected_by_others": "Another run, kafka-leader-election.sh or an unclean election of the controller elected this leader.",
    "elected_unseen": (
        "kafka_leader_election: the active controller elected the preferred leader, and no broker answered that could show it."
    ),
    "elected_since_plan": "The plan held the partition, and it has a leader now.",
    "other_survivor_elected": (
        "The designated broker failed before the election, or another tool elected first. Another survivor that the plan knows leads."
    ),
    "unread_replica_elected": "A broker leads whose log was not read: it came back while every survivor was gone, or others elected it.",
    "not_a_replica": "The broker that was designated by hand is not a replica of the partition.",
    "request_failed": "The cluster did not answer, or refused to be read. The sentence has the error.",
    "not_answered": "The controller's answer does not have the partition. Revival: a broker does not answer about its new replica.",
    "replica_order_refused": "Kafka refused the replica order that the election needs. The sentence has Kafka's error.",
    "replica_not_registered": (
        "The election needs another replica order, and Kafka accepts none while one of the replicas is on a broker that is not registered."
    ),
    "replica_order_not_visible": (
        "Kafka did not refuse the replica order that the election needs, and brokers do not show it. The partition was not elected."
    ),
    "no_leader_visible": "Kafka did not refuse the election, and no such leader became visible within the time limit.",
    "not_empty": "Revival: the new log does not begin at offset 0.",
    "eligible_leaders_not_available": "No replica is on a live broker.",
    "partition_offline": "Preferred election: the partition has no leader, and its preferred leader cannot lead without loss.",
    "preferred_leader_offline": "Preferred election: the first replica is not alive.",
    "preferred_leader_not_in_sync": "Preferred election: the first replica is not in the ISR.",
    "unknown_topic_or_partition": "The cluster has no such partition, or hides its topic.",
    "cluster_authorization_failed": "The client has no permission to elect.",
    "kafka_error": "Kafka refused the election with an error that has no code of its own. The sentence, or error, has its name.",
    "prefix": (
        "Every live replica answered, every survivor's log is a prefix of the winner's, and the winner reaches every survivor's high "
        "watermark. Every strategy except none elects on it."
    ),
    "forked_resolved": (
        "Logs fork, and the ISR history, alone or with the log of a lost member of the ISR, proves that the winner holds every "
        "committed record that a survivor holds. Every strategy except none elects on it."
    ),
    "named": "The leader was designated by hand, so no evidence was judged.",
}
# Outcomes first, which most readers look up first.
_ORDER = list(MEANINGS)


def guide(code: str) -> str:
    """Return the place that says what to do about a code, or about evidence that needs nothing to be done."""
    only_evidence = code in {*Word, DESIGNATED_BY_HAND} - {*ReasonCode}
    return f"docs/{'decisions' if only_evidence else 'reason-codes'}.md#{code}"


def terms(doc: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return each code that the page shows and that has a meaning, as `code`, `meaning` and `guide`. Codes of files that are not known are left out."""
    shown = {outcome for outcome, number in doc["totals"]["outcomes"].items() if number}
    shown |= {row[name] for row in doc["partitions"] for name in ("outcome", "reason_code", "evidence")}
    shown |= {row[name] for row in doc["held"] for name in ("outcome", "reason_code")}
    return [{"code": code, "meaning": MEANINGS[code], "guide": guide(code)} for code in _ORDER if code in shown]
