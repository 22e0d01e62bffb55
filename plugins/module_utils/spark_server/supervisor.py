# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The supervisor of a Spark Connect server: a small process that starts its Java, warms it, and ends it at the end of its lifetime.

The module forks the supervisor, which outlives it. Ansible then removes the module's code, so everything of the collection is imported here before
the fork. Java is a child of the supervisor. On Linux the kernel ends it with the supervisor, even after SIGKILL.
"""

from __future__ import annotations

import ctypes
import fcntl
import importlib.util
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

with suppress(ImportError):  # common.optional_imports names what is missing
    import psutil

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import socket_users
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import private_directory, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.properties import properties
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import appcds, server_state
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_state import Folder, Lifetime, Server, SparkServerError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import NO_LINES, PAGES, SESSION, need_java
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.worker_python import program
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server import warmup

PR_SET_PDEATHSIG = 1
LOOPBACK = "127.0.0.1"
# A process of Spark that starts Python workers.
DAEMON = "pyspark.daemon"
TICK_SECONDS = 0.25
STAY_SECONDS = 1.0
WARM_SECONDS = 300.0


def _log(text: str) -> None:
    """Write to the log, which is stderr of this process."""
    sys.stderr.write(f"supervisor: {text}\n")
    sys.stderr.flush()


@dataclass(frozen=True)
class Settings:
    """Settings of a server. `port`: 0 for any free one; `master`: URL of the Spark master; `memory`: heap of its Java, such as 4g;
    `lasts`: the server outlives a playbook, so that Java should optimise the code of plans."""

    port: int
    master: str
    memory: str
    conf: Mapping[str, str]
    lasts: bool = False


def owner(name: str = "ansible-playbook") -> tuple[int, float]:
    """Return pid and start time (seconds since the epoch) of the ansible-playbook that runs this process, or (0, 0.0)."""
    found = (0, 0.0)
    for process in psutil.Process().parents():
        with suppress(psutil.Error):
            if any(Path(part).name == name for part in process.cmdline()[:3]):
                # Its forks have the same command line, but only the outermost process lasts.
                found = (process.pid, process.create_time())
    return found


def start(folder: Folder, settings: Settings, lifetime: Lifetime) -> None:
    """Fork a supervisor and return when it has started Java. Raises SparkServerError if it could not."""
    need_java()
    folder.state.unlink(missing_ok=True)
    server_state.write_lifetime(folder, lifetime)
    write_private(folder.token, (secrets.token_urlsafe(32) + "\n").encode())
    libc = ctypes.CDLL(None)
    started_reader, started_writer = os.pipe()
    child = os.fork()
    if child == 0:
        # The child must not run any code of the module, whatever happens.
        try:
            os.setsid()
            if os.fork() == 0:
                os.close(started_reader)
                _become_supervisor(folder, settings, libc, started_writer)
        finally:
            os._exit(0)
    os.close(started_writer)
    os.waitpid(child, 0)
    with os.fdopen(started_reader) as pipe:
        if (message := pipe.read()) != "started":
            raise SparkServerError(message or f"the Spark server did not start; see {folder.log}")


def _become_supervisor(folder: Folder, settings: Settings, libc: ctypes.CDLL, started_writer: int) -> None:
    """In the forked process: close the module's files and reset its signals, then supervise the server."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    log = os.open(folder.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for standard, handle in ((0, nothing), (1, log), (2, log)):
        os.dup2(handle, standard)
    os.dup2(started_writer, 3)
    os.closerange(4, 1 << 16)
    os.umask(0o077)
    os.chdir(folder.path)
    try:
        ServerSupervisor(folder, settings, libc).run(started_writer=3)
    except Exception as error:
        with suppress(OSError):  # the pipe is closed if Java has started
            os.write(3, f"the Spark server did not start: {error}".encode())
        _log(str(error))


class ServerSupervisor:
    """Supervises one Spark Connect server process, from its start to its end."""

    def __init__(self, folder: Folder, settings: Settings, libc: ctypes.CDLL) -> None:
        self.folder, self.settings, self.libc = folder, settings, libc
        self.terminated = False
        self.warming = 0
        self.own = os.getpid()
        signal.signal(signal.SIGTERM, self._end)

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self.terminated = True

    def run(self, started_writer: int) -> None:
        """Start Java, write "started" to the pipe `started_writer`, warm the server, and return at the end of its lifetime."""
        lock = self._locked()
        scratch = self.folder.path / "local"
        port = self.settings.port or _free_port()
        java = self._java(port, scratch)
        try:
            server = Server(os.getpid(), socket.gethostname(), port, ready=False, warm=False, started_at=utc_now())
            server_state.write_state(self.folder, server)
            os.write(started_writer, b"started")
            os.close(started_writer)
            if self._wait_until_listening(java, port):
                self._properties.unlink(missing_ok=True)  # Java has read it, and secrets may be in it
                server_state.write_state(self.folder, replace(server, ready=True))
                self._warm(java, server, warmup.FIRST)
                server_state.write_state(self.folder, replace(server, ready=True, warm=True))
                while (
                    self.settings.lasts and not self._warm(java, server, warmup.WARMUP_PLAN_SIZES) and self._wait_until_unused(java, port)
                ):
                    pass
                self._run_until_idle(java, port)
        finally:
            self._stop_warming()
            java.terminate()
            try:
                java.wait(timeout=server_state.STOP_SECONDS / 3)
            except subprocess.TimeoutExpired:
                java.kill()
                java.wait()
            for file in (self.folder.state, self.folder.token, self.folder.lifetime, self._properties):
                with suppress(OSError):
                    file.unlink(missing_ok=True)
            for folder in (scratch, self.folder.path / warmup.WARM):
                shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)

    def _locked(self) -> int:
        handle = os.open(self.folder.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        deadline = time.monotonic() + server_state.STOP_SECONDS
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return handle
            except BlockingIOError:  # held by `is_supervised` of another process, or by a supervisor that is ending
                if time.monotonic() > deadline:
                    raise
                time.sleep(TICK_SECONDS)

    @property
    def _properties(self) -> Path:
        return self.folder.path / "server.properties"

    def _java(self, port: int, scratch: Path) -> subprocess.Popen[bytes]:
        """Start Java. It reads settings from a private file: they may have passwords of an object store, and all users can read a command line."""
        home = Path(str(importlib.util.find_spec("pyspark").origin)).parent  # type: ignore[union-attr]
        conf = {
            "spark.ui.enabled": "false",
            "spark.log.level": "WARN",
            # Options of Java are set once, for small sessions. Every session brings its other settings.
            "spark.driver.extraJavaOptions": f"-XX:+ExitOnOutOfMemoryError {warmup.java_options(self.settings.lasts)} "
            f"{appcds.options(self.folder.workdir)}",
            "spark.local.dir": str(scratch),
            "spark.sql.warehouse.dir": str(scratch / "warehouse"),
            **SESSION,
            **PAGES,
            **NO_LINES,
            **self.settings.conf,
            # Operators cannot change these: they restrict access to this machine and to clients with the token.
            "spark.master": self.settings.master,
            "spark.driver.memory": self.settings.memory,
            "spark.driver.host": LOOPBACK,
            "spark.driver.bindAddress": LOOPBACK,
            "spark.authenticate": "true",
            "spark.connect.grpc.binding.address": LOOPBACK,
            "spark.connect.grpc.binding.port": str(port),
        }
        if not self.settings.master.startswith("local"):
            for name in ("spark.driver.host", "spark.driver.bindAddress", "spark.authenticate"):
                conf.pop(name)
            conf.update(
                {name: value for name, value in self.settings.conf.items() if name.startswith(("spark.driver.", "spark.authenticate"))}
            )
        write_private(self._properties, properties(conf))
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("KAFKA_", "ANSIBLE_", "SPARK_", "PYSPARK_"))
        }
        environment |= {
            "SPARK_HOME": str(home),
            server_state.TOKEN_VARIABLE: server_state.token(self.folder.workdir),
            **self._python_of_workers(scratch),
            **({"SPARK_LOCAL_IP": LOOPBACK} if self.settings.master.startswith("local") else {}),
        }
        argv = [str(home / "bin" / "spark-submit"), "--properties-file", str(self._properties)]
        argv += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
        # preexec_fn is safe: no module runs in this process, and the supervisor has one thread.
        return subprocess.Popen(  # pylint: disable=ansible-bad-function
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            preexec_fn=self._die_with_supervisor,  # noqa: PLW1509
        )

    def _python_of_workers(self, scratch: Path) -> dict[str, str]:
        """Return the variable that makes workers on this machine use this Python. Other machines use their own, or the one that the operator names."""
        named = program(private_directory(scratch)) if self.settings.master.startswith("local") else os.environ.get("PYSPARK_PYTHON")
        return {"PYSPARK_PYTHON": named} if named else {}

    def _die_with_supervisor(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if sys.platform == "linux":
            self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != self.own:  # the supervisor died before the call of prctl
                os._exit(1)

    def _wait_until_listening(self, java: subprocess.Popen[bytes], port: int) -> bool:
        """Wait until this Java, and not another process, listens on the port. Return False if the server should end before."""
        while not self._should_end(java):
            with suppress(psutil.Error):
                listening = [at.laddr.port for at in psutil.Process(java.pid).net_connections("tcp") if at.status == psutil.CONN_LISTEN]
                if port in listening:
                    return True
            time.sleep(TICK_SECONDS)
        return False

    def _should_end(self, java: subprocess.Popen[bytes]) -> bool:
        if java.poll() is not None:
            _log(f"Java ended with exit code {java.returncode}")
            return True
        try:
            lifetime = server_state.read_lifetime(self.folder)
        except (OSError, RecoveryError):  # the workdir is gone
            return True
        return self.terminated or (bool(lifetime.owner) and not _is_running(lifetime.owner, lifetime.owner_since))

    def _warm(self, java: subprocess.Popen[bytes], server: Server, sizes: Sequence[int]) -> bool:
        """Make a warm-up plan for each of `sizes` in a child process, which frees its memory when it ends. Return False if a client has connected
        meanwhile: it goes first, and the child is killed."""
        self.warming = os.fork()
        if self.warming == 0:
            try:
                self._die_with_supervisor()
                os.closerange(3, 256)
                warmup.run_warmup_plans(self.folder, server, sizes)
            except (OSError, RecoveryError) as error:
                _log(f"not warmed: {error}")
            finally:
                os._exit(0)
        deadline = time.monotonic() + WARM_SECONDS
        before: set[int] = set()
        while os.waitpid(self.warming, os.WNOHANG) == (0, 0):
            others = self._clients(java, server.port, self.warming)
            # A connection that is seen only once may be one of the child's that was just closed.
            late = time.monotonic() > deadline
            if self._should_end(java) or others & before or late:
                self._stop_warming()
                return late
            before = others
            time.sleep(TICK_SECONDS)
        self.warming = 0
        return True

    def _wait_until_unused(self, java: subprocess.Popen[bytes], port: int) -> bool:
        """Wait until no client is connected. Return False if the server should end before."""
        while not (ends := self._should_end(java)) and self._is_used(java, port):
            time.sleep(STAY_SECONDS)
        return not ends

    def _stop_warming(self) -> None:
        if self.warming:
            os.kill(self.warming, signal.SIGKILL)
            os.waitpid(self.warming, 0)
            self.warming = 0

    def _run_until_idle(self, java: subprocess.Popen[bytes], port: int) -> None:
        used = time.monotonic()
        while not self._should_end(java):
            used = time.monotonic() if self._is_used(java, port) else used
            with suppress(OSError, RecoveryError):
                idle_seconds = server_state.read_lifetime(self.folder).idle_seconds
                if idle_seconds and time.monotonic() - used > idle_seconds:
                    return
            time.sleep(STAY_SECONDS)

    def _is_used(self, java: subprocess.Popen[bytes], port: int) -> bool:
        """Return whether a client is connected. If none is, end the daemons of Python workers: Spark keeps one for each session until the server ends.

        Daemons are listed before clients, so that the daemon of a client which connects meanwhile is not among them.
        """
        daemons = _daemons(java.pid)
        if self._clients(java, port):
            return True
        for daemon in daemons:
            with suppress(psutil.Error):
                daemon.terminate()
        return False

    def _clients(self, java: subprocess.Popen[bytes], port: int, but: int = 0) -> set[int]:
        """Return the ports from which clients of this user are connected, other than process `but`.

        Another user does not have the token, but can connect, and would keep the server alive. Only /proc/net (Linux) shows the owner of a connection:
        on other systems the connections of all users count.
        """
        try:
            own = {at.laddr.port for at in psutil.Process(but).net_connections("tcp")} if but else set()
            with suppress(OSError):
                return socket_users.own_clients(LOOPBACK, port) - own
            at_java = [at for at in psutil.Process(java.pid).net_connections("tcp") if at.laddr.port == port]
        except psutil.Error:
            return set()
        return {at.raddr.port for at in at_java if at.status == psutil.CONN_ESTABLISHED} - own


def _is_running(pid: int, since: float) -> bool:
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - since) < 1 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _daemons(java: int) -> list[psutil.Process]:
    found = []
    with suppress(psutil.Error):
        for process in psutil.Process(java).children():
            with suppress(psutil.Error):  # a zombie has no command line
                if DAEMON in process.cmdline():
                    found.append(process)
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
