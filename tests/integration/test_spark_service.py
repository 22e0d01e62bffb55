# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service of an on-call machine: what its unit starts makes plans, listens on loopback only, and requires the token."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from configparser import RawConfigParser
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from integration.spark import SERVICE, worker_python
from integration.support import GIVE_UP_SECONDS, run_module
from unit.partition_situations import FENCED, RUN, Log, Situation, broker_rows, land

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.socket_users import listening
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.error_messages import TOKEN_VARIABLE
from rig.ports import PortBlock


class Service(NamedTuple):
    """The running service: its address and its processes."""

    remote: str
    processes: list[psutil.Process]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """What the unit starts, with the paths and the port of this test."""
    folder, ports = tmp_path_factory.mktemp("service"), PortBlock()
    port = ports.take()
    unit = RawConfigParser(strict=False)
    unit.read(SERVICE / "kafka-recovery-spark.service")
    properties = (SERVICE / "spark.properties").read_text().replace("15002", str(port)).replace("4g", "768m")
    (folder / "spark.properties").write_text(properties)
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    program, *arguments = shlex.split(unit["Service"]["ExecStart"])
    program = re.sub(r".*/pyspark/", f"{Path(spec.origin).parent}/", program)
    arguments[-1] = str(folder / "spark.properties")
    environment = {**os.environ, TOKEN_VARIABLE: "the-token", "PYSPARK_PYTHON": str(worker_python(folder))}
    environment |= {"SPARK_LOG_DIR": str(folder), "SPARK_PID_DIR": str(folder)}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([program, *arguments], env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        deadline = time.monotonic() + GIVE_UP_SECONDS
        while not listening("127.0.0.1", port):
            assert process.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.2)
        # The scripts that started it have ended. In a container nothing may have waited for them.
        started = psutil.Process(process.pid).children(recursive=True)
        yield Service(f"sc://localhost:{port}", [child for child in started if child.status() != psutil.STATUS_ZOMBIE])
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        ports.release()


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    land(tmp_path, "east", [*broker_rows(2, {1: 2.0}), *Situation("orders", {1: FENCED, 2: Log.of((5, 0))}).rows()])
    return tmp_path


def test_it_plans_for_a_client_with_the_token(service: Service, workdir: Path) -> None:
    plan = {"workdir": str(workdir), "run_id": RUN, "spark_remote": service.remote}
    planned = run_module("kafka_recovery_plan", plan, environment={TOKEN_VARIABLE: "the-token", "JAVA_HOME": "/nowhere"})
    assert planned.returncode == 0 and planned.result["summary"]["elect"] == 1, planned
    refused = run_module("kafka_recovery_plan", plan, environment={TOKEN_VARIABLE: "another"})
    assert refused.returncode and "wants another token" in refused.msg


def test_it_listens_on_loopback_only_and_shows_no_token(service: Service) -> None:
    addresses = {
        at.laddr.ip.removeprefix("::ffff:")
        for process in service.processes
        for at in process.net_connections("tcp")
        if at.status == psutil.CONN_LISTEN
    }
    assert addresses == {"127.0.0.1"}
    assert not any("the-token" in part for process in service.processes for part in process.cmdline())


@pytest.mark.parametrize(
    "name", ["PrivateTmp", "PrivateDevices", "NoNewPrivileges", "ProtectKernelTunables", "RestrictNamespaces", "RestrictSUIDSGID"]
)
def test_its_unit_keeps_its_files_apart_and_drops_privileges(name: str) -> None:
    unit = RawConfigParser(strict=False)
    unit.read(SERVICE / "kafka-recovery-spark.service")
    assert unit["Service"][name] == "yes" and unit["Service"]["CapabilityBoundingSet"] == ""


def test_its_workers_import_the_installed_pyspark(tmp_path: Path) -> None:
    """Python keeps no bytecode for the zip of PySpark that Spark puts first on the path."""
    unit, program = (SERVICE / "kafka-recovery-spark.service").read_text(), worker_python(tmp_path)
    assert re.search(rf"^Environment=PYSPARK_PYTHON=\S+/{program.name}$", unit, re.MULTILINE)
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    archive = Path(spec.origin).parent / "python/lib/pyspark.zip"
    assert archive.is_file()
    environment = {**os.environ, "PYTHONPATH": str(archive)}
    show = [str(program), "-c", "import pyspark; print(pyspark.__file__)"]
    assert subprocess.run(show, env=environment, capture_output=True, text=True, check=True).stdout == f"{spec.origin}\n"
