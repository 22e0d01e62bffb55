# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a plan that runs in the background, as an async task of Ansible.

Ansible runs such a module below its own module async_wrapper, which writes the result into a file when the module has ended, however it ended. Ansible's
module async_status would have to be started again for each look at that file.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

with suppress(ImportError):  # common.optional_imports names what is missing
    import psutil

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.owner_process import is_running
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import check_directory, read_regular

LOOK_SECONDS = 0.1
JOB = re.compile(r"(j[0-9]+)\.[0-9]+")


class BackgroundTask(NamedTuple):
    """What Ansible returns when it has started an async task: the id of the job, and the file for its result."""

    ansible_job_id: str
    results_file: str


def wait_for_result(task: BackgroundTask) -> dict[str, Any]:
    """Wait until the module has ended, remove the file of its result, and return the result. Without a time limit: a large plan takes long.

    Raises RecoveryError if the job ended without a result, for example because the system ended its processes. Raises FileError if another user could
    replace the result.
    """
    path, wrappers = Path(task.results_file), _wrappers(task.ansible_job_id)
    _check_folder(path)
    try:
        while True:
            # The processes first: when they have ended, the file has their result.
            running = any(map(is_running, wrappers))
            if (result := _result(path)) is not None:
                return result
            if not running:
                raise RecoveryError(
                    "the plan in the background ended without a result: the system may have ended its processes. Run again; smaller groups of clusters "
                    "(--limit) need less memory"
                )
            time.sleep(LOOK_SECONDS)
    finally:
        path.unlink(missing_ok=True)


def _check_folder(path: Path) -> None:
    try:
        check_directory(path.parent)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> RecoveryError:
    return RecoveryError(f"the result of the plan in the background cannot be read: {path}: {error.strerror}; run again")


def _result(path: Path) -> dict[str, Any] | None:
    """Return the result in this file, or None if the module has not ended. Until then async_wrapper has marked the job as started there."""
    try:
        found = strict_json.parse(read_regular(path, follow=False))
    except OSError as error:
        raise _unreadable(path, error) from error
    except strict_json.ContentError as error:
        raise RecoveryError(f"the result of the plan in the background is not valid: {path}: {error}; run again") from error
    if not isinstance(found, dict):
        raise RecoveryError(f"the result of the plan in the background is not valid: {path}; run again")
    return None if "started" in found and not found.get("finished") else found


def _wrappers(job_id: str) -> list[psutil.Process]:
    """Return the processes of async_wrapper that run for this job, as this user. Their command lines have the first part of its id, which others can read."""
    if (job := JOB.fullmatch(job_id)) is None:
        raise RecoveryError(f"background_task: {job_id!r} is not a valid job id: register the result of the task with async")
    own = [
        process
        for process in psutil.process_iter(["cmdline", "uids"])
        if process.info["uids"] and process.info["uids"].effective == os.geteuid()
    ]
    return [process for process in own if job[1] in (process.info["cmdline"] or ())]


def failure_message(result: Mapping[str, Any]) -> str | None:
    """Return why a module failed, or None if it has not failed. A module that could not run at all left only what it printed."""
    if not result.get("failed"):
        return None
    return str(result.get("msg") or result.get("stderr") or "the plan in the background failed without a message; run again")
