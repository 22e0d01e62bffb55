# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forks that the log of a lost member of the ISR decides, each condition of that, and what an explanation says of it."""

from __future__ import annotations

from typing import Any

import pytest
from evidence_documents import evidence
from partition_situations import FENCED, Log, Situation, history

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Decision, Policy, Word, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import ClusterHeader
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.explain import explanation
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.loss import bounds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy

AGGRESSIVE = Policy(Strategy.AGGRESSIVE)
# Broker 1 led and left, broker 3 led and left, and broker 2, the last member of the ISR, went on with what broker 1 had written.
OLDER, NEWER = Log.of((15, 0)), Log.of((10, 0), (3, 1))
# With min.insync.replicas 1 broker 2 could commit alone, so the history by itself proves nothing.
STEPS: tuple[dict[str, Any], ...] = ({"leader": 2, "isr": [1, 2, 3]}, {"isr": [1, 2]}, {"isr": [2]}, {"leader": -1})
PAST = history(*STEPS, min_isr=1)
SENTENCE = "no survivor agrees longer with the log of broker 2"


def member(end: int) -> Log:
    """The log of broker 2, with the records of broker 1 up to this offset."""
    return Log.of(*([(end, 0)] if end else []), fenced=True)


def situation(last: Log | str, isr_history: dict[str, Any] | None = PAST, isr: tuple[int, ...] = (2,), **fields: Any) -> Situation:
    return Situation("orders", {1: OLDER, 2: last, 3: NEWER}, history=isr_history, state={"isr": list(isr)}, **fields)


def decided(case: Situation, policy: Policy | None = None) -> Decision:
    return decide(evidence(case), policy or Policy())


def text(decision: Decision) -> str:
    return explanation(decision, bounds(decision, ClusterHeader()), ClusterHeader())


@pytest.mark.parametrize("end", [11, 14, 15])
def test_a_log_that_reaches_into_one_branch_resolves_the_fork(end: int) -> None:
    """Without it the survivor with the later epoch would be the best."""
    decision = decided(situation(member(end)))
    assert (decision.word, decision.reason, decision.choices) == (Word.FORKED_RESOLVED, None, (1,))
    assert SENTENCE in text(decision) and "does not resolve it" not in text(decision)
    without = decided(situation(FENCED))
    assert (without.word, without.reason, without.ranked[0].broker_id) == (Word.FORKED, "forked", 3)
    assert SENTENCE not in text(without) and "the ISR history does not resolve it" in text(without)


def test_a_member_of_the_elr_counts_like_one_of_the_isr() -> None:
    case = situation(member(12), isr=())
    case.state["eligible_leader_replicas"] = [2]
    assert decided(case).choices == (1,)


@pytest.mark.parametrize("end", [0, 5, 10])
def test_a_log_that_ends_before_the_fork_says_nothing(end: int) -> None:
    """It may have lost its end in a power cut."""
    decision = decided(situation(member(end)))
    assert (decision.word, decision.reason, decision.isr_proof.members) == (Word.FORKED, "forked", ())


def test_a_log_that_has_more_than_the_winner_still_holds_the_partition() -> None:
    decision = decided(situation(Log.of((20, 0), fenced=True)))
    assert (decision.word, decision.reason) == (Word.FORKED_RESOLVED, "fenced_broker_holds_more")


def test_the_log_of_a_broker_outside_the_isr_says_nothing() -> None:
    decision = decided(situation(member(15), isr=()))
    assert (decision.word, decision.ranked[0].broker_id) == (Word.FORKED, 3)


@pytest.mark.parametrize(
    "isr_history",
    [
        None,
        history(*STEPS, min_isr=1, doubt="cut off"),
        history(*STEPS[:2], {"isr": [2], "unclean": True}, STEPS[-1], min_isr=1),
        history(*STEPS[:2], {"leader": -1}, {"leader": 2}, *STEPS[2:], min_isr=1),
        history(*STEPS[2:], min_isr=1),
    ],
    ids=["none", "doubtful", "unclean election", "led again", "short"],
)
def test_without_an_undisturbed_history_it_ranks_the_survivors_and_resolves_nothing(isr_history: dict[str, Any] | None) -> None:
    held = decided(situation(member(15), isr_history))
    assert (held.word, held.reason) == (Word.FORKED, "forked")
    assert SENTENCE not in text(held)
    assert decided(situation(member(15), isr_history), AGGRESSIVE).choices == (1,)


@pytest.mark.parametrize("version", [14, None])
@pytest.mark.parametrize("min_isr", [2, None])
def test_when_records_could_be_committed_does_not_matter(version: int | None, min_isr: int | None) -> None:
    """The member had every committed record, whatever the ISR and min.insync.replicas were."""
    decision = decided(situation(member(15), history(*STEPS, min_isr=min_isr, version=version)))
    assert (decision.word, decision.choices) == (Word.FORKED_RESOLVED, (1,))
    assert SENTENCE in text(decision)


@pytest.mark.parametrize("pair", [(1, 2), (2, 3)])
def test_a_log_that_was_not_compared_with_all_survivors_says_nothing(pair: tuple[int, int]) -> None:
    decision = decided(situation(member(15), unknown={pair}))
    assert decision.isr_proof.members == () and decision.choices == ()


def test_members_on_different_branches_resolve_nothing() -> None:
    case = situation(member(12), isr=(2, 4))
    case.brokers[4] = Log((*NEWER.epochs[:12],), (*NEWER.branches[:12],), 0, fenced=True)
    assert (decided(case).word, decided(case, AGGRESSIVE).word) == (Word.FORKED, Word.FORKED)


def test_what_is_proven_committed_on_the_other_branch_is_a_contradiction() -> None:
    decision = decided(situation(member(15), proofs=[(13, 3, True), (13, 1, False)]))
    assert (decision.word, decision.choices) == (Word.CONTRADICTED, ())
    assert "broker 2 would hold every committed record" in text(decision)
