# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SIGKILL and SIGTERM at every request and every operation on a file (make test: at some of them), one after the other; then the same run again.

In the end everything is as if nothing had disturbed it: leaders, replica orders, files; and one more run changes nothing. How many
steps there are is found out by an undisturbed run. Each election that is disturbed has two partitions of its own.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from integration.damaged import KILLED, KILLED_PARTITIONS, KILLED_SAVED
from integration.requestlog import RequestLog
from integration.stepping import Job, Run, run_all, run_chains, sampled
from integration.support import Operator, TopicPartition

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import read_pieces
from rig import Damage

SIGNALS = (signal.SIGKILL, signal.SIGTERM)
EACH = 2  # partitions


class Units:
    """Pairs of partitions that are collected, planned and elected by themselves, each under a name and in a folder of its own."""

    def __init__(self, damage: Damage, folder: Path, spark_remote: str) -> None:
        self._operator = Operator(damage.cluster, folder, spark_remote)
        self.cluster = damage.cluster
        self.folder = folder
        self.spark_remote = spark_remote
        self.before = self._operator.states(KILLED)
        self._used = 0

    def take(self) -> int:
        """A unit that no run has touched."""
        self._used += 1
        assert self._used * EACH <= KILLED_PARTITIONS, "more steps than partitions: raise damaged.KILLED_PARTITIONS"
        return self._used - 1

    def keys(self, unit: int) -> list[TopicPartition]:
        return [(KILLED, unit * EACH + number) for number in range(EACH)]

    def states(self) -> dict[TopicPartition, Any]:
        return self._operator.states(KILLED)

    def collecting(self, unit: int, workdir: Path) -> Job:
        named = [{"topic": topic, "partition": number} for topic, number in self.keys(unit)]
        options = {**self._operator.connection, "partitions": named, "cluster": f"unit-{unit}", "run_id": "1", "workdir": str(workdir)}
        return Job("kafka_replica_log_info", options, str(self.folder / f"collect-{unit}-{workdir.name}"), str(workdir))

    def planning(self, units: Sequence[int], workdir: Path) -> Job:
        options = {
            "clusters": [f"unit-{unit}" for unit in units],
            "run_id": "1",
            "workdir": str(workdir),
            "spark_remote": self.spark_remote,
        }
        return Job("kafka_recovery_plan", options, str(self.folder / "plan"), str(workdir))

    def electing(self, unit: int, plans: Path) -> Job:
        workdir = self.folder / f"work-{unit}"
        options = {**self._operator.connection, "cluster": f"unit-{unit}", "run_id": "1", "workdir": str(workdir), "allow_data_loss": True}
        plan = str(plans / "plans" / "1" / f"unit-{unit}.json")
        return Job("kafka_designated_election", {**options, "plan": plan}, str(self.folder / f"elect-{unit}"), str(workdir))


@pytest.fixture(scope="module")
def units(damage: Damage, spark_remote: str, tmp_path_factory: pytest.TempPathFactory) -> Units:
    return Units(damage, tmp_path_factory.mktemp("units"), spark_remote)


def undisturbed(job: Job) -> Run:
    (run,) = run_all([job])
    assert run.returncode == 0 and run.steps, run
    return run


def disturbed(jobs: Sequence[Job]) -> list[Run]:
    """Run jobs that signal themselves."""
    runs = run_all(jobs)
    for job, run in zip(jobs, runs, strict=True):
        check_the_end(job, run)
    return runs


def check_the_end(job: Job, run: Run) -> None:
    """It ended as a process ends by that signal, or in words."""
    if run.returncode == 0 and len(run.steps) < (job.stop_at or 0):
        return  # A busy broker is asked beside another, or asked again: the run that was counted had more steps.
    if job.number == signal.SIGKILL:
        assert run.returncode == -signal.SIGKILL, (job, run)
    else:
        # Where all was done already, there is nothing to stop.
        assert run.result and (run.returncode == 0 or run.result["msg"].startswith("interrupted by SIGTERM")), (job, run)
        assert "Traceback" not in run.stderr, run


def content(workdir: Path) -> dict[str, Any]:
    """Every file below, by path. Times, names of plans and how long a broker has been silent differ from run to run, and digests with them."""
    found = {}
    for path in sorted(workdir.rglob("*")):
        if path.is_file():
            lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
            found[str(path.relative_to(workdir))] = [_timeless(json.loads(line)) for line in lines]
    return found


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        passing = {
            "collected_at",
            "created_at",
            "finished_at",
            "plan_id",
            "sha256",
            "silent_seconds",
            "outcome",
            "reason",
            "reason_code",
            "summary",
        }
        return {key: _timeless(part) for key, part in value.items() if key not in passing}
    return [_timeless(part) for part in value] if isinstance(value, list) else value


def plans_in(workdir: Path) -> dict[str, Any]:
    """Its plans. How long brokers have been silent is stated in explanations, too."""
    plans = {path: documents[0] for path, documents in content(workdir).items() if path.startswith("plans")}
    for plan in plans.values():
        for entry in [*plan["partitions"], *plan["held"]]:
            del entry["explanation"]
    return plans


@sampled
def test_collecting(units: Units, tmp_path: Path, every: int) -> None:
    unit = units.take()
    whole = units.collecting(unit, tmp_path / "whole")
    steps = undisturbed(whole).steps
    expected = content(tmp_path / "whole")
    jobs = []
    for number in SIGNALS:
        for step in range(1, len(steps) + 1, every):
            name = f"{number.name}-{step}"
            jobs.append(replace(units.collecting(unit, tmp_path / name), stop_at=step, number=number, folder=str(tmp_path / f"{name}-run")))
    disturbed(jobs)
    for job in jobs:
        if job.number == signal.SIGTERM:
            assert {*content(Path(job.files))} <= {*expected}, (job, "a file that was not finished")
    assert {run.returncode for run in run_all(replace(job, stop_at=None) for job in jobs)} == {0}
    for job in jobs:
        assert content(Path(job.files)) == expected, job
    assert units.states() == units.before


@sampled
def test_planning(units: Units, tmp_path: Path, every: int) -> None:
    """Each run is disturbed one step after the one before, in the same folder: so each is also the run after."""
    members = [units.take()]
    workdirs = {name: tmp_path / name for name in ("whole", *(number.name for number in SIGNALS))}
    for workdir in workdirs.values():
        (workdir / "plans" / "1").mkdir(parents=True)
    collecting = [units.collecting(unit, workdir) for unit in members for workdir in workdirs.values()]
    assert {run.returncode for run in run_all(collecting)} == {0}
    steps = undisturbed(units.planning(members, workdirs["whole"])).steps

    chains = []
    for number in SIGNALS:
        job = units.planning(members, workdirs[number.name])
        stops = [*range(1, len(steps) + 1, every), None]
        chains.append([replace(job, folder=str(tmp_path / f"{number.name}-{stop}"), stop_at=stop, number=number) for stop in stops])
    for chain, runs in zip(chains, run_chains(chains), strict=True):
        for job, run in zip(chain[:-1], runs[:-1], strict=True):
            check_the_end(job, run)
        assert runs[-1].returncode == 0 and runs[-1].steps == steps, runs[-1]
    expected = plans_in(workdirs["whole"])
    assert expected
    for workdir in workdirs.values():
        assert plans_in(workdir) == expected
        assert list(workdir.rglob(".*")) == []


@sampled
def test_saving(damage: Damage, spark_remote: str, tmp_path: Path, every: int) -> None:
    operator = Operator(damage.cluster, tmp_path / "planned", spark_remote)
    operator.snapshot_and_plan("1", [KILLED_SAVED], strategy="aggressive")
    options = {**operator.connection, "cluster": "east", "run_id": "1", "plan": str(operator.path("plans", "1"))}

    def saving(name: str, run_bytes: int, **stop: Any) -> Job:
        workdir = str(tmp_path / name)
        limited = {**options, "workdir": workdir, "max_saved_run_bytes": run_bytes}
        return Job("kafka_replica_records", limited, f"{workdir}-run", workdir, **stop)

    whole = undisturbed(saving("whole", 1 << 30))
    expected = saved_bytes(damage, tmp_path / "whole")
    assert len(expected) == 4
    # What a killed run has reserved, or has left unfinished, does not count.
    size = sum(map(len, expected.values()))
    stops = [(number, step) for number in SIGNALS for step in range(1, len(whole.steps) + 1, every)]
    jobs = [saving(f"{number.name}-{step}", size, stop_at=step, number=number) for number, step in stops]
    disturbed(jobs)
    for job, run in zip(jobs, run_all(replace(job, stop_at=None) for job in jobs), strict=True):
        assert run.returncode == 0 and run.result["counts"]["saved"] == 4, (job, run)
        assert saved_bytes(damage, Path(job.files)) == expected, job
        assert {path.name for path in litter(job)} == {".lock", ".bytes"}, job
    third = run_all(replace(job, stop_at=None) for job in jobs[::5])
    assert {(run.result["counts"]["saved_before"], run.result["counts"]["bytes"]) for run in third} == {(4, 0)}


def saved_bytes(damage: Damage, workdir: Path) -> dict[tuple[int, int], bytes]:
    """What is saved in the end, by partition and broker. Nothing is saved twice."""
    pieces = read_pieces(workdir / "saved" / "1" / "east", damage.cluster.cluster_id, whole=True)
    found = {(piece.partition, piece.broker_id): piece.part.read_bytes()[piece.position : piece.position + piece.size] for piece in pieces}
    assert len(found) == len(pieces)
    return found


@sampled
def test_electing(units: Units, tmp_path: Path, every: int) -> None:
    first = units.take()
    plans = tmp_path / "plans"
    undisturbed(units.collecting(first, plans))
    undisturbed(units.planning([first], plans))
    whole = undisturbed(units.electing(first, plans))
    names = [(number, step) for number in SIGNALS for step in range(1, len(whole.steps) + 1, every)]
    members = [units.take() for _ in names]
    assert {run.returncode for run in run_all(units.collecting(unit, plans) for unit in members)} == {0}
    undisturbed(units.planning(members, plans))

    jobs = [replace(units.electing(unit, plans), stop_at=step, number=number) for unit, (number, step) in zip(members, names, strict=True)]
    runs = disturbed(jobs)
    left = units.states()
    assert any(left[key].replicas != units.before[key].replicas for unit in members for key in units.keys(unit)), (
        "some were killed in between"
    )
    for unit, job, run in zip(members, jobs, runs, strict=True):
        if job.number == signal.SIGTERM:
            where = (whole.steps[(job.stop_at or 0) - 1], job, run)
            assert all(left[key].replicas == units.before[key].replicas for key in units.keys(unit)), where
            assert not open_intents(job) and not litter(job), where
            if "not reached" in run.result.get("msg", ""):
                assert {row["outcome"] for row in run.result["results"]} <= {"held", "elected"}, where
                assert results(job, unit) is not None, where

    clean_up(units, [(unit, job) for unit, job in zip(members, jobs, strict=True) if job.number == signal.SIGKILL][::2])

    again = run_all(replace(job, stop_at=None) for job in jobs)
    states = units.states()
    for unit, job, run in zip(members, jobs, again, strict=True):
        where = (whole.steps[(job.stop_at or 0) - 1], job, run)
        assert run.returncode == 0, where
        assert {states[key].leader for key in units.keys(unit)} == {2}, where
        assert all(states[key].replicas == units.before[key].replicas for key in units.keys(unit)), where
        assert [(row["outcome"] in ("elected", "already_online"), row["leader"]) for row in results(job, unit) or []] == [
            (True, 2)
        ] * EACH, where
        assert not open_intents(job) and not litter(job), where
        rescue = {f"rescue/unit-{unit}/broker-1.json", f"rescue/unit-{unit}/in-sync.json"}
        expected = {f"journal/id-{units.cluster.cluster_id}.jsonl", f"results/1/unit-{unit}.json", *rescue}
        assert content(Path(job.files)).keys() - {f"leftovers/unit-{unit}.json"} == expected, where

    log = RequestLog(units.cluster)
    third = run_all(replace(job, stop_at=None) for job in jobs)
    assert log.written() == {}
    assert {row["outcome"] for run in third for row in run.result["results"]} == {"already_online"}
    assert not any(run.result["repaired"] or run.result["changed"] for run in third)
    assert units.states() == states


def clean_up(units: Units, killed: Sequence[tuple[int, Job]]) -> None:
    """What killed elections have left is found by another process, and restored if no election may follow it any more."""
    left = units.states()
    jobs = []
    for _unit, job in killed:
        named = {name: job.arguments[name] for name in ("bootstrap_servers", "cluster", "workdir")}
        options = {**named, "run_id": "cleanup", "window": 0.1, "preview": 1000}
        jobs.append(Job("kafka_recovery_leftovers", options, f"{job.folder}-cleanup", job.files))
    for (unit, job), run in zip(killed, run_all(jobs), strict=True):
        assert run.returncode == 0, (job, run)
        rows = {(row["topic"], row["partition"]): row for row in run.result["leftovers"] if row["kind"] == "replica_order"}
        changed = {key for key in units.keys(unit) if left[key].replicas != units.before[key].replicas}
        assert rows.keys() == changed, (job, run)
        for key, row in rows.items():
            # Without a leader, an election that was sent and never answered would follow another order.
            assert row["outcome"] == "removed" or (left[key].leader < 0 and "never answered" in row["reason"]), (job, row)
    now = units.states()
    for key in (key for unit, _job in killed for key in units.keys(unit)):
        assert now[key].replicas == units.before[key].replicas or now[key].leader < 0, key


def results(job: Job, unit: int) -> list[dict[str, Any]] | None:
    path = Path(job.files) / "results" / "1" / f"unit-{unit}.json"
    return json.loads(path.read_text())["partitions"] if path.exists() else None


def litter(job: Job) -> list[Path]:
    return list(Path(job.files).rglob(".*"))


def open_intents(job: Job) -> set[str]:
    return open_lines(json.loads(line) for path in Path(job.files, "journal").glob("*.jsonl") for line in path.read_text().splitlines())


def open_lines(journal: Iterable[dict[str, Any]]) -> set[str]:
    """The intents of a journal that are not done."""
    lines = list(journal)
    return {line["id"] for line in lines if line["kind"] == "intent"} - {line["id"] for line in lines if line["kind"] == "done"}
