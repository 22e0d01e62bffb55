# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YARN for tests: Hadoop's own cluster in one process. Its containers are processes of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaGateway

from rig import yarn_jars

SETTINGS = {
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "0.9",
    "yarn.nodemanager.resource.memory-mb": "4096",
    "yarn.nodemanager.vmem-check-enabled": "false",
    # A disk that is almost full is none of YARN's business here.
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
}


@contextmanager
def yarn(directory: Path, nodes: int = 2) -> Iterator[Path]:
    """Run a resource manager and so many node managers, and yield the folder of their clients' configuration (HADOOP_CONF_DIR).

    `directory`: for their files, and for the logs of containers.
    """
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    sparks = Path(spec.origin).parent / "jars"
    conf = directory / "conf"
    conf.mkdir()
    with (directory / "yarn.log").open("w") as log:
        gateway: Any = JavaGateway.launch_gateway(
            jarpath=str(next(sparks.glob("py4j-*.jar"), "")),
            classpath=f"{yarn_jars.yarn()}/*:{sparks}/*",
            javaopts=["-Xmx400m", "-XX:+UseSerialGC"],
            die_on_exit=True,
            redirect_stdout=log,
            redirect_stderr=log,
            cwd=str(directory),
            enable_auth=True,
        )
        try:
            java = gateway.jvm
            settings = java.org.apache.hadoop.yarn.conf.YarnConfiguration()
            for name, value in SETTINGS.items():
                settings.set(name, value)
            cluster = java.org.apache.hadoop.yarn.server.MiniYARNCluster("rig", nodes, 1, 1)
            cluster.init(settings)
            cluster.start()
            try:
                # Spark reads one of them, Hadoop's client the other one.
                for name in ("core-site.xml", "yarn-site.xml"):
                    stream = java.java.io.FileOutputStream(str(conf / name))
                    cluster.getConfig().writeXml(stream)
                    stream.close()
                yield conf
            finally:
                cluster.stop()
        finally:
            gateway.shutdown()
            gateway.java_process.wait()
