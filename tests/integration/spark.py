# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Spark Connect server on loopback that dies with its owner."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.session import SMALL
from rig.ports import PortBlock
from rig.process import Processes

START_SECONDS = 180
# As in a Spark of the module's own. A third of a plan's processor time; that it makes no other plans is tested in test_spark_elsewhere.
LEAN = [option for name, value in SMALL.items() if name.startswith("spark.sql.") for option in ("--conf", f"{name}={value}")]


@contextmanager
def connect_server(directory: Path) -> Iterator[str]:
    """Start the server that PySpark ships and yield its address, `sc://host:port`. `directory` gets its log."""
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    log, ports = directory / "connect.log", PortBlock()
    port = ports.take()
    argv = [
        str(Path(spec.origin).parent / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", "local[2]", "--driver-memory", "768m"),
        # For a few seconds' work the optimising compiler and a parallel collector cost more than they bring.
        *("--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"),
        *("--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.connect.grpc.binding.address=127.0.0.1"),
        *LEAN,
        *("--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=4", "--conf", f"spark.local.dir={directory}"),
        *("--conf", f"spark.sql.warehouse.dir={directory}/warehouse", "spark-internal"),
    ]
    processes = Processes(keep_open=[ports.lock_fd])
    try:
        processes.start("spark-connect", argv, log)
        deadline = time.monotonic() + START_SECONDS
        while not _answers(port):
            assert processes.returncode("spark-connect") is None and time.monotonic() < deadline, log.read_text()[-2000:]
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}"
    finally:
        processes.close()
        ports.release()


def _answers(port: int) -> bool:
    with socket.socket() as knocking:
        return knocking.connect_ex(("127.0.0.1", port)) == 0
