# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`decide` itself, asked on every state without a leader that the searches reach: it is the model's rule, and it gives up no committed record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, Word, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from model.answers import Answer, Search, answer_all, ask_again
from model.comparison import not_compared
from model.coverage import SMALL, VARIANTS
from model.evidence import evidence, past_of
from model.partition import Bounds
from model.rules import (
    Rule,
    isr_history,
    isr_history_trusting_disks,
    last_to_leave,
    last_written_epoch,
    log_end_offset,
    ours,
)
from model.search import Findings, destroys, search
from model.traces import traces

# Each distinct history of the ISR, and how survivors' logs may lie with it.
HISTORY_BOUNDS = (
    Bounds(1, records=2, epochs=3),
    Bounds(2, records=2, epochs=3, unclean_elections=True),
    Bounds(2, replicas=4, records=2, epochs=2),
)
# Two others have all of its conditions but one.
AGGRESSIVE = Policy(Strategy.AGGRESSIVE)
LARGEST = {"4 replicas, 3 epochs, power cuts, ELR"}


def disagreements(answers: Iterable[Answer], rule: Rule) -> list[Answer]:
    """What `decide` and `rule` decide differently."""
    return [answer for answer in answers if answer.places != rule(answer.survivors)]


def answers_of(search: Search) -> list[Answer]:
    return [answer for answers in search.by_history.values() for answer in answers]


@pytest.fixture(scope="module")
def searches(found: dict[int, Findings], four: Findings) -> list[Search]:
    """The exhaustive searches. Four replicas bring sets of three survivors."""
    return [answer_all(found[1], Bounds(1)), answer_all(found[2], Bounds(2)), answer_all(four, Bounds(2, replicas=4, **SMALL))]


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
    for answers in (*map(answers_of, searches), ways):
        assert disagreements(answers, isr_history) == []
    assert Counter(answer.word for answer in ways)[Word.FORKED_RESOLVED] > 500


def test_what_it_elects_loses_no_committed_record(searches: list[Search]) -> None:
    for one in searches:
        counted = one.losing()
        assert (counted["lost by logs"], counted["lost by history"]) == (0, 0)
        assert counted["elected by logs"]
    assert counted["elected by history"] > counted["elected by logs"]


@pytest.mark.parametrize("variant", [pytest.param(name, marks=[pytest.mark.long] * (name in LARGEST)) for name in VARIANTS])
def test_that_holds_whatever_else_happens(variant: str) -> None:
    bounds = VARIANTS[variant]
    result = answer_all(search(bounds), bounds)
    counted = result.losing()
    assert (counted["lost by logs"], counted["lost by history"]) == (0, 0)
    assert counted["elected by logs"]
    assert disagreements(result.by_logs.values(), ours) == []
    differing = disagreements(answers_of(result), isr_history)
    if bounds.min_isr_changes or not bounds.commit_needs_min_isr:
        # The metadata log is asked for the least min ISR only, and brokers before 3.7 are believed nothing: then it may hold what the rule elects.
        assert differing
        assert not any(answer.elected for answer in differing)
    else:
        assert differing == []


@pytest.mark.parametrize("bounds", [Bounds(2, replicas=4, **SMALL), VARIANTS["ELR"], VARIANTS["min ISR goes from 2 to 1 and back"]])
def test_the_best_of_logs_that_were_not_compared_loses_nothing_if_kafka_itself_loses_nothing(bounds: Bounds) -> None:
    """The controller may elect it from the replica order, and `aggressive` elects it. A broker that crashed has forgotten its high watermark."""
    places = Counter[int]()
    for lost in search(bounds).offline:
        best = decide(evidence(dict(enumerate(lost.survivors)), compare=not_compared), AGGRESSIVE).ranked[0].broker_id
        assert not destroys(lost, best), lost
        places[best] += 1
    assert len(places) > 1


@pytest.mark.parametrize("rule", [log_end_offset, last_written_epoch])
def test_the_comparison_distinguishes_rules(searches: list[Search], rule: Rule) -> None:
    assert all(disagreements(search.by_logs.values(), rule) for search in searches)


@pytest.mark.parametrize("rule", [ours, isr_history_trusting_disks, last_to_leave])
def test_the_comparison_of_histories_distinguishes_rules(ways: list[Answer], rule: Rule) -> None:
    assert disagreements(ways, rule)


def test_what_is_held_is_held_for_its_fork(searches: list[Search], ways: list[Answer]) -> None:
    logs = [answer for search in searches for answer in search.by_logs.values()]
    held = {answer.reason for answer in (*logs, *(answer for search in searches for answer in answers_of(search)), *ways) if answer.reason}
    assert held == {Word.FORKED, Word.FORKED_PROVEN, Word.BELOW_HIGH_WATERMARK}
