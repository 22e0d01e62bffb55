# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Spark Connect server is meant, and whose token it gets."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import spark_server
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.remote import own_server, token_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_options import AUTO
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server import TOKEN_VARIABLE, Folder, Server

SERVER = Server(os.getpid(), socket.gethostname(), 15002, True, True, "2026-11-21T04:00:00Z")


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    Folder(tmp_path).make().token.write_text("own\n")
    return tmp_path


def running(monkeypatch: pytest.MonkeyPatch, *servers: Server | None) -> None:
    """What is seen of the server, again and again; the last for good."""
    seen = list(servers)
    monkeypatch.setattr(spark_server, "running", lambda _: seen.pop(0) if len(seen) > 1 else seen[0])


def test_where_no_server_runs_none_is_missed(workdir: Path) -> None:
    said: list[str] = []
    assert own_server(workdir, AUTO, said.append) is None
    assert own_server(None, AUTO, said.append) is None
    assert not said


def test_a_server_that_cannot_be_used_in_the_end_is_told_in_one_line(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    starting = replace(SERVER, ready=False)
    running(monkeypatch, starting, starting, None)
    assert own_server(workdir, AUTO, said.append) is None
    running(monkeypatch, replace(SERVER, host="elsewhere"))
    assert own_server(workdir, AUTO, said.append) is None
    assert ["ended before it answered" in said[0], "runs on elsewhere, not here" in said[1]] == [True, True]
    assert all("this step starts a Spark of its own" in line and "\n" not in line for line in said)


@pytest.mark.parametrize(
    ("remote", "own"),
    [
        (AUTO, True),
        ("sc://localhost:15002", True),
        ("sc://127.0.0.1:15002", True),
        ("sc://localhost:15003", False),
        ("sc://spark.example.com:15002", False),
        ("", False),
        (None, False),
    ],
)
def test_its_token_is_for_the_server_of_the_workdir_alone(
    workdir: Path, monkeypatch: pytest.MonkeyPatch, remote: str | None, own: bool
) -> None:
    running(monkeypatch, SERVER)
    monkeypatch.setenv(TOKEN_VARIABLE, "another")
    found = own_server(workdir, remote, print)
    assert found == (SERVER if own else None)
    with token_of(found, workdir):
        assert os.environ[TOKEN_VARIABLE] == ("own" if own else "another")
    assert os.environ[TOKEN_VARIABLE] == "another"
