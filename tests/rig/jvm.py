# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A JVM with the classes of a Kafka release, without a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway


@contextmanager
def jvm(libs: Path) -> Iterator[JavaGateway]:
    """A JVM that has the classes in `libs` (jars of a Kafka release)."""
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("py4j*.jar")
    port = launch_gateway(classpath=f"{libs}/*:{jar}", jarpath=str(jar), die_on_exit=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_field=True))
    try:
        yield gateway
    finally:
        gateway.shutdown()
