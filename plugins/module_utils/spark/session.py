# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Spark session: embedded, on a standalone cluster, or on a Spark Connect server. Spark writes nothing to stdout."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

with suppress(ImportError):  # common.optional_imports names what is missing
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.java import java_problem
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.properties import properties
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.signals import critical_section
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import appcds
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.connect_client import connect, need_tls, reach
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.error_messages import PYTHON_OF_WORKERS, translate_spark_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.worker_python import program

# Py4J logs broken connections, which it also raises as errors.
logging.getLogger("py4j").addHandler(logging.NullHandler())
logging.getLogger("py4j").propagate = False

LOCAL = "local[*]"
PARTITIONS = "spark.sql.shuffle.partitions"
BYTES_PER_TASK = 8 << 20
SESSION = {"spark.sql.session.timeZone": "UTC"}
# Every broadcast table, however small, takes a page of memory until Java collects garbage. The default page is 64 MB with 4 GB.
PAGES = {"spark.buffer.pageSize": "2m"}
# To record the Python line of every expression takes a second.
NO_LINES = {"spark.python.sql.dataFrameDebugging.enabled": "false"}
LEAN = {**PAGES, **NO_LINES, "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
# Only the driver itself uses its ports. Without authentication every user of this machine could connect to them.
EMBEDDED = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.authenticate": "true"}
STANDALONE = "spark://"
SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
# Spark waits without limit for a worker that gives it an executor.
EXECUTOR_SECONDS = 60.0
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
ONE_COLLECTOR, QUICK_COMPILER = "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
# To pass rows on, however many, Java needs neither its optimising compiler nor a second collector: without them it takes two thirds of the processor
# time for a plan of 200,000 partitions.
QUICK = {JAVA_OPTIONS: f"{QUICK_COMPILER} {ONE_COLLECTOR}"}
# For a few seconds of work Java's optimising compiler, generated code and adaptive execution cost more than they save: together half of the
# processor time of a cold run.
SMALL = {
    **QUICK,
    "spark.sql.adaptive.enabled": "false",
    **INTERPRETED,
}
SMALL_BYTES = 64 << 20
# An upper limit.
LARGE = {"spark.driver.memory": "4g"}


def tasks(size: int) -> int:
    """Return the number of tasks for `size` bytes of landing files."""
    return max(1, -(-size // BYTES_PER_TASK))


def is_embedded(master: str | None, remote: str | None) -> bool:
    """Return whether Spark runs in a Java of this process. Parameters as for `session`."""
    return not remote and (master or LOCAL).startswith("local")


@contextmanager
def session(
    master: str | None,
    remote: str | None,
    conf: Mapping[str, str],
    input_bytes: int | None,
    secrets: Mapping[str, str] | None = None,
    passes_rows: bool = False,
) -> Iterator[SparkSession]:
    """Open a session on `remote` (sc://host:port) or `master` (default: embedded), sized for `input_bytes` of landing files (None: not known yet).

    `passes_rows`: whether Spark does little more than pass rows to Python workers and back.
    `conf` overrides all settings of this function, and `secrets` override `conf`. Java gets `secrets` through a private file or a private connection.
    Raises RecoveryError for all errors of Spark, also for those of the work in the session.
    """
    size = {**SMALL, **LARGE} if input_bytes is None else SMALL if input_bytes < SMALL_BYTES else LARGE
    with tempfile.TemporaryFile() as log, tempfile.TemporaryDirectory() as scratch, translate_spark_errors(log, remote):
        settings = {PARTITIONS: str(tasks(input_bytes or 0)), **SESSION, **size}
        if passes_rows:
            settings |= QUICK
        if remote:
            if secrets:
                need_tls(remote)
            sql_settings = {name: value for name, value in settings.items() if name.startswith("spark.sql.")}
            spark = connect(remote, {**sql_settings, **conf, **(secrets or {})})
        else:
            if archive := appcds.options():
                settings[JAVA_OPTIONS] = f"{settings.get(JAVA_OPTIONS, '')} {archive}"
            with _submitted(secrets or {}):
                spark = _start(master or LOCAL, settings, conf, log, Path(scratch))
        try:
            with _executors(spark, "" if remote else master or LOCAL):
                yield spark
        except (PySparkException, ConnectionError):
            if remote:  # else the request that ends the session would wait again for a server that has ended
                spark.client.set_retry_policies([])
            raise
        finally:
            spark.stop()


@contextmanager
def _submitted(secrets: Mapping[str, str]) -> Iterator[None]:
    """Make a Java that starts in this context read `secrets` from a private file. All users of the host can read its command line."""
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
    """Start a driver in a JVM of this process. `log` gets the JVM's console output."""
    need_java()
    for address in master.removeprefix(STANDALONE).split(",") if master.startswith(STANDALONE) else ():
        reach(STANDALONE + address, "spark", 7077, "spark_master")
    # Set for Spark Connect clients; a driver refuses to start with it.
    os.environ.pop("SPARK_REMOTE", None)
    builder = SparkSession.builder.master(master).appName("kafka_recovery_plan")
    for key, value in {**LEAN, **(EMBEDDED if master.startswith("local") else {}), **settings, **conf}.items():
        builder = builder.config(key, value)
    # An interrupted start would leave a Java process that no code ends.
    with _console_to(log), critical_section(), _ctrl_c_kept(), _python_of_workers(master, scratch):
        return builder.getOrCreate()


@contextmanager
def _python_of_workers(master: str, scratch: Path) -> Iterator[None]:
    """Make workers on this machine use this Python, which has pyarrow. Other machines use their own, or the one that the operator names."""
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
    """Cancel the work with RecoveryError if a standalone cluster has no executor for EXECUTOR_SECONDS."""
    if not master.startswith(STANDALONE):
        yield
        return
    ended, missed = threading.Event(), threading.Event()
    context = spark.sparkContext
    tracker = context.statusTracker()

    def watch() -> None:
        seen = time.monotonic()
        with suppress(Py4JError, ConnectionError):
            while not ended.wait(1.0):
                stages = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage)) is not None]
                # A stage of which no task runs waits for an executor.
                if not stages or any(stage.numActiveTasks for stage in stages):
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
        raise RecoveryError(
            f"spark_master: {master} has had no executor for this work for {EXECUTOR_SECONDS:g} s: look at its workers, and check that they have the "
            "memory that spark.executor.memory requests"
        ) from error
    finally:
        ended.set()
        watcher.join()


@contextmanager
def _ctrl_c_kept() -> Iterator[None]:
    """Restore the handler of SIGINT. Spark replaces it with one that cancels its jobs."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def _console_to(log: IO[bytes]) -> Iterator[None]:
    """Redirect stdout and stderr to `log` while a child starts that inherits them."""
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
    """Raise RecoveryError if there is no Java that Spark can use. Spark's own error has a hundred lines."""
    if problem := java_problem():
        raise RecoveryError(problem)
