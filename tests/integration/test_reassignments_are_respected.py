# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reassignment under way: a new replica order would replace it, so only partitions that need none are elected."""

from __future__ import annotations

from integration.requestlog import RequestLog
from integration.support import Operator, by_partition, run_module

TOPIC = "reassigned"
# In this partition the better survivor stands first, in the others the worse one.
BEST_FIRST = (TOPIC, 3)


def test_only_partitions_that_need_no_new_order_are_elected(east: Operator) -> None:
    before = east.states(TOPIC)
    # Broker 4 never comes back, so its replicas never catch up and the reassignment stays under way. It is not known what they hold: the
    # strategy balanced would wait for them, and an election that saves what they lose does, too.
    east.cluster.reorder_replicas({key: [*state.replicas, 4] for key, state in before.items()})
    plan = east.snapshot_and_plan("1", [TOPIC], strategy="aggressive")
    assert {row["reason_code"] for row in plan["held"]} == {"reassignment_in_progress"}
    assert set(by_partition(plan["partitions"])) == {BEST_FIRST}

    log = RequestLog(east.cluster)
    assert by_partition(east.apply("1")["results"])[BEST_FIRST]["reason_code"] == "tail_not_saved"
    assert log.written() == {}
    results = by_partition(east.apply("1", save_records=False)["results"])
    assert log.written() == {"ELECT_LEADERS": 1}
    assert {key for key, row in results.items() if row["outcome"] == "elected"} == {BEST_FIRST}
    after = east.states(TOPIC)
    assert after[BEST_FIRST].leader == 2
    assert {state.leader for key, state in after.items() if key != BEST_FIRST} == {-1}
    assert all(set(state.replicas) == {1, 2, 3, 4} for state in after.values()), "the reassignment goes on"


def test_a_reassignment_that_kafka_does_not_cancel_is_replaced_by_the_replicas_of_before(east: Operator) -> None:
    """With an empty ISR, as eligible leader replicas leave it, a cancelled reassignment would be an unclean election."""
    held = {key: state for key, state in east.states(TOPIC).items() if state.leader < 0}
    named = [{"topic": topic, "partition": partition} for topic, partition in held]
    cancel = {**east.connection, **east.files("1"), "partitions": named, "state": "cancelled"}
    assert run_module("kafka_partition_reassignment", cancel).result["errors"] == {"INVALID_REPLICA_ASSIGNMENT": len(held)}
    plan = east.snapshot_and_plan("2", [TOPIC], strategy="aggressive")
    assert all("Replace it by the replicas of before, with broker 2 first" in row["explanation"] for row in plan["held"])

    east.cluster.reorder_replicas({key: [2, *(broker for broker in state.replicas if broker not in (2, 4))] for key, state in held.items()})
    plan = east.snapshot_and_plan("3", [TOPIC], strategy="aggressive")
    assert (plan["held"], set(by_partition(plan["partitions"]))) == ([], {*held})
    # Broker 4 deletes its replica once the reassignment ends, and cannot be read before.
    assert {row["reason_code"] for row in east.apply("3")["results"] if row["outcome"] == "held"} == {"tail_not_saved"}
    results = by_partition(east.apply("3", save_records=False)["results"])
    assert {(row["outcome"], row["leader"]) for key, row in results.items() if key in held} == {("elected", 2)}
