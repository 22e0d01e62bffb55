# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges of the end see runs and replays that do not end, partitions that a result leaves out, and what counts as saved records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from simulation.other_commands import RUN, OtherCommands
from simulation.replay_history import RUNS, ReplayHistory
from simulation.test_simulated_judges import KEY, KNOWN_SECONDS, Incident, write_journal

HELD: Mapping[str, Any] = {
    "topic": KEY[0], "partition": KEY[1], "outcome": "held", "reason_code": "forked", "reason": "", "leader": None, "evidence": None,
}  # fmt: skip


@pytest.fixture
def incident(tmp_path: Path) -> Incident:
    return Incident(tmp_path)


@pytest.mark.parametrize(("has_row", "has_leader", "is_found"), [(False, False, True), (True, False, False), (False, True, False)])
def test_a_result_has_each_partition_without_a_leader(incident: Incident, has_row: bool, has_leader: bool, is_found: bool) -> None:
    if has_leader:
        incident.elect()
        incident.judges.violations.clear()
        incident.judges.elections.clear()
    incident.judges.judge_calm({"results": [HELD] if has_row else [], "warnings": []})
    expected = ["orders-0 has no leader, and the run says nothing of it"]
    assert [one for one in incident.judges.violations if "says nothing" in one] == (expected if is_found else [])


def test_the_model_judges_why_a_partition_is_held(incident: Incident, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incident.judges._model, "violation", lambda *_: None)
    incident.judges.judge_calm({"results": [HELD], "warnings": []})
    assert incident.judges.violations == []
    monkeypatch.setattr(incident.judges._model, "violation", lambda *_: "is held (forked), and the model elects a survivor")
    incident.judges.judge_calm({"results": [HELD], "warnings": []})
    assert incident.judges.violations == ["orders-0 is held (forked), and the model elects a survivor"]


@pytest.mark.parametrize("is_alive", [True, False])
def test_a_run_in_peace_does_not_fail_while_a_broker_lives(incident: Incident, is_alive: bool) -> None:
    if not is_alive:
        for broker in (1, 2):
            incident.cluster.crash(broker)
        incident.cluster.world.wait(KNOWN_SECONDS)
    incident.judges.judge_calm(None)
    assert incident.judges.violations == (["a run in peace fails"] if is_alive else [])


@pytest.mark.parametrize(
    ("is_sent", "warnings", "is_found"),
    [(True, [], True), (True, ["an election of orders-0 may be under way"], False), (True, ["orders-0 is left"], True), (False, [], False)],
)
def test_a_run_in_peace_warns_of_an_election_that_may_come(incident: Incident, is_sent: bool, warnings: list[str], is_found: bool) -> None:
    """`is_sent`: the journal has an election that a killed run may have sent."""
    order = {"topic": "orders", "partition": 0, "topic_id": "a", "original": [3, 1, 2], "changed": [1, 3, 2]}
    elects = [{"topic": "orders", "partition": 0}] if is_sent else []
    rows: list[dict[str, Any]] = [
        {"kind": "intent", "id": "open", "cluster_id": "abc", "orders": [order], "listed": []},
        {"kind": "election", "id": "open", "partitions": elects, "unanswered_by": []},
    ]
    write_journal(incident.workdir, *rows)
    incident.judges.judge_calm({"results": [HELD], "warnings": warnings})
    expected = ["an election of orders-0 may still be under way, and the run does not warn of it"]
    assert [one for one in incident.judges.violations if "under way" in one] == (expected if is_found else [])


@pytest.mark.parametrize(("bound", "is_found"), [(0, True), (1, False)])
def test_a_plan_bounds_what_is_lost(incident: Incident, bound: int, is_found: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broker 1 lacks one record. The judge of losses has tests of its own: here it counts that its sentence becomes a violation."""
    monkeypatch.setattr(incident.judges._loss, "violation", lambda _key, _leader, loss: None if loss["bound"] else "loses more")
    row = {**HELD, "candidate": 1, "loss": {"bound": bound, "upper_bound_from": "logs"}}
    incident.judges.judge_plan({"partitions": [], "held": [row], "brokers": []})
    assert incident.judges.violations == (["orders-0 loses more"] if is_found else [])


@pytest.mark.parametrize(("ends_at", "is_found"), [(1, False), (RUNS - 1, False), (RUNS, True)])
def test_replays_in_peace_come_to_an_end(incident: Incident, ends_at: int, is_found: bool) -> None:
    """Each run before the one with this number, from 0, writes something."""
    played: Any = SimpleNamespace(written=0, runs=0)

    def replay() -> bool:
        played.written += played.runs < ends_at
        played.runs += 1
        return True

    history: Any = SimpleNamespace(
        _replay_all=replay,
        _judges=incident.judges,
        _replay_judges=SimpleNamespace(ends=lambda: played.written, judge_end=lambda: None),
        _world=SimpleNamespace(run=lambda works: [work() for work in works.values()], wait=lambda _seconds: None),
    )
    ReplayHistory._replay_to_the_end(history)
    assert incident.judges.violations == ([f"{RUNS} replays in peace have not come to an end"] if is_found else [])


class Saving:
    """Stands for an operator that saves and lists records. `refuses`: plans that are wrong; `counts`: batches without an index."""

    def __init__(self, workdir: Path, refuses: bool, counts: int) -> None:
        self.workdir, self._refuses, self._counts = workdir, refuses, counts
        plan = workdir / "plans" / RUN / "simulated.json"
        plan.parent.mkdir(parents=True)
        plan.write_text(json.dumps({"cluster_id": "own", "partitions": []}))

    def save(self, *_: Any, **__: Any) -> None:
        """Save."""
        if self._refuses:
            raise RecoveryError("refused")

    def list_records(self, _run_id: str) -> dict[str, Any]:
        """List them."""
        return {"counts": {"records": self._counts}}


@pytest.mark.parametrize(("refuses", "counts"), [(True, 0), (False, 0), (True, 1)])
def test_wrong_plans_are_refused_and_batches_without_an_index_do_not_count(incident: Incident, refuses: bool, counts: int) -> None:
    operator: Any = Saving(incident.workdir, refuses, counts)
    commands = OtherCommands(1, incident.cluster, operator, incident.judges, incident.events, Counter())
    commands._save_wrongly()
    commands._leave_part()
    wrong = [] if refuses else ["records are saved with a bare file", "records are saved with a plan of another cluster"]
    assert incident.judges.violations == [*wrong, *(["batches without an index count as saved records"] if counts else [])]
