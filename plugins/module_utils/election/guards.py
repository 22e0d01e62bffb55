# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards: whether an entry of a plan may still be elected, by the state of the cluster now. Pure: no I/O, no Kafka client."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, Word
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.document import (
    DISK_FAILED,
    NO_ANSWER,
    Log,
    PartitionEvidence,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.entry import best_first
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.sentences import because, elects, standing
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.waiting import doubt_about
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.live_decision import Decided, as_it_is_now, decide_again
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import COMING_BACK, UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import ALREADY_ONLINE, ELECTED, HELD, STALE
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    TopicPartition,
    has_live_leader,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.leader_eligibility import (
    Reason,
    already_leads,
    other_electors,
    own_choice,
)

REASSIGNING = "a reassignment is under way, and a new replica order would replace it; let it complete or cancel it"


@dataclass(frozen=True)
class Entry:
    """One partition to elect: the designated leader, the order that puts live replicas best-first, and what the decision stood on.

    `survivors`: broker id → (last_written_epoch, log_end_offset) as gathered; `broker_epochs`: broker id → its broker epoch, if the broker stated it.
    `isr` and so on: whom the controller would have elected by itself (KIP-966), and may have elected meanwhile.
    `evidence_word`: the kind of evidence, DESIGNATED_BY_HAND without a plan. `ranking`: as the plan has it. `named_in_request`: whether the request named
    the partition, which consents to its loss; `named` in the plan. `live_evidence`: the evidence that was collected again before the election, which
    must decide as the plan did; `decided`: the decision on it. `designated_by_hand`: an operator designated the leader in this very run, so it needs no
    such evidence. `decided_again`: as of Result.
    """

    topic: str
    partition: int
    designated_leader: int
    best_first: tuple[int, ...]
    topic_id: str
    leader_epoch: int
    replicas: tuple[int, ...]
    survivors: Mapping[int, tuple[int | None, int]]
    evidence_word: str
    strategy: str
    truncated: Sequence[Mapping[str, Any]] = field(default=())
    loss: Mapping[str, Any] | None = None
    broker_epochs: Mapping[int, int] = field(default_factory=dict)
    isr: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    unclean_leader_election_enable: bool | None = None
    ranking: str = Ranking.LAST_WRITTEN_EPOCH.value
    named_in_request: bool = False
    designated_by_hand: bool = False
    live_evidence: PartitionEvidence | None = None
    decided: Decided | None = None
    decided_again: Mapping[str, Any] | None = None

    @property
    def key(self) -> TopicPartition:
        """(topic, partition)."""
        return self.topic, self.partition

    @property
    def policy(self) -> Policy:
        """What the operator chose when the plan was made."""
        return Policy(Strategy(self.strategy), Ranking(self.ranking))

    @classmethod
    def from_plan(cls, row: Mapping[str, Any], strategy: str, ranking: str) -> Entry:
        """Build from one row of a plan's `partitions`. ValueError for evidence, a strategy or a ranking that does not exist."""
        guards = row["guards"]
        return cls(
            row["topic"],
            row["partition"],
            row["designatedLeader"],
            tuple(row["replicas_best_first"]),
            guards["topic_id"],
            guards["leader_epoch"],
            tuple(guards["replicas"]),
            {survivor["broker_id"]: (survivor["last_written_epoch"], survivor["log_end_offset"]) for survivor in guards["survivors"]},
            Word(row["evidence"]).value,
            Strategy(strategy).value,
            row.get("truncated", ()),
            row.get("loss"),
            {row["broker_id"]: row["broker_epoch"] for row in guards["survivors"] if row["broker_epoch"] is not None},
            tuple(row["isr"]),
            tuple(row["eligible_leader_replicas"]),
            tuple(row["last_known_elr"]),
            row["unclean_leader_election_enable"],
            Ranking(ranking).value,
            row["named"],
        )


@dataclass(frozen=True)
class Result:
    """What became of one partition. `leader` is None where there is none (or it is not known).

    `reason_code` is for machines, `reason` is the sentence for people. Both are None if the designated replica was elected.

    Of an elected partition also what the election gives up: `truncated` has rows of broker_id, offset, records; `loss` is the plan's,
    None for a leader that was designated by hand. `error`: Kafka's name of what made an election fail, None if it gave none.
    `decided_again`: if the decision changed once internal topics had leaders, the planned_leader and the planned_reason_code of the plan, and the
    explanation of the new decision.
    """

    topic: str
    partition: int
    outcome: str
    leader: int | None
    designated_leader: int | None
    evidence: str | None
    reason_code: str | None
    reason: str | None
    truncated: Sequence[Mapping[str, Any]] = field(default=())
    loss: Mapping[str, Any] | None = None
    error: str | None = None
    decided_again: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls, entry: Entry, outcome: str, reason_code: ReasonCode | None = None, reason: str | None = None, leader: int | None = None
    ) -> Result:
        """A result of an entry of the plan."""
        cost = (tuple(entry.truncated), entry.loss) if outcome == ELECTED else ((), None)
        place = entry.topic, entry.partition
        again = entry.decided_again
        return cls(*place, outcome, leader, entry.designated_leader, entry.evidence_word, reason_code, reason, *cost, decided_again=again)


@dataclass(frozen=True)
class Live:
    """The cluster as it is now, as far as a batch needs it. `logs` by (partition, broker).

    `ours`: replica orders that this workdir's runs set for an election, by partition. A plan may have been gathered while one stood.
    `elr`: whether the cluster keeps eligible leader replicas, None where that is not known. `cut_off`: fenced brokers that answer.
    `originals`: the orders from before, of partitions where one of `ours` still stands. `states` have the orders that stand: the controller elects by them.
    """

    states: Mapping[TopicPartition, PartitionState]
    broker_states: Mapping[int, str]
    logs: Mapping[tuple[TopicPartition, int], ReplicaLog]
    reassigning: Collection[TopicPartition]
    ours: Mapping[TopicPartition, Collection[tuple[int, ...]]] = field(default_factory=dict)
    elr: bool | None = None
    cut_off: frozenset[int] = frozenset()
    originals: Mapping[TopicPartition, tuple[int, ...]] = field(default_factory=dict)

    def original(self, key: TopicPartition) -> tuple[int, ...]:
        """The replica order that has to stand after an election."""
        return self.originals.get(key, self.states[key].replicas)

    @property
    def unfenced(self) -> set[int]:
        """Ids of the unfenced brokers."""
        return {broker for broker, state in self.broker_states.items() if state == UNFENCED}


def needs_reorder(entry: Entry, live: Live) -> bool:
    """Whether the controller could elect something worse than best-first from the order that stands.

    It takes the first live replica. Brokers that are coming back count as live: one may be unfenced before the election.
    """
    may_live = [broker for broker in live.states[entry.key].replicas if _may_be_elected(broker, entry.key, live)]
    order = [broker for broker in entry.best_first if broker in may_live]
    if entry.designated_by_hand and entry.key in live.reassigning:
        # A new order would replace the reassignment. For a designation it is enough if its broker stands first.
        return may_live[:1] != order[:1]
    return may_live != order


def refusal(entry: Entry, live: Live) -> Result | None:
    """Return why the entry may not be elected now (online, held or stale), None where every guard stands."""
    state = live.states.get(entry.key)
    if state is None or state.topic_id != entry.topic_id:
        return Result.of(entry, STALE, ReasonCode.TOPIC_RECREATED, "the topic was deleted or created again since the evidence was gathered")
    if has_live_leader(state, live.unfenced):
        since = _elected_since(entry, state, live.elr)
        return Result.of(entry, ALREADY_ONLINE, since.code, already_leads(state.leader, since.sentence), state.leader)
    moved = _moved(entry, live, state)
    if moved is not None:
        return Result.of(entry, STALE, moved.code, f"{moved.sentence}; gather the evidence again")
    if live.original(entry.key) != entry.replicas and entry.replicas not in live.ours.get(entry.key, ()):
        # The run that set this order restores the one before it. Two runs must not take each other's order for the original.
        reason = (
            f"its replicas stand in the order {list(state.replicas)}, not {list(entry.replicas)} as they did: another run is electing it, "
            "or was killed while it did (then run that one again, in its own workdir), or another tool gave it a new order; gather the evidence again"
        )
        return Result.of(entry, STALE, ReasonCode.OTHER_ORDER, reason)
    changed = None if entry.designated_by_hand else _decided_otherwise(entry, live, state)
    if changed is not None:
        return changed
    if entry.key in live.reassigning and needs_reorder(entry, live):
        return Result.of(entry, HELD, ReasonCode.REASSIGNMENT_IN_PROGRESS, REASSIGNING)
    return None


def _decided_otherwise(entry: Entry, live: Live, state: PartitionState) -> Result | None:
    """Decide again on live evidence. Return why the entry may not be elected, None if the decision still allows its leader."""
    collected = entry.live_evidence
    evidence = as_it_is_now(collected, state, live.broker_states, live.logs, live.reassigning) if collected else None
    if collected is None or evidence is None or any(log.broker_id in live.cut_off and _may_say_more(log) for log in collected.logs):
        reason = "its evidence cannot be used, or has changed since it was collected again; run again, or make a new plan"
        return Result.of(entry, STALE, ReasonCode.EVIDENCE_CHANGED, reason)
    decision = decide_again(evidence, entry.policy, live.elr, entry.decided)
    if decision.reason == ReasonCode.WAIT_FOR_CLEAN_LEADER:
        clean, broker_state = decision.waiting_for[0]
        there = "is coming back" if broker_state == COMING_BACK else "is alive"
        unknown = doubt_about(clean, evidence, decision.state, live.elr)
        worth = standing(clean, state.isr, state.eligible_leader_replicas, live.elr, broker_state == UNFENCED)
        reason = f"broker {clean} {there} and the controller {elects(unknown)} it by itself{because(unknown)}; it is {worth}"
        return Result.of(entry, HELD, ReasonCode.WAIT_FOR_CLEAN_LEADER, reason)
    unread = [log.broker_id for log in evidence.logs if log.broker_state == COMING_BACK]
    if decision.reason == ReasonCode.INCOMPLETE and unread:
        reason = f"broker {unread[0]} is coming back with a replica that was not read; collect the evidence again once it is there"
        return Result.of(entry, HELD, ReasonCode.INCOMPLETE, reason)
    if decision.reason == ReasonCode.REASSIGNMENT_IN_PROGRESS:
        return Result.of(entry, HELD, ReasonCode.REASSIGNMENT_IN_PROGRESS, REASSIGNING)
    if entry.designated_leader in decision.choices:
        order = [broker for broker in best_first(decision.best_first, entry.designated_leader) if broker in live.unfenced]
        if order == [broker for broker in entry.best_first if broker in order]:
            return None
        reason = "the evidence of now puts its other replicas in another order; run again, or make a new plan"
        return Result.of(entry, STALE, ReasonCode.EVIDENCE_CHANGED, reason)
    now = f"holds it ({decision.reason})" if decision.reason else f"elects broker {decision.choices[0]} ({decision.word})"
    reason = f"the plan elects broker {entry.designated_leader} ({entry.evidence_word}), and the evidence of now {now}; make a new plan"
    return Result.of(entry, STALE, ReasonCode.DECIDED_OTHERWISE, reason)


def _may_say_more(log: Log) -> bool:
    """Whether a fenced broker that answers now may say more of its log than when the evidence was collected. A fenced broker that answered then, and
    gave an error, or nothing within its time, would do so again."""
    return not log.answered and (log.broker_state == UNFENCED or log.error is None)


def _may_be_elected(broker: int, key: TopicPartition, live: Live) -> bool:
    """Whether the controller may elect a broker by itself: it is coming back, or lives with the disk of this replica (KIP-858)."""
    broker_state = live.broker_states.get(broker)
    return broker_state == COMING_BACK or (broker_state == UNFENCED and not _disk_failed(live.logs.get((key, broker))))


def _disk_failed(log: ReplicaLog | None) -> bool:
    return log is not None and log.error == DISK_FAILED


def _elected_since(entry: Entry, now: PartitionState, elr: bool | None) -> Reason:
    """Return the reason why this broker leads since the evidence was collected, as far as it is known."""
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
                # Whether one that does not answer holds the partition is for the decision to say.
                if log is None or log.error is None:
                    return Reason(ReasonCode.REPLICA_RETURNED, f"broker {broker} came back with a replica that was not read")
            elif log is None or log.error is not None:
                error = log.error if log else NO_ANSWER  # it was fenced when logs were read
                return Reason(ReasonCode.SURVIVOR_SILENT, f"broker {broker} does not answer for its replica any more ({error})")
            elif log.broker_epoch != entry.broker_epochs.get(broker):
                # KIP-966: what a broker said of its log before it rebooted proves nothing about the log that it has now.
                epochs = f"its broker epoch is {log.broker_epoch}, no longer {entry.broker_epochs.get(broker)}"
                return Reason(ReasonCode.BROKER_RESTARTED, f"broker {broker} has registered again: {epochs}")
            elif (log.last_written_epoch, log.log_end_offset) != entry.survivors[broker]:
                return Reason(
                    ReasonCode.LOG_CHANGED,
                    f"the log of broker {broker} ends at offset {log.log_end_offset} in epoch {log.last_written_epoch}, "
                    f"no longer at {entry.survivors[broker][1]} in epoch {entry.survivors[broker][0]}",
                )
    return None
