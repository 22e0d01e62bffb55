# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules that signal themselves at their n-th step: a request that is sent, an answer to one that writes, an operation on a file that is written.

Run as a program it takes jobs from its standard input and forks one process per job: what a module imports is imported once.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from integration.support import CHECKOUT, GIVE_UP_SECONDS, Answer

SIDE_BY_SIDE = 3
NOTE_SECONDS = 10.0
# Requests that change a cluster, by the beginning of their names.
CHANGES = (
    "AlterPartitionReassignments", "ElectLeaders", "ElectDesignatedLeaders", "IncrementalAlterConfigs", "OffsetCommit",
)  # fmt: skip
# Bytes that are written at once.
SHORT = 500
# make test disturbs every sixteenth step, make test-long each one.
sampled = pytest.mark.parametrize("every", [16, pytest.param(1, marks=pytest.mark.long)], ids=["sample", "all"])


@dataclass(frozen=True)
class Job:
    """A run of a module, or of a program for which `module` is a path. `folder`: its own, for what it leaves; `files`: where the files lie that it works with.

    At step `stop_at` (from 1 on, None: never) it sends itself the signal `number`.

    `machine`: a folder that has all that this run keeps on its machine, and is gone when the run has ended. Then only what outlives the machine is a step:
    a request that changes the cluster, its answer, and a write to the object store.
    """

    module: str
    arguments: dict[str, Any]
    folder: str
    files: str
    stop_at: int | None = None
    number: int = signal.SIGKILL
    machine: str = ""

    @property
    def program(self) -> str:
        """The file that is run."""
        return self.module if self.module.endswith(".py") else str(CHECKOUT / "plugins" / "modules" / f"{self.module}.py")


@dataclass(frozen=True)
class Run(Answer):
    """What came of a job. `steps`: their names, empty for a process that was killed."""

    steps: tuple[str, ...]


def run_all(jobs: Iterable[Job]) -> list[Run]:
    """Run all jobs, some side by side."""
    return [run for (run,) in run_chains([job] for job in jobs)]


def run_chains(chains: Iterable[Sequence[Job]]) -> list[list[Run]]:
    """Run the jobs of each chain one after the other, some chains side by side."""
    work = [list(chain) for chain in chains]
    done = subprocess.run(
        [sys.executable, "-m", "integration.stepping"],
        input=json.dumps([[asdict(job) for job in chain] for chain in work]),
        capture_output=True,
        text=True,
        check=False,
        timeout=GIVE_UP_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    codes = json.loads(done.stdout)
    return [
        [_result(Path(job.folder), code) for job, code in zip(chain, ends, strict=True)] for chain, ends in zip(work, codes, strict=True)
    ]


def _result(folder: Path, returncode: int) -> Run:
    stdout, steps = (folder / "stdout").read_text(), folder / "steps.json"
    return Run(
        returncode,
        json.loads(stdout) if stdout.strip() else {},
        (folder / "stderr").read_text(),
        tuple(json.loads(steps.read_text())) if steps.exists() else (),
    )


class Steps:
    """Counts, in the process of the module."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._names: list[str] = []
        self._lock = threading.Lock()

    def take(self, name: str) -> None:
        """One step. Comes back only where the signal lets the process live."""
        with self._lock:
            self._names.append(name)
            (Path(self._job.folder) / "steps.json").write_text(json.dumps(self._names))
            reached = len(self._names) == self._job.stop_at
        if reached:
            os.kill(os.getpid(), self._job.number)
            self._wait_for_the_main_thread()

    def _wait_for_the_main_thread(self) -> None:
        """It takes the signal at its next instruction; other threads do not go on before."""
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals

        deadline = time.monotonic() + NOTE_SECONDS
        while not signals.pending_signal() and threading.current_thread() is not threading.main_thread() and time.monotonic() < deadline:
            time.sleep(0.001)

    def watch(self) -> None:
        """Take a step at everything that leaves the process, or the machine."""
        self._watch_requests()
        self._watch_transactions()
        if self._job.machine:
            self._watch_store()
        else:
            self._watch_files()

    def _watch_store(self) -> None:
        """Locks are renewed by a thread of their own, at times of its own: that is no step."""
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.client import Client

        for name in ("put", "create", "replace", "copy", "remove"):
            setattr(Client, name, self._around_write(name, getattr(Client, name)))

    def _around_write(self, name: str, write: Callable[..., Any]) -> Callable[..., Any]:
        def around(client: Any, key: str, *arguments: Any, **options: Any) -> Any:
            renews = threading.current_thread().name.startswith("lease ")
            if not renews:
                self.take(f"{name} {key}")
            found = write(client, key, *arguments, **options)
            if not renews:
                self.take(f"{name} {key} done")
            return found

        return around

    def _watch_requests(self) -> None:
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster

        send: Callable[..., Any] = Cluster._send

        def sending(cluster: Cluster, node: Any, request: Any, *end: Any) -> Any:
            changes = request.name.startswith(CHANGES) and not getattr(request, "validate_only", False)
            if changes or not self._job.machine:
                self.take(f"send {request.name}")
            answer = send(cluster, node, request, *end)
            if changes:
                answer.add_callback(lambda _: self.take(f"answer to {request.name}"))
            return answer

        Cluster._send = sending  # type: ignore[assignment, method-assign]

    def _watch_transactions(self) -> None:
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.replay_client import ReplayProducer

        for name in ("fence", "send", "commit"):
            setattr(ReplayProducer, name, self._around(name, getattr(ReplayProducer, name)))

    def _around(self, name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        def around(*arguments: Any) -> None:
            self.take(name)
            step(*arguments)
            self.take(f"{name} done")

        return around

    def _watch_files(self) -> None:
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.journal_file import JournalFile

        files, fsync, rename, append = self._job.files + os.sep, os.fsync, os.replace, JournalFile._append
        write_at = os.pwrite

        def audit(event: str, arguments: tuple[Any, ...]) -> None:
            path = str(arguments[0]) if arguments and isinstance(arguments[0], (str, Path)) else ""
            if not path.startswith(files):
                return
            writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR) and not os.path.isdir(path)  # noqa: PTH112
            if writes or event in ("os.rename", "os.remove") or (event == "os.mkdir" and not os.path.exists(path)):  # noqa: PTH110
                self.take(f"{event} {path.removeprefix(files)}")

        def syncing(handle: Any) -> None:
            self.take("fsync")
            fsync(handle)
            self.take("fsync done")

        def renaming(*arguments: Any, **options: Any) -> None:
            rename(*arguments, **options)
            self.take("rename done")

        def appending(journal: JournalFile, entry: Any) -> None:
            self.take(f"append {entry['kind']}")
            append(journal, entry)

        sys.addaudithook(audit)

        def writing(handle: int, content: Any, position: int) -> int:
            """Write the first half of what is long, as the system may."""
            self.take("pwrite")
            written = write_at(handle, content[: len(content) // 2] if len(content) > SHORT else content, position)
            self.take("pwrite done")
            return written

        os.fsync, os.replace, os.pwrite = syncing, renaming, writing  # type: ignore[assignment]
        JournalFile._append = appending  # type: ignore[assignment, method-assign]


def _child(job: Job) -> int:
    folder = Path(job.folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "steps.json").unlink(missing_ok=True)
    for stream, name in ((1, "stdout"), (2, "stderr")):
        with (folder / name).open("wb") as file:
            os.dup2(file.fileno(), stream)
    if job.machine:
        for name in ("TMPDIR", "HOME"):
            place = Path(job.machine) / name
            place.mkdir(parents=True)
            os.environ[name] = str(place)
        tempfile.tempdir = None
    arguments = folder / "arguments.json"
    arguments.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": job.arguments}))
    sys.argv = ["module", str(arguments)]
    Steps(job).watch()
    try:
        runpy.run_path(job.program, run_name="__main__")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _preload(jobs: Iterable[Job]) -> None:
    for job in {job.module: job for job in jobs}.values():
        runpy.run_path(job.program, run_name="preloaded")
        if job.arguments.get("spark_remote"):
            importlib.import_module("pyspark.sql.connect.session")


def main() -> None:
    """Run the chains of standard input; print the exit codes of each, negative for signals."""
    chains = [[Job(**row) for row in chain] for chain in json.load(sys.stdin)]
    _preload(job for chain in chains for job in chain)
    codes: list[list[int]] = [[] for _ in chains]
    waiting = list(range(len(chains)))
    running: dict[int, int] = {}
    while waiting or running:
        while waiting and len(running) < SIDE_BY_SIDE:
            chain = waiting.pop(0)
            running[_fork(chains[chain][len(codes[chain])])] = chain
        pid, status = os.wait()
        chain = running.pop(pid)
        if machine := chains[chain][len(codes[chain])].machine:
            shutil.rmtree(machine)
        codes[chain].append(os.waitstatus_to_exitcode(status))
        if len(codes[chain]) < len(chains[chain]):
            waiting.insert(0, chain)
    print(json.dumps(codes))


def _fork(job: Job) -> int:
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            code = _child(job)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return pid


if __name__ == "__main__":
    main()
