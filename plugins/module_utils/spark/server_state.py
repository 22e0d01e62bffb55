# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Spark Connect server of a workdir, as its files show it: whether one runs, where, and with which token. Works without PySpark.

`<workdir>/spark/` has `lock` (held by the keeper of the server, so a server that was killed is known to be gone, whatever process has
its number now), `server.json` (what `Server` has), `token` and `server.log`. All of them are private.
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
# What a machine that is busy with everything else may need. Nobody waits as long for a server that has ended.
START_SECONDS = 300.0
STOP_SECONDS = 15.0
LOOK_SECONDS = 0.1


class SparkServerError(RecoveryError):
    """The server cannot be started or stopped; the text says why."""


@dataclass(frozen=True)
class Server:
    """A running server on machine `host`. `pid`: its keeper, whose end is its end; `ready`: it answers; `warm`: its first plan is made."""

    pid: int
    host: str
    port: int
    ready: bool
    warm: bool
    started_at: str

    @property
    def remote(self) -> str:
        """Its address, for spark_remote of modules with the same workdir. Other clients of Spark do not send a token there in plain text."""
        return f"sc://127.0.0.1:{self.port}"


@dataclass(frozen=True)
class Until:
    """When a server ends by itself. `idle_seconds` without a client (0: never); when process `owner`, begun at `owner_since`, is gone (0: none)."""

    idle_seconds: float
    owner: int
    owner_since: float

    def longest(self, other: Until) -> Until:
        """What satisfies both."""
        idle = 0.0 if 0 in (self.idle_seconds, other.idle_seconds) else max(self.idle_seconds, other.idle_seconds)
        return Until(idle, self.owner, self.owner_since) if self.owner == other.owner else Until(idle, 0, 0.0)


FOR_EVER = Until(0.0, 0, 0.0)


@dataclass(frozen=True)
class Folder:
    """`<workdir>/spark` and the names in it."""

    workdir: Path

    @property
    def path(self) -> Path:
        return self.workdir / "spark"

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def state(self) -> Path:
        return self.path / "server.json"

    @property
    def until(self) -> Path:
        return self.path / "until.json"

    @property
    def token(self) -> Path:
        return self.path / "token"

    @property
    def log(self) -> Path:
        return self.path / "server.log"

    def make(self) -> Folder:
        """Make the directory; FileError where it cannot be used or another user could swap its files."""
        private_directory(self.workdir)
        private_directory(self.path)
        for file in (self.lock, self.state, self.until, self.token, self.log):
            refuse_link(file)
        return self


def is_kept(folder: Folder) -> bool:
    """Whether a keeper lives: it holds the lock."""
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
    """The server of this workdir, also one that is still starting. FileError where other users could have put one there."""
    folder = Folder(workdir)
    deadline = time.monotonic() + STOP_SECONDS
    # A keeper that lives has its file written within moments.
    while is_kept(folder):
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
    """Tell everybody of the server."""
    write_private(folder.state, json.dumps(asdict(server)).encode())


def read_until(folder: Folder) -> Until:
    """When the running server is to end."""
    until: Until = _read(folder.until, Until)
    return until


def write_until(folder: Folder, until: Until) -> None:
    """Say when the server is to end; its keeper reads it again and again."""
    write_private(folder.until, json.dumps(asdict(until)).encode())


def is_here(server: Server) -> bool:
    """Whether it runs on this machine. A workdir may be shared by several."""
    return server.host == socket.gethostname()


def awaited(workdir: Path, seconds: float = START_SECONDS, warm: bool = False) -> Server | None:
    """The server of this workdir once it answers (or is `warm`); None where none runs here, it ended while it started, or it takes longer than that."""
    deadline = time.monotonic() + seconds
    while (server := running(workdir)) and is_here(server) and time.monotonic() < deadline:
        if server.ready and (server.warm or not warm):
            return server
        time.sleep(LOOK_SECONDS)
    return None


def token(workdir: Path) -> str:
    """The token of the running server."""
    folder = Folder(workdir)
    check_inside(workdir, folder.token)
    return read_regular(folder.token, follow=False).decode().strip()


def stop(workdir: Path) -> Server | None:
    """End the server of this workdir and return it; None where none runs. SparkServerError where it does not end, or is not on this machine."""
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
            if not is_kept(folder):
                return server
            time.sleep(LOOK_SECONDS)
    raise SparkServerError(f"the Spark server of {workdir} (process {server.pid}) does not end")


def last_words(folder: Folder) -> str:
    """What the log of a server says that did not come up: the error, where there is one."""
    with suppress(OSError):
        lines = [line.strip() for line in folder.log.read_text(errors="replace").splitlines() if line.strip()]
        told = [line for line in lines if "Exception" in line or "Error" in line or line.startswith("keeper:")]
        return " | ".join((told or lines)[-3:])[:600]
    return "it left no log"


@contextmanager
def alone(folder: Folder) -> Iterator[None]:
    """Only one at a time starts or stops the server."""
    handle = os.open(folder.path / "starting", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
