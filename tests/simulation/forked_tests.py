# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs pytest many times, each time in a fork of a process that has imported pytest and libraries, but neither product nor tests.

Importing these takes longer than most tests of a file. `python -m simulation.forked_tests` reads lines of JSON (arguments of pytest, and the seconds that it
may take), and writes for each whether all tests passed in time.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Self

import pytest

LIBRARIES = ("hypothesis", "hypothesis.strategies", "_hypothesis_pytestplugin", "kafka", "kafka.protocol", "kafka.cluster", "yaml")
LOOK_SECONDS = 0.01


class ForkedTests:
    """The process that is forked, as a context manager."""

    def __enter__(self) -> Self:
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # a file that changes within a second looks the same to Python
        command = [sys.executable, "-m", __name__]
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()

    def pass_in_time(self, arguments: Sequence[str], seconds: float) -> bool:
        """Return whether pytest ends well with these arguments, within `seconds`."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps([arguments, seconds]), file=self._process.stdin, flush=True)
        return bool(json.loads(self._process.stdout.readline()))


def main() -> None:
    """Run what standard input asks for, until it ends."""
    answers = os.fdopen(os.dup(1), "w")
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    for name in LIBRARIES:
        importlib.import_module(name)
    pytest.main(["--version"])  # imports the plugins of pytest
    for line in sys.stdin:
        arguments, seconds = json.loads(line)
        process = os.fork()
        if not process:
            os.setsid()  # with what tests start
            os._exit(pytest.main(arguments))
        print(json.dumps(_exit_code(process, seconds) == 0), file=answers, flush=True)


def _exit_code(process: int, seconds: float) -> int | None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(LOOK_SECONDS)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


if __name__ == "__main__":
    main()
