# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is written to a cluster and what is not, by the cluster's own record of requests."""

from __future__ import annotations

from collections.abc import Callable

from integration.requestlog import RequestLog
from integration.support import Operator, by_partition, outcomes

# Three of the four partitions name the worse survivor first: one request puts them best-first, one puts them back.
ONE_ELECTION = {"ALTER_PARTITION_REASSIGNMENTS": 2, "ELECT_LEADERS": 1}


def test_an_election_writes_three_requests_and_a_second_run_none(prepared: Callable[[str], Operator]) -> None:
    operator = prepared("twice")
    before = operator.states("twice")

    first = RequestLog(operator.cluster)
    assert operator.apply("1")["changed"]
    assert first.written() == ONE_ELECTION
    operator.in_order_again(before)

    elected, second = operator.states("twice"), RequestLog(operator.cluster)
    again = operator.apply("1")
    assert second.written() == {}
    assert not again["changed"]
    assert again["summary"]["already_online"] == 4
    assert {state.leader_epoch for state in operator.states("twice").values()} == {state.leader_epoch for state in elected.values()}


def test_a_second_recovery_from_the_start_writes_nothing(east: Operator) -> None:
    assert {row["outcome"] for row in east.recover("1", ["anew"]).values()} == {"elected"}
    log = RequestLog(east.cluster)
    assert {row["outcome"] for row in east.recover("2", ["anew"]).values()} == {"already_online"}
    assert log.written() == {}


def test_check_mode_foretells_the_election_and_writes_nothing(prepared: Callable[[str], Operator]) -> None:
    operator = prepared("quiet")
    plan, before, log = by_partition(operator.read("plans", "1")["partitions"]), operator.states("quiet"), RequestLog(operator.cluster)
    foretold = operator.apply("1", "check", check=True, diff=True)
    assert log.written() == {}
    assert operator.states("quiet") == before
    assert foretold["changed"]
    assert foretold["results_path"] == ""
    assert not operator.path("results", "check").exists()
    for row in foretold["results"]:
        assert (row["outcome"], row["leader"]) == ("elected", plan[row["topic"], row["partition"]]["designatedLeader"])
    assert foretold["diff"]["before"].count("no leader") == foretold["diff"]["after"].count("leader 2") == 4


def test_without_leave_to_lose_data_nothing_is_written_and_the_results_say_why(prepared: Callable[[str], Operator]) -> None:
    operator = prepared("quiet")
    before, log = operator.states("quiet"), RequestLog(operator.cluster)
    reported = operator.apply("1", "held", allow_data_loss=False)
    assert log.written() == {}
    assert operator.states("quiet") == before
    assert not reported["changed"]
    results = operator.read("results", "held")
    assert outcomes(results["partitions"]) == {"quiet": {"held"}}
    assert all(row["reason_code"] == "data_loss_not_allowed" for row in results["partitions"])
    assert results["summary"]["held"] == 4


def test_asking_gathering_and_planning_write_nothing(east: Operator) -> None:
    before, log = east.states("quiet"), RequestLog(east.cluster)
    east.ask("kafka_partition_info", state="under_min_isr")
    east.snapshot_and_plan("1", ["quiet"])
    assert log.written() == {}
    assert east.states("quiet") == before


def test_partitions_with_a_live_leader_stay_unchanged_whichever_broker_is_designated(prepared: Callable[[str], Operator]) -> None:
    operator = prepared("online")
    operator.apply("1")
    before, log = operator.states("online"), RequestLog(operator.cluster)
    wanted = [{"topic": topic, "partition": partition, "designated_leader": 3} for topic, partition in before]
    result = operator.ask("kafka_designated_election", **operator.files("2"), partitions=wanted, allow_data_loss=True)
    assert not result["changed"]
    assert [(row["outcome"], row["leader"]) for row in result["results"]] == [("already_online", 2)] * 4
    assert log.written() == {}
    assert {state.leader for state in operator.states("online").values()} == {2}
