# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spark for tests: a Spark Connect server as operators have it, and a standalone cluster. Both die with their owner."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import psutil
from integration.support import run_module

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_state import TOKEN_VARIABLE
from rig.ports import PortBlock
from rig.process import Processes

START_SECONDS = 180
# Instead of an ansible-playbook, this process is what the server ends with.
OURS = """
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server import supervisor
supervisor.owner = lambda: ({pid}, {since})
"""


@contextmanager
def connect_server(directory: Path) -> Iterator[str]:
    """Have kafka_recovery_spark run a server, and yield its address as of one that is not the workdir's. Its token is in the environment meanwhile."""
    directory.chmod(0o700)
    options = {"workdir": str(directory), "memory": "768m", "spark_master": "local[2]", "idle_timeout": 0, "ends_with_playbook": True}
    me = psutil.Process()
    started = run_module("kafka_recovery_spark", options, before=OURS.format(pid=me.pid, since=me.create_time()))
    assert started.returncode == 0, started
    os.environ[TOKEN_VARIABLE] = Path(started.result["token_file"]).read_text().strip()
    try:
        # Spark's own client sends a token in plain text to this name alone.
        yield started.result["remote"].replace("127.0.0.1", "localhost")
    finally:
        del os.environ[TOKEN_VARIABLE]
        stopped = run_module("kafka_recovery_spark", {"workdir": str(directory), "state": "stopped"})
        assert stopped.returncode == 0, stopped


class Standalone:
    """A master and a worker with two cores, on loopback. `master`: its URL; `work`: the worker's directory, one folder for each application."""

    def __init__(self, directory: Path) -> None:
        spec = find_spec("pyspark")
        assert spec is not None and spec.origin is not None
        self._command = [str(Path(spec.origin).parent / "bin" / "spark-class")]
        self._ports, self._log = PortBlock(), directory / "spark.log"
        self._processes = Processes(keep_open=[self._ports.lock_fd])
        self.work = directory / "work"
        self.master = f"spark://127.0.0.1:{self._ports.take()}"

    def start(self) -> None:
        """Start both, and return as soon as the worker has registered."""
        node = ["--host", "127.0.0.1", "--webui-port", "0"]
        port = self.master.rpartition(":")[2]
        self._processes.start("master", [*self._command, "org.apache.spark.deploy.master.Master", *node, "--port", port], self._log)
        limits = ["--cores", "2", "--memory", "1g", "--work-dir", str(self.work)]
        worker = [*self._command, "org.apache.spark.deploy.worker.Worker", *node, *limits, self.master]
        self._processes.start("worker", worker, self._log)
        deadline = time.monotonic() + START_SECONDS
        while "registered with master" not in self._log.read_text():
            assert self._processes.returncode("worker") is None and time.monotonic() < deadline, self._log.read_text()[-2000:]
            time.sleep(0.2)

    @property
    def worker(self) -> psutil.Process:
        """The Java of the worker; its executors are its children."""
        return psutil.Process(self._processes.pids["worker"])

    def close(self) -> None:
        """End both."""
        self._processes.close()
        self._ports.release()


@contextmanager
def standalone(directory: Path) -> Iterator[Standalone]:
    """A running standalone cluster."""
    cluster = Standalone(directory)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()
