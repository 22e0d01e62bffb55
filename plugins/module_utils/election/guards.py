# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards: whether an entry of a plan may still be elected, by the state of the cluster now. Pure: no I/O, no Kafka client."""

from __future__ import annotations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.entry import best_first
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    DISK_FAILED,
    NO_ANSWER,
    STORAGE_ERROR,
    Log,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.shared_sentences import (
    CANNOT_COMPLETE,
    because,
    elects,
    end_reassignment,
    standing,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.waiting import doubt_about
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.entries import Entry, Live, Result
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.live_decision import decide_again, with_present_state
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import COMING_BACK, UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.leader_eligibility import (
    already_leads,
    other_electors,
    own_choice,
)


def needs_reorder(entry: Entry, live: Live) -> bool:
    """Return whether the election needs another replica order: with the present one the controller could elect a worse replica.

    The native backend needs none. Else the controller elects the first live replica. Brokers that are coming back count as live: one may be unfenced
    before the election. Brokers show an order that was restored a moment ago as it was before, for a while. So it is set again.
    """
    if not live.reorders:
        return False
    may_live = [broker for broker in live.states[entry.key].replicas if _may_be_elected(broker, entry.key, live)]
    order = [broker for broker in entry.best_first if broker in may_live]
    is_shown_late = entry.key in live.restored
    if entry.designated_by_hand and entry.key in live.reassigning:
        # A new order would replace the reassignment. For a designation it is enough if its broker is the first.
        return is_shown_late or may_live[:1] != order[:1]
    return is_shown_late or may_live != order


def gets_order(entry: Entry, live: Live) -> bool:
    """Return whether another replica order is set for the election: if it needs one, or if the designated replica is not the first and nothing forbids it.

    A broker that hangs may carry out an election long after it was sent, when a replica is back that stands before the designated one.
    """
    is_first = live.states[entry.key].replicas[:1] == (entry.designated_leader,)
    is_free = entry.key not in live.reassigning and live.doubt(entry.key) is None
    return needs_reorder(entry, live) or (live.reorders and not is_first and is_free)


def refusal(entry: Entry, live: Live) -> Result | None:
    """Return the result of an entry that may not be elected now (ALREADY_ONLINE, HELD or STALE, with the reason), None if every guard accepts it.

    In doubt an entry is refused. Pure: `live` must be read right before the election.
    """
    state = live.states.get(entry.key)
    if state is None or state.topic_id != entry.topic_id:
        return Result.of(
            entry, Outcome.STALE, ReasonCode.TOPIC_RECREATED, "the topic was deleted or created again since the evidence was collected"
        )
    if has_live_leader(state, live.unfenced):
        since = _elected_since(entry, state, live.elr)
        return Result.of(entry, Outcome.ALREADY_ONLINE, since.code, already_leads(state.leader, since.sentence), state.leader)
    moved = _moved(entry, live, state)
    if moved is not None:
        return Result.of(entry, Outcome.STALE, moved.code, f"{moved.sentence}; collect the evidence again")
    if live.original(entry.key) != entry.replicas and entry.replicas not in live.ours.get(entry.key, ()):
        # The run that set this order restores the one before it. Two runs must not take each other's order for the original.
        reason = (
            f"its replicas stand in the order {list(state.replicas)}, not {list(entry.replicas)} as they did: another run is electing it, "
            "or was killed while it did (then run that one again, in its own workdir), or another tool gave it a new order; collect the evidence again"
        )
        return Result.of(entry, Outcome.STALE, ReasonCode.OTHER_ORDER, reason)
    changed = None if entry.designated_by_hand else _decided_otherwise(entry, live, state)
    if changed is not None:
        return changed
    if entry.key in live.reassigning and needs_reorder(entry, live):
        return _reassigning(entry, state)
    doubt = live.doubt(entry.key)
    # Without a second broker an election that changes no order is as safe as before.
    if doubt is not None and (doubt.code == ReasonCode.BROKERS_DISAGREE or needs_reorder(entry, live)):
        return Result.of(entry, Outcome.HELD, doubt.code, doubt.sentence)
    return None


def _reassigning(entry: Entry, state: PartitionState) -> Result:
    reason = f"{CANNOT_COMPLETE}; {end_reassignment(state.isr, entry.designated_leader)}, then run again"
    return Result.of(entry, Outcome.HELD, ReasonCode.REASSIGNMENT_IN_PROGRESS, reason)


def _decided_otherwise(entry: Entry, live: Live, state: PartitionState) -> Result | None:
    """Decide again on live evidence. Return why the entry may not be elected, None if the decision still allows its leader."""
    collected = entry.live_evidence
    evidence = with_present_state(collected, state, live.broker_states, live.logs, live.reassigning) if collected else None
    if collected is None or evidence is None or any(log.broker_id in live.cut_off and _may_say_more(log) for log in collected.logs):
        reason = "its evidence cannot be used, or has changed since it was collected again; run again, or make a new plan"
        return Result.of(entry, Outcome.STALE, ReasonCode.EVIDENCE_CHANGED, reason)
    decision = decide_again(evidence, entry.policy, live.elr, live.reorders, entry.decided)
    if decision.reason == ReasonCode.WAIT_FOR_CLEAN_LEADER:
        clean, broker_state = decision.waiting_for[0]
        there = "is coming back" if broker_state == COMING_BACK else "is alive"
        unknown = doubt_about(clean, evidence, decision.state, live.elr)
        worth = standing(clean, state.isr, state.eligible_leader_replicas, live.elr, broker_state == UNFENCED)
        reason = f"broker {clean} {there} and the controller {elects(unknown)} it by itself{because(unknown)}; it is {worth}"
        return Result.of(entry, Outcome.HELD, ReasonCode.WAIT_FOR_CLEAN_LEADER, reason)
    unread = [log.broker_id for log in evidence.logs if log.broker_state == COMING_BACK]
    if decision.reason == ReasonCode.INCOMPLETE and unread:
        reason = f"broker {unread[0]} is coming back with a replica that was not read; collect the evidence again once it is there"
        return Result.of(entry, Outcome.HELD, ReasonCode.INCOMPLETE, reason)
    if decision.reason == ReasonCode.REASSIGNMENT_IN_PROGRESS:
        return _reassigning(entry, state)
    if entry.designated_leader in decision.choices:
        order = [broker for broker in best_first(decision.best_first, entry.designated_leader) if broker in live.unfenced]
        if order == [broker for broker in entry.best_first if broker in order]:
            return None
        reason = "the evidence of now puts its other replicas in another order; run again, or make a new plan"
        return Result.of(entry, Outcome.STALE, ReasonCode.EVIDENCE_CHANGED, reason)
    now = f"holds it ({decision.reason})" if decision.reason else f"elects broker {decision.choices[0]} ({decision.word})"
    reason = f"the plan elects broker {entry.designated_leader} ({entry.evidence_word}), and the evidence of now {now}; make a new plan"
    return Result.of(entry, Outcome.STALE, ReasonCode.DECIDED_OTHERWISE, reason)


def _may_say_more(log: Log) -> bool:
    """Return whether a fenced broker that answers now may know more of its log than when the evidence was collected.

    A fenced broker that then gave an error, or no answer in time, would do so again.
    """
    return not log.answered and (log.broker_state == UNFENCED or log.error is None)


def _may_be_elected(broker: int, key: TopicPartition, live: Live) -> bool:
    """Return whether the controller may elect a broker by itself: it is coming back, or is unfenced with a working disk (KIP-858).

    The controller does not know of a failed disk before the cluster calls its replicas offline. What the broker alone answers does not count.
    """
    broker_state = live.broker_states.get(broker)
    failed = _disk_failed(live.logs.get((key, broker))) and broker in live.states[key].offline_replicas
    return broker_state == COMING_BACK or (broker_state == UNFENCED and not failed)


def _disk_failed(log: ReplicaLog | None) -> bool:
    return log is not None and log.error in (DISK_FAILED, STORAGE_ERROR)


def _elected_since(entry: Entry, now: PartitionState, elr: bool | None) -> Reason:
    """Return the reason why the partition has a leader since the evidence was collected, as far as it is known."""
    choice = None if now.leader in entry.survivors else own_choice(now.leader, entry, now, entry.survivors, elr)
    return choice or Reason(ReasonCode.ELECTED_BY_OTHERS, f"elected by {other_electors(entry.unclean_leader_election_enable)}")


def _moved(entry: Entry, live: Live, state: PartitionState) -> Reason | None:
    if state.leader_epoch != entry.leader_epoch:
        epochs = f"its leader epoch went from {entry.leader_epoch} to {state.leader_epoch}"
        return Reason(ReasonCode.LEADER_EPOCH_CHANGED, f"{epochs}: it had a leader in between")
    if sorted(state.replicas) != sorted(entry.replicas):
        return Reason(ReasonCode.REPLICAS_CHANGED, f"its replicas are {list(state.replicas)}, no longer {list(entry.replicas)}")
    if live.broker_states.get(entry.designated_leader) != UNFENCED:
        return Reason(ReasonCode.DESIGNATED_LEADER_LOST, f"the designated broker {entry.designated_leader} is not alive any more")
    for broker in state.replicas:
        if broker in live.unfenced:
            log = live.logs.get((entry.key, broker))
            if broker not in entry.survivors:
                # The decision judges a broker that does not answer: it may hold the partition.
                if log is None or log.error is None:
                    return Reason(ReasonCode.REPLICA_RETURNED, f"broker {broker} came back with a replica that was not read")
            elif log is None or log.error is not None:
                error = log.error if log else NO_ANSWER  # it was fenced when logs were read
                return Reason(ReasonCode.SURVIVOR_SILENT, f"broker {broker} does not answer for its replica any more ({error})")
            elif log.broker_epoch != entry.broker_epochs.get(broker):
                # KIP-966: evidence from before a restart of the broker proves nothing about its present log.
                epochs = f"its broker epoch is {log.broker_epoch}, no longer {entry.broker_epochs.get(broker)}"
                return Reason(ReasonCode.BROKER_RESTARTED, f"broker {broker} has registered again: {epochs}")
            elif (log.last_written_epoch, log.log_end_offset) != entry.survivors[broker]:
                return Reason(
                    ReasonCode.LOG_CHANGED,
                    f"the log of broker {broker} ends at offset {log.log_end_offset} in epoch {log.last_written_epoch}, "
                    f"no longer at {entry.survivors[broker][1]} in epoch {entry.survivors[broker][0]}",
                )
    for broker, saved_end in entry.saved_fenced.items():
        if (end := live.fenced_ends.get((entry.key, broker), saved_end)) > saved_end:
            grown = f"the log of the fenced broker {broker} ends at offset {end}, and was saved up to {saved_end}; stop that broker"
            return Reason(ReasonCode.LOG_CHANGED, grown)
    return None
