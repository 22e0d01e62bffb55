# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which reassignments stand still, since when, and why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import work_file, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers import moves
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.moves import Motion
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reassignment import OngoingReassignment
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import progress, validate
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress import Measurements

KEY = ("t", 0)
MOVE = OngoingReassignment((3, 1, 2), (3,), (2,))
STATE = PartitionState("t", 0, "id", 1, 1, (3, 1, 2), (1, 2), (), (), ())


def before(workdir: Path, run_id: str, replicas: tuple[int, ...]) -> None:
    path = work_file(workdir, "reassignments", "east", run_id, ".before.json")
    write_private(path, validate.as_file({KEY: replicas}))


def test_the_run_that_has_begun_a_move_is_known_from_its_file(tmp_path: Path) -> None:
    assert moves.begun_by_runs(tmp_path, "east", {KEY: MOVE}) == {}
    before(tmp_path, "run-1", (2, 1))
    before(tmp_path, "run-2", (4, 1))
    found = moves.begun_by_runs(tmp_path, "east", {KEY: MOVE})
    assert (found[KEY].run_id, found[KEY].replicas) == ("run-1", (2, 1)), "the other run has moved other replicas"
    assert moves.begun_by_runs(tmp_path, "west", {KEY: MOVE}) == {} == moves.begun_by_runs(tmp_path, "east", {})


@pytest.mark.parametrize("content", [b"", b"{}", b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'])
def test_a_file_that_no_run_has_written_is_skipped(tmp_path: Path, content: bytes) -> None:
    write_private(work_file(tmp_path, "reassignments", "east", "run-1", ".before.json"), content)
    assert moves.begun_by_runs(tmp_path, "east", {KEY: MOVE}) == {}


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    before(tmp_path / "elsewhere", "run-1", (2, 1))
    (tmp_path / "work" / "reassignments").mkdir(parents=True, mode=0o700)
    (tmp_path / "work").chmod(0o700)
    (tmp_path / "work" / "reassignments" / "run-1").symlink_to(tmp_path / "elsewhere" / "reassignments" / "run-1")
    assert moves.begun_by_runs(tmp_path / "work", "east", {KEY: MOVE}) == {}


CASES = [
    (STATE, Motion(False, 2_000_000), {1, 2}, "broker 3, which gets a replica, is not alive, with 2.0 MB left; start it, or cancel it"),
    (replace(STATE, leader=-1), Motion(False, None), {1, 2, 3}, "the partition has no live leader to copy from; recover it, or cancel it"),
    (STATE, Motion(None, None), {1, 2, 3}, "no broker says how far it is; run again, or cancel it"),
    (
        STATE,
        Motion(False, 500),
        {1, 2, 3},
        "nothing was copied in 10 s, with 500 B left; look at its throttle and its brokers, or cancel it",
    ),
]


@pytest.mark.parametrize(("state", "motion", "live", "reason"), CASES)
def test_a_move_that_stands_still_has_its_reason(state: PartitionState, motion: Motion, live: set[int], reason: str) -> None:
    (row,) = moves.rows({KEY: MOVE}, {KEY: state}, {KEY: motion}, {}, live, 10.0)
    assert str(row.reason).startswith(reason) and (row.owner, row.outcome) == ("unknown", "kept")
    assert (row.present, row.original) == ("3,1", "1,2")


def test_a_move_that_copies_is_not_left_over() -> None:
    assert moves.rows({KEY: MOVE}, {KEY: STATE}, {KEY: Motion(True, 5)}, {}, {1, 2, 3}, 10.0) == []


class Cluster:
    """A cluster whose reassignment shows these states and sizes, one after the other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, after: PartitionState | None, *measured: Measurements, count: int = 1) -> None:
        self.after = {} if after is None else {("t", number): replace(after, partition=number) for number in range(count)}
        answers = iter(measured)
        monkeypatch.setattr(moves, "measure", lambda *_: next(answers))

    def unfenced(self) -> set[int]:
        return {1, 2, 3}

    def reassignments(self) -> dict[Any, Any]:
        return dict.fromkeys(self.after, MOVE)

    def partitions(self, keys: Any = None) -> dict[Any, Any]:
        return self.after


def sizes(follower: int | None) -> Measurements:
    return Measurements({1: {KEY: 1000}, **({} if follower is None else {3: {KEY: follower}})}, {})


@pytest.mark.parametrize(
    ("after", "first", "second", "copies"),
    [(STATE, 100, 100, False), (STATE, 100, 200, True), (STATE, None, None, None), (replace(STATE, isr=(1, 2, 3)), 900, 1000, True)],
)
def test_two_measurements_show_whether_it_copies(
    monkeypatch: pytest.MonkeyPatch, after: PartitionState, first: int | None, second: int | None, copies: bool | None
) -> None:
    cluster: Any = Cluster(monkeypatch, after, sizes(first), sizes(second))
    assert moves.watch(cluster, {KEY: MOVE}, {KEY: STATE}, 0.0)[KEY].copies is copies


def test_a_move_that_has_ended_meanwhile_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster: Any = Cluster(monkeypatch, None, sizes(100), Measurements())
    assert moves.watch(cluster, {KEY: MOVE}, {KEY: STATE}, 0.0) == {}


def test_thousands_of_moves_are_evaluated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each move alone the time would grow with the square of their number."""
    cluster: Any = Cluster(monkeypatch, STATE, Measurements(), Measurements(), count=5_000)
    evaluated, statuses = [], progress.statuses

    def counted(replicas: Any, *rest: Any) -> Any:
        evaluated.append(len(replicas))
        return statuses(replicas, *rest)

    monkeypatch.setattr(progress, "statuses", counted)
    assert len(moves.watch(cluster, cluster.reassignments(), cluster.partitions(), 0.0)) == 5_000
    assert evaluated == [5_000]
