# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`decide` itself, asked on every state without a leader that the searches reach: it is the model's rule, and it gives up no committed record."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import (
    ACCEPTED,
    Outcome,
    Policy,
    Strategy,
    Word,
    decide,
)
from model.evidence import Part, Past, evidence, in_past, part, past_of
from model.partition import Bounds, Replica
from model.rules import (
    Rule,
    Survivors,
    isr_history,
    isr_history_trusting_disks,
    last_to_leave,
    last_written_epoch,
    log_end_offset,
    ours,
)
from model.search import Findings, destroys, search
from model.traces import traces

BALANCED, AGGRESSIVE = Policy(Strategy.BALANCED), Policy(Strategy.AGGRESSIVE)
# Each distinct history of the ISR, and how survivors' logs may lie with it.
HISTORY_BOUNDS = (
    Bounds(1, records=2, epochs=3),
    Bounds(2, records=2, epochs=3, unclean_elections=True),
    Bounds(2, replicas=4, records=2, epochs=2),
)
SMALL: dict[str, Any] = {"records": 2, "epochs": 2}
EVERYTHING = {"power_cuts": True, "unclean_elections": True, "min_isr_changes": True, "eligible_leader_replicas": True}
# What can happen besides.
VARIANTS = {
    "power cuts": Bounds(2, power_cuts=True, **SMALL),
    "unclean elections": Bounds(2, unclean_elections=True, **SMALL),
    "min ISR goes from 2 to 1 and back": Bounds(2, min_isr_changes=True, **SMALL),
    "ELR": Bounds(2, eligible_leader_replicas=True, **SMALL),
    "3 epochs, power cuts, ELR": Bounds(2, records=1, epochs=3, power_cuts=True, eligible_leader_replicas=True),
    "3 epochs, all of these": Bounds(2, records=1, epochs=3, **EVERYTHING),
    "min ISR 1, unclean elections": Bounds(1, unclean_elections=True, **SMALL),
    "4 replicas, min ISR 3": Bounds(3, replicas=4, **SMALL),
    "Kafka before 3.7": Bounds(2, records=2, epochs=3, commit_needs_min_isr=False),
}

# The parts that survivors have in the ISR's history, sorted → ways to come to that.
Pasts = dict[tuple[Part, ...], list[Past]]


class Answer(NamedTuple):
    """What `balanced` elects of some survivors, what the evidence is worth, and why the partition is held."""

    survivors: Survivors
    elected: frozenset[Replica]
    word: Word
    reason: str | None

    @property
    def places(self) -> frozenset[int]:
        """Those elected, as a rule of the model has them."""
        return frozenset(place for place, one in enumerate(self.survivors) if one in self.elected)


@dataclasses.dataclass(frozen=True)
class Search:
    """A search, and what `decide` answers for each set of survivors that it reaches: for the logs alone, and with each past that they may have."""

    findings: Findings
    by_logs: Mapping[Survivors, Answer]
    by_history: Mapping[Survivors, Sequence[Answer]]

    def losing(self) -> Counter[str]:
        """In how many states without a leader does `balanced` elect, and in how many does that lose a committed record that a survivor holds?"""
        counted: Counter[str] = Counter()
        for lost in self.findings.offline:
            told = self.by_history[lost.survivors]
            for kind, answers in (("logs", [self.by_logs[logs_only(lost.survivors)]]), ("history", told)):
                # Survivors stand in the same order in both.
                winners = frozenset[int]().union(*(answer.places for answer in answers))
                counted[f"elected by {kind}"] += bool(winners)
                counted[f"lost by {kind}"] += any(destroys(lost, winner) for winner in winners)
        return counted


def asked(findings: Findings, bounds: Bounds) -> Search:
    """Ask `decide` for everything that a search within `bounds` has come to."""
    ways = pasts(bounds)
    told = {lost.survivors for lost in findings.offline}
    return Search(
        findings,
        {survivors: ask_again(survivors, None) for survivors in set(map(logs_only, told))},
        {survivors: [ask(survivors, past) for past in ways[tuple(sorted(map(part, survivors)))]] for survivors in told},
    )


def ask(survivors: Survivors, past: Past | None) -> Answer:
    """Ask what `balanced` elects."""
    placed = in_past(survivors, past) if past else dict(enumerate(survivors))
    decision = decide(evidence(placed, past), BALANCED)
    assert bool(decision.choices) == (decision.outcome == Outcome.ELECT) == (decision.word in ACCEPTED[Strategy.BALANCED]), survivors
    return Answer(survivors, frozenset(placed[broker] for broker in decision.choices), decision.word, decision.reason)


def ask_again(survivors: Survivors, past: Past | None) -> Answer:
    """The same, and with the replicas in the other order, which only decides who of identical ones leads; and `aggressive`, which elects somebody
    always and those that `balanced` elects if it does."""
    placed = in_past(survivors, past) if past else dict(enumerate(survivors))
    known, turned = evidence(placed, past), evidence(dict(reversed(placed.items())), past)
    balanced, backwards, aggressive = decide(known, BALANCED), decide(turned, BALANCED), decide(known, AGGRESSIVE)
    assert (backwards.word, backwards.reason, {*backwards.choices}) == (balanced.word, balanced.reason, {*balanced.choices}), survivors
    assert (aggressive.word, aggressive.reason) == (balanced.word, None), survivors
    assert aggressive.choices == balanced.choices or (aggressive.choices and not balanced.choices), survivors
    return ask(survivors, past)


def logs_only(survivors: Survivors) -> Survivors:
    """What logs and high watermarks tell of survivors."""
    return tuple(Replica(one.log, one.high_watermark) for one in survivors)


def pasts(bounds: Bounds) -> Pasts:
    """Every part that survivors can have in the ISR's history, and ways to it. They are the same whatever is written: so nothing is.

    Where min ISR changes, it may have been smaller for a while before: the metadata log is asked for the smallest.
    """
    ways: Pasts = defaultdict(list)
    for trace in traces(dataclasses.replace(bounds, records=0)):
        past = past_of(bounds, trace)
        same = ways[tuple(sorted(past.parts.values()))]
        same.append(past)
        if bounds.min_isr_changes and trace.least_min_isr > 1:
            same.append(past._replace(history=past.history._replace(min_insync_replicas=1)))
    return dict(ways)


def disagreements(answers: Iterable[Answer], rule: Rule) -> list[Answer]:
    """What `decide` and `rule` decide differently."""
    return [answer for answer in answers if answer.places != rule(answer.survivors)]


def told(search: Search) -> list[Answer]:
    return [answer for answers in search.by_history.values() for answer in answers]


@pytest.fixture(scope="module")
def searches(found: dict[int, Findings], four: Findings) -> list[Search]:
    """The exhaustive searches. Four replicas bring sets of three survivors."""
    return [asked(found[1], Bounds(1)), asked(found[2], Bounds(2)), asked(four, Bounds(2, replicas=4, **SMALL))]


@pytest.fixture(scope="module")
def ways() -> list[Answer]:
    """Each distinct history of the ISR with survivors' logs as they are after it."""
    return [ask_again(tuple(trace.survivors.values()), past_of(bounds, trace)) for bounds in HISTORY_BOUNDS for trace in traces(bounds)]


def test_it_elects_and_holds_by_logs_as_the_model_does(searches: list[Search]) -> None:
    for one in searches:
        assert disagreements(one.by_logs.values(), ours) == []
    elected = Counter(bool(answer.elected) for search in searches for answer in search.by_logs.values())
    assert min(elected.values()) > 500


def test_it_reads_the_isr_history_as_the_model_does(searches: list[Search], ways: list[Answer]) -> None:
    for answers in (*map(told, searches), ways):
        assert disagreements(answers, isr_history) == []
    assert Counter(answer.word for answer in ways)[Word.FORKED_RESOLVED] > 500


def test_what_it_elects_loses_no_committed_record(searches: list[Search]) -> None:
    for one in searches:
        counted = one.losing()
        assert (counted["lost by logs"], counted["lost by history"]) == (0, 0)
        assert counted["elected by logs"]
    assert counted["elected by history"] > counted["elected by logs"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_that_holds_whatever_else_happens(variant: str) -> None:
    bounds = VARIANTS[variant]
    result = asked(search(bounds), bounds)
    counted = result.losing()
    assert (counted["lost by logs"], counted["lost by history"]) == (0, 0)
    assert counted["elected by logs"]
    assert disagreements(result.by_logs.values(), ours) == []
    differing = disagreements(told(result), isr_history)
    if bounds.min_isr_changes or not bounds.commit_needs_min_isr:
        # The metadata log is asked for the least min ISR only, and brokers before 3.7 are believed nothing: then it may hold what the rule elects.
        assert differing
        assert not any(answer.elected for answer in differing)
    else:
        assert differing == []


@pytest.mark.parametrize("rule", [log_end_offset, last_written_epoch])
def test_the_comparison_tells_rules_apart(searches: list[Search], rule: Rule) -> None:
    assert all(disagreements(search.by_logs.values(), rule) for search in searches)


@pytest.mark.parametrize("rule", [ours, isr_history_trusting_disks, last_to_leave])
def test_the_comparison_of_histories_tells_rules_apart(ways: list[Answer], rule: Rule) -> None:
    assert disagreements(ways, rule)


def test_what_is_held_is_held_for_its_fork(searches: list[Search], ways: list[Answer]) -> None:
    logs = [answer for search in searches for answer in search.by_logs.values()]
    held = {answer.reason for answer in (*logs, *(answer for search in searches for answer in told(search)), *ways) if answer.reason}
    assert held == {Word.FORKED, Word.FORKED_PROVEN, Word.BELOW_HIGH_WATERMARK}
