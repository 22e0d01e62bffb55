"""Module and playbook processes, timed from their start to their end as an operator waits for them."""

import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil
from integration.support import ALL_TASKS

ROOT = Path(__file__).parents[2]
MODULES = ROOT / ".cache/collections/ansible_collections/streamops/kafka_recovery/plugins/modules"
SAMPLE_SECONDS = 0.02
# To look for children, and for what they share with each other, takes much longer than to look at one process.
# Not for theirs: for the moment in which Java starts a program, that one seems to have all the memory that Java has.
CHILDREN_EVERY = 25
PR_SET_CHILD_SUBREAPER = 36
TASK_LINE = re.compile(r"^(\S+ \S+),(\d+) .*?(?:TASK|PLAY|RUNNING HANDLER) (?:\[(.*?)\]|RECAP)")


@dataclass(frozen=True)
class Measured:
    """One process: wall-clock seconds, peak memory in MB, and what it returned.

    `peak_mb`: resident, of the process itself. `tree_mb`: of it with Java and Java's Python workers, what they share counted once.
    """

    command: str
    seconds: float
    peak_mb: float
    tree_mb: float
    result: dict[str, Any]


def adopt_orphans() -> None:
    """From now on processes whose parent has ended are this one's children, so that their processor time can be asked for. Linux only."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1):
        raise OSError(ctypes.get_errno(), "prctl")


def processor_seconds() -> float:
    """Return the processor time of all children that have ended, and of theirs. A busy machine changes it less than the seconds on the clock."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:  # orphans that were adopted
            pass
    times = os.times()
    return times.children_user + times.children_system


def module(name: str, **arguments: Any) -> Measured:
    """Run a module as Ansible's worker would, interpreter start and imports included. Raises RuntimeError when it fails."""
    return module_on(None, name, **arguments)


def module_on(cores: int | None, name: str, **arguments: Any) -> Measured:
    """Run a module as `module` does, on so many cores (None: all)."""
    pinned = ["taskset", "--cpu-list", f"0-{cores - 1}"] if cores else []
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"ANSIBLE_MODULE_ARGS": arguments}, file)
        file.flush()
        began = time.monotonic()
        process = subprocess.Popen(
            [*pinned, sys.executable, str(MODULES / f"{name}.py"), file.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        peak: list[float] = [0.0, 0.0]
        sampler = threading.Thread(target=_sample, args=(process.pid, peak))
        sampler.start()
        stdout, stderr = process.communicate()
        seconds = time.monotonic() - began
        sampler.join()
    if process.returncode:
        raise RuntimeError(f"{name} failed: {stdout}{stderr}")
    return Measured(f"python {name}.py ARGS", seconds, peak[0], peak[1], json.loads(stdout))


def _sample(pid: int, peak: list[float]) -> None:
    """Raise `peak` (own memory, with children) until the process ends."""
    with suppress(psutil.NoSuchProcess):
        process, looks = psutil.Process(pid), 0
        while process.status() != psutil.STATUS_ZOMBIE:
            own = process.memory_info().rss / 1e6
            tree = own
            if looks % CHILDREN_EVERY == 0 and (children := process.children(recursive=True)):
                tree = sum(map(_proportional_mb, [process, *children]))
            peak[:] = max(peak[0], own), max(peak[1], tree)
            looks += 1
            time.sleep(SAMPLE_SECONDS)


def _proportional_mb(process: psutil.Process) -> float:
    """Memory in MB, of pages that processes share a share of each. 0 for one that has ended."""
    try:
        return float(process.memory_full_info().pss) / 1e6
    except psutil.NoSuchProcess:
        return 0.0


def playbook(name: str, inventory: Path, scratch: Path, root: Path = ROOT, **variables: Any) -> tuple[float, int, dict[str, float]]:
    """Run a playbook of the checkout `root`. Returns seconds, exit code and the seconds of each task (no role) in order (first: until the first one)."""
    log = scratch / "ansible.log"
    log.unlink(missing_ok=True)  # Ansible appends to that of an earlier run
    command = [str(Path(sys.executable).parent / "ansible-playbook"), f"streamops.kafka_recovery.{name}", "-i", str(inventory)]
    command += ["-e", json.dumps(variables)]
    began = time.time()
    done = subprocess.run(
        command, cwd=root, env={**os.environ, **ALL_TASKS, "ANSIBLE_LOG_PATH": str(log)}, capture_output=True, text=True, check=False
    )
    ended = time.time()
    if done.returncode not in (0, 2):
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stdout}{done.stderr}")
    marks = [("start", began)]
    for line in log.read_text().splitlines():
        if found := TASK_LINE.match(line):
            marks.append(((found[3] or "end").rpartition(" : ")[2], datetime.fromisoformat(f"{found[1]}.{found[2]}").timestamp()))
    tasks: dict[str, float] = {}
    for (task, at), (_, until) in zip(marks, [*marks[1:], ("end", ended)], strict=True):
        tasks[task] = tasks.get(task, 0.0) + until - at
    return ended - began, done.returncode, tasks
