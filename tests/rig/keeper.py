"""The keeper: a small process between an owner (a test run, a demo) and its JVMs, so that no JVM outlives the owner.

It starts the JVMs as its own children, on request, and kills them all as soon as its owner is gone: the pipe to the owner is closed,
or it has been given a new parent (which also covers an owner whose forked children keep the pipe open). SIGKILL, so that a stopped
(SIGSTOP) JVM goes too. Then it removes the directories that it was given. On Linux the kernel kills the JVMs when the keeper itself is killed.

Standard library only and run as a script: it has to start fast. Requests and answers are one JSON object per line:
  {"do": "start", "name": "broker-1", "argv": [...], "output": "/path"}  ->  {"pid": 123}
  {"do": "signal", "name": "broker-1", "signal": 9}                      ->  {"sent": true}
  {"do": "poll", "name": "broker-1"}                                     ->  {"returncode": null}
"""

import ctypes
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
CHECK_SECONDS = 0.5
IGNORED_SIGNALS = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)  # the owner decides when the end has come


def become(keeper: int, argv: list[str]) -> None:
    """In a child of the keeper: ask the kernel for SIGKILL when the keeper dies (Linux), then turn into the program."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_DFL)  # ignored ones stay ignored over exec
    if os.getppid() == keeper:  # else it died before the kernel was asked
        os.execv(argv[0], argv)


class Keeper:
    def __init__(self) -> None:
        self.children: dict[str, subprocess.Popen[bytes]] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        name = request["name"]
        if request["do"] == "start":
            return {"pid": self.start(name, request["argv"], request["output"])}
        child = self.children.get(name)
        if request["do"] == "signal":
            alive = child is not None and child.poll() is None
            if child is not None and alive:
                child.send_signal(request["signal"])
            return {"sent": alive}
        return {"returncode": child.poll() if child is not None else -1}

    def start(self, name: str, argv: list[str], output: str) -> int:
        running = self.children.get(name)
        if running is not None and running.poll() is None:
            raise RuntimeError(f"{name} is already running")
        wrapped = [sys.executable, "-I", __file__, "become", str(os.getpid()), *argv]
        with Path(output).open("ab") as sink:
            child = subprocess.Popen(wrapped, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT)
        self.children[name] = child
        return child.pid

    def kill_all(self) -> None:
        for child in self.children.values():
            child.kill()
        for child in self.children.values():
            child.wait()


def serve(owner: int, directories: list[str]) -> None:
    """Answer requests until the owner is gone, then leave neither processes nor these directories behind."""
    keeper = Keeper()
    for number in IGNORED_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    pipe, buffered = sys.stdin.fileno(), b""
    selector = selectors.DefaultSelector()
    selector.register(pipe, selectors.EVENT_READ)
    try:
        while os.getppid() == owner:
            if not selector.select(CHECK_SECONDS):
                continue
            received = os.read(pipe, 1 << 16)
            if not received:
                return
            *lines, buffered = (buffered + received).split(b"\n")
            for line in lines:
                try:
                    reply = keeper.answer(json.loads(line))
                except (OSError, RuntimeError) as problem:
                    reply = {"error": str(problem)}
                sys.stdout.write(json.dumps(reply) + "\n")
                sys.stdout.flush()
    except BrokenPipeError:
        return
    finally:
        keeper.kill_all()
        for directory in directories:
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1] == "become":
        become(int(sys.argv[2]), sys.argv[3:])
    else:
        serve(owner=int(sys.argv[2]), directories=sys.argv[3:])
