# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine that runs a module is destroyed at every step that outlives it; the same command on another machine, with the same object store, ends the work.

Steps are requests that change a cluster, their answers, and writes to the store. In the end no replica order is changed, no throttle is set, no journal
has anything open, and no lock is held by a run that lives.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from integration.breaking import delete_topics
from integration.damaged import DESTROYED, DESTROYED_PARTITIONS, KILLED_SAVED
from integration.requestlog import RequestLog
from integration.stepping import Job, Run, run_all
from integration.store_clients import Bucket
from integration.support import Operator, TopicPartition, run_module
from integration.test_killed_at_every_step import open_lines, saved_bytes
from integration.throttle_leaks import clear, throttles, wait_for_throttles

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.lease import SETTING as LEASE_SECONDS
from rig import Damage, NewTopic

ELECTION, MOVES, THROTTLE = "kafka_designated_election", "kafka_partition_reassignment", "kafka_replication_throttle"
EACH = 2  # partitions of an election
RATE = 100_000_000
NAME = "destroyed"


@pytest.fixture(autouse=True)
def short_leases(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a killed run has locked is free soon."""
    monkeypatch.setenv(LEASE_SECONDS, "1")


class Machines:
    """Jobs on machines of their own, whose workdirs are folders of one bucket."""

    def __init__(self, bucket: Bucket, folder: Path) -> None:
        self.bucket, self._folder = bucket, folder
        self._used = 0

    def url(self, name: str) -> str:
        return f"{self.bucket.url}/{name}"

    def job(self, module: str, workdir: str, **options: Any) -> Job:
        """A job that no machine has run yet. `workdir`: its name in the bucket."""
        return self.elsewhere(Job(module, {**options, "workdir": self.url(workdir)}, "", workdir))

    def elsewhere(self, job: Job, stop_at: int | None = None) -> Job:
        """The same command on another machine."""
        self._used += 1
        place = self._folder / f"{self._used}"
        return replace(job, folder=str(place / "run"), machine=str(place / "machine"), stop_at=stop_at)

    def walk(self, jobs: Iterable[tuple[Job, int]], whole: Run) -> list[tuple[Job, str, Run]]:
        """Destroy the machine of each job at its step, then run the same command elsewhere. Return the jobs with their step and their second run."""
        rows = list(jobs)
        killed = run_all(self.elsewhere(job, step) for job, step in rows)
        found = []
        again = run_all(self.elsewhere(job) for job, _step in rows)
        for (job, step), first, second in zip(rows, killed, again, strict=True):
            # A busy broker is asked again: the run that was counted had more steps.
            assert first.returncode == -signal.SIGKILL or (first.returncode == 0 and len(first.steps) < step), (
                whole.steps[step - 1],
                first,
            )
            assert second.returncode == 0, (whole.steps[step - 1], job, second)
            found.append((job, whole.steps[step - 1], second))
        return found

    def contents(self, workdir: str) -> dict[str, bytes]:
        """The objects of a workdir."""
        return {
            key.removeprefix(f"{workdir}/"): content for key, content in self.bucket.contents().items() if key.startswith(f"{workdir}/")
        }


def nothing_is_open(contents: Mapping[str, bytes], where: Any) -> None:
    """Fail unless every journal among the objects of a workdir is closed and every lock was released."""
    for key, content in contents.items():
        if key.endswith(".lease"):
            assert json.loads(content)["released"], (key, where)
        elif key.startswith("throttles/") and key.endswith(".jsonl"):
            assert len(content.splitlines()) == 1, (key, content, where)  # the line that names the writer
        elif key.startswith("journal/"):
            assert not open_lines(json.loads(line) for line in content.splitlines()[1:]), (key, where)


@pytest.fixture
def machines(bucket: Bucket, tmp_path: Path) -> Machines:
    return Machines(bucket, tmp_path / "machines")


def undisturbed(job: Job) -> Run:
    (run,) = run_all([job])
    assert run.returncode == 0 and run.steps, run
    return run


def all_steps(whole: Run) -> list[int]:
    return list(range(1, len(whole.steps) + 1))


# --- elections ------------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_recover(damage: Damage, machines: Machines, tmp_path: Path) -> None:
    operator = Operator(damage.cluster, tmp_path)
    before = operator.states(DESTROYED)

    def keys(unit: int) -> list[TopicPartition]:
        return [(DESTROYED, unit * EACH + number) for number in range(EACH)]

    def collecting(unit: int) -> Job:
        named = [{"topic": topic, "partition": number} for topic, number in keys(unit)]
        return machines.job("kafka_replica_log_info", "plans", **operator.connection, cluster=f"unit-{unit}", run_id="1", partitions=named)

    def planning(units: Iterable[int]) -> None:
        options = {"clusters": [f"unit-{unit}" for unit in units], "run_id": "1", "workdir": machines.url("plans"), "spark_remote": ""}
        planned = run_module("kafka_recovery_plan", options)
        assert planned.returncode == 0 and not planned.result["quarantine"], planned

    def electing(unit: int) -> Job:
        options = {**operator.connection, "cluster": f"unit-{unit}", "run_id": "1", "allow_data_loss": True}
        return machines.job(ELECTION, f"work-{unit}", **options, plan=f"{machines.url('plans')}/plans/1/unit-{unit}.json")

    counted = undisturbed(collecting(0))
    planning([0])
    whole = undisturbed(electing(0))
    units = range(1, len(whole.steps) + 1)
    assert len(units) * EACH < DESTROYED_PARTITIONS, "more steps than partitions: raise damaged.DESTROYED_PARTITIONS"
    # Each machine that collects is destroyed at another step, so all steps of it are walked on the way.
    machines.walk([(collecting(unit), 1 + (unit - 1) % len(counted.steps)) for unit in units], counted)
    planning([0, *units])
    ends = machines.walk([(electing(unit), unit) for unit in units], whole)
    operator.in_order_again(before)
    states = operator.states(DESTROYED)
    for unit, (job, step, run) in zip(units, ends, strict=True):
        where = (step, job, run)
        assert {states[key].leader for key in keys(unit)} == {2}, where
        results = json.loads(machines.contents(f"work-{unit}")[f"results/1/unit-{unit}.json"])["partitions"]
        assert [(row["outcome"] in ("elected", "already_online"), row["leader"]) for row in results] == [(True, 2)] * EACH, where
        nothing_is_open(machines.contents(f"work-{unit}"), where)
    log = RequestLog(operator.cluster)
    third = run_all(machines.elsewhere(job) for job, _step, _run in ends)
    assert log.written() == {} and not any(run.result["changed"] or run.result["repaired"] for run in third)
    print(f"recover: {len(ends)} steps of elections, {len(counted.steps)} of collecting evidence: all ended elsewhere")


@pytest.mark.long
def test_saving(damage: Damage, machines: Machines, tmp_path: Path) -> None:
    operator = Operator(damage.cluster, tmp_path)
    options: dict[str, Any] = {**operator.connection, "cluster": operator.name, "run_id": "1"}
    named = [{"topic": topic, "partition": partition} for topic, partition in operator.keys([KILLED_SAVED])]
    undisturbed(machines.job("kafka_replica_log_info", "plans", **options, partitions=named))
    plan = {"clusters": [operator.name], "run_id": "1", "workdir": machines.url("plans"), "strategy": "aggressive", "spark_remote": ""}
    planned = run_module("kafka_recovery_plan", plan)
    assert planned.returncode == 0 and not planned.result["quarantine"], planned

    def saving(name: str, run_bytes: int) -> Job:
        return machines.job(
            "kafka_replica_records", name, **options, plan=planned.result["plans"][0]["path"], max_saved_run_bytes=run_bytes
        )

    def saved(name: str) -> dict[tuple[int, int], bytes]:
        folder = tmp_path / "saved" / name
        for key, content in machines.contents(name).items():
            path = folder / key
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(content)
        return saved_bytes(damage, folder)

    whole = undisturbed(saving("whole", 1 << 30))
    expected = saved("whole")
    assert len(expected) == 4
    # What a destroyed machine has reserved, or has left unfinished, does not count.
    size = sum(map(len, expected.values()))
    ends = machines.walk([(saving(f"save-{step}", size), step) for step in all_steps(whole)], whole)
    for job, step, run in ends:
        assert run.result["counts"]["saved"] == 4, (step, job, run)
        assert saved(job.files) == expected, (step, job, run)
        nothing_is_open(machines.contents(job.files), (step, job, run))
    third = run_all(machines.elsewhere(job) for job, _step, _run in ends)
    assert {(run.result["counts"]["saved_before"], run.result["counts"]["bytes"]) for run in third} == {(4, 0)}
    print(f"save: {len(ends)} steps: all ended elsewhere")


# --- moves and throttles --------------------------------------------------------------------------------------------------


@pytest.fixture
def operator(west: Operator) -> Iterator[Operator]:
    """An operator who works on a cluster without any throttle, with a topic of two partitions."""
    clear(west.cluster)
    west.cluster.create_topics([NewTopic(NAME, [[1, 2], [2, 1]])])
    west.cluster.produce(NAME, 0, ["x" * 1000 for _ in range(100)])
    yield west
    west.cluster.heal()
    clear(west.cluster)
    delete_topics(west.cluster, [NAME])


def walk(machines: Machines, whole: Run, steps: Iterable[int], make: Callable[[int], Job], check: Callable[[Any], None]) -> None:
    """Destroy a machine at each of these steps and end its work elsewhere, one after the other: throttles are of the whole cluster."""
    for step in steps:
        ((job, name, run),) = machines.walk([(make(step), step)], whole)
        check((name, job, run))
        nothing_is_open(machines.contents(job.files), (name, job, run))


@pytest.mark.long
@pytest.mark.parametrize("throttle", [RATE, None], ids=["throttled", "not-throttled"])
def test_reassign(operator: Operator, machines: Machines, throttle: int | None) -> None:
    def moving(step: int) -> Job:
        """Both partitions get another replica than they have, one changes its order, too."""
        third = 2 if any(3 in replicas for replicas in operator.orders(NAME).values()) else 3
        rows = [{"topic": NAME, "partition": number, "replicas": replicas} for number, replicas in enumerate(([1, third], [third, 1]))]
        options: dict[str, Any] = {"cluster": operator.name, "run_id": f"run-{step}", "partitions": rows, "throttle": throttle}
        return machines.job(MOVES, f"moves-{step}", **operator.connection, **options)

    def has_moved(where: Any) -> None:
        _name, job, run = where
        targets = {(row["topic"], row["partition"]): tuple(row["replicas"]) for row in job.arguments["partitions"]}
        operator.cluster.wait_for_partitions([NAME], lambda state: state.replicas == targets[state.topic, state.partition], "moved")
        summary = run.result["summary"]
        assert summary["reassigned"] + summary["unchanged"] == len(targets), where
        wait_for_throttles(operator.cluster)
        assert operator.ask("kafka_partition_reassignment_info")["summary"]["moving"] == 0, where

    whole = undisturbed(moving(0))
    walk(machines, whole, all_steps(whole), moving, has_moved)
    print(f"reassign, throttle {throttle}: {len(whole.steps)} steps: all ended elsewhere")


# make test destroys one machine, in the middle.
@pytest.mark.parametrize(
    ("state", "walks_all"), [("present", False), *(pytest.param(state, True, marks=pytest.mark.long) for state in ("present", "absent"))]
)
def test_throttle(operator: Operator, machines: Machines, state: str, walks_all: bool) -> None:
    common: dict[str, Any] = {**operator.connection, "cluster": operator.name, "measure_seconds": 0, "preview": 1000}
    named = [{"topic": NAME, "partition": number} for number in range(2)]

    def job(workdir: str, name: str) -> Job:
        return machines.job(THROTTLE, workdir, **common, **({"rate": RATE, "partitions": named} if name == "present" else {"state": name}))

    def prepared(step: int) -> Job:
        if state == "absent":
            undisturbed(job(f"throttles-{step}", "present"))
        return job(f"throttles-{step}", state)

    def is_set_or_removed(where: Any) -> None:
        _name, done, _run = where
        if state == "present":
            wait_for_throttles(operator.cluster, expected)
            undisturbed(job(done.files, "absent"))
        wait_for_throttles(operator.cluster)

    first = prepared(0)
    whole, expected = undisturbed(first), throttles(operator.cluster)
    assert bool(expected) == (state == "present")
    is_set_or_removed(("whole", first, whole))
    steps = all_steps(whole) if walks_all else [len(whole.steps) // 2]
    walk(machines, whole, steps, prepared, is_set_or_removed)
    print(f"throttle, {state}: {len(steps)} steps: all ended elsewhere")
