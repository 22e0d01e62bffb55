# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs other programs within a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path


def run_bounded(
    argv: Sequence[str], given: bytes, environment: Mapping[str, str], folder: Path, seconds: float
) -> subprocess.CompletedProcess[bytes]:
    """Run a program in its own session, without a terminal for prompts, and return its exit code and output.

    `given`: its standard input. `environment`: all of its variables. `folder`: where it runs. Raises OSError if it cannot be started, and
    `subprocess.TimeoutExpired` after `seconds`; then all of its processes are killed.
    """
    process = subprocess.Popen(  # pylint: disable=ansible-bad-function  # within a time limit
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=folder, start_new_session=True
    )
    try:
        out, errors = process.communicate(given, timeout=seconds)
    except BaseException:
        with process, suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        raise
    return subprocess.CompletedProcess(argv, process.returncode, out, errors)
