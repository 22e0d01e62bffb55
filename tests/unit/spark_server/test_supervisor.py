# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The supervisor of a Spark server, tested with a small process in the place of Java."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import socket_users
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import server_state
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_state import UNLIMITED, Folder, Lifetime
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server import supervisor, warmup
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server.supervisor import ServerSupervisor, Settings

LISTENS = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); a = s.accept(); s.accept()"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    tmp_path.chmod(0o700)
    made = Folder(tmp_path).make()
    server_state.write_lifetime(made, UNLIMITED)
    return made


@pytest.fixture
def server_supervisor(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> ServerSupervisor:
    monkeypatch.setattr(supervisor.signal, "signal", lambda *_: None)
    return ServerSupervisor(folder, Settings(0, "local", "1g", {}), ctypes.CDLL(None))


@pytest.fixture
def server() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process that listens, and its port."""
    with subprocess.Popen([sys.executable, "-c", LISTENS], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
        process.kill()


@pytest.mark.slow
def test_it_runs_while_there_are_clients_and_ends_without_clients(
    server_supervisor: ServerSupervisor, folder: Folder, server: tuple[subprocess.Popen[bytes], int]
) -> None:
    process, port = server
    assert server_supervisor._wait_until_listening(process, port)
    server_state.write_lifetime(folder, Lifetime(0.5, 0, 0.0))
    staying = threading.Thread(target=server_supervisor._run_until_idle, args=server)
    with socket.create_connection(("127.0.0.1", port)):
        staying.start()
        time.sleep(1.5)
        assert staying.is_alive()
    # The server's own end of that connection is left: as with a client that was not closed properly.
    process.kill()
    staying.join()


def test_without_clients_it_ends_by_itself(
    server_supervisor: ServerSupervisor, folder: Folder, server: tuple[subprocess.Popen[bytes], int]
) -> None:
    server_state.write_lifetime(folder, Lifetime(0.5, 0, 0.0))
    server_supervisor._run_until_idle(*server)
    assert server[0].poll() is None


def test_only_connections_of_its_own_user_count(
    server_supervisor: ServerSupervisor, server: tuple[subprocess.Popen[bytes], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every local user can connect to the port, without the token too."""
    process, port = server
    with socket.create_connection(("127.0.0.1", port)) as client:
        assert server_supervisor._clients(process, port) == {client.getsockname()[1]}
        assert server_supervisor._clients(process, port, but=os.getpid()) == set()
        assert server_supervisor._is_used(process, port)
        monkeypatch.setattr(supervisor.os, "geteuid", lambda: os.getuid() + 1)
        assert server_supervisor._clients(process, port) == set()
        assert not server_supervisor._is_used(process, port)


def test_without_proc_net_connections_of_all_users_count(
    server_supervisor: ServerSupervisor, server: tuple[subprocess.Popen[bytes], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_users, "TABLES", (Path("/nowhere"), Path("/nowhere")))
    process, port = server
    with socket.create_connection(("127.0.0.1", port)) as client:
        while not server_supervisor._clients(process, port):  # psutil sees a connection once the server has accepted it
            time.sleep(0.01)
        assert server_supervisor._clients(process, port) == {client.getsockname()[1]}


def test_daemons_of_python_end_when_no_client_is_connected(server_supervisor: ServerSupervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark would keep one for each session."""
    java = SimpleNamespace(pid=os.getpid())
    clients = {40_000}
    monkeypatch.setattr(server_supervisor, "_clients", lambda *_: clients)
    sleeping = [sys.executable, "-c", "import time; time.sleep(60)"]
    with (
        subprocess.Popen(["true"]) as ended,  # as what the shell that Java was started with leaves
        subprocess.Popen(sleeping) as other,
        subprocess.Popen([*sleeping, "pyspark.daemon", "pyspark.worker"]) as daemon,
    ):
        while psutil.Process(ended.pid).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        try:
            assert server_supervisor._is_used(java, 1)  # type: ignore[arg-type]
            assert daemon.poll() is None
            clients.clear()
            assert not server_supervisor._is_used(java, 1)  # type: ignore[arg-type]
            assert daemon.wait(timeout=30) and other.poll() is None
        finally:
            daemon.kill()
            other.kill()


def test_it_ends_with_its_owner_its_java_or_its_workdir(
    server_supervisor: ServerSupervisor, folder: Folder, server: tuple[subprocess.Popen[bytes], int]
) -> None:
    process, _ = server
    assert not server_supervisor._should_end(process)
    me = psutil.Process()
    server_state.write_lifetime(folder, Lifetime(0, me.pid, me.create_time()))
    assert not server_supervisor._should_end(process)
    server_state.write_lifetime(folder, Lifetime(0, me.pid, me.create_time() - 60))  # its number was given to another process
    assert server_supervisor._should_end(process)
    server_state.write_lifetime(folder, UNLIMITED)
    folder.lifetime.unlink()
    assert server_supervisor._should_end(process)
    server_state.write_lifetime(folder, UNLIMITED)
    process.kill()
    process.wait()
    assert server_supervisor._should_end(process)


def test_the_playbook_that_runs_a_module_is_found() -> None:
    assert supervisor.owner("no-such-program") == (0, 0.0)
    shell = psutil.Process().parent()
    assert shell is not None
    name = Path(shell.cmdline()[0]).name
    assert supervisor.owner(name)[0] in [process.pid for process in psutil.Process().parents()]


def test_settings_go_by_a_private_file_and_cannot_open_the_server(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[str, Any] = {}
    monkeypatch.setattr(supervisor.subprocess, "Popen", lambda argv, **given: started.update(given, argv=argv))
    monkeypatch.setenv("KAFKA_SASL_PASSWORD", "secret-1")
    folder.token.write_text("secret-2\n")
    conf = {"spark.hadoop.fs.s3a.secret.key": "secret-3", "spark.connect.grpc.binding.address": "0.0.0.0", "spark.authenticate": "false"}
    server_supervisor = ServerSupervisor.__new__(ServerSupervisor)
    server_supervisor.folder, server_supervisor.settings = folder, Settings(0, "local[2]", "1g", conf)
    server_supervisor._java(15002, folder.path / "local")
    assert started["env"]["PYSPARK_PYTHON"] == str(folder.path / "local" / "python")
    assert "secret" not in " ".join(started["argv"])
    assert started["env"][server_state.TOKEN_VARIABLE] == "secret-2"
    assert "secret-1" not in started["env"].values()
    written = dict(line.split("=", 1) for line in server_supervisor._properties.read_text().splitlines())
    assert written["spark.hadoop.fs.s3a.secret.key"] == "secret-3"
    assert written["spark.connect.grpc.binding.address"] == "127.0.0.1" and written["spark.authenticate"] == "true"
    assert os.stat(server_supervisor._properties).st_mode & 0o777 == 0o600  # noqa: PTH116


@pytest.mark.parametrize(
    ("lasts", "asked"), [(False, [warmup.FIRST]), (True, [warmup.FIRST, warmup.WARMUP_PLAN_SIZES, warmup.WARMUP_PLAN_SIZES])]
)
def test_a_server_that_lasts_rehearses_once_it_is_warm_and_again_when_it_was_disturbed(
    server_supervisor: ServerSupervisor,
    folder: Folder,
    server: tuple[subprocess.Popen[bytes], int],
    monkeypatch: pytest.MonkeyPatch,
    lasts: bool,
    asked: list[Any],
) -> None:
    process, port = server
    server_supervisor.settings = Settings(port, "local", "1g", {}, lasts)
    started_reader, started_writer = os.pipe()
    warmed: list[tuple[Any, bool]] = []

    def warm(_java: object, _server: object, sizes: object) -> bool:
        running = server_state.running(folder.workdir)
        assert running
        warmed.append((sizes, running.warm))
        return len(warmed) != 2

    monkeypatch.setattr(server_supervisor, "_java", lambda *_: process)
    monkeypatch.setattr(server_supervisor, "_run_until_idle", lambda *_: None)
    monkeypatch.setattr(server_supervisor, "_warm", warm)
    server_supervisor.run(started_writer)
    os.close(started_reader)
    assert warmed == [(sizes, place > 0) for place, sizes in enumerate(asked)]
    assert ("TieredStopAtLevel" in warmup.java_options(lasts)) is not lasts
