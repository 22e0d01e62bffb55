# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What restore_redundancy shows of planned, held and made moves."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.progress_file import interrupted_run
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import replica_moves
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun

RUN = PresentRun("east", "2", workdir="/w", commands=Playbooks(["hosts.yml"]))
MOVES: dict[str, Any] = {
    "path": "/w/reassignments/2/east.json",
    "planned": 3,
    "adding_replicas": 3,
    "bytes": 2048,
    "rack_violations": 0,
    "held_by_reason": {},
}


def test_planned_moves_are_counted() -> None:
    assert replica_moves.planned_lines(MOVES, RUN, "") == [
        "3 partitions get back 3 replicas, 2.00 KB to be copied",
        "Plan: /w/reassignments/2/east.json",
    ]
    assert replica_moves.planned_lines({**MOVES, "planned": 0, "adding_replicas": 0, "bytes": 0}, RUN, "")[0] == (
        "no partition is to get other replicas, so nothing is copied and no throttle is needed"
    )
    one = {**MOVES, "planned": 1, "adding_replicas": 1, "rack_violations": 1, "held_by_reason": {"no_leader": 1}}
    assert replica_moves.planned_lines(one, RUN, "")[:3] == [
        "1 partition gets back 1 replica, 2.00 KB to be copied",
        "held: 1 partition, no_leader: recover them first (playbook recover)",
        "1 partition keeps two replicas in one rack although another rack has none: survivors are not moved",
    ]


@pytest.mark.parametrize(
    ("reason", "count", "line"),
    [
        ("no_room", 1, "1 partition was held, no_room. Next: free disk space, add brokers, or raise kafka_recovery_max_disk_percent"),
        ("unheard_of", 2, "2 partitions were held, unheard_of. Next: run again"),
    ],
)
def test_each_reason_to_hold_has_a_next_step(reason: str, count: int, line: str) -> None:
    assert replica_moves.held_lines({**MOVES, "held_by_reason": {reason: count}}, RUN, "") == [line]


@pytest.mark.parametrize("lines", [replica_moves.planned_lines, replica_moves.held_lines])
def test_the_moves_of_an_interrupted_run_are_continued_by_its_id(lines: Any) -> None:
    moves = {**MOVES, "held_by_reason": {"reassignment_in_progress": 2}}
    shown = lines(moves, RUN, "interrupted")
    assert any("or continue the moves of run interrupted" in line for line in shown)
    (command,) = [line for line in shown if "ansible-playbook" in line]
    assert "-e kafka_recovery_reassignment_dir=/w/reassignments/interrupted " in command
    assert not any("ansible-playbook" in line for line in [*lines(moves, RUN, ""), *lines(MOVES, RUN, "interrupted")])
    (command,) = [line for line in lines(moves, RUN, "interrupted", require_commit=True) if "ansible-playbook" in line]
    assert command.endswith("streamops.kafka_recovery.apply_merged"), "reassign would be refused"


@pytest.mark.parametrize("ended", [False, True, None])
@pytest.mark.parametrize("run_id", ["1", "2", "../2", 2])
def test_an_interrupted_run_is_read_from_its_progress_file(tmp_path: Path, run_id: Any, ended: bool | None) -> None:
    moves = tmp_path / "reassignments/1/east.json"
    for path in (tmp_path / "progress/east.json", moves, tmp_path / "reassignments/2/east.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    (tmp_path / "progress/east.json").write_text(json.dumps({"run_id": run_id, "ended": ended}))
    assert interrupted_run(tmp_path, "east", "2") == ("1" if run_id == "1" and ended is False else "")
    assert interrupted_run(tmp_path, "west", "2") == "", "another cluster"
    moves.unlink()
    assert interrupted_run(tmp_path, "east", "2") == "", "its moves are not known"


def test_made_moves_name_the_file_that_undoes_them() -> None:
    result = {"summary": {"failed": 0, "reassigned": 3}, "previous_assignment": "/w/reassignments/2/east.before.json"}
    assert replica_moves.moved_lines(result, MOVES["path"], RUN, allowed=True) == [
        "3 reassigned",
        "To undo the moves, name this file as reassignment_file of kafka_partition_reassignment: /w/reassignments/2/east.before.json",
    ]


@pytest.mark.parametrize("check_mode", [True, False])
def test_planned_moves_are_made_by_a_whole_command(check_mode: bool) -> None:
    result = {"summary": {"reassigned": 3}, "previous_assignment": None}
    headline, *rest = replica_moves.moved_lines(result, MOVES["path"], replace(RUN, check_mode=check_mode), allowed=False)
    assert headline == "Dry run, nothing was moved. It would be: 3 reassigned"
    assert (rest == []) == check_mode
    assert check_mode or rest[1].endswith(
        "--limit east -e kafka_recovery_reassignment_dir=/w/reassignments/2 -e kafka_recovery_allow_data_loss=true "
        "streamops.kafka_recovery.reassign"
    )


def test_where_only_merged_moves_are_made_the_command_proposes_them() -> None:
    result = {"summary": {"reassigned": 3}, "previous_assignment": None}
    *_rest, last = replica_moves.moved_lines(result, MOVES["path"], RUN, allowed=False, require_commit=True)
    assert last.endswith("--limit east -e kafka_recovery_restore_redundancy=true streamops.kafka_recovery.propose")
    *_rest, last = replica_moves.moved_lines(result, MOVES["path"], RUN, allowed=False, merged=True, require_commit=True)
    assert "kafka_recovery_allow_data_loss=true" in last


def test_partitions_that_are_not_fully_redundant_are_named() -> None:
    rows = [{"topic": "orders", "partition": 1, "state": "missing"}, {"topic": "orders", "partition": 2, "state": "in_place"}]
    restored = {"partitions": rows, "summary": {"in_place": 2}}
    (line,) = replica_moves.incomplete_lines(3, restored)
    assert line.startswith("1 of 3 partitions is not fully redundant, for example orders-1 (missing)") and "again" in line
    assert replica_moves.incomplete_lines(3, {"partitions": rows[1:], "summary": {"in_place": 3}}) == []
    assert replica_moves.incomplete_lines(0, {}) == []


def test_merged_moves_that_were_not_made_are_named_and_are_made_by_the_same_playbook() -> None:
    rows = [
        {"topic": "t", "partition": 1, "outcome": "stale", "message": "why"},
        {"topic": "t", "partition": 2, "outcome": "reassigned", "message": None},
    ]
    result = {"summary": {"stale": 1, "reassigned": 1}, "previous_assignment": None, "results": rows}
    made = replica_moves.moved_lines(result, MOVES["path"], RUN, allowed=True, merged=True)
    assert made[1:] == ["t-1 is stale: why"]
    *_rest, last = replica_moves.moved_lines(result, MOVES["path"], RUN, allowed=False, merged=True)
    assert "kafka_recovery_allow_data_loss=true" in last and "reassignment_dir" not in last
