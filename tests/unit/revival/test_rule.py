# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which partitions may get an empty leader."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, StatedReplicas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.rule import (
    REVIVED,
    Permitted,
    Situation,
    judge,
    objection_since,
)

BROKERS = st.integers(1, 6)
LISTS = st.lists(BROKERS, unique=True, max_size=3).map(tuple)
GONE = PartitionState("t", 0, "id", -1, 1, (1,), (), (1,), (), (1,), described_by=2)
CASE = Situation(GONE, (2,), StatedReplicas(3, (1,)))
PERMITTED = Permitted(frozenset({1}), frozenset({2, 3}))


@st.composite
def situations(draw: st.DrawFn) -> tuple[Situation, Permitted]:
    replicas = draw(LISTS.filter(bool))
    state = PartitionState(
        "t", 0, "id", draw(st.sampled_from([-1, 1, 2])), 1, replicas, draw(LISTS), draw(LISTS), draw(LISTS), (), described_by=2
    )
    second = draw(st.sampled_from([None, StatedReplicas(3, replicas), StatedReplicas(3, (6,))]))
    ongoing = draw(st.none() | st.builds(OngoingReassignment, LISTS, LISTS, LISTS))
    ends = draw(st.dictionaries(BROKERS, st.integers(0, 1)))
    case = Situation(state, draw(LISTS), second, ongoing, draw(st.none() | LISTS), draw(st.sampled_from([None, False, True])), ends)
    lost, unfenced = draw(st.frozensets(BROKERS)), draw(st.frozensets(BROKERS))
    return case, Permitted(lost, unfenced, draw(st.booleans()), draw(st.booleans()), draw(st.booleans()))


@given(situations())
def test_nothing_that_may_return_is_given_up(drawn: tuple[Situation, Permitted]) -> None:
    case, permitted = drawn
    verdict = judge(case, permitted)
    assert (verdict.why is None) == (verdict.outcome == REVIVED)
    state = case.state
    if verdict.outcome != REVIVED or state is None or state.leader in permitted.unfenced:
        return
    added = set() if case.ongoing is None else {*case.ongoing.adding}
    assert permitted.data_loss
    assert case.tiered is False
    assert {*state.isr, *state.eligible_leader_replicas, *state.last_known_elr, *(case.begun or ())} <= permitted.lost
    assert {*state.replicas} - added <= permitted.lost
    assert all(case.added_ends.get(broker) == 0 for broker in added)
    assert {*case.target} <= permitted.unfenced - permitted.lost and case.target
    assert case.second is not None and case.second.replicas == state.replicas
    assert case.ongoing is None or (case.begun is not None and case.ongoing.target == case.target)


def test_a_partition_of_lost_brokers_alone_is_revived() -> None:
    assert judge(CASE, PERMITTED) == (REVIVED, (1,), None)


def test_a_killed_run_is_continued() -> None:
    moving = replace(GONE, replicas=(2, 1))
    case = replace(CASE, state=moving, second=StatedReplicas(3, (2, 1)), ongoing=OngoingReassignment((2, 1), (2,), (1,)))
    assert judge(case, PERMITTED).why[0] == "reassignment_in_progress"  # type: ignore[index]
    assert judge(replace(case, begun=(1,), added_ends={2: 0}), PERMITTED) == (REVIVED, (1,), None)
    led = replace(case, state=replace(moving, leader=2, replicas=(2,)), begun=(1,), ongoing=None)
    assert judge(led, PERMITTED) == (REVIVED, (1,), None)
    assert judge(replace(led, begun=None), PERMITTED).outcome == Outcome.ALREADY_ONLINE


MOVING = replace(
    CASE,
    state=replace(GONE, replicas=(2, 3, 1)),
    target=(3, 2),
    second=StatedReplicas(3, (2, 3, 1)),
    ongoing=OngoingReassignment((3, 2, 1), (3, 2), (1,)),
    begun=(1,),
    added_ends={2: 0, 3: 0},
)


@pytest.mark.parametrize(
    ("case", "code"),
    [
        (replace(MOVING, state=replace(MOVING.state, isr=(1, 2))), "replica_not_lost"),  # type: ignore[type-var]
        (replace(MOVING, state=replace(MOVING.state, eligible_leader_replicas=(2,))), "replica_not_lost"),  # type: ignore[type-var]
        (replace(MOVING, state=replace(MOVING.state, last_known_elr=(2,))), "replica_not_lost"),  # type: ignore[type-var]
        (replace(MOVING, added_ends={2: 20, 3: 0}), "replica_returned"),
        (replace(MOVING, added_ends={3: 0}), "not_answered"),
    ],
)
def test_a_new_replica_that_has_copied_records_is_not_given_up(case: Situation, code: str) -> None:
    """The broker with the log returned after a run was killed, led, and was lost again: its records are on a replica that the run added."""
    assert judge(MOVING, PERMITTED) == (REVIVED, (1,), None)
    verdict = judge(case, PERMITTED)
    assert verdict.outcome == Outcome.HELD
    assert verdict.why is not None and verdict.why.code == code


@pytest.mark.parametrize(
    ("case", "permitted", "code"),
    [
        (replace(CASE, state=None), PERMITTED, "unknown_topic_or_partition"),
        (CASE, replace(PERMITTED, lost=frozenset()), "replica_not_lost"),
        (replace(CASE, state=replace(GONE, isr=(4,))), PERMITTED, "replica_not_lost"),
        (replace(CASE, tiered=True), PERMITTED, "not_revivable"),
        (replace(CASE, tiered=None), PERMITTED, "not_revivable"),
        (replace(CASE, state=replace(GONE, topic="__remote_log_metadata")), PERMITTED, "not_revivable"),
        (replace(CASE, state=replace(GONE, topic="__consumer_offsets")), PERMITTED, "must_be_named"),
        (replace(CASE, state=replace(GONE, topic="__transaction_state")), PERMITTED, "must_be_named"),
        (replace(CASE, target=()), PERMITTED, "unusable_replicas"),
        (replace(CASE, target=(2, 2)), PERMITTED, "unusable_replicas"),
        (replace(CASE, target=(4,)), PERMITTED, "unusable_replicas"),
        (CASE, replace(PERMITTED, data_loss=False), "data_loss_not_allowed"),
        (replace(CASE, second=None), PERMITTED, "no_second_broker"),
        (replace(CASE, second=StatedReplicas(3, (2,))), PERMITTED, "brokers_disagree"),
    ],
)
def test_a_doubt_holds_the_partition(case: Situation, permitted: Permitted, code: str) -> None:
    verdict = judge(case, permitted)
    assert verdict.outcome in (Outcome.HELD, Outcome.FAILED)
    assert verdict.why is not None and verdict.why.code == code


def test_internal_topics_and_fewer_replicas_have_options_of_their_own() -> None:
    internal = replace(CASE, state=replace(GONE, topic="__consumer_offsets"))
    assert judge(internal, replace(PERMITTED, internal_topics=True)).outcome == REVIVED
    verdict = judge(internal, PERMITTED)
    assert verdict.why is not None and "kafka_recovery_revive_internal_topics" in verdict.why.sentence, (
        "the name that the playbook has for it"
    )
    two = replace(CASE, state=replace(GONE, replicas=(1, 4)), second=StatedReplicas(3, (1, 4)))
    permitted = replace(PERMITTED, lost=frozenset({1, 4}))
    assert judge(two, permitted).outcome == Outcome.HELD
    assert judge(two, replace(permitted, fewer_replicas=True)).outcome == REVIVED


@given(situations(), st.integers(1, 3), st.sampled_from(["id", "other"]))
def test_nothing_is_elected_after_others_have_acted(drawn: tuple[Situation, Permitted], epoch: int, topic_id: str) -> None:
    case, permitted = drawn
    before = case.state
    assert before is not None
    now = replace(before, leader_epoch=epoch, topic_id=topic_id)
    why = objection_since(before, now, case.ongoing, case.target, permitted.unfenced)
    same = (epoch, topic_id) == (before.leader_epoch, before.topic_id) and now.leader not in permitted.unfenced
    ours = case.ongoing is not None and case.ongoing.target == case.target
    assert (why is None) == (same and ours and {*case.target} <= permitted.unfenced)
    assert objection_since(before, None, case.ongoing, case.target, permitted.unfenced) is not None
