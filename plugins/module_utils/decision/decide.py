# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The decision about one partition: which replica should lead, how good the evidence is, and why it is held if it is (docs/decisions.md).

Workers of Spark call it for plans, guards call it again before an election, and the model checks it.
Pure: no I/O, no Kafka client, no Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import (
    Comparison,
    Lack,
    Point,
    Ranking,
    Relation,
    follows,
    have_a_gap,
    is_beyond,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import (
    FORKED,
    PREFIX,
    SAME,
    UNFENCED,
    UNKNOWN,
    Log,
    Pair,
    PartitionEvidence,
    State,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.isr_proof import IsrProof
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.log_pairs import brokers_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.waiting import elects_best_first, waiting_for

CLUSTER_METADATA = "__cluster_metadata"
# Why evidence is incomplete for good. The word of such evidence is `incomplete`.
RETENTION_GAP = "retention_gap"
# Topics that no strategy elects unless they are named.
ELECTED_IF_NAMED = ("__transaction_state",)


class Word(StrEnum):
    """The kind of evidence: the field `evidence` of plans (docs/decisions.md)."""

    PREFIX = "prefix"
    FORKED_RESOLVED = "forked_resolved"
    FORKED_PROVEN = "forked_proven"
    FORKED = "forked"
    INCOMPLETE = "incomplete"
    WEAK = "weak"
    CONTRADICTED = "contradicted"
    CORRUPT = "corrupt"
    BELOW_HIGH_WATERMARK = "below_high_watermark"
    NO_SURVIVOR = "no_survivor"


class Action(StrEnum):
    """What is to be done with a partition."""

    ELECT = "elect"
    HOLD = "hold"
    LEAVE = "leave"  # it has a live leader


# The evidence on which each strategy elects. No strategy elects without a survivor.
ACCEPTED: Mapping[Strategy, frozenset[Word]] = {
    Strategy.NONE: frozenset(),
    Strategy.BALANCED: frozenset({Word.PREFIX, Word.FORKED_RESOLVED}),
    Strategy.KIP966_BALANCED: frozenset({Word.PREFIX, Word.FORKED_RESOLVED}),
    Strategy.AGGRESSIVE: frozenset(Word) - {Word.NO_SURVIVOR},
}
# Evidence that an election loses committed records, or that an assumption of the rules is wrong: the partition must be named.
ALARMING = frozenset({Word.CORRUPT, Word.CONTRADICTED, Word.BELOW_HIGH_WATERMARK})


@dataclass(frozen=True)
class Policy:
    """The options that a decision depends on. `topic_strategies`: by topic, instead of `strategy`."""

    strategy: Strategy = Strategy.BALANCED
    ranking: Ranking = Ranking.LAST_WRITTEN_EPOCH
    topic_strategies: Mapping[str, Strategy] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about a partition, and what that rests on.

    choices       brokers any of which may lead, empty if none is elected; their logs are identical, and of such logs those that start first
    best_first    all replicas in the order in which they should lead
    reason        why it is held: the reason code, not a sentence; None if it is not held
    survivors     logs that were read, in the order of the assignment; `ranked`: best first
    lacking       what is proven committed and the winner is known to lack
    hidden_forks  forks between two logs which both seem to be prefixes of the winner's, or identical
    corrupt       comparisons that found different bytes at one offset from one leader epoch
    failed        brokers whose logs seem to be the winner's, and logs of which it is not known how they relate to theirs: they may not lead
    singled_out   whether proof of commitment leaves one branch of a fork
    resolved      whether the ISR history says that the winner holds every committed record (of survivors, by lost members), and no proof says otherwise
    contradicted  whether each log that the ISR history calls complete is known to lack something that is proven committed
    complete      whether the winner is known to hold every committed record, also what only lost replicas or remote storage may hold
    waiting_for   brokers that the controller may elect by itself, with their states
    fenced        logs on fenced brokers that answered, compared with the winner's: they are not survivors and cannot be elected
    lost          replicas whose brokers are not alive, or whose disks have failed
    unanswered    replicas whose brokers are alive and did not answer for them
    """

    evidence: PartitionEvidence
    action: Action
    word: Word
    reason: str | None
    choices: tuple[int, ...]
    best_first: tuple[int, ...]
    survivors: tuple[Log, ...]
    ranked: tuple[Log, ...]
    relations: tuple[Relation, ...]
    points: tuple[Point, ...]
    lacking: tuple[Lack, ...]
    hidden_forks: tuple[Pair, ...]
    corrupt: tuple[Pair, ...]
    failed: tuple[tuple[int, Relation], ...]
    isr_proof: IsrProof
    singled_out: bool
    resolved: bool
    contradicted: bool
    complete: bool
    waiting_for: tuple[tuple[int, str], ...]
    fenced: tuple[Relation, ...]
    lost: tuple[Log, ...]
    unanswered: tuple[Log, ...]

    @property
    def state(self) -> State:
        """The controller's state of the partition. If its document is damaged there: empty lists, leader and leader epoch -1."""
        return self.evidence.state or _UNREAD

    @property
    def winner(self) -> Log | None:
        """The best log, None where there is no survivor."""
        return self.ranked[0] if self.ranked else None

    @property
    def identical(self) -> tuple[int, ...]:
        """Survivors whose logs are the winner's, with the winner."""
        same = {row.other.broker_id for row in self.relations if row.relation == SAME}
        return tuple(log.broker_id for log in self.survivors if log is self.winner or log.broker_id in same)

    @property
    def tails(self) -> tuple[Relation, ...]:
        """Survivors that hold records which the winner lacks."""
        return tuple(
            row for row in self.relations if row.relation == FORKED or (row.relation == PREFIX and row.shorter != row.other.broker_id)
        )

    @property
    def beyond(self) -> tuple[Relation, ...]:
        """Survivors whose high watermark lies above what the winner shares with them."""
        return tuple(row for row in self.relations if is_beyond(row, self.ranked[0]))

    @property
    def uncompared(self) -> tuple[Relation, ...]:
        """Survivors whose log could not be compared with the winner's."""
        return tuple(row for row in self.relations if row.relation == UNKNOWN)

    @property
    def gaps(self) -> tuple[Relation, ...]:
        """Survivors whose log could not be compared with the winner's, and never can be: they have no offset in common."""
        return tuple(row for row in self.uncompared if have_a_gap(self.ranked[0], row.other))

    @property
    def unwritten(self) -> tuple[int, ...]:
        """Survivors whose last-written epoch could not be read."""
        return tuple(log.broker_id for log in self.survivors if log.last_written_epoch is None)

    @property
    def unread(self) -> tuple[Log, ...]:
        """Lost replicas whose logs are not known either."""
        return tuple(log for log in self.lost if not log.answered)


def decide(evidence: PartitionEvidence, policy: Policy, elr: bool | None = None, reorders: bool = True) -> Decision:
    """Return the decision about one partition: elect, hold or leave. The same evidence gives the same decision.

    elr       whether the cluster keeps eligible leader replicas (KIP-966), None if that is not known
    reorders  whether an election needs the designated replica first in the replica order. KIP-1275's ElectLeaders names the leader and needs no order
    """
    state = evidence.state or _UNREAD
    compared = Comparison(evidence, state)
    ranked = compared.ranked(policy.ranking)
    winner = ranked[0] if ranked else None
    relations = tuple(compared.relation(winner, log) for log in compared.survivors if log is not winner) if winner else ()
    singled_out = winner is not None and compared.singled_out(winner, relations)
    resolved = winner is not None and compared.resolved(winner) and compared.holds_all_points(winner)
    contradicted = compared.contradicted()
    complete = winner is not None and compared.is_complete(winner)
    lacking = compared.lacking(winner) if winner else ()
    fenced = tuple(compared.relation(winner, log) for log in compared.fenced) if winner else ()
    hidden = compared.hidden_forks((*relations, *fenced))
    failed = compared.failed(winner, (*relations, *fenced)) if winner else ()
    leaders = compared.leaders(winner, relations, failed) if winner else ()
    word = _word(compared, winner, relations, hidden, (bool(lacking), contradicted, resolved, singled_out, bool(leaders)))
    first = [log.broker_id for log in ranked]
    best_first = (*first, *(broker for broker in state.replicas if broker not in first))
    waited = tuple(waiting_for(evidence, state, elr))
    strategy = policy.topic_strategies.get(evidence.topic, policy.strategy)
    online = state.leader >= 0 and not evidence.defects
    # A new replica order would replace a reassignment that is under way.
    fixed_order = state.reassigning and reorders
    held_order = fixed_order and not elects_best_first(evidence, state, best_first)
    doubt = RETENTION_GAP if word == Word.INCOMPLETE and winner and compared.has_only_gaps(winner, relations) else word.value
    reason = None if online else _reason(evidence, state, strategy, word, doubt, waited, fenced, complete, held_order)
    action = Action.LEAVE if online else Action.HOLD if reason else Action.ELECT
    # With an order that is not changed only the winner may be chosen.
    choices = () if action != Action.ELECT or winner is None else leaders if leaders and not fixed_order else (winner.broker_id,)
    lost = tuple(log for log in evidence.logs if log.broker_state != UNFENCED or log.disk_failed)
    unanswered = tuple(log for log in evidence.logs if log.silent)
    return Decision(
        evidence, action, word, reason, choices, best_first, compared.survivors, ranked, relations, compared.points, lacking, hidden, compared.corrupt,
        failed, compared.isr_proof, singled_out, resolved, contradicted, complete, waited, fenced, lost, unanswered,
    )  # fmt: skip


_UNREAD = State("", -1, -1, (), (), (), (), False, False, None, None, None)


def _word(
    compared: Comparison, winner: Log | None, relations: tuple[Relation, ...], hidden: tuple[Pair, ...], proofs: tuple[bool, ...]
) -> Word:
    """Return the kind of evidence. If several apply, the worst."""
    evidence = compared.evidence
    if evidence.defects:
        return Word.INCOMPLETE
    if winner is None:
        return Word.NO_SURVIVOR
    if compared.corrupt:
        return Word.CORRUPT
    lacks_proven, contradicted, resolved, singled_out, was_compared = proofs
    if lacks_proven or any(is_beyond(row, winner) for row in relations):
        return Word.BELOW_HIGH_WATERMARK
    if contradicted:
        return Word.CONTRADICTED
    if any(log.last_written_epoch is None for log in compared.survivors):
        return Word.WEAK
    if any(log.may_hold_more for log in evidence.logs) or any(row.relation == UNKNOWN for row in relations) or not was_compared:
        return Word.INCOMPLETE
    if all(map(follows, relations)) and not hidden:
        return Word.PREFIX
    if evidence.offsets_unread:
        return Word.INCOMPLETE
    # Of a hidden fork the fenced log may be the one that holds more.
    if resolved and brokers_of(hidden).isdisjoint(log.broker_id for log in compared.fenced):
        return Word.FORKED_RESOLVED
    return Word.FORKED_PROVEN if singled_out else Word.FORKED


def _reason(
    evidence: PartitionEvidence,
    state: State,
    strategy: Strategy,
    word: Word,
    doubt: str,
    waiting_for: tuple[tuple[int, str], ...],
    fenced: tuple[Relation, ...],
    complete: bool,
    held_order: bool,
) -> str | None:
    """Return the reason code of the first rule that holds the partition, None if no rule does.

    `doubt`: the code if the evidence is not good enough. `complete`: whether the winner is known to hold every committed record. `held_order`: whether the
    election needs another replica order, which would replace a reassignment that is under way.
    """
    if evidence.topic == CLUSTER_METADATA:
        return "cluster_metadata"
    if strategy == Strategy.NONE:
        return "strategy_none"
    if evidence.defects:
        return "incomplete"
    if strategy != Strategy.AGGRESSIVE and waiting_for:
        return "wait_for_clean_leader"
    if strategy == Strategy.KIP966_BALANCED and evidence.unheard:
        return "wait_for_elr"
    if evidence.is_ahead(fenced=strategy != Strategy.AGGRESSIVE) and not (strategy == Strategy.AGGRESSIVE and state.named):
        return "ahead_of_controller"
    if strategy != Strategy.AGGRESSIVE and not all(map(follows, fenced)):
        return "fenced_broker_holds_more"
    if word not in ACCEPTED[strategy]:
        return doubt
    # Remote storage has committed records only, and may have more of them than any survivor. A leader finds only those that its own log has had.
    if evidence.tiered and strategy != Strategy.AGGRESSIVE and not complete:
        return "tiered_storage"
    if (evidence.topic in ELECTED_IF_NAMED or word in ALARMING) and not state.named:
        return "must_be_named"
    return "reassignment_in_progress" if held_order else None
