# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the files of a Spark server show: whether one runs, and for how long it is to."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import server_state
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_state import Folder, Lifetime, Server, SparkServerError

# This very process: a number that was given to another process since, as far as a server is concerned.
SERVER = Server(os.getpid(), socket.gethostname(), 15002, True, True, "2026-11-21T04:00:00Z")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    tmp_path.chmod(0o700)
    made = Folder(tmp_path).make()
    made.lock.touch(mode=0o600)
    server_state.write_state(made, SERVER)
    return made


@pytest.fixture
def supervised(folder: Folder) -> Iterator[Folder]:
    """The folder of a server whose supervisor runs."""
    with folder.lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def test_a_server_whose_supervisor_has_ended_does_not_run_though_another_process_has_its_pid(folder: Folder) -> None:
    assert server_state.running(folder.workdir) is None
    assert server_state.awaited(folder.workdir) is None
    assert server_state.stop(folder.workdir) is None  # and this process lives on


def test_a_supervised_server_is_found(supervised: Folder) -> None:
    assert server_state.running(supervised.workdir) == SERVER
    assert server_state.awaited(supervised.workdir) == SERVER
    assert SERVER.remote == "sc://127.0.0.1:15002"


def test_one_that_does_not_answer_in_time_is_not_awaited_any_longer(supervised: Folder) -> None:
    server_state.write_state(supervised, replace(SERVER, ready=False))
    assert server_state.awaited(supervised.workdir, 0.2) is None
    server_state.write_state(supervised, replace(SERVER, warm=False))
    assert server_state.awaited(supervised.workdir, 0.2, warm=True) is None
    assert server_state.awaited(supervised.workdir)


def test_one_on_another_machine_is_neither_used_nor_stopped(supervised: Folder) -> None:
    server_state.write_state(supervised, replace(SERVER, host="elsewhere"))
    assert server_state.awaited(supervised.workdir) is None
    with pytest.raises(SparkServerError, match=r"runs on elsewhere: stop it there"):
        server_state.stop(supervised.workdir)


def test_what_others_could_have_put_there_is_not_believed(supervised: Folder) -> None:
    supervised.path.chmod(0o777)
    with pytest.raises(FileError, match="others may write in"):
        server_state.running(supervised.workdir)


def test_a_state_that_is_invalid_is_refused(supervised: Folder) -> None:
    supervised.state.write_text("[]")
    with pytest.raises(SparkServerError, match=r"server\.json is not what kafka_recovery_spark writes"):
        server_state.running(supervised.workdir)


@pytest.mark.parametrize(
    ("before", "asked", "both"),
    [
        (Lifetime(60, 7, 1.0), Lifetime(30, 7, 1.0), Lifetime(60, 7, 1.0)),
        (Lifetime(60, 7, 1.0), Lifetime(90, 8, 2.0), Lifetime(90, 0, 0.0)),  # two playbooks: with neither alone
        (Lifetime(60, 7, 1.0), Lifetime(0, 0, 0.0), Lifetime(0, 0, 0.0)),  # supervised warm from now on
        (Lifetime(0, 0, 0.0), Lifetime(60, 7, 1.0), Lifetime(0, 0, 0.0)),  # a run does not end what is supervised warm
    ],
)
def test_it_lives_as_long_as_the_longest_that_was_asked_for(before: Lifetime, asked: Lifetime, both: Lifetime) -> None:
    assert before.longest(asked) == both
