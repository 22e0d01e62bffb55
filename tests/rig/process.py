"""The owner's side of a keeper: start, signal and watch the JVMs of one cluster."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rig import keeper
from rig.errors import RigError


class Processes:
    """Named processes that die with this one. Safe to use from several threads."""

    def __init__(self, keep_open: Sequence[int] = (), remove: Sequence[Path] = ()) -> None:
        """`keep_open`: file descriptors (locks) that stay open until the last process is gone. `remove`: directories that go with them."""
        argv = [sys.executable, "-I", str(Path(keeper.__file__)), "serve", str(os.getpid()), *map(str, remove)]
        # a session of its own: Ctrl-C in a terminal reaches the owner, which then closes in its own order
        self._keeper = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=keep_open, start_new_session=True, text=True, bufsize=1
        )
        self._lock = threading.Lock()
        self.pids: dict[str, int] = {}

    @property
    def keeper_pid(self) -> int:
        return self._keeper.pid

    def start(self, name: str, argv: Sequence[str], output: Path) -> int:
        """Start a process with stdout and stderr appended to `output`; returns its pid."""
        pid = self._ask(do="start", name=name, argv=list(argv), output=str(output))["pid"]
        self.pids[name] = pid
        return int(pid)

    def signal(self, name: str, number: signal.Signals) -> bool:
        """Send a signal; False when the process is not running."""
        return bool(self._ask(do="signal", name=name, signal=int(number))["sent"])

    def returncode(self, name: str) -> int | None:
        """None while the process runs (also while it is stopped)."""
        code: int | None = self._ask(do="poll", name=name)["returncode"]
        return code

    def wait(self, name: str, seconds: float) -> bool:
        """Wait for the end of a process; False when it still runs after that many seconds."""
        deadline = time.monotonic() + seconds
        while self.returncode(name) is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def close(self) -> None:
        """Kill every process and the keeper. Harmless when called twice, or after the keeper was killed by someone else."""
        with self._lock:
            for pipe in (self._keeper.stdin, self._keeper.stdout):
                if pipe:
                    with suppress(OSError):
                        pipe.close()
            try:
                self._keeper.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self._keeper.kill()
                self._keeper.wait()

    def _ask(self, **request: Any) -> dict[str, Any]:
        with self._lock:
            stdin, stdout = self._keeper.stdin, self._keeper.stdout
            try:
                if stdin is None or stdout is None or stdin.closed:
                    raise BrokenPipeError
                stdin.write(json.dumps(request) + "\n")
                answer = stdout.readline()
            except OSError:
                answer = ""
        if not answer:
            raise RigError("the cluster's keeper process is gone, and its JVMs with it")
        reply: dict[str, Any] = json.loads(answer)
        if "error" in reply:
            raise RigError(f"{request['do']} {request['name']}: {reply['error']}")
        return reply
