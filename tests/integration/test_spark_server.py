# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Spark server that kafka_recovery_spark runs: found by who plans, closed to others, and gone when nobody needs it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from integration.support import CHECKOUT, GIVE_UP_SECONDS, run_module
from unit.situations import FENCED, RUN, Log, Situation, broker_rows, land

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server import Folder, is_kept
from rig.fleet import inventory, write_inventory

# Whoever starts a Spark of their own fails.
NO_JAVA = {"JAVA_HOME": "/nowhere"}
REMOTE = "from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline import session\n"


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    """A landing file of one partition."""
    land(tmp_path, "east", [*broker_rows(2, {1: 2.0}), *Situation("orders", {1: FENCED, 2: Log.of((5, 0))}).rows()])
    tmp_path.chmod(0o700)
    return tmp_path


def wait_for_end(folder: Folder) -> None:
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while is_kept(folder):
        assert time.monotonic() < deadline, folder.log.read_text()
        time.sleep(0.1)


def test_from_its_start_to_its_end(workdir: Path) -> None:
    server, plan = {"workdir": str(workdir)}, {"workdir": str(workdir), "run_id": RUN, "spark_remote": "auto"}
    would = run_module("kafka_recovery_spark", server, check=True)
    assert would.result["changed"] and "remote" not in would.result and not Folder(workdir).path.exists()
    first = run_module("kafka_recovery_spark", {**server, "wait": False}).result
    assert first["changed"] and not first["ready"]

    # Who plans while it starts waits for it, and needs no Java.
    planned = run_module("kafka_recovery_plan", plan, environment=NO_JAVA)
    assert planned.returncode == 0 and planned.stderr == "" and "warnings" not in planned.result, planned
    again = run_module("kafka_recovery_spark", server).result
    assert again == {**first, "changed": False, "ready": True, "invocation": again["invocation"]}

    # Nobody else gets in, or at what would let them in.
    keeper = psutil.Process(first["pid"])
    (java,) = keeper.children()
    assert {at.laddr.ip.removeprefix("::ffff:") for at in java.net_connections("tcp")} == {"127.0.0.1"}
    files = [file for file in Folder(workdir).path.iterdir() if file.is_file()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    token = Path(first["token_file"]).read_text().strip()
    assert token not in json.dumps([first, again, planned.result, keeper.cmdline(), java.cmdline()])

    # Asked to end by itself, it does what it was asked before: to live on.
    longer = run_module("kafka_recovery_spark", {**server, "idle_timeout": 0}).result
    assert longer["changed"] and longer["pid"] == first["pid"]
    assert not run_module("kafka_recovery_spark", {**server, "idle_timeout": 5}).result["changed"]

    # It is killed between its greeting and the work.
    before = f"{REMOTE}import os\nconnect = session.connect\nsession.connect = lambda *a: (connect(*a), os.kill({java.pid}, 9))[0]"
    plans = {path: path.read_bytes() for path in (workdir / "plans" / RUN).iterdir()}
    broken = run_module("kafka_recovery_plan", plan, before=before)
    assert f"spark_remote: the Spark Connect server {first['remote']} is gone in the middle of the work: start it again" in broken.msg
    assert "\n" not in broken.msg and broken.stderr == "", broken
    assert {path: path.read_bytes() for path in (workdir / "plans" / RUN).iterdir()} == plans

    # What it leaves is recognised as nothing that runs.
    wait_for_end(Folder(workdir))
    assert not keeper.is_running() or keeper.status() == psutil.STATUS_ZOMBIE
    stopped = run_module("kafka_recovery_spark", {**server, "state": "stopped"})
    assert stopped.result["changed"] is False
    assert {file.name for file in Folder(workdir).path.iterdir()} == {"lock", "starting", "server.log"}


def test_what_is_archived_is_mapped_by_every_java_of_the_workdir(workdir: Path, tmp_path: Path) -> None:
    archive = {"workdir": str(workdir), "state": "archived"}
    would = run_module("kafka_recovery_spark", archive, check=True).result
    assert would["changed"] and "archive" not in would and not Folder(workdir).path.exists()
    made = run_module("kafka_recovery_spark", archive).result
    path = made["archive"]
    assert made["changed"] and Path(path).parent == Folder(workdir).path and Path(path).stat().st_size > 10 << 20
    for check in (True, False):
        again = run_module("kafka_recovery_spark", archive, check=check).result
        assert not again["changed"] and again["archive"] == path

    running = run_module("kafka_recovery_spark", {"workdir": str(workdir)}).result
    (java,) = psutil.Process(running["pid"]).children()
    assert path in Path(f"/proc/{java.pid}/maps").read_text()
    run_module("kafka_recovery_spark", {"workdir": str(workdir), "state": "stopped"})

    seen = tmp_path / "maps"
    before = f"""{REMOTE}
import pathlib, psutil
start = session._start
def started(*given):
    spark = start(*given)
    (java,) = psutil.Process().children()
    pathlib.Path({str(seen)!r}).write_text(pathlib.Path(f"/proc/{{java.pid}}/maps").read_text())
    return spark
session._start = started
"""
    planned = run_module("kafka_recovery_plan", {"workdir": str(workdir), "run_id": RUN}, before=before)
    assert planned.returncode == 0 and planned.stderr == "", planned
    assert path in seen.read_text()
    assert {file.name for file in Folder(workdir).path.iterdir()} == {"lock", "starting", "server.log", Path(path).name}


def test_what_keeps_it_from_starting_is_told(workdir: Path) -> None:
    told = run_module("kafka_recovery_spark", {"workdir": str(workdir), "spark_conf": {"spark.driver.extraJavaOptions": "-Xmx1g"}})
    assert "the Spark server ended before it answered" in told.msg and "max heap" in told.msg and "\n" not in told.msg
    assert "memory is much: write a number" in run_module("kafka_recovery_spark", {"workdir": str(workdir), "memory": "much"}).msg
    assert "JAVA_HOME is /nowhere" in run_module("kafka_recovery_spark", {"workdir": str(workdir)}, environment=NO_JAVA).msg
    assert not is_kept(Folder(workdir))


def test_it_ends_with_a_playbook_that_was_killed(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    folder, hosts = Folder(tmp_path), tmp_path / "inventory.yml"
    # Nothing answers there, so the playbook has something to wait for.
    write_inventory(hosts, inventory({"east": {"kafka_bootstrap_servers": "192.0.2.1:9092"}}))
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), "streamops.kafka_recovery.recover", "-i", str(hosts)]
    argv += ["-e", f"kafka_recovery_workdir={tmp_path}"]
    playbook = subprocess.Popen(
        argv, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "ANSIBLE_NOCOLOR": "1"}
    )
    try:
        deadline = time.monotonic() + GIVE_UP_SECONDS
        while not folder.state.exists():
            assert playbook.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        keeper = psutil.Process(json.loads(folder.state.read_text())["pid"])
        java = keeper.children()
    finally:
        playbook.kill()
        playbook.communicate()
    wait_for_end(folder)
    _, alive = psutil.wait_procs([keeper, *java], timeout=GIVE_UP_SECONDS)
    assert not alive
