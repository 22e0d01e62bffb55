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
    """Run a program in its own session and return its output. It has no terminal for prompts; on an error all its processes are killed.

    `given`: its standard input. OSError if it cannot be started, `subprocess.TimeoutExpired` if it takes longer than `seconds`.
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
