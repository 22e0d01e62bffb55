# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan that starts in the background of a run ends with the run, however that ends, and takes Java along."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from integration.support import CHECKOUT, GIVE_UP_SECONDS, play, run_module
from unit.partition_situations import FENCED, RUN, Log, Situation, broker_rows, land

from rig.fleet import inventory, write_inventory

ENDS_WITHIN_SECONDS = 5.0
# What runs in the background ignores Ctrl-C, and so would the playbook.
LISTENS = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"


@pytest.fixture
def playbook(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A recovery of a cluster that accepts connections and never answers, so that it waits for two minutes."""
    tmp_path.chmod(0o700)
    temporary(tmp_path).mkdir()
    hosts, variables = tmp_path / "inventory.yml", {"kafka_recovery_workdir": str(tmp_path / "work"), "kafka_recovery_duration": 240}
    argv = [sys.executable, str(Path(sys.executable).parent / "ansible-playbook"), "streamops.kafka_recovery.recover", "-i", str(hosts)]
    argv += ["-e", json.dumps(variables)]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        broker = f"127.0.0.1:{silent.getsockname()[1]}"
        write_inventory(hosts, inventory({"east": {"kafka_bootstrap_servers": broker, "kafka_request_timeout": "120"}}))
        with (tmp_path / "output").open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-c", LISTENS, *argv],
                cwd=CHECKOUT,
                env={
                    **os.environ,
                    "ANSIBLE_LOCAL_TEMP": str(tmp_path / "local"),
                    "ANSIBLE_ASYNC_DIR": str(tmp_path / "async"),
                    "TMPDIR": str(temporary(tmp_path)),
                },
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def temporary(folder: Path) -> Path:
    """The folder for temporary files of the playbook and its modules."""
    return folder / "temporary"


def background(folder: Path) -> list[psutil.Process]:
    """The processes of the background task, Java and its workers among them. Not Ansible's async_wrapper, which looks for the end every 5 s."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        parts = process.info["cmdline"] or ()
        if any(str(folder / "local") in part for part in parts) and not any("async_wrapper" in part for part in parts):
            with suppress(psutil.NoSuchProcess):
                found += [process, *process.children(recursive=True)]
    return found


def is_running(process: psutil.Process) -> bool:
    """Whether a process has not ended. One that nothing has waited for, such as the child of a killed process in a container, has."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def runs(program: str) -> Callable[[list[psutil.Process]], bool]:
    """Whether one of the processes has this word in its command line."""

    def has(processes: list[psutil.Process]) -> bool:
        for process in processes:
            try:
                if any(program in part for part in process.cmdline()):
                    return True
            except psutil.Error:
                continue
        return False

    return has


@pytest.mark.parametrize(
    ("how", "until"),
    [
        pytest.param("Ctrl-C", "SparkSubmit", marks=pytest.mark.long, id="Ctrl-C while Java starts"),
        pytest.param("Ctrl-C", "pyspark.daemon", id="Ctrl-C while it waits for evidence"),
        pytest.param("SIGKILL", "SparkSubmit", id="SIGKILL while Java starts"),
        pytest.param("SIGKILL", "pyspark.daemon", marks=pytest.mark.long, id="SIGKILL while it waits for evidence"),
    ],
)
def test_it_ends_with_the_playbook(playbook: subprocess.Popen[bytes], tmp_path: Path, how: str, until: str) -> None:
    deadline, has = time.monotonic() + GIVE_UP_SECONDS, runs(until)
    while not has(processes := background(tmp_path)):
        assert playbook.poll() is None and time.monotonic() < deadline, (tmp_path / "output").read_text()
        time.sleep(0.1)
    if how == "Ctrl-C":
        os.killpg(playbook.pid, signal.SIGINT)
    else:
        playbook.kill()
    playbook.wait(timeout=GIVE_UP_SECONDS)
    processes += background(tmp_path)
    deadline = time.monotonic() + ENDS_WITHIN_SECONDS
    while running := [process for process in processes if is_running(process)]:
        assert time.monotonic() < deadline, running
        time.sleep(0.1)
    assert [path.name for path in temporary(tmp_path).iterdir() if "kafka_recovery_plan" in path.name] == []
    assert [path.name for path in (tmp_path / "work").iterdir() if path.name.startswith(".")] == []


@pytest.mark.long
def test_it_plans_what_the_file_names_once_it_is_there(tmp_path: Path) -> None:
    """A landing file alone starts nothing: it may be of an earlier run with the same name."""
    tmp_path.chmod(0o700)
    for name in ("east", "west"):
        land(tmp_path, name, [*broker_rows(2, {1: 2.0}), *Situation("orders", {1: FENCED, 2: Log.of((5, 0))}).rows()])
    me, collected = psutil.Process(), tmp_path / ".collected.json"
    write_later = f"""
import json, threading, time
from pathlib import Path
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import evidence_confirmation as collected
wait = collected.wait_until_collected
def waited(workdir, path):
    assert not Path({str(tmp_path / "plans")!r}).exists()
    write_private(path, json.dumps({{"clusters": ["east"], "other_clusters": ["west"]}}).encode())
    return wait(workdir, path)
collected.wait_until_collected = waited
"""
    options = {"workdir": str(tmp_path), "run_id": RUN, "collected_file": str(collected)}
    process = {"pid": me.pid, "started_at": me.create_time()}
    planned = run_module("kafka_recovery_plan", {**options, "playbook_process": process}, before=write_later)
    assert planned.returncode == 0, planned
    assert [row["cluster"] for row in planned.result["plans"]] == ["east"] and planned.result["quarantine"] == []
    assert {path.name for path in (tmp_path / "plans" / RUN).iterdir()} == {"east.json"} and not collected.exists()

    late = run_module("kafka_recovery_plan", {**options, "playbook_process": {**process, "started_at": me.create_time() - 60}})
    assert late.returncode and "has ended" in late.msg
    assert "playbook_process" in run_module("kafka_recovery_plan", options).msg


@pytest.mark.long
def test_the_role_plans_clusters_that_have_not_failed_and_leaves_no_file(tmp_path: Path) -> None:
    work, result = tmp_path / "work", tmp_path / "result.json"
    work.mkdir(mode=0o700)
    for name in ("east", "west"):
        land(work, name, [*broker_rows(2, {1: 2.0}), *Situation("orders", {1: FENCED, 2: Log.of((5, 0))}).rows()])
    write_inventory(tmp_path / "inventory.yml", inventory({"east": {}, "west": {}}))
    role = "streamops.kafka_recovery.plan"
    tasks: list[dict[str, Any]] = [
        {"ansible.builtin.import_role": {"name": role, "tasks_from": "background", "rolespec_validate": False}},
        {"ansible.builtin.fail": {}, "when": "inventory_hostname == 'west'"},
        {"ansible.builtin.import_role": {"name": role}},
        {"ansible.builtin.copy": {"content": "{{ kafka_recovery_planned | to_json }}", "dest": str(result), "mode": "0600"}},
    ]
    (tmp_path / "play.yml").write_text(
        json.dumps([{"hosts": "kafka_clusters", "connection": "local", "gather_facts": False, "tasks": tasks}])
    )
    variables = {"kafka_recovery_workdir": str(work), "kafka_recovery_run_id": RUN}
    played = play(str(tmp_path / "play.yml"), tmp_path / "inventory.yml", variables=variables)
    plans = json.loads(result.read_text())["plans"]
    assert [(row["cluster"], row["elect"], row["held"]) for row in plans] == [("east", 1, 0)], played
    assert {path.relative_to(work).as_posix() for path in work.rglob("*") if path.is_file()} == {
        f"landing/{RUN}/east.jsonl",
        f"landing/{RUN}/west.jsonl",
        f"plans/{RUN}/east.json",
    }
    assert list((work / "async").iterdir()) == []
    assert stat.S_IMODE((work / "async").stat().st_mode) == 0o700

    # What keeps the plan from being made is the error of the role.
    wrong = play(
        str(tmp_path / "play.yml"),
        tmp_path / "inventory.yml",
        variables={**variables, "kafka_recovery_spark_master": "spark://127.0.0.1:1"},
    )
    assert wrong.returncode == 2 and "the driver for spark://127.0.0.1:1 would accept every peer" in wrong.said, wrong
    assert list((work / "async").iterdir()) == []

    # Another user could replace the result in such a folder.
    (work / "async").chmod(0o777)
    unsafe = play(str(tmp_path / "play.yml"), tmp_path / "inventory.yml", variables=variables)
    assert unsafe.returncode == 2 and f"others may write in {work / 'async'}" in unsafe.said.replace("\n", " "), unsafe


@pytest.mark.long
def test_tasks_of_a_playbook_plan_once_with_a_workdir_below_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANSIBLE_ASYNC_DIR", "~/jobs")
    land(tmp_path / "work", "east", [*broker_rows(2, {1: 2.0}), *Situation("orders", {1: FENCED, 2: Log.of((5, 0))}).rows()])
    write_inventory(tmp_path / "inventory.yml", inventory({"east": {}}))
    options = {"workdir": "~/work", "run_id": RUN}
    plan = "streamops.kafka_recovery.kafka_recovery_plan"
    tasks = [
        {plan: options, "async": 600, "poll": 0, "register": "started"},
        # It makes no plan itself: its Spark is not there.
        {plan: {**options, "clusters": ["east"], "spark_remote": "sc://127.0.0.1:1", "background_task": "{{ started }}"}},
    ]
    (tmp_path / "play.yml").write_text(
        json.dumps([{"hosts": "kafka_clusters", "connection": "local", "gather_facts": False, "tasks": tasks}])
    )
    played = play(str(tmp_path / "play.yml"), tmp_path / "inventory.yml", variables={})
    assert played.returncode == 0 and (tmp_path / "work/plans" / RUN / "east.json").is_file(), played
    assert list((tmp_path / "jobs").iterdir()) == [] and stat.S_IMODE((tmp_path / "jobs").stat().st_mode) == 0o700


def test_no_plan_starts_with_the_options_of_one_cluster_for_another(tmp_path: Path) -> None:
    """The task has the options of the first cluster, also if that one fails while evidence is collected."""
    strategies = {"east": {"kafka_recovery_strategy": "aggressive"}, "west": {"kafka_recovery_strategy": "balanced"}}
    write_inventory(tmp_path / "inventory.yml", inventory(strategies))
    tasks = [
        {"ansible.builtin.import_role": {"name": "streamops.kafka_recovery.plan", "tasks_from": "background", "rolespec_validate": False}},
        {"ansible.builtin.fail": {}, "when": "inventory_hostname == 'east'"},
    ]
    (tmp_path / "play.yml").write_text(
        json.dumps([{"hosts": "kafka_clusters", "connection": "local", "gather_facts": False, "tasks": tasks}])
    )
    variables = {"kafka_recovery_workdir": str(tmp_path / "work"), "kafka_recovery_run_id": RUN}
    played = play(str(tmp_path / "play.yml"), tmp_path / "inventory.yml", variables=variables)
    assert played.returncode == 2 and "kafka_recovery_strategy" in played.said, played
    assert not (tmp_path / "work").exists()
