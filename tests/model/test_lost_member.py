# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The log of the last member of the ISR is known, from its disk: `decide` elects as the model's rule does, and gives up nothing that a survivor holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, Word, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from model.answers import Pasts, pasts
from model.evidence import Past, evidence, in_past, part
from model.partition import LEADER, NOTHING, Bounds, Lost, Partition, Replica, survivors_alone
from model.rules import lost_members
from model.search import destroys, states

SMALL: dict[str, Any] = {"records": 2, "epochs": 2}
SEARCHES = {
    "min ISR 1": Bounds(1, records=2, epochs=3),
    "min ISR 2": Bounds(2, records=2, epochs=3),
    "four": Bounds(2, replicas=4, **SMALL),
    "power cuts": Bounds(1, power_cuts=True, records=1, epochs=3),
    "unclean elections": Bounds(1, unclean_elections=True, **SMALL),
    "ELR": Bounds(2, eligible_leader_replicas=True, power_cuts=True, **SMALL),
    "min ISR changes": Bounds(2, min_isr_changes=True, **SMALL),
    "before Kafka 3.7": Bounds(2, commit_needs_min_isr=False, **SMALL),
}


class Case(NamedTuple):
    """A partition without a leader, and the log of its last leader as its disk has it."""

    lost: Lost
    member: Replica


def cases(bounds: Bounds) -> Iterator[Case]:
    """Everything that a partition can come to within bounds, with everything that crashes can make of survivors and member."""
    partition = Partition(bounds)
    before = set[tuple[Lost, Replica]]()
    for state in states(partition):
        replicas = partition.replicas(state)
        leader = next(one for one in replicas if one.role == LEADER)
        for places in partition.survivors(state):
            survivors = tuple(sorted(survivors_alone([replicas[place] for place in places])))
            before.add((Lost(state.committed, survivors), survivors_alone([leader])[0]))
    yield from {
        Case(after, member.survivors[0])
        for lost, leader in before
        for after in partition.crashed(lost)
        for member in partition.crashed(Lost((), (leader,)))
    }


def judged(case: Case, past: Past) -> Counter[str]:
    """What becomes of the partition with one history of its ISR."""
    lost, counted = case.lost, Counter[str]()
    placed = in_past(lost.survivors, past)
    broker = (*past.standing.isr, *past.standing.elr)[-1]
    known = evidence(placed, past, fenced={broker: case.member})
    balanced, aggressive = decide(known, Policy(Strategy.BALANCED)), decide(known, Policy(Strategy.AGGRESSIVE))
    without = evidence(placed, past)

    def places(brokers: tuple[int, ...]) -> set[int]:
        return {place for place, one in enumerate(lost.survivors) if one in [placed[broker] for broker in brokers]}

    def losing(brokers: tuple[int, ...]) -> bool:
        return any(destroys(lost, place) for place in places(brokers))

    proven = [(one.log, one.high_watermark) for one in lost.survivors]
    elected = places(balanced.choices)
    expected = lost_members(lost.survivors, [case.member.log], proven)
    counted["elected"] += bool(elected)
    counted["disagreed"] += elected != expected
    careless = lost_members([one._replace(since=NOTHING) for one in lost.survivors], [case.member.log], proven)
    counted["lost if another leader led"] += any(destroys(lost, place) for place in careless)
    counted["elected what the rule holds"] += bool(elected) and elected != expected
    counted["lost"] += losing(balanced.choices)
    by_member = aggressive.resolved and not decide(without, Policy(Strategy.AGGRESSIVE)).resolved
    counted["resolved by the member"] += by_member
    counted["elected by the member"] += by_member and balanced.word == Word.FORKED_RESOLVED and bool(elected)
    counted["lost though resolved"] += aggressive.word == Word.FORKED_RESOLVED and losing(aggressive.choices)
    counted["aggressive lost"] += losing(aggressive.choices)
    counted["aggressive lost without it"] += losing(decide(without, Policy(Strategy.AGGRESSIVE)).choices)
    return counted


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=() if name in ("min ISR 1", "power cuts") else pytest.mark.long) for name in SEARCHES],
)
def counted(request: pytest.FixtureRequest) -> tuple[str, Counter[str]]:
    bounds = SEARCHES[request.param]
    ways: Pasts = pasts(bounds)
    total = Counter[str]()
    for case in cases(bounds):
        for past in ways[tuple(sorted(map(part, case.lost.survivors)))]:
            total += judged(case, past)
    return request.param, total


def test_it_decides_as_the_model_and_gives_up_nothing_that_a_survivor_holds(counted: tuple[str, Counter[str]]) -> None:
    name, total = counted
    assert total["elected"], total
    assert not total["lost"] and not total["lost though resolved"], total
    assert not total["elected what the rule holds"], total
    if name not in ("min ISR changes", "before Kafka 3.7"):
        # The history has the least min ISR only, and proves nothing of an ISR before 3.7.
        assert not total["disagreed"], total
    assert total["aggressive lost"] <= total["aggressive lost without it"], total
    if name in ("min ISR 1", "four"):
        assert total["elected by the member"], total
    if name == "min ISR 1":
        assert total["aggressive lost"] == 0 < total["aggressive lost without it"], total
    if name in ("power cuts", "unclean elections"):
        assert total["lost if another leader led"], "or the condition would be idle"
