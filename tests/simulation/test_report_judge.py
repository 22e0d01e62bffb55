# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run reports is judged by what it has done and left: `changed`, an open journal, temporary files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simulation.report_judge import ReportJudge
from simulation.test_simulated_judges import KEY, Incident

ELECTED = {"topic": KEY[0], "partition": KEY[1], "outcome": "elected"}


def result(changed: bool, *rows: dict[str, Any], warnings: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"changed": changed, "results": rows, "warnings": warnings}


def write_intent(incident: Incident) -> None:
    """Let the journal have an order of a run open."""
    folder = incident.workdir / "journal"
    folder.mkdir()
    row = {"topic": KEY[0], "partition": KEY[1], "changed": [1, 3, 2], "original": [3, 1, 2]}
    (folder / "simulated.jsonl").write_text(json.dumps({"kind": "intent", "id": "1", "orders": [row]}) + "\n")


@pytest.mark.parametrize(
    ("acts", "changed", "is_right"), [(False, False, True), (False, True, False), (True, True, True), (True, False, False)]
)
@pytest.mark.parametrize(
    ("act", "judge"),
    [(Incident.elect, ReportJudge.judge_election), (lambda incident: incident.cluster.reassign(KEY, (2, 1, 3)), ReportJudge.judge_moves)],
    ids=["election", "moves"],
)
def test_a_run_says_whether_it_has_changed_something(
    tmp_path: Path, act: Callable[[Incident], object], judge: Callable[..., None], acts: bool, changed: bool, is_right: bool
) -> None:
    incident = Incident(tmp_path)
    report = ReportJudge(incident.judges, incident.cluster)
    if acts:
        act(incident)
    before = len(incident.judges.violations)
    judge(report, result(changed), is_peaceful=True)
    assert (len(incident.judges.violations) == before) == is_right


def test_a_run_may_take_a_leader_for_the_one_that_it_has_asked_for(tmp_path: Path) -> None:
    """A broker that is cut off has its request, and the controller has elected the same broker meanwhile."""
    incident = Incident(tmp_path)
    report = ReportJudge(incident.judges, incident.cluster)
    incident.cluster.world.run({"later-0": lambda: incident.cluster.world.step("ElectLeadersRequest to 1")})
    report.judge_election(result(True, ELECTED), is_peaceful=True)
    assert incident.judges.violations == []


def test_what_counts_as_elected_is_changed(tmp_path: Path) -> None:
    incident = Incident(tmp_path)
    ReportJudge(incident.judges, incident.cluster).judge_election(result(False, ELECTED), is_peaceful=False)
    assert "counts as elected" in incident.judges.violations[0]


@pytest.mark.parametrize(
    ("warnings", "is_restored", "is_right"),
    [
        ((), False, False),
        ((), True, True),  # no second broker has stated the replicas
        (("orders-0 has no leader",), False, False),
        (("1 partitions still have the replica order of an election (orders-0); run again",), False, True),
        (("replica orders of elections could not all be put back, run again to do it: no broker answers",), False, True),
    ],
)
def test_a_run_names_what_its_journal_has_open(tmp_path: Path, warnings: tuple[str, ...], is_restored: bool, is_right: bool) -> None:
    incident = Incident(tmp_path)
    write_intent(incident)
    if not is_restored:
        controller = incident.cluster.controller
        controller._put(KEY, controller.partitions[KEY]._replace(replicas=(1, 3, 2)))
    ReportJudge(incident.judges, incident.cluster).judge_journal(result(False, warnings=warnings))
    assert (incident.judges.violations == []) == is_right


@pytest.mark.parametrize(
    ("name", "is_killed", "is_right"),
    [(".a.json.new", False, False), (".a.json.new", True, True), (".lock", False, True), (".bytes", False, True), ("a.json", False, True)],
)
def test_temporary_files_are_left_by_killed_control_nodes_alone(tmp_path: Path, name: str, is_killed: bool, is_right: bool) -> None:
    incident = Incident(tmp_path)
    (tmp_path / name).touch()
    if is_killed:
        incident.judges.left_by_killed |= incident.judges.files.temporary()
    incident.judges.judge_temporary_files()
    assert (incident.judges.violations == []) == is_right
