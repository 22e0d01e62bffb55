# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends this process and its children when another process has ended, however that one ends."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

with suppress(ImportError):  # common.optional_imports names what is missing
    import psutil

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

LOOK_SECONDS = 0.5
# Java removes its temporary files meanwhile.
TERMINATE_SECONDS = 1.0
SAME_START_SECONDS = 1.0
# The module removes its own temporary files meanwhile.
EXIT_SECONDS = 3.0


def find_owner(pid: int, started_at: float) -> psutil.Process:
    """Return the process `pid` that started at `started_at` (seconds since the epoch). Raises RecoveryError if it has ended."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        if abs(process.create_time() - started_at) < SAME_START_SECONDS and is_running(process):
            return process
    raise RecoveryError(f"process {pid}, which started this one, has ended")


@contextmanager
def end_with(owner: psutil.Process) -> Iterator[None]:
    """In this context, end this process and all its descendants within seconds of the end of `owner`.

    The main thread gets SIGTERM (see `signals`), and EXIT_SECONDS to end by itself.
    """
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(owner, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(owner: psutil.Process, done: threading.Event) -> None:
    while is_running(owner):
        if done.wait(LOOK_SECONDS):
            return
    end_descendants()
    # Without its children the main thread may be ending already.
    if not done.is_set():
        os.kill(os.getpid(), signal.SIGTERM)
    end = time.monotonic() + EXIT_SECONDS
    while not done.wait(0.1):
        if time.monotonic() > end:
            os._exit(1)
        # It may have started another one before the signal.
        end_descendants()


def end_descendants() -> None:
    """End all descendants of this process: SIGTERM, and SIGKILL for those that are still running after TERMINATE_SECONDS."""
    descendants = psutil.Process().children(recursive=True)
    for process in descendants:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    end = time.monotonic() + TERMINATE_SECONDS
    # psutil.wait_procs would take the exit codes of children, and then PySpark waits without end for a Java that has ended.
    while (running := [process for process in descendants if is_running(process)]) and time.monotonic() < end:
        time.sleep(0.05)
    for process in running:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def is_running(process: psutil.Process) -> bool:
    """Return whether a process has not ended. A zombie has: nothing has waited for it yet."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
