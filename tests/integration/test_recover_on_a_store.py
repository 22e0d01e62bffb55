# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recoveries with their workdir in an S3 bucket: nothing that they need is on this machine, and another machine goes on.

Spark runs in the process that plans. One elsewhere needs the jars of S3.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from integration.requestlog import RequestLog
from integration.store_clients import Bucket
from integration.support import CHECKOUT, RUN, Answer, Operator, outcomes, run_module
from integration.test_killed_runs_are_repaired import KILL

# The process stops itself, as one whose machine is suspended, when its guards are read and its intent is in the journal.
STALL = """
import os, signal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import replica_orders
change = replica_orders.change
def stalled(cluster, orders):
    if orders:
        replica_orders.change = change
        os.kill(os.getpid(), signal.SIGSTOP)
    return change(cluster, orders)
replica_orders.change = stalled
"""


def _named(east: Operator, topic: str) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": partition} for topic, partition in east.keys([topic])]


def _machine(folder: Path) -> dict[str, str]:
    """The environment of another machine."""
    for name in ("TMPDIR", "HOME"):
        (folder / name).mkdir(parents=True)
    return {name: str(folder / name) for name in ("TMPDIR", "HOME")}


def _run(name: str, params: Mapping[str, Any], machine: Mapping[str, str], before: str | None = None) -> Answer:
    return run_module(name, params, before=before, environment=machine)


def _planned(east: Operator, bucket: Bucket, topic: str, machine: Mapping[str, str]) -> dict[str, Any]:
    """Collect and plan on a machine, and return the options of the election."""
    files = {**east.files("1"), "workdir": bucket.url}
    collected = _run("kafka_replica_log_info", {**east.connection, **files, "partitions": _named(east, topic)}, machine)
    assert collected.returncode == 0, collected
    options = {"workdir": bucket.url, "run_id": "1", "clusters": [east.name], "strategy": "aggressive"}
    planned = _run("kafka_recovery_plan", options, machine)
    assert planned.returncode == 0 and not planned.result["quarantine"], planned
    return {**east.connection, **files, "plan": planned.result["plans"][0]["path"], "allow_data_loss": True}


@pytest.mark.long
def test_a_recovery_leaves_everything_in_the_bucket_and_a_second_one_elsewhere_changes_nothing(
    east: Operator, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"partitions": _named(east, "store"), "allow_data_loss": True, "workdir": bucket.url, "spark_remote": ""}
    for name, value in _machine(tmp_path / "first").items():
        monkeypatch.setenv(name, value)
    first = east.play("recover", "1", **options)
    assert first.returncode == 0, first
    contents = bucket.contents()
    assert outcomes(json.loads(contents["results/1/east.json"])["partitions"]) == {"store": {"elected"}}
    assert {"landing/1/east.jsonl", "plans/1/east.json"} <= contents.keys()
    assert f"{bucket.url}/" in first.said
    for name, content in {**contents, "output": first.said.encode()}.items():
        assert str(tmp_path / "first").encode() not in content, name
        assert b"rig-secret" not in content, name
    assert not [*tmp_path.rglob("east.json*")], "nothing stays on the machine"

    for name, value in _machine(tmp_path / "second").items():
        monkeypatch.setenv(name, value)
    log = RequestLog(east.cluster)
    second = east.play("recover", "2", **options)
    assert second.returncode == 0, second
    assert second.recap["east"]["changed"] == 0
    assert log.written() == {}


@pytest.mark.long
def test_another_machine_finishes_what_a_killed_one_began(east: Operator, bucket: Bucket, tmp_path: Path) -> None:
    before = east.states("store.killed")
    options = _planned(east, bucket, "store.killed", _machine(tmp_path / "first"))
    killed = _run("kafka_designated_election", options, _machine(tmp_path / "second"), KILL.format(request="elect_unclean", answer=False))
    assert killed.returncode == -signal.SIGKILL, killed
    assert any(state.replicas != before[key].replicas for key, state in east.states("store.killed").items())
    finished = _run("kafka_designated_election", options, _machine(tmp_path / "third"))
    assert finished.returncode == 0, finished
    assert finished.result["repaired"]
    after = east.in_order_again(before)
    assert all(state.leader >= 0 for state in after.values())
    again = _run("kafka_designated_election", options, _machine(tmp_path / "fourth"))
    assert again.returncode == 0 and not again.result["changed"] and not again.result["repaired"], again


@pytest.mark.long
def test_a_run_that_was_stalled_while_another_one_finished_leaves_no_order_changed(east: Operator, bucket: Bucket, tmp_path: Path) -> None:
    before = east.states("store.stalled")
    options = _planned(east, bucket, "store.stalled", _machine(tmp_path / "first"))
    file = tmp_path / "arguments.json"
    file.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": options}))
    program = STALL + RUN.format(path=str(CHECKOUT / "plugins" / "modules" / "kafka_designated_election.py"))
    with subprocess.Popen(
        [sys.executable, "-c", program, "-", str(file)],
        env={**os.environ, **_machine(tmp_path / "stalled")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as stalled:
        try:
            while psutil.Process(stalled.pid).status() != psutil.STATUS_STOPPED:
                assert stalled.poll() is None, stalled.communicate()
                os.sched_yield()
            finished = _run("kafka_designated_election", options, _machine(tmp_path / "successor"))
            assert finished.returncode == 0, finished
            assert all(state.leader >= 0 for state in east.in_order_again(before).values())
            stalled.send_signal(signal.SIGCONT)
            output, errors = stalled.communicate(timeout=300)
        finally:
            stalled.kill()
    result = json.loads(output)
    assert "another one took its journal" in str(result["warnings"]), (result, errors)
    assert all(state.leader >= 0 for state in east.in_order_again(before).values())
    again = _run("kafka_designated_election", options, _machine(tmp_path / "last"))
    assert again.returncode == 0 and not again.result["changed"] and not again.result["repaired"], again
