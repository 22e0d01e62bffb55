# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller's rule. That it is Kafka's own is shown in tests/integration/test_controller_rule.py."""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations, permutations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from partition_registrations import REPLICAS, WAITING, partitions

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision import controller
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import (
    Election,
    ElectionConfig,
    Registration,
    Why,
    after_fencing,
    after_losses,
    after_unclean_shutdown,
    elected,
    elr_is_on,
    origins,
    possible,
    waited_for,
)


def test_the_last_known_leader_is_elected_only_where_isr_and_elr_are_empty() -> None:
    assert elected(WAITING, {2, 3}, elr=True, unclean=False) is None
    assert elected(Registration(REPLICAS, (), (), (2,)), {2, 3}, elr=True, unclean=False) == Election(2, Why.LAST_KNOWN_LEADER)


def test_with_the_feature_off_a_member_of_the_elr_is_elected_until_the_controller_has_looked_once() -> None:
    """The ELR of before stands until the partition next changes. Seen on 4.3.1, where the feature was set to 0 while the partition had no leader."""
    partition, config = Registration(REPLICAS, (), (1,), (2,)), ElectionConfig(elr=False, unclean=False)
    assert elected(partition, {1}, elr=False, unclean=False) == Election(1, Why.ELR)
    for clean in (True, False):
        assert possible(partition, (), config, [(1, clean)]) == {Election(1, Why.ELR)}, "only with the feature is it taken off the ELR"
        assert possible(partition, (), config, [(3, True), (1, clean)]) == {None}, "the return of broker 3 has emptied the ELR"


def test_with_the_feature_off_no_last_known_leader_is_elected() -> None:
    partition = Registration(REPLICAS, (), (), (2,))
    assert elected(partition, {2}, elr=False, unclean=False) is None
    assert elected(partition, {1, 2}, elr=False, unclean=True) == Election(1, Why.UNCLEAN)
    assert waited_for(partition, {1, 2}, elr=False) == set()
    assert waited_for(partition, {1, 2}, elr=None) == waited_for(partition, {1, 2}, elr=True) == {2}


def test_no_broker_is_waited_for_that_the_controller_never_elects() -> None:
    assert waited_for(WAITING, {2, 3}, elr=True) == set()
    assert waited_for(WAITING, {1, 3}, elr=True) == {1}
    assert waited_for(WAITING, {1, 2, 3}, elr=True) == {1, 2}, "1 may have been shut down uncleanly, and leave the ELR"


@pytest.mark.parametrize("elr", [False, True, None])
@pytest.mark.parametrize("partition", partitions())
def test_who_is_waited_for_are_those_whom_some_order_of_returns_makes_leader(partition: Registration, elr: bool | None) -> None:
    config = ElectionConfig(elr, unclean=False)
    for present in ((), (1,), (2,), (3,), (1, 2), (1, 3), (2, 3), REPLICAS):
        elections = {
            election
            for order in permutations(present)
            for election in possible(partition, (), config, [(broker, None) for broker in order])
            if election is not None
        }
        assert waited_for(partition, present, elr) == {election.broker for election in elections}


def test_what_is_not_known_makes_an_election_possible() -> None:
    partition = Registration(REPLICAS, (), (1,))
    assert possible(partition, {2}, ElectionConfig(elr=True, unclean=None)) == {None, Election(2, Why.UNCLEAN)}
    assert possible(partition, {2}, ElectionConfig(elr=True, unclean=False), [(1, True)]) == {Election(1, Why.ELR)}
    assert possible(partition, {2}, ElectionConfig(elr=True, unclean=False), [(1, None)]) == {Election(1, Why.ELR), None}


@pytest.mark.parametrize("elr", [False, True, None])
@pytest.mark.parametrize("partition", partitions())
def test_a_broker_has_an_origin_beside_an_unclean_election_if_it_may_be_waited_for(partition: Registration, elr: bool | None) -> None:
    for broker in REPLICAS:
        for back in ((), *(tuple(other for other in REPLICAS if other not in (broker, absent)) for absent in REPLICAS)):
            reasons = origins(partition, broker, (), back, elr)
            own = {why for whys in reasons.values() for why in whys} - {Why.UNCLEAN}
            assert bool(own) == (broker in waited_for(partition, {broker, *back}, elr))


@pytest.mark.parametrize("partition", partitions())
def test_origins_are_all_elections_that_some_order_of_returns_makes_possible(partition: Registration) -> None:
    config = ElectionConfig(elr=True, unclean=None)
    for order in permutations(REPLICAS):
        for number, broker in enumerate(order):
            for clean in (True, False):
                back = [(other, None) for other in order[:number]]
                elections = possible(partition, (), config, [*back, (broker, clean)])
                whys = {election.why for election in elections if election is not None and election.broker == broker}
                assert whys <= origins(partition, broker, (), order[:number], True)[clean]


@pytest.mark.parametrize("elr", [False, True])
@pytest.mark.parametrize("partition", [one for one in partitions() if not one.last_known_elr])
def test_the_leaders_after_a_loss_are_those_of_every_order_in_which_brokers_are_fenced(partition: Registration, elr: bool) -> None:
    for leader, lost, min_isr in product(partition.isr, ((1,), (1, 2), (1, 3), (2, 3), REPLICAS), (1, 2, 3)):
        led, leaders = partition._replace(leader=leader), set()
        for order in permutations(lost):
            kept = led
            for number, broker in enumerate(order, 1):
                kept = after_fencing(kept, broker, {*REPLICAS} - {*order[:number]}, elr, min_isr)
            leaders.add(kept.leader)
        found = after_losses(led, lost, REPLICAS, ElectionConfig(elr, unclean=False, min_isr=min_isr))
        assert {one.leader for one in found} == leaders, (led, lost, min_isr)


def test_a_fenced_member_of_the_isr_stays_eligible_only_with_the_feature() -> None:
    partition = Registration(REPLICAS, (1, 2), (), (), leader=1)
    assert after_fencing(partition, 1, {2, 3}, elr=True, min_isr=2) == Registration(REPLICAS, (2,), (1,), (), 2)
    assert after_fencing(partition, 1, {2, 3}, elr=False, min_isr=2) == Registration(REPLICAS, (2,), (), (), 2)
    last = partition._replace(isr=(1,))
    assert after_fencing(last, 1, {2, 3}, elr=True, min_isr=2) == Registration(REPLICAS, (), (1,), (1,), -1)
    assert after_fencing(last, 1, {2, 3}, elr=False, min_isr=2) == Registration(REPLICAS, (1,), (), (), -1)
    assert after_fencing(last, 3, {1, 2}, elr=True, min_isr=2) == last


def test_a_member_of_the_elr_that_becomes_leader_leaves_the_elr_and_no_other_does() -> None:
    partition = Registration(REPLICAS, (3,), (1, 2), (), leader=3)
    assert after_fencing(partition, 3, {1, 2}, elr=True, min_isr=2) == Registration(REPLICAS, (1,), (2, 3), (), 1)
    assert after_fencing(partition, 3, {2}, elr=True, min_isr=2) == Registration(REPLICAS, (2,), (1, 3), (), 2)


@pytest.mark.parametrize("left", [2, 3])
def test_the_elr_is_empty_while_the_isr_has_enough_members(left: int) -> None:
    partition = Registration((1, 2, 3, 4, 5), (1, 2, 3, 4)[: left + 1], (5,), leader=1)
    for change in (after_unclean_shutdown(partition, 1, True, 2), after_fencing(partition, 1, {2, 3, 4, 5}, elr=True, min_isr=2)):
        assert (change.isr, change.elr) == (partition.isr[1:], ())


def test_broker_0_can_be_the_last_known_leader_and_the_next_one() -> None:
    partition = Registration((0, 1), (0,), (1,), (), leader=0)
    assert after_fencing(partition, 0, (), elr=True, min_isr=2) == Registration((0, 1), (), (1, 0), (0,), -1)
    assert after_fencing(Registration((0, 1), (1,), (0,), (), 1), 1, {0}, elr=True, min_isr=2) == Registration((0, 1), (0,), (1,), (), 0)


def test_a_partition_without_a_leader_keeps_its_last_known_leader() -> None:
    partition = Registration(REPLICAS, (3,), (), (2,))
    assert after_fencing(partition, 3, {1, 2}, elr=True, min_isr=2) == Registration(REPLICAS, (), (3,), (2,), -1)
    assert after_fencing(partition, 1, {2, 3}, elr=True, min_isr=2) == Registration(REPLICAS, (3,), (), (2,), -1)


def test_every_number_of_in_sync_replicas_that_is_not_known_counts_after_a_loss() -> None:
    """Only if all must be in sync does the first one that leaves the ISR enter the ELR."""
    found = after_losses(Registration(REPLICAS, REPLICAS, leader=1), [1], REPLICAS, ElectionConfig(elr=True, unclean=False))
    assert found == {Registration(REPLICAS, (2, 3), elr, (), 2) for elr in ((), (1,))}
    found = after_losses(Registration(REPLICAS, (1,), leader=1), [1], REPLICAS, ElectionConfig(elr=True, unclean=False))
    assert found == {Registration(REPLICAS, (), (1,), (1,), -1)}, "without in-sync replicas there are never enough"


def test_every_number_of_in_sync_replicas_that_is_not_known_counts_for_an_election() -> None:
    config = ElectionConfig(elr=True, unclean=False)
    back = [(1, False), (2, False), (3, True)]
    assert possible(Registration(REPLICAS, (1, 2), (3,)), (), config, back) == {Election(3, Why.ELR), None}, (
        "one may be enough: then the ELR is emptied"
    )
    assert possible(Registration((1,), (1,)), (), config, [(1, True)]) == {Election(1, Why.ISR)}


def test_the_level_of_the_feature_says_whether_there_are_eligible_leader_replicas() -> None:
    assert [elr_is_on(level) for level in (None, 0, 1, 2)] == [None, False, True, True]


def test_what_is_not_known_leaves_several_registrations_after_a_loss() -> None:
    partition = Registration(REPLICAS, (1, 2), (3,), (), leader=1)
    for config in (ElectionConfig(elr=None, unclean=False, min_isr=3), ElectionConfig(elr=True, unclean=False)):
        assert {kept.leader for kept in after_losses(partition, [1, 2], REPLICAS, config)} == {3, -1}


def walked(
    partition: Registration, broker: int, live: Collection[int], back: Collection[int], elr: bool | None
) -> dict[bool, frozenset[Why]]:
    """Return what `origins` does, from every subset of the other brokers and every min.insync.replicas."""
    isr = [member for member in partition.isr if member in {*live, *back} and member != broker]
    elr_only = [member for member in partition.elr if member in {*live, *back} and member != broker and member not in isr]
    others = {*live} - {*partition.isr, *partition.elr, broker}
    found: dict[bool, set[Why]] = {True: set(), False: set()}
    for keeps_elr, min_isr in product((False, True) if elr is None else (elr,), range(1, len(partition.replicas) + 1)):
        for order in ((*isr, *elr_only), (*elr_only, *isr)):
            for returned in (chosen for size in range(len(order) + 1) for chosen in combinations(order, size)):
                left = partition
                for member in returned:
                    left = after_unclean_shutdown(left, member, keeps_elr, min_isr)
                for clean in (True, False):
                    now = left if clean else after_unclean_shutdown(left, broker, keeps_elr, min_isr)
                    election = elected(now, {broker, *returned, *others}, keeps_elr, True)
                    if election is not None and election.broker == broker:
                        found[clean].add(election.why)
    return {clean: frozenset(reasons) for clean, reasons in found.items()}


@st.composite
def returns(draw: st.DrawFn) -> tuple[Registration, int, set[int], set[int], bool | None]:
    replicas = tuple(draw(st.permutations(range(draw(st.integers(1, 6))))))
    some = st.lists(st.sampled_from(replicas), unique=True)
    known = draw(st.lists(st.sampled_from(replicas), unique=True, max_size=2))
    partition = Registration(replicas, tuple(draw(some)), tuple(draw(some)), tuple(known))
    broker = draw(st.sampled_from(replicas))
    back = {*draw(some)} - {broker}
    return partition, broker, draw(st.sets(st.sampled_from(replicas))) - {broker}, back, draw(st.sampled_from((False, True, None)))


@settings(max_examples=400)
@given(returns())
def test_origins_are_those_of_every_subset_of_returns(case: tuple[Registration, int, set[int], set[int], bool | None]) -> None:
    assert origins(*case) == walked(*case)


@pytest.mark.parametrize("members", ["isr", "elr"])
def test_the_work_for_origins_does_not_double_with_every_replica(monkeypatch: pytest.MonkeyPatch, members: str) -> None:
    asked = []

    def watched(*arguments: Any) -> Election | None:
        asked.append(arguments)
        return elected(*arguments)

    monkeypatch.setattr(controller, "elected", watched)
    replicas = tuple(range(14))
    partition = Registration(replicas, replicas if members == "isr" else (), replicas if members == "elr" else ())
    origins(partition, 0, (), replicas[1:], None)
    assert 0 < len(asked) < 2 ** len(replicas[1:])
