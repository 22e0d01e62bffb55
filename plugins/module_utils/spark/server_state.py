# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of the Spark Connect server of a workdir, in files: whether it runs, its address and its token. Works without PySpark.

`<workdir>/spark/` has `lock`, `server.json` (the fields of `Server`), `until.json` (those of `Lifetime`), `token` and `server.log`. All are private.
The supervisor of the server holds `lock`, so a killed server is known to have ended, even if another process has its pid now.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    check_inside,
    private_directory,
    read_regular,
    refuse_link,
    write_private,
)

TOKEN_VARIABLE = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
# Enough for a busy machine. Callers do not wait so long for a server that has ended.
START_SECONDS = 300.0
STOP_SECONDS = 15.0
LOOK_SECONDS = 0.1


class SparkServerError(RecoveryError):
    """The server cannot be started or stopped. The message gives the reason."""


@dataclass(frozen=True)
class Server:
    """A running server on machine `host`. `pid`: its supervisor, with which it ends; `ready`: it answers; `warm`: its first plan has been made."""

    pid: int
    host: str
    port: int
    ready: bool
    warm: bool
    started_at: str

    @property
    def remote(self) -> str:
        """Its URL, for spark_remote of modules with the same workdir. Other Spark clients refuse to send a token there in plain text."""
        return f"sc://127.0.0.1:{self.port}"


@dataclass(frozen=True)
class Lifetime:
    """When a server ends by itself: after `idle_seconds` without a client (0: never), or when process `owner` has ended (0: none).

    `owner_since`: start time of the owner in seconds since the epoch, because pids are reused.
    """

    idle_seconds: float
    owner: int
    owner_since: float

    def longest(self, other: Lifetime) -> Lifetime:
        """Return the shortest lifetime that covers both."""
        idle = 0.0 if 0 in (self.idle_seconds, other.idle_seconds) else max(self.idle_seconds, other.idle_seconds)
        return Lifetime(idle, self.owner, self.owner_since) if self.owner == other.owner else Lifetime(idle, 0, 0.0)


UNLIMITED = Lifetime(0.0, 0, 0.0)


@dataclass(frozen=True)
class Folder:
    """The folder `<workdir>/spark` and the paths in it."""

    workdir: Path

    @property
    def path(self) -> Path:
        """The folder itself."""
        return self.workdir / "spark"

    @property
    def lock(self) -> Path:
        """The file that the supervisor locks while it runs."""
        return self.path / "lock"

    @property
    def state(self) -> Path:
        """The fields of `Server` as JSON."""
        return self.path / "server.json"

    @property
    def lifetime(self) -> Path:
        """The fields of `Lifetime` as JSON."""
        return self.path / "until.json"

    @property
    def token(self) -> Path:
        """The token that clients send."""
        return self.path / "token"

    @property
    def log(self) -> Path:
        """The log of the supervisor and of Java."""
        return self.path / "server.log"

    def make(self) -> Folder:
        """Make the directory and return self. Raises FileError if it cannot be used or another user could replace its files."""
        private_directory(self.workdir)
        private_directory(self.path)
        for file in (self.lock, self.state, self.lifetime, self.token, self.log):
            refuse_link(file)
        return self


def is_supervised(folder: Folder) -> bool:
    """Return whether a supervisor runs: it holds the lock."""
    try:
        handle = os.open(folder.lock, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def running(workdir: Path) -> Server | None:
    """Return the server of this workdir, also one that is still starting, or None. Raises FileError if other users could have written its state."""
    folder = Folder(workdir)
    deadline = time.monotonic() + STOP_SECONDS
    # The supervisor writes its state shortly after it has taken the lock.
    while is_supervised(folder):
        check_inside(workdir, folder.state)
        with suppress(FileNotFoundError):
            return _read(folder.state, Server)
        if time.monotonic() > deadline:
            break
        time.sleep(LOOK_SECONDS)
    return None


def _read(path: Path, kind: type[Any]) -> Any:
    try:
        content = strict_json.parse(read_regular(path, follow=False))
        return kind(**{field.name: content[field.name] for field in fields(kind)})
    except (strict_json.ContentError, KeyError, TypeError) as error:
        raise SparkServerError(f"{path} is not what kafka_recovery_spark writes; end the process that holds {path.parent}/lock") from error


def write_state(folder: Folder, server: Server) -> None:
    """Write the state of the server for its clients."""
    write_private(folder.state, json.dumps(asdict(server)).encode())


def read_lifetime(folder: Folder) -> Lifetime:
    """Return the lifetime of the running server."""
    lifetime: Lifetime = _read(folder.lifetime, Lifetime)
    return lifetime


def write_lifetime(folder: Folder, lifetime: Lifetime) -> None:
    """Write the lifetime of the server. Its supervisor reads it every few moments."""
    write_private(folder.lifetime, json.dumps(asdict(lifetime)).encode())


def is_here(server: Server) -> bool:
    """Return whether the server runs on this machine. Several machines may share a workdir."""
    return server.host == socket.gethostname()


def awaited(workdir: Path, seconds: float = START_SECONDS, warm: bool = False) -> Server | None:
    """Wait up to `seconds` until the server of this workdir answers (or is `warm`) and return it. Return None if none runs here, it ends, or time is up."""
    deadline = time.monotonic() + seconds
    while (server := running(workdir)) and is_here(server) and time.monotonic() < deadline:
        if server.ready and (server.warm or not warm):
            return server
        time.sleep(LOOK_SECONDS)
    return None


def token(workdir: Path) -> str:
    """Return the token of the running server. Raises FileError if other users could have written it."""
    folder = Folder(workdir)
    check_inside(workdir, folder.token)
    return read_regular(folder.token, follow=False).decode().strip()


def stop(workdir: Path) -> Server | None:
    """End the server of this workdir and return it, or None if none runs. Raises SparkServerError if it does not end or is on another machine."""
    server = running(workdir)
    if server is None:
        return None
    if not is_here(server):
        raise SparkServerError(f"the Spark server of {workdir} runs on {server.host}: stop it there")
    folder = Folder(workdir)
    for number, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, STOP_SECONDS)):
        try:
            os.kill(server.pid, number)
        except ProcessLookupError:
            return server
        except PermissionError as error:
            raise SparkServerError(
                f"the Spark server of {workdir} (process {server.pid}) belongs to another user: stop it as that user"
            ) from error
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not is_supervised(folder):
                return server
            time.sleep(LOOK_SECONDS)
    raise SparkServerError(f"the Spark server of {workdir} (process {server.pid}) does not end")


def startup_error(folder: Folder) -> str:
    """Return the errors in the log of a server that did not start, or its last lines."""
    with suppress(OSError):
        lines = [line.strip() for line in folder.log.read_text(errors="replace").splitlines() if line.strip()]
        errors = [line for line in lines if "Exception" in line or "Error" in line or line.startswith("supervisor:")]
        return " | ".join((errors or lines)[-3:])[:600]
    return "it left no log"


@contextmanager
def start_lock(folder: Folder) -> Iterator[None]:
    """Hold the lock under which one process at a time starts or stops the server."""
    handle = os.open(folder.path / "starting", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
