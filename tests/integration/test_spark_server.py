# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Spark server that kafka_recovery_spark runs: found by who plans, closed to others, and gone when nobody needs it."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from integration.support import CHECKOUT, GIVE_UP_SECONDS, run_module
from unit.listener import DATA, HEADERS, NOBODY, OTHER, Listener, command, connected, frames, listener
from unit.situations import FENCED, RUN, Log, Situation, broker_rows, land

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import server_state
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_state import Folder, is_supervised
from rig.fleet import inventory, write_inventory

# Spark itself hides the values of keys with "secret" in them, also from its own clients.
KEY, SECRET = "spark.hadoop.fs.azure.account.key", "swordfish-4711 \\ : #=ä!"
# A setting that a server does not change.
STATIC = "spark.sql.warehouse.dir"
# Whoever starts a Spark of their own fails.
NO_JAVA = {"JAVA_HOME": "/nowhere"}
REMOTE = "from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import session\n"
# The Java of the server is killed between its greeting and the work, and another process takes its port.
TAKEN = f"""{REMOTE}
import os, pathlib, psutil, subprocess
connect = session.connect
def taken(*given):
    spark = connect(*given)
    pathlib.Path({{conf!r}}).write_text(spark.conf.get({KEY!r}))
    java = psutil.Process({{java}})
    java.kill()
    java.wait()
    other = subprocess.Popen({{argv!r}}, stdout=open({{received!r}}, "wb"), stderr=subprocess.DEVNULL)
    pathlib.Path({{pid!r}}).write_text(str(other.pid))
    while not pathlib.Path({{received!r}}).stat().st_size:
        assert other.poll() is None
    return spark
session.connect = taken
"""


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    """A landing file of one partition."""
    land(tmp_path, "east", [*broker_rows(2, {1: 2.0}), *Situation("orders", {1: FENCED, 2: Log.of((5, 0))}).rows()])
    tmp_path.chmod(0o700)
    return tmp_path


def wait_for_end(folder: Folder) -> None:
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while is_supervised(folder):
        assert time.monotonic() < deadline, folder.log.read_text()
        time.sleep(0.1)


def left_after(parent: psutil.Process, seconds: float) -> list[psutil.Process]:
    """Children that have not ended after so long. The shell that Java was started with may leave one that nothing waits for."""
    deadline = time.monotonic() + seconds
    while (left := [child for child in parent.children() if child.status() != psutil.STATUS_ZOMBIE]) and time.monotonic() < deadline:
        time.sleep(0.2)
    return left


@pytest.fixture
def other_user() -> Iterator[Listener]:
    """Listens on ::1, on a port that is free on 127.0.0.1."""
    with listener("::1") as running:
        yield running


def test_from_its_start_to_its_end(workdir: Path, other_user: Listener) -> None:
    port = other_user.port
    server = {"workdir": str(workdir), "port": port, "spark_secret_conf": {KEY: SECRET}}
    plan = {"workdir": str(workdir), "run_id": RUN, "spark_remote": "auto"}
    would = run_module("kafka_recovery_spark", server, check=True)
    assert would.result["changed"] and "remote" not in would.result and not Folder(workdir).path.exists()
    first = run_module("kafka_recovery_spark", {**server, "wait": False}).result
    assert first["changed"] and not first["ready"]

    # Who plans while it starts waits for it, and needs no Java.
    proxy = {"http_proxy": f"http://[::1]:{port}", "grpc_proxy": f"http://[::1]:{port}", "no_proxy": ""}
    planned = run_module("kafka_recovery_plan", plan, environment={**NO_JAVA, **proxy})
    assert planned.returncode == 0 and planned.stderr == "" and "warnings" not in planned.result, planned
    again = run_module("kafka_recovery_spark", server).result
    assert again == {**first, "changed": False, "ready": True, "invocation": again["invocation"]}

    # Settings go to it in one request. One that it refuses is an error, and its value is not shown.
    refused = run_module("kafka_recovery_plan", {**plan, "spark_secret_conf": {STATIC: SECRET}})
    assert refused.returncode and STATIC in refused.msg and "swordfish" not in refused.stderr + json.dumps(refused.result), refused

    # Nobody else gets in, or at what would let them in.
    keeper = psutil.Process(first["pid"])
    (java,) = keeper.children()
    assert {at.laddr.ip.removeprefix("::ffff:") for at in java.net_connections("tcp")} == {"127.0.0.1"}
    # Once the warm-up has ended, no worker of Python stays behind.
    assert server_state.awaited(workdir, warm=True)
    assert left_after(java, 60) == []
    files = [file for file in Folder(workdir).path.iterdir() if file.is_file()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    token = Path(first["token_file"]).read_text().strip()
    shown = [first, again, planned.result, keeper.cmdline(), java.cmdline(), [file.read_text(errors="replace") for file in files]]
    assert token not in json.dumps(shown[:-1]) and "swordfish" not in str(shown)

    # Asked to end by itself, it does what it was asked before: to live on.
    longer = run_module("kafka_recovery_spark", {**server, "idle_timeout": 0}).result
    assert longer["changed"] and longer["pid"] == first["pid"]
    assert not run_module("kafka_recovery_spark", {**server, "idle_timeout": 5}).result["changed"]

    # Neither the warm-up nor a plan spoke to the other user, by name or as to a proxy.
    assert other_user.received() == b""

    # It is killed between its greeting and the work. gRPC greets what has its port then, and no more.
    pid, received, conf = workdir / "pid", workdir / "received", workdir / "conf"
    paths = {"pid": str(pid), "received": str(received), "conf": str(conf)}
    before = TAKEN.format(java=java.pid, argv=command("127.0.0.1", port, OTHER), **paths)
    plans = {path: path.read_bytes() for path in (workdir / "plans" / RUN).iterdir()}
    try:
        broken = run_module("kafka_recovery_plan", plan, before=before)
        assert pid.exists(), broken.msg
    finally:
        if pid.exists():
            os.kill(int(pid.read_text()), signal.SIGKILL)
    sent = received.read_bytes().partition(b"\n")[2]
    assert token.encode() not in sent and not {HEADERS, DATA} & frames(sent)
    assert conf.read_text() == SECRET
    assert f"spark_remote: the Spark Connect server {first['remote']} is gone in the middle of the work: start it again" in broken.msg
    assert "\n" not in broken.msg and broken.stderr == "", broken
    assert {path: path.read_bytes() for path in (workdir / "plans" / RUN).iterdir()} == plans

    # What it leaves is recognised as nothing that runs.
    wait_for_end(Folder(workdir))
    assert not keeper.is_running() or keeper.status() == psutil.STATUS_ZOMBIE
    stopped = run_module("kafka_recovery_spark", {**server, "state": "stopped"})
    assert stopped.result["changed"] is False
    assert {file.name for file in Folder(workdir).path.iterdir()} == {"lock", "starting", "server.log"}


@pytest.mark.long
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

    seen = tmp_path / "seen"
    # The command lines of the scripts that become Java, too.
    before = f"""{REMOTE}
import json, pathlib, psutil, threading, time
lines, over = set(), threading.Event()
def watch():
    while not over.wait(0.02):
        for process in psutil.Process().children(recursive=True):
            try:
                lines.add(tuple(process.cmdline()))
            except psutil.Error:
                pass
threading.Thread(target=watch, daemon=True).start()
start = session._start
def started(*given):
    try:
        spark = start(*given)
    finally:
        over.set()
    (java,) = psutil.Process().children()
    maps = pathlib.Path(f"/proc/{{java.pid}}/maps").read_text()
    conf = spark.sparkContext.getConf().get({KEY!r})
    pathlib.Path({str(seen)!r}).write_text(json.dumps([maps, conf, java.cmdline(), sorted(lines)]))
    return spark
session._start = started
"""
    options = {"workdir": str(workdir), "run_id": RUN, "spark_secret_conf": {KEY: SECRET}}
    planned = run_module("kafka_recovery_plan", options, before=before, environment={"TMPDIR": str(workdir)})
    assert planned.returncode == 0 and planned.stderr == "", planned
    maps, conf, java_line, lines = json.loads(seen.read_text())
    assert path in maps and conf == SECRET
    # What names the file of secrets is seen, and the secret is not.
    assert "--properties-file" in java_line and java_line in lines and "swordfish" not in str(lines)
    assert "swordfish" not in str(planned.result) and not list(workdir.glob("*.properties"))
    assert {file.name for file in Folder(workdir).path.iterdir()} == {"lock", "starting", "server.log", Path(path).name}


def test_what_keeps_it_from_starting_is_told(workdir: Path) -> None:
    told = run_module("kafka_recovery_spark", {"workdir": str(workdir), "spark_conf": {"spark.driver.extraJavaOptions": "-Xmx1g"}})
    assert "the Spark server ended before it answered" in told.msg and "max heap" in told.msg and "\n" not in told.msg
    assert "memory is much: write a number" in run_module("kafka_recovery_spark", {"workdir": str(workdir), "memory": "much"}).msg
    assert "JAVA_HOME is /nowhere" in run_module("kafka_recovery_spark", {"workdir": str(workdir)}, environment=NO_JAVA).msg
    assert not is_supervised(Folder(workdir))


@pytest.mark.long
@pytest.mark.skipif(OTHER != NOBODY, reason="only root can become another user")
def test_a_connection_of_another_user_does_not_keep_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    started = run_module("kafka_recovery_spark", {"workdir": str(tmp_path), "idle_timeout": 5}).result
    with connected(int(started["remote"].rpartition(":")[2])):
        wait_for_end(Folder(tmp_path))


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
