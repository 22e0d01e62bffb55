"""Fleets in the background, seen from outside: start one, find it, ask it, end it."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

import psutil

from rig.errors import RigError

STATE_DIR = Path(__file__).parents[2] / ".cache" / "rig"
STOP_SECONDS = 60


def state_file(name: str) -> Path:
    """Where a fleet that is up says how to reach it."""
    return STATE_DIR / f"{name}.json"


def log_file(name: str) -> Path:
    return STATE_DIR / f"{name}.log"


def names() -> list[str]:
    """Fleets that are up."""
    return [path.stem for path in sorted(STATE_DIR.glob("*.json")) if state(path.stem) is not None]


def state(name: str) -> dict[str, Any] | None:
    """What a fleet wrote into its state file; None when there is no such fleet, or no more."""
    try:
        content: dict[str, Any] = json.loads(state_file(name).read_text())
        daemon = psutil.Process(content["pid"])
    except (FileNotFoundError, psutil.NoSuchProcess):
        return None
    return content if daemon.create_time() == content["create_time"] and daemon.status() != psutil.STATUS_ZOMBIE else None


def start(name: str, options: Mapping[str, Any], say: Callable[[str], None]) -> dict[str, Any]:
    """Start a fleet, pass its progress lines on and return its state once it is ready. `options` are those of `rig.daemon.run`."""
    if state(name) is not None:
        raise RigError(f"the fleet {name} is already up; end it with: python -m rig down --name {name}")
    STATE_DIR.mkdir(parents=True, exist_ok=True)
    with log_file(name).open("w") as log:
        argv = [sys.executable, "-m", "rig.daemon", json.dumps({"name": name, **options})]
        daemon = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, start_new_session=True, text=True)
    try:
        for line in daemon.stdout or ():  # until it is ready, or gives up
            say(line.rstrip("\n"))
    except KeyboardInterrupt:
        daemon.terminate()
        daemon.wait()
        raise
    ready = state(name)
    if ready is None:
        raise RigError(f"the fleet {name} did not start. {log_file(name)} ends with:\n{log_file(name).read_text()[-2000:].strip()}")
    return ready


def call(name: str, say: Callable[[str], None], **request: Any) -> Any:
    """Let a fleet's daemon do something (see `rig.daemon.Daemon`); progress lines go to `say`. Raises RigError when it fails."""
    found = _required(name)
    with Client(found["address"], authkey=bytes.fromhex(found["key"])) as connection:
        connection.send(request)
        while True:
            try:
                kind, content = connection.recv()
            except EOFError as gone:
                raise RigError(f"the fleet {name} ended meanwhile, see {log_file(name)}") from gone
            if kind == "say":
                say(content)
            elif kind == "error":
                raise RigError(content)
            else:
                return content


def stop(name: str) -> None:
    """End a fleet and wait until all its processes are gone."""
    daemon = psutil.Process(_required(name)["pid"])
    family = [daemon, *daemon.children(recursive=True)]
    daemon.terminate()
    _gone, left = psutil.wait_procs(family, timeout=STOP_SECONDS)
    if left:
        raise RigError(f"the fleet {name} did not end within {STOP_SECONDS} s: process {left[0].pid} is left, see {log_file(name)}")


def _required(name: str) -> dict[str, Any]:
    found = state(name)
    if found is None:
        raise RigError(f"there is no fleet {name}; start one with: python -m rig up --name {name}")
    return found
