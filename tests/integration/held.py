# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Elections that wait at a request until the test lets them go on: what happens to them in between is then no matter of luck."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from integration.support import CHECKOUT, GIVE_UP_SECONDS, RUN, Answer, Operator

# Each request waits the first time. A process whose test has gone ends by itself.
HOLD = """
import os, time
from pathlib import Path
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
def hold(request, folder, test):
    ask = getattr(Cluster, request)
    def waiting(*args, **kwargs):
        (folder / f"{request}.reached").touch()
        while not (folder / f"{request}.go").exists():
            os.getppid() == test or os._exit(3)
            time.sleep(0.02)
        return ask(*args[:2])  # without the time by which an election must be sent: to the run no time has passed
    setattr(Cluster, request, waiting)
"""


def wait_until(done: Callable[[], object], what: str) -> None:
    """Wait for a condition that has to come; the test fails where it does not."""
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while not done():
        assert time.monotonic() < deadline, f"{what}: not after {GIVE_UP_SECONDS} s"
        time.sleep(0.02)


class HeldElection:
    """An election in the background, data loss allowed, that waits at each of `requests` (methods of Cluster).

    Entered, it has reached the first of them. Nothing of it is left when the context ends.
    """

    def __init__(self, operator: Operator, folder: Path, requests: Sequence[str], run_id: str, **params: Any) -> None:
        self._folder = folder
        self._requests = list(requests)
        folder.mkdir()
        arguments = {**operator.connection, **operator.files(run_id), "allow_data_loss": True, "preview": 10_000, **params}
        (folder / "arguments.json").write_text(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}))
        self._process: subprocess.Popen[str]

    def __enter__(self) -> Self:
        module = RUN.format(path=str(CHECKOUT / "plugins" / "modules" / "kafka_designated_election.py"))
        holds = "".join(f"hold({request!r}, Path({str(self._folder)!r}), os.getppid())\n" for request in self._requests)
        self._process = subprocess.Popen(
            [sys.executable, "-c", HOLD + holds + module, "-", str(self._folder / "arguments.json")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            self._reach(self._requests[0])
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def _end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _reach(self, request: str) -> None:
        reached = self._folder / f"{request}.reached"
        wait_until(lambda: reached.exists() or self._process.poll() is not None, request)
        assert reached.exists(), self._process.communicate()

    @property
    def pid(self) -> int:
        """Id of its process."""
        return self._process.pid

    def advance(self) -> None:
        """Let it go on to the next request that it waits at."""
        (self._folder / f"{self._requests.pop(0)}.go").touch()
        self._reach(self._requests[0])

    def finish(self) -> Answer:
        """Let it go on to its end."""
        for request in self._requests:
            (self._folder / f"{request}.go").touch()
        stdout, stderr = self._process.communicate(timeout=GIVE_UP_SECONDS)
        return Answer(self._process.returncode, json.loads(stdout) if stdout.strip() else {}, stderr)

    def kill(self) -> None:
        """SIGKILL, and wait for its end."""
        self._process.kill()
        assert self._process.wait() == -signal.SIGKILL
