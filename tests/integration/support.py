# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running modules and playbooks as Ansible and an operator would."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integration.module_server import run_forked

from rig import KafkaCluster, PartitionState
from rig.fleet import host_vars, inventory, write_inventory

CHECKOUT = Path(__file__).resolve().parents[2]
# A task that hangs must fail its test; how fast a busy machine is, does not matter here.
GIVE_UP_SECONDS = 600
RUN = "import runpy, sys; sys.argv = ['module', *sys.argv[2:]]; runpy.run_path({path!r}, run_name='__main__')"

TopicPartition = tuple[str, int]


@dataclass(frozen=True)
class Answer:
    """What a module printed, and how its process ended."""

    returncode: int
    result: dict[str, Any]
    stderr: str

    @property
    def msg(self) -> str:
        """The error of a module that failed, or an empty text."""
        return str(self.result.get("msg", "")) if self.result.get("failed") else ""


def run_module(
    name: str,
    params: Mapping[str, Any],
    check: bool = False,
    diff: bool = False,
    before: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Answer:
    """Run a module in a process of its own. `before`: Python that this process runs first, to make a fault that cannot be had otherwise.

    Without it and without more `environment` the process is forked (see `module_server`).
    """
    path = str(CHECKOUT / "plugins" / "modules" / f"{name}.py")
    arguments = {**params, "_ansible_check_mode": check, "_ansible_diff": diff}
    with tempfile.TemporaryDirectory() as folder:
        file, output, errors = (Path(folder) / part for part in ("arguments.json", "stdout", "stderr"))
        file.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}))
        if before is None and environment is None:
            returncode = run_forked(path, file, output, errors, GIVE_UP_SECONDS)
            return Answer(returncode, _printed(output.read_text()), errors.read_text())
        program = ["-c", (before or "") + "\n" + RUN.format(path=path), "-"]
        done = subprocess.run(
            [sys.executable, *program, str(file)],
            capture_output=True,
            text=True,
            check=False,
            timeout=GIVE_UP_SECONDS,
            env={**os.environ, **(environment or {})},
        )
    return Answer(done.returncode, _printed(done.stdout), done.stderr)


def _printed(stdout: str) -> dict[str, Any]:
    """The result that a module printed, empty for one that was killed."""
    return json.loads(stdout) if stdout.strip() else {}


@contextmanager
def running(folder: Path, name: str, params: Mapping[str, Any]) -> Iterator[subprocess.Popen[str]]:
    """A module in the background, its arguments in `folder`. Nothing of it is left when the context ends."""
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": dict(params)}))
    argv = [sys.executable, str(CHECKOUT / "plugins" / "modules" / f"{name}.py"), str(file)]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@dataclass(frozen=True)
class Played:
    """How a playbook ended. `recap`: counters (ok, changed, failed, unreachable, ...) by host."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def said(self) -> str:
        """All that it printed. What failed is on stderr, as the checkout's ansible.cfg wants it."""
        return self.stdout + self.stderr

    @property
    def recap(self) -> dict[str, dict[str, int]]:
        lines = re.findall(r"(?m)^(\S+)\s+: (ok=.*)$", self.stdout)
        return {host: {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", counters)} for host, counters in lines}

    @property
    def tasks(self) -> list[str]:
        """The tasks that it showed, by name, in their order. Skipped ones, too."""
        return re.findall(r"(?m)^TASK \[(.*)\] \*+$", self.stdout)

    def __str__(self) -> str:
        return f"exit code {self.returncode}\n{self.stdout}\n{self.stderr}"


# Tests see all tasks, which the checkout's ansible.cfg hides.
ALL_TASKS = {"ANSIBLE_DISPLAY_OK_HOSTS": "true", "ANSIBLE_DISPLAY_SKIPPED_HOSTS": "true"}


def play(playbook: str, inventory_file: Path, *options: str, variables: Mapping[str, Any]) -> Played:
    """Run a playbook (a name of the collection, or a file) from the checkout, with its ansible.cfg."""
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), playbook, "-i", str(inventory_file), *options]
    argv += ["-e", json.dumps(dict(variables))]
    environment = {**ALL_TASKS, **os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg")}
    done = subprocess.run(
        argv, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False, timeout=GIVE_UP_SECONDS, stdin=subprocess.DEVNULL
    )
    return Played(done.returncode, done.stdout, done.stderr)


class Operator:
    """An operator who works on one cluster through the modules, with one workdir. Every method fails the test when its module fails.

    `name`: what the inventory calls the cluster. Files go by that name, so one cluster under several names is planned as several.
    `login`: connection options of every module, where they are not those of the rig's own plaintext listener.
    """

    def __init__(
        self,
        cluster: KafkaCluster,
        workdir: Path,
        spark_remote: str | None = None,
        name: str | None = None,
        login: Mapping[str, Any] | None = None,
    ) -> None:
        self.cluster = cluster
        self.workdir = workdir
        self.spark_remote = spark_remote
        self.name = name or cluster.name
        self._login = login

    @property
    def connection(self) -> dict[str, Any]:
        """Connection options of every module."""
        return dict(self._login or {"bootstrap_servers": self.cluster.bootstrap_servers.split(",")})

    def files(self, run_id: str) -> dict[str, Any]:
        """The options that name this cluster's files."""
        return {"cluster": self.name, "run_id": run_id, "workdir": str(self.workdir)}

    def path(self, kind: str, run_id: str) -> Path:
        """Landing file, plan or results of a run."""
        return self.workdir / kind / run_id / f"{self.name}.json{'l' if kind == 'landing' else ''}"

    @property
    def journal(self) -> Path:
        """The journal of changed replica orders."""
        return journal_of(self.workdir, self.cluster)

    def read(self, kind: str, run_id: str) -> dict[str, Any]:
        """The plan or the results of a run."""
        document: dict[str, Any] = json.loads(self.path(kind, run_id).read_text())
        return document

    def documents(self, run_id: str) -> list[dict[str, Any]]:
        """The evidence documents of a run's landing file."""
        return documents(self.path("landing", run_id))

    def keys(self, topics: Iterable[str]) -> list[TopicPartition]:
        """All partitions of these topics."""
        return [(state.topic, state.partition) for state in self.cluster.describe(*topics)]

    def states(self, *topics: str) -> dict[TopicPartition, PartitionState]:
        """What the cluster says of these topics' partitions."""
        return {(state.topic, state.partition): state for state in self.cluster.describe(*topics)}

    def orders(self, *topics: str) -> dict[TopicPartition, tuple[int, ...]]:
        """The replica order of every partition of these topics."""
        return {key: state.replicas for key, state in self.states(*topics).items()}

    def in_order_again(self, before: Mapping[TopicPartition, PartitionState]) -> dict[TopicPartition, PartitionState]:
        """What the cluster says of these partitions when all stand in the replica order that they had `before`; fails where that does not come.

        The controller has answered to the run that restored an order. The broker that is asked here learns of it a moment later.
        """
        topics = sorted({topic for topic, _ in before})
        self.cluster.wait_for_partitions(
            topics,
            lambda state: (state.topic, state.partition) not in before or state.replicas == before[state.topic, state.partition].replicas,
            "in the replica order from before",
        )
        return self.states(*topics)

    def ask(self, name: str, check: bool = False, diff: bool = False, **params: Any) -> dict[str, Any]:
        """Run a module with this cluster's connection and return its result."""
        answer = run_module(name, {**self.connection, **params}, check, diff)
        assert answer.returncode == 0, answer
        return answer.result

    def snapshot(self, run_id: str, topics: Iterable[str], **params: Any) -> dict[str, Any]:
        """Collect evidence for these topics' partitions, all of them named."""
        named = [{"topic": topic, "partition": partition} for topic, partition in self.keys(topics)]
        return self.ask("kafka_replica_log_info", **self.files(run_id), partitions=named, **params)

    def plan(self, run_id: str, clusters: Iterable[str] = (), **params: Any) -> None:
        """Plan what was collected under this run id, for this cluster or for several names at once."""
        options = {"workdir": str(self.workdir), "run_id": run_id, "clusters": list(clusters) or [self.name], **params}
        if self.spark_remote:
            options = {"spark_remote": self.spark_remote, **options}
        answer = run_module("kafka_recovery_plan", options)
        assert answer.returncode == 0 and not answer.result["quarantine"], answer

    def snapshot_and_plan(self, run_id: str, topics: Iterable[str], **params: Any) -> dict[str, Any]:
        """Both, and return the plan."""
        self.snapshot(run_id, topics)
        self.plan(run_id, **params)
        return self.read("plans", run_id)

    def apply(self, plan: str, run_id: str | None = None, check: bool = False, diff: bool = False, **params: Any) -> dict[str, Any]:
        """Elect what the plan of run `plan` designates (as run `run_id`); data loss is allowed unless `params` say otherwise.

        The module fails if it leaves a partition without a leader although data loss is allowed.
        """
        options = {"plan": str(self.path("plans", plan)), "allow_data_loss": True, "preview": 10_000, **params}
        answer = run_module("kafka_designated_election", {**self.connection, **self.files(run_id or plan), **options}, check, diff)
        assert "summary" in answer.result, answer
        left = sum(answer.result["summary"][outcome] for outcome in ("held", "stale", "failed"))
        assert (answer.returncode != 0) == bool(options["allow_data_loss"] and left), answer
        return answer.result

    def recover(self, run_id: str, topics: Iterable[str], **params: Any) -> dict[TopicPartition, dict[str, Any]]:
        """Collect, plan, elect; return the results by partition. `params` are the plan's."""
        self.snapshot_and_plan(run_id, topics, **params)
        return by_partition(self.apply(run_id)["results"])

    def inventory(self, **others: Mapping[str, str]) -> Path:
        """An inventory of this cluster, and of `others` (host variables by name)."""
        path = self.workdir / "inventory.yml"
        own = {f"kafka_{option}": value for option, value in self._login.items()} if self._login else host_vars(self.cluster)
        write_inventory(path, inventory({self.name: own, **others}))
        return path

    def play(self, playbook: str, run_id: str, *options: str, inventory_file: Path | None = None, **variables: Any) -> Played:
        """Run a playbook of the collection; `variables` without their prefix kafka_recovery_."""
        values = {"workdir": str(self.workdir), "run_id": run_id, "spark_remote": self.spark_remote or "", **variables}
        return play(
            f"streamops.kafka_recovery.{playbook}",
            inventory_file or self.inventory(),
            *options,
            variables={f"kafka_recovery_{name}": value for name, value in values.items()},
        )

    def play_task(self, name: str, **params: Any) -> Played:
        """Run a module with this cluster's connection as the task of a playbook, with its action plugin."""
        path = self.workdir / f"{name}.yml"
        tasks = [{f"streamops.kafka_recovery.{name}": {**self.connection, **params}}]
        path.write_text(json.dumps([{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]))
        return play(str(path), Path("localhost,"), variables={})


def journal_of(workdir: Path, cluster: KafkaCluster) -> Path:
    """The journal of changed replica orders of a cluster."""
    return workdir / "journal" / f"id-{cluster.cluster_id}.jsonl"


def documents(landing: Path) -> list[dict[str, Any]]:
    """The evidence documents of a landing file."""
    return [json.loads(line) for line in landing.read_text().splitlines()[1:-1]]


def by_partition(rows: Iterable[Mapping[str, Any]]) -> dict[TopicPartition, dict[str, Any]]:
    """Rows with `topic` and `partition`, by these."""
    return {(row["topic"], row["partition"]): dict(row) for row in rows}


def outcomes(rows: Iterable[Mapping[str, Any]]) -> dict[str, set[str]]:
    """Outcomes per topic."""
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["topic"], set()).add(row["outcome"])
    return found


def failure(name: str, params: Mapping[str, Any], **options: Any) -> str:
    """Run a module that has to fail, as `run_module` does, and return its error: one line, no traceback."""
    answer = run_module(name, params, **options)
    assert answer.returncode == 1 and answer.msg, answer
    assert "\n" not in answer.msg, answer.msg
    assert "Traceback" not in answer.stderr, answer.stderr
    return answer.msg
