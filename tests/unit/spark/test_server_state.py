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
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_state import Folder, Server, SparkServerError, Until

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
def kept(folder: Folder) -> Iterator[Folder]:
    """As by a keeper that lives."""
    with folder.lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def test_a_server_whose_keeper_is_gone_does_not_run_whoever_has_its_number_now(folder: Folder) -> None:
    assert server_state.running(folder.workdir) is None
    assert server_state.awaited(folder.workdir) is None
    assert server_state.stop(folder.workdir) is None  # and this process lives on


def test_a_kept_server_is_found(kept: Folder) -> None:
    assert server_state.running(kept.workdir) == SERVER
    assert server_state.awaited(kept.workdir) == SERVER
    assert SERVER.remote == "sc://127.0.0.1:15002"


def test_one_that_does_not_answer_in_time_is_not_awaited_any_longer(kept: Folder) -> None:
    server_state.write_state(kept, replace(SERVER, ready=False))
    assert server_state.awaited(kept.workdir, 0.2) is None
    server_state.write_state(kept, replace(SERVER, warm=False))
    assert server_state.awaited(kept.workdir, 0.2, warm=True) is None
    assert server_state.awaited(kept.workdir)


def test_one_on_another_machine_is_neither_used_nor_stopped(kept: Folder) -> None:
    server_state.write_state(kept, replace(SERVER, host="elsewhere"))
    assert server_state.awaited(kept.workdir) is None
    with pytest.raises(SparkServerError, match=r"runs on elsewhere: stop it there"):
        server_state.stop(kept.workdir)


def test_what_others_could_have_put_there_is_not_believed(kept: Folder) -> None:
    kept.path.chmod(0o777)
    with pytest.raises(FileError, match="others may write in"):
        server_state.running(kept.workdir)


def test_a_state_that_is_none_is_told(kept: Folder) -> None:
    kept.state.write_text("[]")
    with pytest.raises(SparkServerError, match=r"server\.json is not what kafka_recovery_spark writes"):
        server_state.running(kept.workdir)


@pytest.mark.parametrize(
    ("before", "asked", "both"),
    [
        (Until(60, 7, 1.0), Until(30, 7, 1.0), Until(60, 7, 1.0)),
        (Until(60, 7, 1.0), Until(90, 8, 2.0), Until(90, 0, 0.0)),  # two playbooks: with neither alone
        (Until(60, 7, 1.0), Until(0, 0, 0.0), Until(0, 0, 0.0)),  # kept warm from now on
        (Until(0, 0, 0.0), Until(60, 7, 1.0), Until(0, 0, 0.0)),  # a run does not end what is kept warm
    ],
)
def test_it_lives_as_long_as_the_longest_that_was_asked_for(before: Until, asked: Until, both: Until) -> None:
    assert before.longest(asked) == both
