# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keeper of a Spark server, with something smaller than Spark to keep."""

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
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_state import FOR_EVER, Folder, Until
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server import supervisor, warmup
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server.supervisor import Keeper, Settings

LISTENS = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); a = s.accept(); s.accept()"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    tmp_path.chmod(0o700)
    made = Folder(tmp_path).make()
    server_state.write_until(made, FOR_EVER)
    return made


@pytest.fixture
def keeper(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Keeper:
    monkeypatch.setattr(supervisor.signal, "signal", lambda *_: None)
    return Keeper(folder, Settings(0, "local", "1g", {}), ctypes.CDLL(None))


@pytest.fixture
def server() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process that listens, and its port."""
    with subprocess.Popen([sys.executable, "-c", LISTENS], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
        process.kill()


@pytest.mark.slow
def test_it_stays_while_there_are_clients_and_ends_when_nobody_comes(
    keeper: Keeper, folder: Folder, server: tuple[subprocess.Popen[bytes], int]
) -> None:
    process, port = server
    assert keeper._comes_up(process, port)
    server_state.write_until(folder, Until(0.5, 0, 0.0))
    staying = threading.Thread(target=keeper._stay, args=server)
    with socket.create_connection(("127.0.0.1", port)):
        staying.start()
        time.sleep(1.5)
        assert staying.is_alive()
    # The server's own end of that connection is left: as with a client that was not closed properly.
    process.kill()
    staying.join()


def test_without_clients_it_ends_by_itself(keeper: Keeper, folder: Folder, server: tuple[subprocess.Popen[bytes], int]) -> None:
    server_state.write_until(folder, Until(0.5, 0, 0.0))
    keeper._stay(*server)
    assert server[0].poll() is None


def test_only_connections_of_its_own_user_count(
    keeper: Keeper, server: tuple[subprocess.Popen[bytes], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every local user can connect to the port, without the token too."""
    process, port = server
    with socket.create_connection(("127.0.0.1", port)) as client:
        assert keeper._clients(process, port) == {client.getsockname()[1]}
        assert keeper._clients(process, port, but=os.getpid()) == set()
        assert keeper._is_used(process, port)
        monkeypatch.setattr(supervisor.os, "geteuid", lambda: os.getuid() + 1)
        assert keeper._clients(process, port) == set()
        assert not keeper._is_used(process, port)


def test_without_proc_net_connections_of_all_users_count(
    keeper: Keeper, server: tuple[subprocess.Popen[bytes], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_users, "TABLES", (Path("/nowhere"), Path("/nowhere")))
    process, port = server
    with socket.create_connection(("127.0.0.1", port)) as client:
        while not keeper._clients(process, port):  # psutil sees a connection once the server has accepted it
            time.sleep(0.01)
        assert keeper._clients(process, port) == {client.getsockname()[1]}


def test_daemons_of_python_end_when_no_client_is_connected(keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark would keep one for each session."""
    java = SimpleNamespace(pid=os.getpid())
    clients = {40_000}
    monkeypatch.setattr(keeper, "_clients", lambda *_: clients)
    sleeping = [sys.executable, "-c", "import time; time.sleep(60)"]
    with (
        subprocess.Popen(["true"]) as ended,  # as what the shell that Java was started with leaves
        subprocess.Popen(sleeping) as other,
        subprocess.Popen([*sleeping, "pyspark.daemon", "pyspark.worker"]) as daemon,
    ):
        while psutil.Process(ended.pid).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        try:
            assert keeper._is_used(java, 1)  # type: ignore[arg-type]
            assert daemon.poll() is None
            clients.clear()
            assert not keeper._is_used(java, 1)  # type: ignore[arg-type]
            assert daemon.wait(timeout=30) and other.poll() is None
        finally:
            daemon.kill()
            other.kill()


def test_it_ends_with_its_owner_its_java_or_its_workdir(
    keeper: Keeper, folder: Folder, server: tuple[subprocess.Popen[bytes], int]
) -> None:
    process, _ = server
    assert not keeper._has_to_end(process)
    me = psutil.Process()
    server_state.write_until(folder, Until(0, me.pid, me.create_time()))
    assert not keeper._has_to_end(process)
    server_state.write_until(folder, Until(0, me.pid, me.create_time() - 60))  # its number was given to another process
    assert keeper._has_to_end(process)
    server_state.write_until(folder, FOR_EVER)
    folder.until.unlink()
    assert keeper._has_to_end(process)
    server_state.write_until(folder, FOR_EVER)
    process.kill()
    process.wait()
    assert keeper._has_to_end(process)


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
    keeper = Keeper.__new__(Keeper)
    keeper.folder, keeper.settings = folder, Settings(0, "local[2]", "1g", conf)
    keeper._java(15002, folder.path / "local")
    assert started["env"]["PYSPARK_PYTHON"] == str(folder.path / "local" / "python")
    assert "secret" not in " ".join(started["argv"])
    assert started["env"][server_state.TOKEN_VARIABLE] == "secret-2"
    assert "secret-1" not in started["env"].values()
    written = dict(line.split("=", 1) for line in keeper._properties.read_text().splitlines())
    assert written["spark.hadoop.fs.s3a.secret.key"] == "secret-3"
    assert written["spark.connect.grpc.binding.address"] == "127.0.0.1" and written["spark.authenticate"] == "true"
    assert os.stat(keeper._properties).st_mode & 0o777 == 0o600  # noqa: PTH116


@pytest.mark.parametrize(("lasts", "asked"), [(False, [warmup.FIRST]), (True, [warmup.FIRST, warmup.REHEARSALS, warmup.REHEARSALS])])
def test_a_server_that_lasts_rehearses_once_it_is_warm_and_again_when_it_was_disturbed(
    keeper: Keeper,
    folder: Folder,
    server: tuple[subprocess.Popen[bytes], int],
    monkeypatch: pytest.MonkeyPatch,
    lasts: bool,
    asked: list[Any],
) -> None:
    process, port = server
    keeper.settings = Settings(port, "local", "1g", {}, lasts)
    told, telling = os.pipe()
    warmed: list[tuple[Any, bool]] = []

    def warm(_java: object, _server: object, sizes: object) -> bool:
        running = server_state.running(folder.workdir)
        assert running
        warmed.append((sizes, running.warm))
        return len(warmed) != 2

    monkeypatch.setattr(keeper, "_java", lambda *_: process)
    monkeypatch.setattr(keeper, "_stay", lambda *_: None)
    monkeypatch.setattr(keeper, "_warm", warm)
    keeper.keep(telling)
    os.close(told)
    assert warmed == [(sizes, place > 0) for place, sizes in enumerate(asked)]
    assert ("TieredStopAtLevel" in warmup.java_options(lasts)) is not lasts
