# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges of runs that must change nothing see each change of the cluster and of files: of check mode, of wrong requests, of saving without an election."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from simulation import damaged_journals, history, move_history, odd_disks, odd_metadata, rescue
from simulation.damaged_files import DamagedFiles
from simulation.damaged_journals import damaged_replays
from simulation.dynamic_configs import BROKER, SET, Operation
from simulation.history import History
from simulation.move_history import MoveHistory
from simulation.other_commands import OtherCommands
from simulation.quotas import LEADER, RATE
from simulation.rehearsal import Rehearsal, judge_list
from simulation.replay_requests import ReplayRequests
from simulation.request_script import CHECK, HELD
from simulation.rescue import Rescue
from simulation.review_script import NO_REVIEW
from simulation.runs_with_wrong_answers import RunsWithWrongAnswers
from simulation.test_simulated_judges import KEY, Incident
from simulation.wrong_replays import ReplaysInCheckMode

Run = Callable[..., Any]


def nothing(_incident: Incident) -> None:
    """Change nothing."""


def an_order(incident: Incident) -> None:
    """Set another order."""
    incident.cluster.reassign(KEY, (2, 1, 3))


def the_order_of_before(incident: Incident) -> None:
    """Set the order that a killed run has changed, as one does that elects."""
    incident.cluster.reassign(KEY, (3, 1, 2))


def an_election(incident: Incident) -> None:
    """Elect a leader."""
    incident.cluster.elect(KEY, unclean=True)


def a_config(incident: Incident) -> None:
    """Set the config of a broker."""
    incident.cluster.alter_configs((BROKER, "1"), [Operation(RATE.format(LEADER), SET, "2000")])


def a_file(incident: Incident) -> None:
    """Write to a journal."""
    path = incident.workdir / "journal/written.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}\n")


ON_CLUSTER = [(nothing, False), (an_order, True), (an_election, True), (a_config, True)]
ON_CLUSTER_OR_IN_FILES = [*ON_CLUSTER, (a_file, True)]
of_cluster = pytest.mark.parametrize(("change", "is_found"), ON_CLUSTER)
of_all = pytest.mark.parametrize(("change", "is_found"), ON_CLUSTER_OR_IN_FILES)
Change = Callable[[Incident], None]


@pytest.fixture
def incident(tmp_path: Path) -> Incident:
    workdir = tmp_path / "workdir"
    workdir.mkdir()
    return Incident(workdir)


def found(incident: Incident, part: str) -> bool:
    """Return whether there is one violation, and it has this part, or none."""
    own = [one for one in incident.judges.violations if "which no journal has" not in one]
    assert own in ([], [one for one in own[:1] if part in one]), own
    return bool(own)


class Once:
    """Stands for operators: the first command that is run changes something. All return `result`."""

    def __init__(self, incident: Incident, change: Change, result: Mapping[str, Any] | None = None) -> None:
        self._incident, self._change, self._result = incident, change, result or {}
        self.workdir, self.knows_controllers, self.has_run = incident.workdir, True, False

    def __getattr__(self, name: str) -> Run:
        def run(*_arguments: Any, **_options: Any) -> Any:
            if name == "saved_runs":
                return ["first"]
            if name == "files":
                return [path for path in self.workdir.rglob("*") if path.is_file()]
            if name != "sync" and not self.has_run:
                self.has_run = True
                self._change(self._incident)
            return self._result

        return run


def world(incident: Incident) -> Any:
    """Return what stands for the world of a history: processes run at once."""

    def run(works: Mapping[str, Callable[[], Any]], *_: Any, **__: Any) -> dict[str, Any]:
        for work in works.values():
            work()
        return {}

    return SimpleNamespace(run=run, tell=incident.cluster.world.tell, wait=incident.cluster.world.wait)


# --- histories of elections ---------------------------------------------------------------------------------------------


@of_cluster
def test_a_wrong_election(incident: Incident, monkeypatch: pytest.MonkeyPatch, change: Change, is_found: bool) -> None:
    def refused(*_: Any) -> Iterator[tuple[str, Callable[[], None]]]:
        def ask() -> None:
            change(incident)
            raise history.RecoveryError("refused")

        yield "a wrong plan", ask

    monkeypatch.setattr(history, "refused_plans", refused)
    played: Any = SimpleNamespace(
        _judges=incident.judges,
        _cluster=incident.cluster,
        _counts=Counter(),
        _wrong=SimpleNamespace(wrong=None),
        _operator=SimpleNamespace(collect=lambda _run_id: None),
    )
    History._ask_wrongly(played)
    assert found(incident, "a wrong election has changed the cluster") == is_found


@pytest.mark.parametrize(
    ("change", "is_found"), [(nothing, False), (an_order, True), (the_order_of_before, True), (an_election, True), (a_file, True)]
)
def test_a_run_in_check_mode_after_a_killed_one(incident: Incident, change: Change, is_found: bool) -> None:
    """What a broker carries out late for the killed one does not count, so changes are those of control nodes."""
    incident.judges._gives_up = True
    played: Any = SimpleNamespace(
        _judges=incident.judges, _counts=Counter(), _world=world(incident), _look=lambda _run_id: change(incident)
    )
    History._look_on(played)
    assert found(incident, "a run in check mode after a killed one has changed the cluster") == is_found


@of_all
@pytest.mark.parametrize("kind", [CHECK, HELD])
def test_a_rehearsal(incident: Incident, kind: str, change: Change, is_found: bool) -> None:
    rehearsal = Rehearsal(kind, incident.judges, incident.cluster, lambda: 0)
    change(incident)
    rehearsal.judge(None)
    assert found(incident, f"a run that must change nothing ({kind}) has changed the cluster") == is_found


@pytest.mark.parametrize(("kind", "outcome", "is_found"), [(HELD, "elected", True), (HELD, "held", False), (CHECK, "elected", False)])
def test_without_allow_data_loss_nothing_counts_as_elected(incident: Incident, kind: str, outcome: str, is_found: bool) -> None:
    row = {"topic": KEY[0], "partition": KEY[1], "outcome": outcome}
    result = {"results": [row], "changed": outcome == "elected", "summary": "", "warnings": []}
    Rehearsal(kind, incident.judges, incident.cluster, lambda: 0).judge(result)
    assert found(incident, "counts as elected, without allow_data_loss") == is_found


def test_the_list_of_partitions_without_a_leader_has_each(incident: Incident, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {
        "cluster": "simulated", "topic": KEY[0], "partition": KEY[1], "outcome": "held", "reason": "x", "reason_code": "forked", "leader": None,
        "error": None,
    }  # fmt: skip
    monkeypatch.setattr("simulation.rehearsal.offline_list", lambda _name, rows: [f"simulated: {len(rows)} partitions have no leader"])
    judge_list(incident.judges, {"results": [row]})
    assert not found(incident, "")
    monkeypatch.setattr("simulation.rehearsal.offline_list", lambda _name, _rows: [])
    judge_list(incident.judges, {"results": [row]})
    assert found(incident, "1 partitions have no leader, and the list says []")


# --- wrong answers ---------------------------------------------------------------------------------------------------------


def with_wrong_answers(incident: Incident) -> RunsWithWrongAnswers:
    script: Any = SimpleNamespace(wrong_answers=None)
    runs = RunsWithWrongAnswers(
        script, incident.cluster, incident.workdir, incident.judges, incident.events, Counter(), set(), not_judged=()
    )
    runs.wrong = SimpleNamespace(rest=lambda: None, begin=lambda *_: None, count=0)  # type: ignore[assignment]
    return runs


@of_all
def test_a_run_in_check_mode_that_gets_wrong_answers(incident: Incident, change: Change, is_found: bool) -> None:
    operator: Any = Once(incident, change)
    with_wrong_answers(incident)._rehearse_with(operator, "wrong-1")
    assert found(incident, "a run in check mode that got wrong answers has changed the cluster") == is_found


@of_cluster
def test_saving_with_wrong_answers(incident: Incident, tmp_path: Path, change: Change, is_found: bool) -> None:
    """It has a workdir of its own."""
    operator: Any = Once(incident, change)
    operator.workdir = tmp_path / "other"
    with_wrong_answers(incident)._save_with(operator, 1)
    assert found(incident, "saving with wrong answers has changed the cluster") == is_found


@of_all
def test_a_run_in_check_mode_that_gets_an_odd_metadata_log(
    incident: Incident, monkeypatch: pytest.MonkeyPatch, change: Change, is_found: bool
) -> None:
    def recover(*_: Any) -> set[str]:
        change(incident)
        return {"odd"}

    monkeypatch.setattr(odd_metadata, "recover_in_check_mode", recover)
    operator: Any = Once(incident, nothing)
    with_wrong_answers(incident)._read_odd_metadata(operator, 1)
    assert found(incident, "a run in check mode that got an odd metadata log has changed the cluster") == is_found


# --- damaged files ---------------------------------------------------------------------------------------------------------


@of_cluster
def test_a_run_in_check_mode_that_reads_a_damaged_file(incident: Incident, change: Change, is_found: bool) -> None:
    a_file(incident)
    operator: Any = Once(incident, change)
    DamagedFiles(1, operator, incident.judges, Counter(), lambda _text: None).between_runs()
    assert operator.has_run
    assert found(incident, "and a run in check mode has changed the cluster") == is_found


class Traces:
    """Stands for the judges of replays: a replay has left a trace if it has run, and leaves some."""

    def __init__(self, leaves: bool) -> None:
        self._left: list[str] = []
        self._leaves = leaves
        self.asked: Mapping[str, Any] = {}

    def leave(self, *_: Any, **__: Any) -> dict[str, Any]:
        """Replay."""
        self._left += ["replayed"] if self._leaves else []
        return {"partitions": [], "counts": {"left": 0}}

    def traces(self) -> list[str]:
        """Return what is left."""
        return [*self._left]

    def ends(self) -> dict[Any, int]:
        """Return that logs end where they did: a producer that has begun writes nothing."""
        return {}


@pytest.fixture(params=[True, False])
def traces(request: pytest.FixtureRequest) -> Traces:
    return Traces(request.param)


def replayer(traces: Traces) -> Any:
    return SimpleNamespace(saved_runs=lambda: ["first"], replay=traces.leave, impact=lambda *_: None)


def test_a_replay_in_check_mode_that_reads_a_damaged_file(incident: Incident, monkeypatch: pytest.MonkeyPatch, traces: Traces) -> None:
    monkeypatch.setattr(damaged_journals, "ROUNDS", 1)
    a_file(incident)
    operator: Any = Once(incident, nothing)
    judges: Any = traces
    damaged_replays(1, operator, replayer(traces), judges, incident.judges, Counter(), lambda _text: None)
    assert found(incident, "a replay in check mode that read a damaged file has changed a log") == traces._leaves


@pytest.mark.parametrize(
    ("act", "how"),
    [
        (lambda runs: runs.with_wrong_answers(1), "that got wrong answers"),
        (lambda runs: runs.with_other_logins(), "whose login lacks permissions"),
        (lambda runs: runs.while_brokers_are_down(), "while brokers were down"),
    ],
)
def test_a_replay_in_check_mode(incident: Incident, traces: Traces, act: Callable[[ReplaysInCheckMode], None], how: str) -> None:
    judges: Any = traces
    act(ReplaysInCheckMode(incident.cluster, replayer(traces), judges, incident.judges, Counter()))
    assert found(incident, f"a replay in check mode {how} has changed a log") == traces._leaves


def test_a_replay_that_is_asked_for_in_check_mode_first(incident: Incident, traces: Traces) -> None:
    judges: Any = traces
    ReplayRequests(replayer(traces), NO_REVIEW, incident.judges, judges, Counter()).prepare()
    assert found(incident, "a replay in check mode, or one that was refused, has changed a log") == traces._leaves


# --- other commands -----------------------------------------------------------------------------------------------------------


def other_commands(incident: Incident, operator: Any, monkeypatch: pytest.MonkeyPatch) -> OtherCommands:
    """Return commands whose elections and savings are those of `operator`."""
    commands = OtherCommands(1, incident.cluster, operator, incident.judges, incident.events, Counter())
    monkeypatch.setattr(commands, "_elect", lambda *_, **__: operator.elect_leaders())
    monkeypatch.setattr(commands, "_save", operator.save)
    monkeypatch.setattr(commands, "_check", lambda _what, work: work())
    monkeypatch.setattr(commands, "_do", lambda _what, work: work())
    return commands


@of_cluster
def test_an_election_in_check_mode_or_saving_without_an_election(
    incident: Incident, monkeypatch: pytest.MonkeyPatch, change: Change, is_found: bool
) -> None:
    other_commands(incident, Once(incident, change), monkeypatch).before_recovery()
    assert found(incident, "an election in check mode, or saving without an election, has changed the cluster") == is_found


@of_all
def test_a_check_of_readiness(incident: Incident, monkeypatch: pytest.MonkeyPatch, change: Change, is_found: bool) -> None:
    commands = other_commands(incident, Once(incident, change), monkeypatch)
    for name in ("_list", "_elect_with_false_answers", "_strike", "_elect_without_brokers"):
        monkeypatch.setattr(commands, name, lambda *_: None)
    commands.at_the_end(elects_uncleanly=False)
    assert found(incident, "a check of readiness in check mode has changed the cluster or the workdir") == is_found


@of_cluster
def test_an_unclean_election_without_brokers(incident: Incident, monkeypatch: pytest.MonkeyPatch, change: Change, is_found: bool) -> None:
    other_commands(incident, Once(incident, change), monkeypatch)._elect_without_brokers()
    assert found(incident, "an unclean election without brokers, or one in check mode, has changed the cluster") == is_found


@pytest.mark.parametrize(
    ("outcome", "reason_code", "has_leader", "violation"),
    [
        ("elected", None, False, "orders-0 counts as elected, and has no leader"),
        ("elected", "elected_unseen", False, None),
        ("elected", None, True, None),
        ("held", "forked", False, None),
    ],
)
def test_what_counts_as_elected_by_kip_460_has_a_leader(
    incident: Incident, outcome: str, reason_code: str | None, has_leader: bool, violation: str | None
) -> None:
    row = {"topic": KEY[0], "partition": KEY[1], "outcome": outcome, "reason_code": reason_code}
    result = {"results": [row], "changed": outcome == "elected"}
    operator: Any = Once(incident, an_election if has_leader else lambda one: one.judges.count_change(), result)
    OtherCommands(1, incident.cluster, operator, incident.judges, incident.events, Counter())._elect("unclean")
    assert found(incident, violation or "") == (violation is not None)


@pytest.mark.parametrize(("changed", "is_found"), [(True, False), (False, True)])
def test_an_election_that_elects_says_that_it_has_changed_something(incident: Incident, changed: bool, is_found: bool) -> None:
    result = {"results": [{"outcome": "elected"}], "changed": changed}
    operator: Any = Once(incident, nothing)
    OtherCommands(1, incident.cluster, operator, incident.judges, incident.events, Counter())._judge_changed(result, changes=-1)
    assert found(incident, "a partition counts as elected, and the election says that it changes nothing") == is_found


# --- disks of lost brokers ----------------------------------------------------------------------------------------------------


class ReadDisks(Rescue):
    """Broker 3 is down. The first act that is done changes something."""

    def __init__(self, incident: Incident, change: Change) -> None:
        script: Any = SimpleNamespace(torn=None, is_damaged=False, has_all=True)
        super().__init__(script, 1, incident.cluster, incident.workdir, incident.judges, Counter())
        self._incident, self._change, self._is_done = incident, change, False

    @contextmanager
    def _mounted(self, *_: Any) -> Iterator[tuple[list[str], Path]]:
        yield [], Path()

    def _do(self, *_: Any) -> None:
        if not self._is_done:
            self._is_done = True
            self._change(self._incident)


@of_all
def test_reading_odd_disks(incident: Incident, monkeypatch: pytest.MonkeyPatch, change: Change, is_found: bool) -> None:
    monkeypatch.setattr(odd_disks, "change", lambda *_: None)
    ReadDisks(incident, change).read_odd_disks()
    assert found(incident, "reading odd disks in check mode has changed the cluster or the workdir") == is_found


@of_all
def test_a_host_that_answers_wrongly(incident: Incident, monkeypatch: pytest.MonkeyPatch, change: Change, is_found: bool) -> None:
    monkeypatch.setattr(rescue, "RESULTS", {})
    ReadDisks(incident, change)._ask_host_that_answers_wrongly(incident.cluster.brokers[3])
    assert found(incident, "the host with the disk of broker 3 answers wrongly, and check mode has changed the cluster") == is_found


@of_all
def test_odd_results_about_a_disk(incident: Incident, change: Change, is_found: bool) -> None:
    ReadDisks(incident, change)._read_odd_results(incident.cluster.brokers[3], [], {"evidence": lambda *_: None})
    assert found(incident, "odd results about the disk of broker 3 have changed the cluster or the workdir") == is_found


@pytest.mark.parametrize(
    ("before", "after", "is_found"), [(None, None, False), (None, "new", True), ("old", "old", False), ("old", "new", True)]
)
def test_the_disk_of_another_broker_does_not_become_evidence(
    incident: Incident, monkeypatch: pytest.MonkeyPatch, before: str | None, after: str | None, is_found: bool
) -> None:
    """Evidence that is there already is not replaced either."""
    path = incident.workdir / "disks/simulated/3.jsonl"
    path.parent.mkdir(parents=True)

    def write(text: str | None) -> None:
        if text is not None:
            path.write_text(text)

    write(before)
    read = ReadDisks(incident, lambda _incident: write(after))
    monkeypatch.setattr(read, "_ask_host_that_answers_wrongly", lambda _broker: None)
    read.ask_wrongly()
    assert found(incident, "the disk of a broker that runs, or of another one, has become evidence") == is_found


# --- histories of moves -------------------------------------------------------------------------------------------------------


def moves(incident: Incident, rehearses: Change, asks_wrongly: Change) -> Any:
    return SimpleNamespace(
        _judges=incident.judges,
        _cluster=incident.cluster,
        _counts=Counter(),
        _world=world(incident),
        _wrong=SimpleNamespace(begin=lambda _number: None, first=None),
        _script=SimpleNamespace(
            reviews=SimpleNamespace(approves=False, refuses=True), request=SimpleNamespace(rehearsal=None), second=None
        ),
        _moves=SimpleNamespace(expires_after=None),
        _do=lambda _run_id: rehearses(incident),
        _ask_wrongly=lambda: asks_wrongly(incident),
    )


@of_all
def test_moves_in_check_mode(incident: Incident, change: Change, is_found: bool) -> None:
    MoveHistory._rehearse(moves(incident, change, nothing))
    violations = [one for one in incident.judges.violations if "wrong moves" not in one and "which no journal has" not in one]
    assert violations == (["moves in check mode have changed the cluster, or files of the workdir"] if is_found else [])


@of_cluster
def test_wrong_moves_or_throttles(incident: Incident, change: Change, is_found: bool) -> None:
    MoveHistory._rehearse(moves(incident, nothing, change))
    assert found(incident, "wrong moves or throttles have changed the cluster") == is_found


@pytest.mark.parametrize(
    ("left", "warnings", "is_found"),
    [([("broker", "1")], [], True), ([("broker", "1")], ["a throttle is left"], False), ([], [], False)],
)
def test_readiness_warns_of_a_throttle_that_a_run_has_left(
    incident: Incident, monkeypatch: pytest.MonkeyPatch, left: list[Any], warnings: list[str], is_found: bool
) -> None:
    monkeypatch.setattr(incident.judges, "left_by_runs", lambda: left, raising=False)
    played: Any = SimpleNamespace(
        _judges=incident.judges,
        _operator=SimpleNamespace(check_readiness=lambda **_: {"warnings": warnings}),
        _world=world(incident),
        _script=SimpleNamespace(seed=1),
        _counts=Counter(),
    )
    move_history.MoveHistory._look_for_throttles(played)
    assert found(incident, "and a check of readiness does not warn of it") == is_found
