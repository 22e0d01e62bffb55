# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a plan in the background is that of its module, however the job ends."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery.background_plan import (
    BackgroundTask,
    failure_message,
    wait_for_result,
)

STARTED = {"started": 1, "finished": 0, "ansible_job_id": "j4711.42"}
DONE = {"changed": False, "plans": [], "finished": 1}


@pytest.fixture
def task(tmp_path: Path) -> BackgroundTask:
    tmp_path.chmod(0o700)
    (tmp_path / "j4711.42").write_text(json.dumps(STARTED))
    return BackgroundTask("j4711.42", str(tmp_path / "j4711.42"))


@pytest.fixture
def wrapper() -> Iterator[subprocess.Popen[str]]:
    """A process with the job in its command line, as async_wrapper has it. It ends with its standard input."""
    with subprocess.Popen([sys.executable, "-c", "input()", "j4711", "86400"], stdin=subprocess.PIPE, text=True) as process:
        yield process
        process.communicate()


def test_it_waits_for_the_result_and_removes_the_file(task: BackgroundTask, wrapper: subprocess.Popen[str]) -> None:
    later = threading.Timer(0.3, Path(task.results_file).write_text, [json.dumps(DONE)])
    later.start()
    assert wait_for_result(task) == DONE and not Path(task.results_file).exists()
    later.join()


def test_a_job_that_ends_without_a_result_is_named(task: BackgroundTask, wrapper: subprocess.Popen[str]) -> None:
    later = threading.Timer(0.3, wrapper.kill)
    later.start()
    with pytest.raises(RecoveryError, match="ended without a result"):
        wait_for_result(task)
    assert not Path(task.results_file).exists()
    later.join()


def test_what_is_not_a_job_is_named(task: BackgroundTask) -> None:
    with pytest.raises(RecoveryError, match="background_task: '-f'"):
        wait_for_result(task._replace(ansible_job_id="-f"))


@pytest.mark.parametrize("content", ["", "[]", "{", '"started"'])
def test_a_result_that_is_not_valid_is_named(task: BackgroundTask, content: str) -> None:
    Path(task.results_file).write_text(content)
    with pytest.raises(RecoveryError, match="not valid"):
        wait_for_result(task)


def test_a_missing_result_is_named(task: BackgroundTask) -> None:
    Path(task.results_file).unlink()
    with pytest.raises(RecoveryError, match="cannot be read"):
        wait_for_result(task)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (DONE, None),
        ({"failed": 1, "msg": "no space"}, "no space"),
        ({"failed": True, "stderr": "Killed"}, "Killed"),
        ({"failed": True}, "the plan in the background failed without a message; run again"),
    ],
)
def test_a_failure_has_a_message(result: dict[str, object], message: str | None) -> None:
    assert failure_message(result) == message


def test_a_result_that_another_user_could_replace_is_refused(task: BackgroundTask) -> None:
    result = Path(task.results_file)
    result.write_text(json.dumps(DONE))
    result.parent.chmod(0o777)
    with pytest.raises(FileError, match=f"others may write in {result.parent}"):
        wait_for_result(task)
    assert result.exists()


def test_a_missing_folder_of_the_result_is_named(task: BackgroundTask) -> None:
    with pytest.raises(RecoveryError, match="cannot be read"):
        wait_for_result(task._replace(results_file="/no/such/folder/j4711.42"))
