# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Spark Connect server is meant, and which process is taken for that of the workdir."""

from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from unit.listener import HEADERS, NOBODY, frames, listener

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import connect_client as module_remote
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import server_state
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.connect_client import own_server
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.error_messages import SparkError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.options import AUTO
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_state import Folder, Server
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import session

TOKEN = "the-token-of-the-workdir"
SERVER = Server(os.getpid(), socket.gethostname(), 15002, True, True, "2026-11-21T04:00:00Z")


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    Folder(tmp_path).make().token.write_text(f"{TOKEN}\n")
    return tmp_path


def running(monkeypatch: pytest.MonkeyPatch, *servers: Server | None) -> None:
    """What is seen of the server, again and again; the last for good."""
    seen = list(servers)
    monkeypatch.setattr(server_state, "running", lambda _: seen.pop(0) if len(seen) > 1 else seen[0])


def test_where_no_server_runs_none_is_missed(workdir: Path) -> None:
    warnings: list[str] = []
    assert own_server(workdir, AUTO, warnings.append) is None
    assert own_server(None, AUTO, warnings.append) is None
    assert not warnings


def test_a_server_that_cannot_be_used_in_the_end_gives_one_warning(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    starting = replace(SERVER, ready=False)
    running(monkeypatch, starting, starting, None)
    assert own_server(workdir, AUTO, warnings.append) is None
    running(monkeypatch, replace(SERVER, host="elsewhere"))
    assert own_server(workdir, AUTO, warnings.append) is None
    assert ["ended before it answered" in warnings[0], "runs on elsewhere, not here" in warnings[1]] == [True, True]
    assert all("this step starts a Spark of its own" in line and "\n" not in line for line in warnings)


@pytest.mark.parametrize(
    ("remote", "own"),
    [
        ("sc://localhost:15002", True),
        ("sc://127.0.0.1:15002", True),
        ("sc://localhost:15003", False),
        ("sc://spark.example.com:15002", False),
        ("", False),
        (None, False),
    ],
)
def test_an_address_of_loopback_with_its_port_is_the_server_of_the_workdir(
    workdir: Path, monkeypatch: pytest.MonkeyPatch, remote: str | None, own: bool
) -> None:
    running(monkeypatch, SERVER)
    assert own_server(workdir, remote, print) == (SERVER if own else None)


def test_another_server_does_not_get_the_token_of_the_workdir(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_remote, "CONNECT_SECONDS", 0.5)
    with listener(uid=os.geteuid()) as other:
        running(monkeypatch, replace(SERVER, port=other.port + 1))
        with pytest.raises(SparkError, match="does not speak Spark Connect"), session(None, f"sc://localhost:{other.port}", {}, 0, workdir):
            pass
        received = other.received()
    assert HEADERS in frames(received) and TOKEN.encode() not in received


def test_only_a_child_of_its_supervisor_is_taken_for_the_server(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    with subprocess.Popen(["sleep", "60"]) as parent, listener(uid=os.geteuid()) as other:
        running(monkeypatch, replace(SERVER, port=other.port))
        assert own_server(workdir, AUTO, warnings.append) and not warnings
        gone = replace(SERVER, pid=parent.pid, port=other.port)
        running(monkeypatch, gone)
        assert own_server(workdir, AUTO, warnings.append) is None
        with (
            pytest.raises(SparkError, match=rf"does not listen on 127\.0\.0\.1:{other.port} any more"),
            session(None, gone.remote, {}, 0, workdir),
        ):
            pass
        assert other.received() == b""
        parent.kill()
    (line,) = warnings
    assert f"does not listen on its port {other.port} any more" in line and "this step starts a Spark of its own" in line


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to have a process of another user")
def test_a_process_of_another_user_is_not_taken_for_the_server(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with listener(uid=NOBODY) as other:
        running(monkeypatch, replace(SERVER, port=other.port))
        assert own_server(workdir, AUTO, lambda _: None) is None
        assert other.received() == b""


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to have a process of another user")
@pytest.mark.parametrize(
    "remote", ["sc://localhost:{}/;token=secret", "sc://localhost:{}", "sc://127.0.0.1:{}", "sc://0.0.0.0:{}", "sc://[::1]:{}"]
)
def test_another_user_on_a_loopback_port_gets_nothing(workdir: Path, monkeypatch: pytest.MonkeyPatch, remote: str) -> None:
    monkeypatch.setattr(module_remote, "CONNECT_SECONDS", 1.0)
    with listener("::1", uid=NOBODY) as one, listener("127.0.0.1", one.port, NOBODY) as other:
        refused = pytest.raises(SparkError, match=rf"another user \(uid {NOBODY}\) listens on .+:{one.port} .+use_ssl=true")
        with refused as error, session(None, remote.format(one.port), {}, 0, workdir):
            pass
        assert one.received() == other.received() == b"" and "secret" not in str(error.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root, to have a process of another user")
def test_the_name_localhost_is_never_the_other_user_on_the_other_address(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_remote, "CONNECT_SECONDS", 1.0)
    with listener("::1", uid=NOBODY) as other, listener("127.0.0.1", other.port, os.geteuid()) as own:
        with (
            pytest.raises(SparkError, match="does not speak Spark Connect"),
            session(None, f"sc://localhost:{own.port}/;token=secret", {}, 0, workdir),
        ):
            pass
        assert other.received() == b"" and HEADERS in frames(own.received())
