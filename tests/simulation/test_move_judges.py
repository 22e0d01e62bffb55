# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges of moves see replicas that no operator wants, records that a move loses, and throttles, journals and locks that are left."""

from __future__ import annotations

import fcntl
import json
import math
from pathlib import Path
from typing import Any

import pytest

from simulation.cluster import SESSION_SECONDS, SimulatedCluster
from simulation.dynamic_configs import BROKER, SET, Operation
from simulation.kraft import Key
from simulation.quotas import LEADER, RATE
from simulation.test_judged_throttles import move_judges, write_throttles
from simulation.world import World

KEY: Key = ("orders", 0)
CONFIG = RATE.format(LEADER)
TARGET = (1, 3)  # of the move


def cluster_with_a_move() -> SimulatedCluster:
    """Return a cluster of which a partition on brokers 1 and 2 is to be moved to brokers 1 and 3."""
    return SimulatedCluster(World(1), 4, {"orders": [[1, 2]]}, {"orders": 1}, elr=False)


def throttle(owner: str) -> dict[str, Any]:
    """Return the line of a journal that sets the rate of broker 1."""
    return {"kind": "set", "owner": owner, "rates": [{"broker": 1, "config": CONFIG, "value": "2000", "before": None}]}


@pytest.mark.parametrize(("replicas", "is_found"), [(TARGET, False), ((1, 2), False), ((1, 4), True)])
def test_a_partition_is_moved_only_to_where_operators_want_it(tmp_path: Path, replicas: tuple[int, ...], is_found: bool) -> None:
    """Without a throttle that must be there before, because nothing is added or no throttle is asked for."""
    cluster = cluster_with_a_move()
    judges = move_judges(cluster, tmp_path)
    judges.may_be_unthrottled = True
    cluster.reassign(KEY, replicas)
    found = [one for one in judges.violations if "throttle" not in one]
    assert found == (
        [
            f"orders-0 is moved to {replicas}, which no operator wants",
            f"orders-0 has the replicas {cluster.controller.partitions[KEY].assignment}, neither those of before nor those of the move",
        ]
        if is_found
        else []
    )


@pytest.mark.parametrize("has_others", [True, False])
def test_a_move_of_another_tool_is_judged_by_the_replicas_that_it_asks_for(tmp_path: Path, has_others: bool) -> None:
    """`has_others`: the move is one of another tool."""
    cluster = cluster_with_a_move()
    judges = move_judges(cluster, tmp_path)
    judges._events.acts_for_others = has_others
    cluster.reassign(KEY, (1, 4))
    assert any("neither those of before" in one for one in judges.violations) != has_others


def moved(cluster: SimulatedCluster, isr: list[int]) -> None:
    """Let the controller end the move, with this ISR."""
    state = cluster.controller.partitions[KEY]
    cluster.controller._put(KEY, state._replace(replicas=TARGET, isr=tuple(isr), adding=(), removing=()))


@pytest.mark.parametrize(("isr", "is_found"), [([1, 3], False), ([3], False), ([2], True)])
def test_a_move_may_not_take_the_last_replicas_in_sync(tmp_path: Path, isr: list[int], is_found: bool) -> None:
    cluster = cluster_with_a_move()
    judges = move_judges(cluster, tmp_path)
    moved(cluster, isr)
    assert ["loses its last replicas in sync" in one for one in judges.violations] == ([True] if is_found else [])


@pytest.mark.parametrize(("copies", "is_harmed", "is_found"), [(True, False, False), (False, False, True), (False, True, False)])
def test_a_move_may_not_take_the_last_replica_in_sync_that_has_a_committed_record(
    tmp_path: Path, copies: bool, is_harmed: bool, is_found: bool
) -> None:
    """`copies`: broker 3, which alone is in sync after the move, has the record. `is_harmed`: a broker had lost the end of its log before."""
    cluster = cluster_with_a_move()
    judges = move_judges(cluster, tmp_path)
    judges._events.harmed |= {2} if is_harmed else set()
    written = cluster.write(KEY, "kept", 1)
    assert written is not None
    cluster.replicate(KEY, 2)
    assert cluster.was_committed(KEY, "kept")
    cluster.brokers[3].create(KEY, cluster.brokers[1].logs[KEY].copy())
    if not copies:
        cluster.brokers[3].logs[KEY].truncate(0)
    moved(cluster, [3])
    expected = ["kept was committed, and no replica in sync has it after the move of orders-0"]
    assert judges.violations == (expected if is_found else [])


@pytest.mark.parametrize(
    ("owner", "result", "alone", "is_found"),
    [
        ("run", {"warnings": []}, True, True),
        ("run", {"warnings": []}, False, False),
        ("run", {"warnings": ["a throttle is left"]}, True, False),
        ("run", {"warnings": [], "failed": True}, True, False),
        ("standing", {"warnings": []}, True, False),
    ],
)
def test_a_run_without_an_error_leaves_no_throttle(tmp_path: Path, owner: str, result: dict[str, Any], alone: bool, is_found: bool) -> None:
    judges = move_judges(cluster_with_a_move(), tmp_path)
    write_throttles(tmp_path, throttle(owner))
    judges.judge_moved(result, alone)
    assert ["a run has ended without an error, and its throttle stays" in one for one in judges.violations] == ([True] if is_found else [])


@pytest.mark.parametrize(("expires_in", "is_found"), [(60.0, True), (-60.0, False)])
def test_a_standing_throttle_stays_until_it_expires(tmp_path: Path, expires_in: float, is_found: bool) -> None:
    cluster = cluster_with_a_move()
    judges = move_judges(cluster, tmp_path)
    write_throttles(tmp_path, throttle("standing"))
    before = judges.standing()
    (tmp_path / "throttles/simulated.jsonl").write_text("")
    judges.standing_from = cluster.world.now + expires_in
    judges.judge_standing(before, cluster.world.now, ended_well=True)
    assert ["is removed, and expires only later" in one for one in judges.violations] == ([True] if is_found else [])


@pytest.mark.parametrize(
    ("expired_for", "ended_well", "moves", "is_found"),
    [(60.0, True, False, True), (-60.0, True, False, False), (60.0, False, False, False), (60.0, True, True, False)],
)
def test_a_run_removes_a_standing_throttle_that_has_expired(
    tmp_path: Path, expired_for: float, ended_well: bool, moves: bool, is_found: bool
) -> None:
    """`moves`: a move is under way, which may keep it."""
    cluster = cluster_with_a_move()
    judges = move_judges(cluster, tmp_path)
    if moves:
        cluster.controller.reassign(KEY, TARGET)
    write_throttles(tmp_path, throttle("standing"))
    judges.standing_from, judges.standing_until = -math.inf, cluster.world.now - expired_for
    judges.judge_standing(judges.standing(), cluster.world.now, ended_well)
    assert ["has expired, and a run has not removed it" in one for one in judges.violations] == ([True] if is_found else [])


@pytest.mark.parametrize("has_leader", [True, False])
def test_moves_have_ended_at_the_end_if_their_partition_has_a_leader(tmp_path: Path, has_leader: bool) -> None:
    cluster = cluster_with_a_move()
    judges = move_judges(cluster, tmp_path)
    cluster.controller.reassign(KEY, TARGET)
    if not has_leader:
        for broker in (1, 2):
            cluster.crash(broker)
        cluster.world.wait(SESSION_SECONDS + 1)
    judges.judge_end_of_moves()
    assert judges.violations == (["the move of orders-0 has not ended"] if has_leader else [])


def test_the_journal_of_throttles_is_closed_at_the_end(tmp_path: Path) -> None:
    judges = move_judges(cluster_with_a_move(), tmp_path)
    write_throttles(tmp_path, throttle("run"))
    judges.judge_end_of_moves()
    assert ["the journal of throttles has" in one for one in judges.violations] == [True]
    judges.violations.clear()
    with (tmp_path / "throttles/simulated.jsonl").open("a") as journal:
        journal.write(json.dumps({**throttle("run"), "kind": "removed"}) + "\n")
    judges.judge_end_of_moves()
    assert judges.violations == []


def test_a_throttle_that_is_set_at_the_end_is_left(tmp_path: Path) -> None:
    cluster = cluster_with_a_move()
    judges = move_judges(cluster, tmp_path)
    judges.judge_end_of_moves()
    assert judges.violations == []
    cluster.configs.alter((BROKER, "1"), [Operation(CONFIG, SET, "2000")])
    judges.judge_end_of_moves()
    assert ["the throttle" in one and "is left" in one for one in judges.violations] == [True]


def test_no_lock_of_moves_is_held_at_the_end(tmp_path: Path) -> None:
    judges = move_judges(cluster_with_a_move(), tmp_path)
    lock = tmp_path / "throttles/simulated.run"
    lock.parent.mkdir()
    with lock.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        judges.judge_end_of_moves()
    assert judges.violations == ["the lock of moves is held, and no run is active"]
    judges.violations.clear()
    judges.judge_end_of_moves()
    assert judges.violations == []
