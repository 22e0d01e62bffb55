# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spark for tests: a Spark Connect server as operators have it, and a standalone cluster. Both die with their owner."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.properties import properties
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.socket_users import listening
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.error_messages import TOKEN_VARIABLE
from rig.ports import PortBlock
from rig.process import Processes

START_SECONDS = 180
SERVICE = Path(__file__).parents[2] / "extensions/systemd"
PROGRAM = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def connect_server(directory: Path, python: Path | None = None) -> Iterator[str]:
    """Run PySpark's Connect server with the settings of the service, and yield its address. Its token is in the environment meanwhile.

    `python`: the program that the server starts as Python of its workers, None for that of the service.
    """
    directory.chmod(0o700)
    home, ports, log = _home(), PortBlock(), directory / "connect.log"
    port, token = ports.take(), secrets.token_urlsafe(32)
    properties = str(SERVICE / "spark.properties")
    conf = {
        "spark.master": "local[2]",
        "spark.driver.memory": "768m",
        "spark.connect.grpc.binding.port": str(port),
        "spark.local.dir": str(directory / "local"),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
    }
    settings = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    before = {name: os.environ.get(name) for name in (TOKEN_VARIABLE, "PYSPARK_PYTHON")}
    os.environ |= {TOKEN_VARIABLE: token, "PYSPARK_PYTHON": str(python or worker_python(directory))}
    processes = Processes(keep_open=[ports.lock_fd])
    try:
        processes.start(
            "connect",
            [str(home / "bin/spark-submit"), "--class", PROGRAM, "--properties-file", properties, *settings, "spark-internal"],
            log,
        )
        deadline = time.monotonic() + START_SECONDS
        while not listening("127.0.0.1", port):
            assert processes.returncode("connect") is None and time.monotonic() < deadline, log.read_text()[-2000:]
            time.sleep(0.2)
        # Spark's own client sends a token in plain text to this name alone.
        yield f"sc://localhost:{port}"
    finally:
        processes.close()
        ports.release()
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


def worker_python(directory: Path) -> Path:
    """Write the Python of the service's workers into `directory`, with the path of this Python, and return it."""
    program = directory / "kafka-recovery-spark-python"
    program.write_text((SERVICE / program.name).read_text().replace("/opt/kafka-recovery/bin/python3", sys.executable))
    program.chmod(0o700)
    return program


def _home() -> Path:
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent


@dataclass(frozen=True)
class WorkerSpec:
    """A worker of a standalone cluster. `user`: the account that it runs as, None for that of the tests; only root can choose another one."""

    cores: int = 2
    user: str | None = None


class Standalone:
    """A master and its workers, on loopback, that accept only who knows the secret. Each worker has a folder of its own.

    `directory`: for their logs. `master`: its URL; `python`: the PYSPARK_PYTHON of its clients; `works`: the folder of each worker, with a folder for each
    application; `conf`, `secret_conf`: the settings of its clients.
    """

    def __init__(self, directory: Path, workers: Sequence[WorkerSpec], executor_memory: str) -> None:
        self._command = [str(_home() / "bin" / "spark-class")]
        self._ports, self._directory, self._workers = PortBlock(), directory, workers
        # Other users get to their own folders below.
        folder = Path(tempfile.mkdtemp(prefix="standalone-"))
        folder.chmod(0o711)
        self._processes = Processes(keep_open=[self._ports.lock_fd], remove=[folder])
        self.works = [folder / f"worker-{number}" / "work" for number in range(len(workers))]
        self.python = python_of_others(folder) if any(spec.user for spec in workers) else sys.executable
        self.conf = {"spark.authenticate": "true", "spark.executor.memory": executor_memory}
        if any(spec.user for spec in workers):
            # Executors of one host would read each other's files, those of another user.
            self.conf["spark.shuffle.readHostLocalDisk"] = "false"
        self.secret_conf = {"spark.authenticate.secret": secrets.token_urlsafe(32)}
        self.master = f"spark://127.0.0.1:{self._ports.take()}"

    def start(self) -> None:
        """Start all of them, and return as soon as the workers have registered."""
        node = ["--host", "127.0.0.1", "--webui-port", "0", "--properties-file"]
        own, log = self._properties(self._directory / "master.properties"), self._directory / "master.log"
        port = self.master.rpartition(":")[2]
        self._processes.start("master", [*self._command, "org.apache.spark.deploy.master.Master", *node, own, "--port", port], log)
        logs = []
        for number, (spec, work) in enumerate(zip(self._workers, self.works, strict=True)):
            work.mkdir(parents=True, mode=0o700)
            own, log = self._properties(work.parent / "worker.properties"), self._directory / f"worker-{number}.log"
            limits = ["--cores", str(spec.cores), "--memory", "2g", "--work-dir", str(work)]
            argv = [*self._command, "org.apache.spark.deploy.worker.Worker", *node, own, *limits, self.master]
            if spec.user is not None:
                account = pwd.getpwnam(spec.user)
                for path in (work.parent, *work.parent.iterdir()):
                    os.chown(path, account.pw_uid, account.pw_gid)
                argv = ["/usr/bin/setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups", *argv]
            self._processes.start(f"worker-{number}", argv, log)
            logs.append(log)
        deadline = time.monotonic() + START_SECONDS
        for number, log in enumerate(logs):
            while "registered with master" not in log.read_text():
                assert self._processes.returncode(f"worker-{number}") is None and time.monotonic() < deadline, log.read_text()[-2000:]
                time.sleep(0.2)

    def _properties(self, path: Path) -> str:
        path.touch(mode=0o600)
        path.write_bytes(properties({**self.conf, **self.secret_conf}))
        return str(path)

    def worker(self, number: int = 0) -> psutil.Process:
        """The Java of a worker; its executors are its children."""
        return psutil.Process(self._processes.pids[f"worker-{number}"])

    def close(self) -> None:
        """End all of them."""
        self._processes.close()
        self._ports.release()


def python_of_others(folder: Path) -> str:
    """Write a program into `folder` that other users can run: the system's Python of this version, with the libraries of this one. Skips without one."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if (system := shutil.which(name, path="/usr/bin:/usr/local/bin")) is None:
        pytest.skip(f"other users have no {name}")
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nexport PYTHONPATH={sysconfig.get_path("purelib")}\nexec {system} "$@"\n')
    program.chmod(0o755)
    return str(program)


@contextmanager
def standalone(directory: Path, workers: Sequence[WorkerSpec] = (WorkerSpec(),), executor_memory: str = "512m") -> Iterator[Standalone]:
    """A running standalone cluster."""
    cluster = Standalone(directory, workers, executor_memory)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()
