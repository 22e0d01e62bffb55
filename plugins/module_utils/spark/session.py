# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Spark session: embedded, on a standalone cluster, or a client of a Spark Connect server. Nothing of Spark reaches stdout."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

with suppress(ImportError):  # libraries.py says why
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.java import java_problem
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.properties import properties
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.signals import critical_section
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import appcds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.connect_client import connect, need_tls, own_server, reach
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.error_messages import PYTHON_OF_WORKERS, SparkError, in_words
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.options import AUTO
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.worker_python import program

# What Py4J says of connections that break is told by the error that they raise.
logging.getLogger("py4j").addHandler(logging.NullHandler())
logging.getLogger("py4j").propagate = False

LOCAL = "local[*]"
BYTES_PER_TASK = 8 << 20
SESSION = {"spark.sql.session.timeZone": "UTC"}
# Every table that is broadcast, however small, takes a page of memory, and keeps it for as long as Java likes: 64 MB with 4 GB.
PAGES = {"spark.buffer.pageSize": "2m"}
# Recording the Python line of every expression costs a second.
NO_LINES = {"spark.python.sql.dataFrameDebugging.enabled": "false"}
LEAN = {**PAGES, **NO_LINES, "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
# The ports that a driver has are for itself alone: without authentication everybody on this machine could speak to them.
EMBEDDED = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.authenticate": "true"}
STANDALONE = "spark://"
SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
# Spark itself waits for ever for a worker that gives it an executor.
EXECUTOR_SECONDS = 60.0
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
ONE_COLLECTOR, QUICK_COMPILER = "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"
# All that Java may take is there from the beginning (or half of the machine's, if that is less), half of it for what does not live long: a plan then stops
# once or twice for its garbage, and not twenty times.
ROOM = "-XX:InitialRAMPercentage=50 -XX:NewRatio=1"
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
# For a few seconds' work the optimising compiler of Java, generated code and planning anew between stages cost more than they bring:
# together half of the processor time of a cold run.
SMALL = {
    JAVA_OPTIONS: f"{QUICK_COMPILER} {ONE_COLLECTOR}",
    "spark.sql.adaptive.enabled": "false",
    **INTERPRETED,
}
SMALL_BYTES = 64 << 20
# Only what is needed of it is taken. A server has its own.
LARGE = {"spark.driver.memory": "4g"}


def tasks(size: int) -> int:
    """How many tasks work on so many bytes of landing files."""
    return max(1, -(-size // BYTES_PER_TASK))


def _silent(_said: str) -> None:
    """Nobody is told."""


@contextmanager
def session(
    master: str | None,
    remote: str | None,
    conf: Mapping[str, str],
    input_bytes: int,
    workdir: Path | None = None,
    warn: Callable[[str], None] = _silent,
    secrets: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """Open a session on `remote` (sc://host:port) or `master` (default: embedded), sized for `input_bytes` of landing files.

    `remote` can be AUTO: the server of `workdir` once it answers, where there is one; where there is none in the end, `warn` is told why.
    `conf` goes over all settings made here. `secrets` go over `conf`, and reach Java by a private file or a connection that others cannot read.
    Errors of Spark become SparkError, in the work done with the session too.
    """
    own = own_server(workdir, remote, warn)
    if own or remote == AUTO:
        remote = own.remote if own else None
    with tempfile.TemporaryFile() as log, tempfile.TemporaryDirectory() as scratch, in_words(log, remote):
        settings = {"spark.sql.shuffle.partitions": str(tasks(input_bytes)), **SESSION, **(SMALL if input_bytes < SMALL_BYTES else LARGE)}
        if remote:
            if secrets and not own:
                need_tls(remote)
            sql_settings = {name: value for name, value in settings.items() if name.startswith("spark.sql.")}
            spark = connect(remote, {**sql_settings, **conf, **(secrets or {})}, own, workdir)
        else:
            if archive := appcds.options(workdir):
                settings[JAVA_OPTIONS] = f"{settings.get(JAVA_OPTIONS, '')} {archive}"
            with _submitted(secrets or {}):
                spark = _start(master or LOCAL, settings, conf, log, Path(scratch))
        try:
            with _executors(spark, "" if remote else master or LOCAL):
                yield spark
        except (PySparkException, ConnectionError):
            if remote:  # asked once more to end the session, a server that is gone would be waited for once more
                spark.client.set_retry_policies([])
            raise
        finally:
            spark.stop()


@contextmanager
def _submitted(secrets: Mapping[str, str]) -> Iterator[None]:
    """Have the Java that is started meanwhile read `secrets` from a private file: all users of the host can read its command line."""
    if not secrets:
        yield
        return
    before = os.environ.get(SUBMIT_ARGUMENTS)
    with tempfile.NamedTemporaryFile(suffix=".properties") as file:
        file.write(properties(secrets))
        file.flush()
        os.environ[SUBMIT_ARGUMENTS] = f"--load-spark-defaults --properties-file {shlex.quote(file.name)} {before or 'pyspark-shell'}"
        try:
            yield
        finally:
            os.environ.pop(SUBMIT_ARGUMENTS)
            if before is not None:
                os.environ[SUBMIT_ARGUMENTS] = before


def _start(master: str, settings: Mapping[str, str], conf: Mapping[str, str], log: IO[bytes], scratch: Path) -> SparkSession:
    """A driver in this process's own JVM, which writes to `log` what it would write to the console."""
    need_java()
    for address in master.removeprefix(STANDALONE).split(",") if master.startswith(STANDALONE) else ():
        reach(STANDALONE + address, "spark", 7077, "spark_master")
    # Set for Spark Connect clients; a driver refuses to start with it.
    os.environ.pop("SPARK_REMOTE", None)
    builder = SparkSession.builder.master(master).appName("kafka_recovery_plan")
    for key, value in {**LEAN, **(EMBEDDED if master.startswith("local") else {}), **settings, **conf}.items():
        builder = builder.config(key, value)
    # A start that is broken off would leave a Java behind that nobody knows.
    with _console_to(log), critical_section(), _ctrl_c_kept(), _python_of_workers(master, scratch):
        return builder.getOrCreate()


@contextmanager
def _python_of_workers(master: str, scratch: Path) -> Iterator[None]:
    """On this machine what decides runs in this Python, which has pyarrow. On other machines their own is taken, or what the operator says."""
    before = os.environ.get(PYTHON_OF_WORKERS)
    if master.startswith("local"):
        os.environ[PYTHON_OF_WORKERS] = program(scratch)
    try:
        yield
    finally:
        os.environ.pop(PYTHON_OF_WORKERS, None)
        if before is not None:
            os.environ[PYTHON_OF_WORKERS] = before


@contextmanager
def _executors(spark: SparkSession, master: str) -> Iterator[None]:
    """Break the work off where a standalone cluster has no executor for it, from the beginning or because its workers were lost."""
    if not master.startswith(STANDALONE):
        yield
        return
    ended, missed = threading.Event(), threading.Event()
    context = spark.sparkContext

    def watch() -> None:
        seen = time.monotonic()
        with suppress(Py4JError, ConnectionError):
            while not ended.wait(1.0):
                # The driver counts among them.
                if context._jsc.sc().getExecutorMemoryStatus().size() > 1:
                    seen = time.monotonic()
                elif time.monotonic() - seen > EXECUTOR_SECONDS:
                    missed.set()
                    context.cancelAllJobs()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        if not missed.is_set():
            raise
        raise SparkError(
            f"spark_master: {master} has had no executor for this work for {EXECUTOR_SECONDS:g} s: look at its workers, and whether they have the "
            "memory that spark.executor.memory asks for"
        ) from error
    finally:
        ended.set()
        watcher.join()


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
        for number, _handler in kept:
            os.dup2(log.fileno(), number)
        yield
    finally:
        for number, copy in kept:
            os.dup2(copy, number)
            os.close(copy)


def need_java() -> None:
    """Raise SparkError where there is no Java that Spark can use, which Spark itself says in a hundred lines."""
    if problem := java_problem():
        raise SparkError(problem)
