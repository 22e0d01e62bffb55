# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is killed in the middle of an election leaves replica orders changed; the next run finds that in the journal and puts them back."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable

import pytest
from integration.requestlog import RequestLog
from integration.support import Operator, run_module

# SIGKILL at a request: the process of the module kills itself before (or after) it is sent.
KILL = """
import os, signal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
ask = Cluster.{request}
def killing(*args, **kwargs):
    {answer} and ask(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)
Cluster.{request} = killing
"""
# Topic, the request at which the run is killed, whether that request is still answered, and what is left: changed orders, leaders.
POINTS = [
    ("killed.reorder", "reorder", False, False, False),
    ("killed.elect", "elect_unclean", False, True, False),
    ("killed.restore", "elect_unclean", True, True, True),
]


def kill_an_election(operator: Operator, request: str, answered: bool) -> None:
    params = {**operator.connection, **operator.files("1"), "plan": str(operator.path("plans", "1")), "allow_data_loss": True}
    killed = run_module("kafka_designated_election", params, before=KILL.format(request=request, answer=answered))
    assert killed.returncode == -signal.SIGKILL, killed


def open_intents(operator: Operator) -> set[str]:
    journal = operator.journal
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    done = {line["id"] for line in lines if line["kind"] == "done"}
    return {line["id"] for line in lines if line["kind"] == "intent"} - done


@pytest.mark.parametrize(("topic", "request_name", "answered", "reordered", "led"), POINTS)
def test_the_next_run_puts_replica_orders_back_and_elects_what_is_left(
    prepared: Callable[[str], Operator], topic: str, request_name: str, answered: bool, reordered: bool, led: bool
) -> None:
    operator = prepared(topic)
    before = operator.states(topic)
    kill_an_election(operator, request_name, answered)

    left = operator.states(topic)
    changed = {f"{key[0]}-{key[1]}" for key in before if left[key].replicas != before[key].replicas}
    assert len(changed) == (4 if reordered else 0), "all name another replica first, one of them a dead one"
    assert {state.leader >= 0 for state in left.values()} == {led}
    assert len(open_intents(operator)) == 1

    log = RequestLog(operator.cluster)
    foretold = operator.apply("1", check=True)
    assert log.written() == {}
    assert {row["outcome"] for row in foretold["results"]} == {"already_online" if led else "elected"}
    assert ("put their order back" in str(foretold.get("warnings"))) == reordered

    result = operator.apply("1")
    assert set(result["repaired"]) == changed
    after = operator.in_order_again(before)
    assert {state.leader for state in after.values()} == {2}, "the survivor that holds more"
    assert {row["outcome"] for row in result["results"]} == {"already_online" if led else "elected"}
    assert not open_intents(operator)


def test_a_run_from_the_start_repairs_too_although_it_gathers_the_changed_order(prepared: Callable[[str], Operator]) -> None:
    topic = "killed.snapshot"
    operator = prepared(topic)
    before, orders = operator.states(topic), operator.orders(topic)
    kill_an_election(operator, "elect_unclean", answered=False)
    assert operator.orders(topic) != orders

    results = operator.recover("2", [topic])
    operator.in_order_again(before)
    assert {row["outcome"] for row in results.values()} == {"elected"}
    assert not open_intents(operator)
