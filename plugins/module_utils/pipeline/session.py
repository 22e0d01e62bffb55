# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Spark session: embedded, on a standalone cluster, or a client of a Spark Connect server. Nothing of Spark reaches stdout."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.interruption import unbroken
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_options import AUTO

# What Py4J says of connections that break is told by the error that they raise.
logging.getLogger("py4j").addHandler(logging.NullHandler())
logging.getLogger("py4j").propagate = False

LOCAL = "local[*]"
CONNECT_SECONDS = 10.0
BYTES_PER_TASK = 8 << 20
SESSION = {"spark.sql.session.timeZone": "UTC"}
LEAN = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Recording the Python line of every expression costs a second.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
EMBEDDED = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
# For a few seconds' work the optimising compiler of Java, generated code and planning anew between stages cost more than they bring:
# together half of the processor time of a cold run.
SMALL = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
SMALL_BYTES = 64 << 20


class SparkError(SpokenError):
    """Spark cannot be reached or started, or its work failed; the text says which and the remedy."""


@contextmanager
def session(
    master: str | None,
    remote: str | None,
    conf: Mapping[str, str],
    input_bytes: int,
    workdir: Path | None = None,
    warn: Callable[[str], None] = str,
) -> Iterator[SparkSession]:
    """Open a session on `remote` (sc://host:port) or `master` (default: embedded), sized for `input_bytes` of landing files.

    `conf` goes over all settings made here. Errors of Spark become SparkError, in the work done with the session too.
    """
    with tempfile.TemporaryFile() as log, in_words(log):
        settings = {"spark.sql.shuffle.partitions": str(max(1, -(-input_bytes // BYTES_PER_TASK))), **SESSION}
        if remote and remote != AUTO:
            spark = _connect(remote, {**settings, **conf})
        else:
            spark = _start(master or LOCAL, {**settings, **(SMALL if input_bytes < SMALL_BYTES else {})}, conf, log)
        try:
            yield spark
        finally:
            spark.stop()


@contextmanager
def in_words(log: IO[bytes]) -> Iterator[None]:
    """Turn errors of Spark into SparkError; `log` holds what its JVM wrote."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise SparkError(_spoken(error, log)) from error


def _connect(remote: str, conf: Mapping[str, str]) -> SparkSession:
    """A client of a Spark Connect server; Java is needed there, not here."""
    _reach(remote, "sc", 15002, "spark_remote")
    try:
        spark = SparkSession.builder.remote(remote).getOrCreate()
    except ImportError as error:
        raise SparkError(f"spark_remote needs more libraries ({error}); install pyspark[connect]") from error
    for key, value in conf.items():
        spark.conf.set(key, value)
    return spark


def _start(master: str, settings: Mapping[str, str], conf: Mapping[str, str], log: IO[bytes]) -> SparkSession:
    """A driver in this process's own JVM, which writes to `log` what it would write to the console."""
    _need_java()
    for address in master.removeprefix("spark://").split(",") if master.startswith("spark://") else ():
        _reach(f"spark://{address}", "spark", 7077, "spark_master")
    # Set for Spark Connect clients; a driver refuses to start with it.
    os.environ.pop("SPARK_REMOTE", None)
    builder = SparkSession.builder.master(master).appName("kafka_recovery_plan")
    for key, value in {**LEAN, **(EMBEDDED if master.startswith("local") else {}), **settings, **conf}.items():
        builder = builder.config(key, value)
    # A start that is broken off would leave a Java behind that nobody knows.
    with _console_to(log), unbroken(), _ctrl_c_kept():
        return builder.getOrCreate()


@contextmanager
def _ctrl_c_kept() -> Iterator[None]:
    """Spark takes SIGINT for itself, to cancel its jobs: give it back."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def _console_to(log: IO[bytes]) -> Iterator[None]:
    """Point stdout and stderr at `log` while a child is started that inherits them."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [(number, os.dup(number)) for number in (1, 2)]
    try:
        for number, _ in kept:
            os.dup2(log.fileno(), number)
        yield
    finally:
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)


def _need_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if home and not os.access(Path(home, "bin", "java"), os.X_OK):
        raise SparkError(f"JAVA_HOME is {home}, but there is no bin/java in it; set it to a Java 17 or newer, or unset it")
    if not home and not shutil.which("java"):
        raise SparkError(
            "Spark needs Java 17 or newer, and there is none: JAVA_HOME is not set and PATH has no java; install one "
            "(Debian: openjdk-17-jre-headless, Red Hat: java-17-openjdk-headless), or let spark_remote name a Spark Connect server"
        )


def _reach(address: str, scheme: str, port: int, option: str) -> None:
    """Find out in seconds what Spark itself would try for minutes. `port`: where the address names none."""
    try:
        target = urlsplit(address)
        host, port = target.hostname, target.port or port
    except ValueError:
        host = None
    if not host or target.scheme != scheme:
        raise SparkError(f"{option} {address!r} is no address of a Spark server; it looks like {scheme}://host:{port}")
    try:
        socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise SparkError(f"{option}: nothing answers on {host}:{port} ({error.strerror or error})") from error


def _spoken(error: Exception, log: IO[bytes]) -> str:
    text = " ".join(str(error).split("\n\n", maxsplit=1)[0].split("JVM stacktrace")[0].split())[:600]
    if "PATH_NOT_FOUND" in text or "FAILED_READ_FILE" in text:
        return f"Spark cannot read the landing files: the workdir must be readable under the same path on every Spark host ({text})"
    if "JAVA_GATEWAY_EXITED" in text:
        log.seek(0)
        lines = [line.strip() for line in log.read()[-4000:].decode(errors="replace").splitlines() if line.strip()]
        return f"Java ended before Spark was up (Spark needs Java 17 or newer); its last words: {' | '.join(lines[-3:])}"
    return f"Spark failed: {text}"
