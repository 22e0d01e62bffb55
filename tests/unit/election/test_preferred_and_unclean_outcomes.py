# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts: whom an election is for, whom it elects, and what is said of it. That Kafka does so is tested with Kafka."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.preferred_and_unclean_outcomes import (
    MOST_CAUSES,
    NO_CANDIDATE,
    PREFERRED,
    UNCLEAN,
    VERDICTS,
    ElectionResult,
    expected_leader,
    judge,
    needed,
    outlook,
    remedy,
    summed_up,
    worst_first,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.config_changes import Refusal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState

TYPES = st.sampled_from((PREFERRED, UNCLEAN))


def led_by(leader: int, replicas: tuple[int, ...] = (1, 3, 2), **fields: tuple[int, ...]) -> PartitionState:
    lists: dict[str, Any] = {"isr": (), "eligible_leader_replicas": (), "last_known_elr": (), "offline_replicas": (), **fields}
    return PartitionState("t", 0, "id", leader, 5, replicas, **lists)


@st.composite
def states(draw: st.DrawFn) -> PartitionState:
    """As Kafka keeps them: a leader is alive and in the ISR; ISR and ELR have no member in common."""
    replicas = draw(st.permutations(range(1, 6)))[: draw(st.integers(1, 5))]
    offline = [broker for broker in replicas if draw(st.booleans())]
    alive = [broker for broker in replicas if broker not in offline]
    leader = draw(st.sampled_from([-1, *alive]))
    isr = [broker for broker in alive if broker == leader or draw(st.booleans())]
    eligible = [broker for broker in replicas if broker not in isr and draw(st.booleans())]
    known = [draw(st.sampled_from(replicas))] if draw(st.booleans()) else []
    return led_by(
        leader,
        tuple(replicas),
        isr=tuple(isr),
        eligible_leader_replicas=tuple(eligible),
        last_known_elr=tuple(known),
        offline_replicas=tuple(offline),
    )


@given(states(), TYPES)
def test_who_is_elected_is_a_live_replica_and_a_preferred_election_loses_nothing(state: PartitionState, election_type: str) -> None:
    leader = expected_leader(state, election_type)
    alive = set(state.replicas) - set(state.offline_replicas)
    clean = alive & {*(state.isr or state.eligible_leader_replicas)}
    if election_type == PREFERRED:
        assert leader == (state.replicas[0] if state.replicas[0] in clean else None)
    else:
        assert (leader is None) == (not alive)
        assert leader is None or leader in (clean or alive), "who can lead without loss comes before all others"


def test_an_eligible_replica_is_not_preferred_while_the_isr_has_a_member() -> None:
    assert expected_leader(led_by(2, (1, 2, 3), isr=(2, 3), eligible_leader_replicas=(1,)), PREFERRED) is None
    assert expected_leader(led_by(-1, (1, 2, 3), isr=(), eligible_leader_replicas=(1,)), PREFERRED) == 1


def test_an_unclean_election_takes_clean_ones_then_the_last_known_leader_then_the_first_that_is_alive() -> None:
    lost = led_by(-1, (1, 3, 2, 4), offline_replicas=(1,))
    assert expected_leader(lost, UNCLEAN) == 3
    assert expected_leader(replace(lost, last_known_elr=(4,)), UNCLEAN) == 4
    assert expected_leader(replace(lost, last_known_elr=(1,)), UNCLEAN) == 3
    assert expected_leader(replace(lost, last_known_elr=(4,), eligible_leader_replicas=(1,)), UNCLEAN) == 3
    assert expected_leader(replace(lost, last_known_elr=(4,), eligible_leader_replicas=(2,)), UNCLEAN) == 2
    assert expected_leader(replace(lost, last_known_elr=(4,), isr=(2,)), UNCLEAN) == 2


def test_with_elr_switched_off_the_last_known_leader_that_is_still_on_record_does_not_count() -> None:
    lost = led_by(-1, (1, 3, 2, 4), offline_replicas=(1,), last_known_elr=(4,))
    assert expected_leader(lost, UNCLEAN, elr=False) == 3
    assert expected_leader(replace(lost, eligible_leader_replicas=(2,)), UNCLEAN, elr=False) == 2


@given(states(), TYPES)
def test_what_is_elected_once_needs_no_election_again(state: PartitionState, election_type: str) -> None:
    result = outlook([state.key], {state.key: state}, election_type)[state.key]
    assert (result.error == kafka_errors.ELECTION_NOT_NEEDED) == (not needed(state, election_type)) == (result.outcome == "already_online")
    if result.outcome == "elected":
        elected = replace(state, leader=result.leader or -1)
        again = outlook([state.key], {state.key: elected}, election_type)[state.key]
        assert (again.outcome, again.error, again.leader) == ("already_online", kafka_errors.ELECTION_NOT_NEEDED, result.leader)
        assert judge(state, elected, election_type, None, False) == result
    else:
        assert result.outcome == "already_online" or result.error == NO_CANDIDATE[election_type]


def test_a_partition_that_is_not_visible_is_unknown_and_not_elected() -> None:
    result = outlook([("nowhere", 3)], {}, UNCLEAN)["nowhere", 3]
    assert (result.outcome, result.error, result.leader, result.preferred_leader) == (
        "failed",
        kafka_errors.UNKNOWN_TOPIC_OR_PARTITION,
        None,
        None,
    )


@given(states(), states(), TYPES, st.booleans())
def test_an_error_is_never_an_election(before: PartitionState, now: PartitionState, election_type: str, doubtful: bool) -> None:
    for error in set(VERDICTS) - {kafka_errors.ELECTION_NOT_NEEDED}:
        result = judge(before, now, election_type, Refusal(error, None) if error else None, doubtful)
        assert (result.outcome, result.error) == ("failed", error) and result.message
    assert judge(before, before, election_type, Refusal(kafka_errors.ELECTION_NOT_NEEDED, None), doubtful).outcome != "elected", (
        "nothing has changed"
    )
    assert judge(before, now, election_type, Refusal(kafka_errors.ELECTION_NOT_NEEDED, None), False).outcome != "elected"


def test_what_kafka_calls_elected_is_so_when_it_is_seen() -> None:
    offline, online = led_by(-1), led_by(3)
    assert judge(offline, offline, UNCLEAN, None, False).outcome == "failed"
    assert judge(offline, online, UNCLEAN, None, False) == ElectionResult("t", 0, "elected", 3, 1)
    assert judge(led_by(3), led_by(2), PREFERRED, None, False).outcome == "failed"
    assert judge(led_by(3), led_by(1), PREFERRED, None, False) == ElectionResult("t", 0, "elected", 1, 1)


def test_what_an_unanswered_request_may_have_elected_counts_as_elected() -> None:
    assert judge(led_by(-1), led_by(3), UNCLEAN, Refusal(kafka_errors.ELECTION_NOT_NEEDED, None), True).outcome == "elected"
    assert judge(led_by(-1), led_by(3), UNCLEAN, Refusal(kafka_errors.ELECTION_NOT_NEEDED, None), False).outcome == "already_online"


@pytest.mark.parametrize(
    ("error", "state", "code", "words"),
    [
        (kafka_errors.UNKNOWN_TOPIC_OR_PARTITION, None, "unknown_topic_or_partition", "grant DESCRIBE on the topic"),
        (kafka_errors.CLUSTER_AUTHORIZATION_FAILED, None, "cluster_authorization_failed", "grant ALTER on the cluster"),
        (NO_CANDIDATE[UNCLEAN], led_by(-1), "eligible_leaders_not_available", "none of its replicas [1, 3, 2] is on a live broker"),
        (NO_CANDIDATE[PREFERRED], led_by(3, offline_replicas=(1,)), "preferred_leader_offline", "broker 1, is not alive"),
        (NO_CANDIDATE[PREFERRED], led_by(3, isr=(3, 2)), "preferred_leader_not_in_sync", "broker 1, is not in its ISR [3, 2]"),
        (NO_CANDIDATE[PREFERRED], led_by(-1), "partition_offline", "kafka_designated_election"),
        ("NOT_CONTROLLER", led_by(3), "kafka_error", "run again"),
    ],
)
def test_every_error_has_a_remedy(error: str, state: PartitionState | None, code: str, words: str) -> None:
    reason = remedy(error, state)
    assert reason.code == code and words in reason.sentence


RESULTS = st.lists(
    st.builds(
        ElectionResult,
        st.sampled_from("abc"),
        st.integers(0, 30),
        st.sampled_from(("failed", "held", "elected", "already_online")),
        error=st.sampled_from((None, kafka_errors.UNKNOWN_TOPIC_OR_PARTITION, kafka_errors.ELECTION_NOT_NEEDED, *NO_CANDIDATE.values())),
        reason_code=st.sampled_from((None, "partition_offline", "preferred_leader_offline")),
    ),
    unique_by=lambda result: result.key,
)


@given(RESULTS)
def test_however_short_the_preview_it_shows_every_kind_of_trouble(results: list[ElectionResult]) -> None:
    ordered = worst_first(results)
    assert sorted(ordered, key=lambda row: row.key) == sorted(results, key=lambda row: row.key), "none is lost, none stands twice"
    kinds = {(row.outcome, row.error, row.reason_code) for row in results}
    assert {(row.outcome, row.error, row.reason_code) for row in ordered[: len(kinds)]} == kinds
    assert [row.outcome == "failed" for row in ordered[: len(kinds)]] == sorted(
        (row.outcome == "failed" for row in ordered[: len(kinds)]), reverse=True
    )


def test_the_summary_names_the_first_partitions_of_each_error_and_counts_the_rest() -> None:
    results = [ElectionResult("t", number, "failed", error=kafka_errors.UNKNOWN_TOPIC_OR_PARTITION, message="why") for number in range(5)]
    results += [ElectionResult("u", 0, "failed", message="no broker answered"), ElectionResult("u", 1, "elected")]
    assert summed_up(results) == (
        f"6 of 7 partitions could not be elected; t-0, t-1, t-2 and 2 more: {kafka_errors.UNKNOWN_TOPIC_OR_PARTITION}: why; u-0: no broker answered"
    )


def test_the_summary_gives_unlike_causes_of_one_error_a_clause_each() -> None:
    error = NO_CANDIDATE[PREFERRED]

    def failed(partition: int, code: str, message: str) -> ElectionResult:
        return ElectionResult("t", partition, "failed", error=error, reason_code=code, message=message)

    no_disk, behind = "preferred_leader_offline", "preferred_leader_not_in_sync"

    results = [
        failed(0, no_disk, "broker 4 has no disk"),
        *(failed(number, behind, f"broker {number} is not in its ISR [{number}, 9]") for number in (1, 2)),
    ]
    results += [failed(3, behind, "broker 4 is not in its ISR [9]"), failed(4, no_disk, "broker 4 has no disk")]
    assert summed_up(results) == (
        "5 of 5 partitions could not be elected; "
        f"t-1, t-2, t-3: {error}: for t-1, broker 1 is not in its ISR [1, 9]; t-0, t-4: {error}: broker 4 has no disk"
    )


def test_the_summary_counts_the_partitions_of_rarer_causes() -> None:
    causes = [ElectionResult("t", number, "failed", reason_code=letter, message=letter * 9) for number, letter in enumerate("abcdefg")]
    text = summed_up([*causes, ElectionResult("t", 9, "failed", reason_code="g", message="g" * 9)])
    assert text.startswith("8 of 8 partitions could not be elected; t-6, t-9: ggggggggg; t-0: aaaaaaaaa; ")
    assert text.count("; ") == MOST_CAUSES + 1 and text.endswith("; and 2 more partitions for other reasons")
