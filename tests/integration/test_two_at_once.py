# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two runs on one cluster: from one workdir the second one is locked out; from two workdirs, as from two machines, replica orders come out right.

Every partition has three replicas, one of them dead; in three partitions of four the worse survivor stands first.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from integration.held import HeldElection
from integration.requestlog import RequestLog
from integration.support import Answer, Operator, failure, run_module

REORDER, ELECT = "reorder", "elect_unclean"
# At its first pause between two attempts, the second run lets the first one go on, and waits for its results.
GO_MEANWHILE = """
import time
from pathlib import Path
sleep = time.sleep
def meanwhile(seconds):
    Path({go!r}).touch()
    while not Path({results!r}).exists():
        sleep(0.02)
time.sleep = meanwhile
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Callable[[Operator], Operator]:
    """An operator who works on the same cluster with a workdir of their own."""
    return lambda operator: Operator(operator.cluster, tmp_path / "elsewhere", operator.spark_remote, operator.name)


@contextmanager
def as_it_was(operator: Operator, leader: int = 2) -> Iterator[None]:
    """Afterwards every partition has this leader and the replica order that it had before."""
    before = operator.states(operator.name)
    yield
    after = operator.in_order_again(before)
    assert {state.leader for state in after.values()} == {leader}


def plan_of(operator: Operator) -> dict[str, Any]:
    """Options for this operator's plan, also from another workdir, where only plans without `aggressive` are elected by default."""
    return {"plan": str(operator.path("plans", "1")), "allowed_strategies": ["aggressive"]}


def apply(operator: Operator, run_id: str, check: bool = False, **params: Any) -> dict[str, Any]:
    """Elect what the plan of another operator designates. The module fails if a partition has no leader afterwards."""
    options = {**operator.connection, **operator.files(run_id), "allow_data_loss": True, "preview": 100, **params}
    answer = run_module("kafka_designated_election", options, check)
    assert "summary" in answer.result, answer
    return answer.result


def outcomes_of(answer: Answer | dict[str, Any]) -> set[tuple[str, int | None]]:
    if isinstance(answer, Answer):
        assert answer.returncode == 0, answer
        answer = answer.result
    return {(row["outcome"], row["leader"]) for row in answer["results"]}


def by_hand(operator: Operator, leader: int) -> dict[str, Any]:
    return {
        "partitions": [
            {"topic": topic, "partition": number, "designated_leader": leader} for topic, number in operator.keys([operator.name])
        ]
    }


def test_one_workdir_lets_one_run_work_and_takes_over_from_a_dead_one(prepared: Callable[[str], Operator], tmp_path: Path) -> None:
    operator = prepared("two.lock")
    with as_it_was(operator):
        with HeldElection(operator, tmp_path / "first", [ELECT], "first", **plan_of(operator)) as first:
            log = RequestLog(operator.cluster)
            params = {**operator.connection, **operator.files("second"), **plan_of(operator), "allow_data_loss": True}
            msg = failure("kafka_designated_election", params)
            assert f": run first, process {first.pid} on {socket.gethostname()}, since 20" in msg
            assert "wait until it has ended" in msg
            assert log.written() == {}
            first.kill()
        result = operator.apply("1", "third")
        assert len(result["repaired"]) == 4
        assert outcomes_of(result) == {("elected", 2)}


def test_a_run_from_another_workdir_leaves_alone_what_is_being_elected(
    prepared: Callable[[str], Operator], elsewhere: Callable[[Operator], Operator], tmp_path: Path
) -> None:
    operator = prepared("two.machines")
    other = elsewhere(operator)
    with as_it_was(operator):
        with HeldElection(operator, tmp_path / "first", [ELECT], "first", **plan_of(operator)) as first:
            log = RequestLog(operator.cluster)
            moved = [row for row in apply(other, "dry", check=True, **plan_of(operator))["results"] if row["outcome"] == "stale"]
            assert len(moved) == 4
            assert all(row["reason_code"] == "other_order" and "[2, 3, 1], not" in row["reason"] for row in moved)
            assert log.written() == {}
            # They are looked at again a moment later: the first run is through with them by then.
            meanwhile = GO_MEANWHILE.format(go=str(tmp_path / "first" / f"{ELECT}.go"), results=str(operator.path("results", "first")))
            params = {**other.connection, **other.files("second"), **plan_of(operator), "allow_data_loss": True}
            second = run_module("kafka_designated_election", params, before=meanwhile)
            assert outcomes_of(second) == {("already_online", 2)}
            assert outcomes_of(first.finish()) == {("elected", 2)}
        assert outcomes_of(apply(other, "third", **plan_of(operator))) == {("already_online", 2)}


@pytest.mark.parametrize(("topic", "first_ends_first"), [("two.lockstep", True), ("two.crossed", False)])
def test_two_that_begin_in_the_same_moment_both_know_the_order_that_has_to_stand_again(
    prepared: Callable[[str], Operator], elsewhere: Callable[[Operator], Operator], tmp_path: Path, topic: str, first_ends_first: bool
) -> None:
    operator = prepared(topic)
    second_run = HeldElection(elsewhere(operator), tmp_path / "second", [REORDER, ELECT], "second", **plan_of(operator))
    first_run = HeldElection(operator, tmp_path / "first", [ELECT], "first", **plan_of(operator))
    with as_it_was(operator), second_run as second, first_run as first:
        second.advance()
        ends = [first.finish(), second.finish()] if first_ends_first else [second.finish(), first.finish()]
        assert [outcomes_of(end) for end in ends] == [{("elected", 2)}] * 2
        assert not any(end.result.get("warnings") for end in ends)


@pytest.mark.parametrize(("topic", "first_ends_first"), [("two.nested", True), ("two.around", False)])
def test_one_that_takes_a_changed_order_for_the_original_does_not_make_it_last(
    prepared: Callable[[str], Operator], elsewhere: Callable[[Operator], Operator], tmp_path: Path, topic: str, first_ends_first: bool
) -> None:
    """The second run looks while the first has its order set, and designates another leader, so it sets an order of its own above that one."""
    operator = prepared(topic)
    other = elsewhere(operator)
    first_run = HeldElection(operator, tmp_path / "first", [ELECT], "first", **plan_of(operator))
    with as_it_was(operator, leader=3):
        with first_run as first, HeldElection(other, tmp_path / "second", [ELECT], "second", **by_hand(operator, 3)) as second:
            if first_ends_first:
                answer = first.finish()
                assert outcomes_of(answer) == {("elected", 3)}
                assert all(row["reason_code"] == "other_survivor_elected" for row in answer.result["results"])
                assert "another run, with another workdir, is electing them" in str(answer.result["warnings"])
                assert outcomes_of(second.finish()) == {("elected", 3)}
            else:
                assert outcomes_of(second.finish()) == {("elected", 3)}
                assert outcomes_of(first.finish()) == {("elected", 3)}
        result = operator.apply("1", "third")
        assert outcomes_of(result) == {("already_online", 3)}
        assert len(result["repaired"]) == (4 if first_ends_first else 0)
        assert not result.get("warnings")
