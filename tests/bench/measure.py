"""Module and playbook processes, timed from their start to their end as an operator waits for them."""

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

ROOT = Path(__file__).parents[2]
MODULES = ROOT / ".cache/collections/ansible_collections/streamops/kafka_recovery/plugins/modules"
SAMPLE_SECONDS = 0.02
# To look for children is to look through all processes of the machine: done every time it would take an eighth of a core from what is measured.
# Not for theirs: for the moment in which Java starts a program, that one seems to have all the memory that Java has.
CHILDREN_EVERY = 25
TASK_LINE = re.compile(r"^(\S+ \S+),(\d+) .*?(?:TASK|PLAY|RUNNING HANDLER) (?:\[(.*?)\]|RECAP)")


@dataclass(frozen=True)
class Measured:
    """One process: wall-clock seconds, peak resident memory in MB of the process itself and with its children (Java), and what it returned."""

    command: str
    seconds: float
    peak_mb: float
    tree_mb: float
    result: dict[str, Any]


def module(name: str, **arguments: Any) -> Measured:
    """Run a module as Ansible's worker would, interpreter start and imports included. Raises RuntimeError when it fails."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"ANSIBLE_MODULE_ARGS": arguments}, file)
        file.flush()
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, str(MODULES / f"{name}.py"), file.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
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
        process, children, looks = psutil.Process(pid), 0.0, 0
        while process.status() != psutil.STATUS_ZOMBIE:
            if looks % CHILDREN_EVERY == 0:
                children = 0.0
                for child in process.children():
                    with suppress(psutil.NoSuchProcess):
                        children += child.memory_info().rss / 1e6
            own = process.memory_info().rss / 1e6
            peak[:] = max(peak[0], own), max(peak[1], own + children)
            looks += 1
            time.sleep(SAMPLE_SECONDS)


def playbook(name: str, inventory: Path, scratch: Path, root: Path = ROOT, **variables: Any) -> tuple[float, int, dict[str, float]]:
    """Run a playbook of the checkout `root`. Returns seconds, exit code and the seconds of each task (no role) in order (first: until the first one)."""
    log = scratch / "ansible.log"
    command = [str(Path(sys.executable).parent / "ansible-playbook"), f"streamops.kafka_recovery.{name}", "-i", str(inventory)]
    command += ["-e", json.dumps(variables)]
    began = time.time()
    done = subprocess.run(command, cwd=root, env={**os.environ, "ANSIBLE_LOG_PATH": str(log)}, capture_output=True, text=True, check=False)
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
