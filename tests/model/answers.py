# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `decide` answers for every state without a leader that a search reaches."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import ACCEPTED, Action, Policy, Word, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from model.evidence import Part, Past, evidence, in_past, part, past_of
from model.partition import Bounds, Replica
from model.rules import Survivors
from model.search import Findings, destroys
from model.traces import traces

BALANCED, AGGRESSIVE = Policy(Strategy.BALANCED), Policy(Strategy.AGGRESSIVE)

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

    bounds: Bounds
    findings: Findings
    by_logs: Mapping[Survivors, Answer]
    by_history: Mapping[Survivors, Sequence[Answer]]

    def losing(self) -> Counter[str]:
        """In how many states without a leader does `balanced` elect, and in how many does that lose a committed record that a survivor holds?"""
        counted: Counter[str] = Counter()
        for lost in self.findings.offline:
            reported = self.by_history[lost.survivors]
            for kind, answers in (("logs", [self.by_logs[logs_only(lost.survivors)]]), ("history", reported)):
                # Survivors stand in the same order in both.
                winners = frozenset[int]().union(*(answer.places for answer in answers))
                counted[f"elected by {kind}"] += bool(winners)
                counted[f"lost by {kind}"] += any(destroys(lost, winner, self.bounds.keys) for winner in winners)
        return counted


def answer_all(findings: Findings, bounds: Bounds) -> Search:
    """Ask `decide` for everything that a search within `bounds` has come to."""
    ways = pasts(bounds)
    reported = {lost.survivors for lost in findings.offline}
    return Search(
        bounds,
        findings,
        {survivors: ask_again(survivors, None) for survivors in set(map(logs_only, reported))},
        {survivors: [ask(survivors, past) for past in ways[tuple(sorted(map(part, survivors)))]] for survivors in reported},
    )


def ask(survivors: Survivors, past: Past | None) -> Answer:
    """Ask what `balanced` elects."""
    placed = in_past(survivors, past) if past else dict(enumerate(survivors))
    decision = decide(evidence(placed, past), BALANCED)
    assert bool(decision.choices) == (decision.action == Action.ELECT) == (decision.word in ACCEPTED[Strategy.BALANCED]), survivors
    return Answer(survivors, frozenset(placed[broker] for broker in decision.choices), decision.word, decision.reason)


def ask_again(survivors: Survivors, past: Past | None) -> Answer:
    """The same, and with the replicas in the other order, which only decides who of identical ones leads; and `aggressive`, which elects a replica
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
    return tuple(Replica(one.log, one.high_watermark, cleaned=one.cleaned, epochs=one.epochs) for one in survivors)


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
