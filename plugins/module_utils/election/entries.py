# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Entries of a plan that are to be elected, the state of the cluster that they are compared with, and their results. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, Word
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    PartitionEvidence,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.live_decision import Decided
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.replica_doubts import doubt, leader_doubt
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
    StatedReplicas,
    TopicPartition,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import Reason, ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog


@dataclass(frozen=True)
class Entry:
    """One partition to elect: the designated leader, the order that puts live replicas best-first, and what the decision was based on.

    `survivors`: broker id → (last_written_epoch, log_end_offset) as collected; `broker_epochs`: broker id → its broker epoch, if the broker stated it.
    `isr` and so on: the brokers that the controller would have elected by itself (KIP-966), and may have elected meanwhile.
    `evidence_word`: the kind of evidence, DESIGNATED_BY_HAND without a plan. `ranking`: as the plan has it. `named_in_request`: whether the request named
    the partition, which consents to its loss; `named` in the plan. `live_evidence`: the evidence that was collected again before the election, which
    must decide as the plan did; `decided`: the decision on it. `designated_by_hand`: an operator designated the leader in this very run, so it needs no
    such evidence. `decided_again`: as of Result. `fenced_truncated`: what fenced brokers that answered lose, see `decision.entry.fenced_truncated`.
    `saved_fenced`: the end of the saved records of such brokers, by broker.
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
    fenced_truncated: Sequence[Mapping[str, Any]] = field(default=())
    saved_fenced: Mapping[int, int] = field(default_factory=dict)

    @property
    def key(self) -> TopicPartition:
        """Return the topic and the number of the partition."""
        return self.topic, self.partition

    @property
    def policy(self) -> Policy:
        """The strategy and ranking with which the plan was made. Raises ValueError if they do not exist."""
        return Policy(Strategy(self.strategy), Ranking(self.ranking))

    @classmethod
    def from_plan(cls, row: Mapping[str, Any], strategy: str, ranking: str) -> Entry:
        """Return the entry of one row of a plan's `partitions`. `strategy`: that of the topic; `ranking`: that of the plan.

        Raises ValueError for evidence, a strategy or a ranking that does not exist.
        """
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
    """The result of one partition. `leader` is None if there is none or it is not known.

    `reason_code` is for machines, `reason` is the sentence for people. Both are None if the designated replica was elected.

    An elected partition also has what the election gives up: `truncated` has rows of broker_id, offset, records; `loss` has the bounds of what is lost,
    None if evidence is damaged. `error`: Kafka's name of the error that made an election fail, None if there is none.
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
        """Return a result of an entry. Only with the outcome ELECTED it has what the election gives up."""
        cost = (tuple(entry.truncated), entry.loss) if outcome == Outcome.ELECTED else ((), None)
        place = entry.topic, entry.partition
        again = entry.decided_again
        return cls(*place, outcome, leader, entry.designated_leader, entry.evidence_word, reason_code, reason, *cost, decided_again=again)


def without(entries: Iterable[Entry], results: Iterable[Result]) -> list[Entry]:
    """Return the entries that have none of these results."""
    left_out = {(result.topic, result.partition) for result in results}
    return [entry for entry in entries if entry.key not in left_out]


@dataclass(frozen=True)
class Live:
    """The present state of the cluster, as far as a batch needs it. `logs` by partition and broker.

    `ours`: replica orders that this workdir's runs set for an election, by partition. The evidence of a plan may have been collected with one.
    `elr`: whether the cluster keeps eligible leader replicas, None if that is not known. `cut_off`: fenced brokers that answer.
    `originals`: the orders before elections, of partitions that still have one of `ours`. `states` have the present orders, by which the controller elects.
    `restored`: partitions whose orders before elections were restored since this run began. `states` may still show the changed ones.
    `reorders`: whether an election needs the designated replica first in the order. The native backend names the leader instead.
    `fenced_ends`: log end offsets of fenced brokers that answer and of which records were saved, by partition and broker.
    `second`: the replicas as a second broker states them (`replica_doubts.doubt`), None if the election does not depend on their order.
    `silent`: the logs of those replicas that did not answer, fenced brokers included.
    `read_at`, `states_at`: when reading it, and its `states`, began (seconds of the monotonic clock).
    """

    states: Mapping[TopicPartition, PartitionState]
    broker_states: Mapping[int, str]
    logs: Mapping[tuple[TopicPartition, int], ReplicaLog]
    reassigning: Collection[TopicPartition]
    ours: Mapping[TopicPartition, Collection[tuple[int, ...]]] = field(default_factory=dict)
    elr: bool | None = None
    cut_off: frozenset[int] = frozenset()
    originals: Mapping[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    reorders: bool = True
    second: Mapping[TopicPartition, StatedReplicas] | None = None
    fenced_ends: Mapping[tuple[TopicPartition, int], int] = field(default_factory=dict)
    restored: Collection[TopicPartition] = ()
    silent: Mapping[tuple[TopicPartition, int], ReplicaLog] = field(default_factory=dict)
    read_at: float = 0.0
    states_at: float = 0.0

    def original(self, key: TopicPartition) -> tuple[int, ...]:
        """Return the replica order that the partition must have after an election."""
        return self.originals.get(key, self.states[key].replicas)

    def doubt(self, key: TopicPartition) -> Reason | None:
        """Return why the replicas of this partition are in doubt, or that it has no leader, None if a second broker states the same or needs not."""
        if self.second is None:
            return None
        state, second = self.states[key], self.second.get(key)
        return doubt(state, second) or leader_doubt(state, second)

    @cached_property
    def unfenced(self) -> set[int]:
        """Ids of the unfenced brokers."""
        return {broker for broker, state in self.broker_states.items() if state == UNFENCED}
