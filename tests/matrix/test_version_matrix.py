# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every scenario on every release, with ELR on and off: the same outcomes, and what is expected to differ."""

from __future__ import annotations

from collections import Counter

import pytest
from matrix.cells import EXPECTED, PARTITIONS, ROLES, UNREAD
from matrix.course import DEAD, LAGGING, LOST, RETURNING, Course

from rig import jars, patches

PROVEN = {"forked_proven": "forked", "below_high_watermark": "forked"}  # depends on how far the survivors' high watermarks came
every_scenario = pytest.mark.parametrize("scenario", list(EXPECTED))


@every_scenario
def test_outcome(course: Course, scenario: str) -> None:
    expected, first = course.cell.expected(scenario), course.first
    held, elected = ({(row["topic"], row["partition"]): row for row in first.plan[part]} for part in ("held", "partitions"))
    for key in course.of(scenario):
        row, before, after = first.results[key], course.before[key], first.after[key]
        assert row["outcome"] == expected.outcome
        assert after.replicas == before.replicas, "the replica order stands as it stood"
        if expected.outcome == "elected":
            assert elected[key]["evidence"] == expected.evidence
            assert after.leader == row["leader"] == row["designated_leader"] == elected[key]["designatedLeader"]
            assert after.leader_epoch == before.leader_epoch + 1, "one election, no more"
            assert course.read[key] == course.expected_end(key, after.leader), "every record that the chosen leader held"
        else:
            assert (after.leader, after.leader_epoch) == (before.leader, before.leader_epoch)
        if expected.outcome == "held":
            assert PROVEN.get(held[key]["reason_code"], held[key]["reason_code"]) == expected.reason


@every_scenario
def test_what_is_kept(course: Course, scenario: str) -> None:
    assert course.kept[scenario].lost == PARTITIONS * course.cell.expected(scenario).lost, "only what no survivor held"


@every_scenario
def test_a_second_run_changes_nothing(course: Course, scenario: str) -> None:
    again = {"elected": "already_online"}
    assert not course.second.elected["changed"]
    for key in course.of(scenario):
        outcome = course.first.results[key]["outcome"]
        assert course.second.results[key]["outcome"] == again.get(outcome, outcome)
        one, other = course.first.after[key], course.second.after[key]
        assert (one.leader, one.leader_epoch, one.replicas) == (other.leader, other.leader_epoch, other.replicas)


def test_the_best_survivor_leads(course: Course) -> None:
    leaders = {topic: Counter(course.first.after[key].leader for key in course.of(topic)) for topic in ("lagging", "identical", "resolved")}
    assert leaders["lagging"] == {ROLES.ahead: PARTITIONS}
    assert leaders["resolved"] == {-1 if "resolved" in course.cell.held_forks else ROLES.ahead: PARTITIONS}
    assert leaders["identical"] == dict.fromkeys(ROLES.survivors, PARTITIONS // 2), "leadership is shared out"


def test_forks_are_decided_by_the_last_written_epoch_under_aggressive(course: Course) -> None:
    for key in (key for topic in course.cell.held_forks for key in course.of(topic)):
        row, after = course.aggressive.results[key], course.aggressive.after[key]
        assert (row["outcome"], row["leader"], after.leader) == ("elected", ROLES.ahead, ROLES.ahead)
        assert after.replicas == course.before[key].replicas, "the replica order stands as it stood"
        assert course.read[key] == course.expected_end(key, ROLES.ahead), "every record that the chosen leader held"


def test_an_isr_history_of_brokers_that_commit_with_a_small_isr_resolves_no_fork(course: Course) -> None:
    explained = [row["explanation"] for row in course.first.plan["held"] if row["topic"] == "resolved"]
    assert len(explained) == (0 if course.cell.proves_by_isr_history else PARTITIONS)
    assert all("metadata.version was below 3.7-IV0" in explanation for explanation in explained)


def test_a_clean_leader_that_was_waited_for_loses_nothing(course: Course) -> None:
    assert {state.leader for state in course.returned.values()} == {ROLES.returning}
    assert course.kept[RETURNING].lost == 0
    assert course.kept[RETURNING].kept == PARTITIONS * UNREAD


def test_a_lost_broker_that_is_back_leads_what_no_other_broker_held(course: Course) -> None:
    assert {course.healed[key].leader for key in course.of(DEAD)} == {LOST}
    assert course.kept_healed[DEAD].lost == 0


def test_a_preferred_election_makes_the_first_replica_lead_again_and_loses_nothing(course: Course) -> None:
    once, twice = course.preferred
    assert (once["changed"], once["summary"]["elected"]) == (True, PARTITIONS)
    assert (twice["changed"], twice["errors"]) == (False, {"ELECTION_NOT_NEEDED": PARTITIONS})
    for key in course.of(LAGGING):
        assert course.healed[key].leader == course.before[key].replicas[0] == LOST
        assert course.healed[key].leader_epoch == course.second.after[key].leader_epoch + 1, "one election, no more"
    assert course.kept_healed[LAGGING] == course.kept[LAGGING]


def test_the_isr_history_is_read_whole(course: Course) -> None:
    assert (course.history["doubt"], course.history["from_snapshot"]) == (None, False)


def test_what_a_partition_without_leader_looks_like(course: Course) -> None:
    rows = [row for row in course.partitions["partitions"] if row["topic"] in ("lagging", "identical", "forked")]
    assert len(rows) == 3 * PARTITIONS
    elr = course.cell.elr
    isr, eligible = ([], [1]) if elr else ([1], [])
    assert {(tuple(row["isr"]), tuple(row["eligible_leader_replicas"])) for row in rows} == {(tuple(isr), tuple(eligible))}
    assert {tuple(row["last_known_elr"]) for row in rows} <= {(), (1,)}, "no broker but the last leader"


def test_an_eligible_leader_replica_leads_without_an_unclean_election(course: Course) -> None:
    led = {course.before[key].leader for key in course.of("resolved")}
    assert led == ({ROLES.ahead} if course.cell.elr else {-1})


def test_brokers_are_unfenced_or_silent_or_coming_back(course: Course) -> None:
    states = {row["broker_id"]: row["broker_state"] for row in course.partitions["brokers"]}
    assert states == {1: "fenced", 2: "unfenced", 3: "unfenced", 4: "coming_back"}, "whatever the cluster itself lists"
    listed = {1, 2, 3, 4} if course.cell.lists_fenced_brokers else {2, 3}
    assert course.offers.described.keys() == listed
    fenced = {broker_id: fenced for broker_id, (_address, fenced) in course.offers.described.items()}
    assert fenced == ({1: True, 2: False, 3: False, 4: True} if course.cell.lists_fenced_brokers else {2: None, 3: None})


def test_the_quorum_is_calm_and_says_whether_it_canvasses_before_elections(course: Course) -> None:
    assert course.quorum["verdict"] == "stable"
    assert course.quorum["pre_vote_supported"] is course.cell.pre_vote


def test_messages_and_features(course: Course) -> None:
    cell, offers = course.cell, course.offers
    missing = [name for name, versions in (offers.to_brokers | offers.to_controllers).items() if versions is None]
    assert missing == ([] if cell.describes_topic_partitions else ["DescribeTopicPartitions"])
    assert offers.to_brokers["ElectLeaders"] == (0, 2), "KIP-1275's version 3 is in no release"
    assert (offers.key_93 is not None) == cell.key_93_is_taken, "nor is its GetReplicaLogInfo"
    low, high = offers.to_brokers["Fetch"] or (0, 0)
    assert low <= 12 <= high, "Fetch v12 reads a follower's log up to its end"
    assert offers.supported.get("eligible.leader.replicas.version") == ((0, 1) if cell.knows_elr else None)
    # A feature at level 0 is not listed.
    assert offers.finalized.get("eligible.leader.replicas.version", 0) == int(cell.elr)
    assert offers.elr_by_default == cell.elr_by_default
    assert offers.metadata_version.startswith(cell.release)


@pytest.mark.skipif(jars.chosen_tool() == "ivy", reason="Maven is not installed")
@pytest.mark.parametrize("release", ["3.9", "4.3"])
def test_both_clients_find_the_same_newest_patch(release: str) -> None:
    assert patches.newest_patch(release, "maven") == patches.newest_patch(release, "ivy")
