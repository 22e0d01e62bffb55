# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Between a plan and its application the cluster moves on: what no longer stands is left alone, and the result says what moved."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from integration.breaking import create, delete_topics, lose_all_but
from integration.requestlog import RequestLog
from integration.support import Operator, failure

from rig import KafkaCluster, NewTopic


def the_result(result: dict[str, Any]) -> tuple[str, int | None, str]:
    """Outcome, leader and reason code of the only partition."""
    (row,) = result["results"]
    return row["outcome"], row["leader"], row["reason_code"] or ""


@pytest.mark.long
def test_a_survivor_that_comes_back_and_a_survivor_that_falls_silent(west: Operator) -> None:
    create(west.cluster, "survivors")
    lose_all_but(west.cluster, ["survivors"], survivors=[2])
    west.snapshot_and_plan("two", ["survivors"])
    west.cluster.start_node(3)
    west.cluster.wait_unfenced([3])
    log = RequestLog(west.cluster)
    assert the_result(west.apply("two")) == ("stale", None, "replica_returned")

    west.snapshot_and_plan("both", ["survivors"])
    assert log.written() == {}
    with west.cluster.unanswering(3):
        log = RequestLog(west.cluster)
        assert the_result(west.apply("both", request_timeout=2)) == ("stale", None, "survivor_silent")

        snapshot = west.snapshot("silent", ["survivors"], duration=3, request_timeout=2)
        assert [row["broker_id"] for row in snapshot["unreachable_brokers"]] == [3]
        assert snapshot["counts"]["replicas_silent"] == 1
        west.plan("silent", strategy="balanced")
        (held,) = west.read("plans", "silent")["held"]
        assert (held["reason_code"], held["candidate"]) == ("incomplete", 2)
        assert "broker 3" in held["explanation"]
        west.plan("silent", strategy="aggressive")
        (designated,) = west.read("plans", "silent")["partitions"]
        assert (designated["evidence"], designated["designatedLeader"]) == ("incomplete", 2)

        wanted = [{"topic": "survivors", "partition": 0, "designated_leader": 3}]
        params = {
            **west.connection,
            **west.files("named"),
            "partitions": wanted,
            "allow_data_loss": True,
            "duration": 3,
            "request_timeout": 2,
        }
        assert "survivors-0: broker 3 does not answer for its replica" in failure("kafka_designated_election", params)
        assert log.written() == {}

        # Only broker 2 states the replicas, and with broker 3 unfenced the election would need another order.
        assert the_result(west.apply("silent", request_timeout=2)) == ("held", None, "no_second_broker")
    # The remedy: broker 3 is stopped. Then the gap is accepted.
    west.cluster.terminate(3)
    west.cluster.wait_fenced([3])
    assert the_result(west.apply("silent", request_timeout=2))[:2] == ("elected", 2)
    assert west.states("survivors")["survivors", 0].replicas == (1, 3, 2)
    west.cluster.start_node(3)
    west.cluster.wait_unfenced([3])
    assert the_result(west.apply("both"))[:2] == ("already_online", 2)


def test_the_first_answer_after_the_duration_counts_for_the_strategy_aggressive(west: Operator) -> None:
    """The only survivor is unfenced and answers nothing until the time for the logs has passed."""
    cluster = west.cluster
    cluster.create_topics([NewTopic("late", [[1, 2]], {"unclean.leader.election.enable": "false", "min.insync.replicas": "1"})])
    cluster.terminate(2)
    cluster.wait_fenced([2])
    cluster.produce("late", 0, ["without broker 2"])
    cluster.kill(1)
    cluster.start_node(2)
    cluster.wait_unfenced([2])
    cluster.wait_for_partitions(["late"], lambda state: state.leader < 0, "without a leader")
    wanted = [{"topic": "late", "partition": 0}]
    options: dict[str, Any] = {"partitions": wanted, "duration": 4, "request_timeout": 2, "first_answer_seconds": 60}

    with cluster.unanswering(2):
        log = RequestLog(cluster)
        balanced = west.ask("kafka_replica_log_info", **west.files("in-time"), **options)
        assert balanced["counts"]["replicas_silent"] == 1, "nothing is waited for under another strategy"
        # Longer than all that is asked within the duration.
        answering = threading.Timer(12, cluster.resume, [2])
        answering.start()
        try:
            aggressive = west.ask("kafka_replica_log_info", **west.files("late"), **options, strategy="aggressive")
        finally:
            answering.join()
        assert log.written() == {}
    assert (aggressive["counts"]["replicas_answered"], aggressive["counts"]["replicas_silent"]) == (1, 0)
    west.plan("in-time", strategy="aggressive")
    assert [row["reason_code"] for row in west.read("plans", "in-time")["held"]] == ["no_survivor"]
    west.plan("late", strategy="aggressive")
    assert the_result(west.apply("late"))[:2] == ("elected", 2)


@pytest.mark.long
def test_a_clean_leader_on_its_way_is_waited_for_and_then_left_alone(west: Operator) -> None:
    cluster = west.cluster
    create(cluster, "returning")
    lose_all_but(cluster, ["returning"], survivors=[2, 3])
    west.snapshot_and_plan("before", ["returning"])
    log = RequestLog(cluster)

    cluster.start_held(1)
    cluster.wait_fetching(1)
    assert the_result(west.apply("before")) == ("held", None, "wait_for_clean_leader")
    (held,) = west.snapshot_and_plan("meanwhile", ["returning"])["held"]
    assert held["reason_code"] == "wait_for_clean_leader"
    assert the_result(west.apply("meanwhile"))[0] == "held"

    cluster.release(1)
    cluster.wait_unfenced([1])
    cluster.wait_for_partitions(["returning"], lambda state: state.leader == 1, "led by broker 1")
    assert the_result(west.apply("before"))[:2] == ("already_online", 1)
    assert [row["leader"] for row in west.snapshot_and_plan("after", ["returning"])["online"]] == [1]
    assert the_result(west.apply("after"))[:2] == ("already_online", 1)
    assert log.written() == {}

    # Lost once more, to the same survivors with longer logs: the plan from before must not be applied to them.
    cluster.wait_for_partitions(["returning"], lambda state: len(state.isr) == 3, "replicated again")
    lose_all_but(cluster, ["returning"], survivors=[2, 3])
    log = RequestLog(cluster)
    assert the_result(west.apply("before")) == ("stale", None, "leader_epoch_changed")
    assert log.written() == {}


def test_a_topic_that_was_created_again_is_another_topic(prepared: Callable[[str], Operator]) -> None:
    operator = prepared("recreated")
    delete_topics(operator.cluster, ["recreated"])
    operator.cluster.create_topics([NewTopic("recreated", [[2, 3]] * 4)])
    log = RequestLog(operator.cluster)
    result = operator.apply("1")
    assert result["summary"]["stale"] == 4
    assert all(row["reason_code"] == "topic_recreated" for row in result["results"])
    delete_topics(operator.cluster, ["recreated"])
    assert operator.apply("1")["summary"]["stale"] == 4
    assert "ELECT_LEADERS" not in log.written()


def test_a_plan_of_another_cluster_is_refused(prepared: Callable[[str], Operator], tmp_path: Path) -> None:
    plan = prepared("quiet").path("plans", "1")
    with KafkaCluster("other", brokers=1, heap="200m", request_log=True) as cluster:
        other, log = Operator(cluster, tmp_path), RequestLog(cluster)
        options = {"plan": str(plan), "allowed_strategies": ["aggressive"], "allow_data_loss": True}
        msg = failure("kafka_designated_election", {**other.connection, **other.files("1"), **options})
        assert str(plan) in msg
        assert prepared("quiet").cluster.cluster_id in msg
        assert cluster.cluster_id in msg
        assert log.written() == {}
