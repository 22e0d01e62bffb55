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
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.java import java_argument, java_problem
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.properties import properties
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.signals import critical_section
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.user_name import is_unnamed
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import appcds, unnamed_user
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.connect_client import connect, need_tls, reach
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.error_messages import PYTHON_OF_WORKERS, translate_spark_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.paths import spark_elsewhere, store_settings
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.scratch import scratch_folder, socket_folder
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.standalone import (
    STANDALONE,
    executors,
    is_standalone,
    need_authentication,
)
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
SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
JAVA_OPTIONS, DEFAULT_JAVA_OPTIONS = "spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions"
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
    workdir: Path | None = None,
) -> Iterator[SparkSession]:
    """Open a session on `remote` (sc://host:port) or `master` (default: embedded), sized for `input_bytes` of landing files (None: not known yet).

    `passes_rows`: whether Spark does little more than pass rows to Python workers and back. `workdir`: where a Spark of this machine has a private folder
    for its files (see `scratch_folder`).
    `conf` overrides all settings of this function, and `secrets` override `conf`. Java gets `secrets` through a private file or a private connection.
    Raises RecoveryError for all errors of Spark, also for those of the work in the session.
    """
    size = {**SMALL, **LARGE} if input_bytes is None else SMALL if input_bytes < SMALL_BYTES else LARGE
    elsewhere = not is_embedded(master, remote)
    with tempfile.TemporaryFile() as log, translate_spark_errors(log, remote), spark_elsewhere(elsewhere), ExitStack() as stack:
        store = store_settings(workdir, os.environ) if elsewhere else {}
        settings = {PARTITIONS: str(tasks(input_bytes or 0)), **SESSION, **size, **store}
        if passes_rows:
            settings |= QUICK
        if remote:
            if secrets:
                need_tls(remote)
            sql_settings = {name: value for name, value in settings.items() if name in store or name.startswith("spark.sql.")}
            spark = connect(remote, {**sql_settings, **conf, **(secrets or {})})
        else:
            need_authentication(master or LOCAL, conf, secrets or {})
            settings |= _private_files(stack.enter_context(scratch_folder(workdir)))
            if archive := appcds.options():
                settings[JAVA_OPTIONS] = f"{settings.get(JAVA_OPTIONS, '')} {archive}"
            with _submitted(secrets or {}):
                spark = _start(master or LOCAL, settings, conf, log, stack.enter_context(socket_folder()))
        try:
            with executors(spark, "" if remote else master or LOCAL):
                yield spark
        except (PySparkException, ConnectionError):
            if remote:  # else the request that ends the session would wait again for a server that has ended
                spark.client.set_retry_policies([])
            raise
        finally:
            spark.stop()


def _private_files(scratch: Path) -> dict[str, str]:
    """Return the settings with which Java and Spark write temporary files into this private folder."""
    options = [f"-Djava.io.tmpdir={scratch}", *([f"-Duser.home={unnamed_user.home(scratch)}"] if is_unnamed() else [])]
    return {"spark.local.dir": str(scratch), DEFAULT_JAVA_OPTIONS: " ".join(map(java_argument, options))}


def _private_sockets(folder: Path) -> dict[str, str]:
    """Return the settings with which Spark and its Python workers connect through sockets in this private folder.

    A TCP port accepts connections of every user of this machine, and PySpark's daemon starts a process for each of them.
    """
    return {"spark.python.unix.domain.socket.enabled": "true", "spark.python.unix.domain.socket.dir": str(folder)}


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


def _start(master: str, settings: Mapping[str, str], conf: Mapping[str, str], log: IO[bytes], private: Path) -> SparkSession:
    """Start a driver in a JVM of this process. `log` gets the JVM's console output. `private`: a folder that only this user can open."""
    need_java()
    if is_standalone(master):
        for address in master.removeprefix(STANDALONE).split(","):
            reach(STANDALONE + address, "spark", 7077, "spark_master")
    # Set for Spark Connect clients; a driver refuses to start with it.
    os.environ.pop("SPARK_REMOTE", None)
    builder = SparkSession.builder
    embedded = {**EMBEDDED, **_private_sockets(private)} if master.startswith("local") else {}
    merged = {"spark.master": master, "spark.app.name": "kafka_recovery_plan", **LEAN, **embedded, **settings, **conf}
    for key, value in merged.items():
        builder = builder.config(key, value)
    # An interrupted start would leave a Java process that no code ends.
    with _console_to(log), critical_section(), _ctrl_c_kept(), _python_of_workers(master, private):
        if is_unnamed():
            unnamed_user.start_context(merged)
        return builder.getOrCreate()


@contextmanager
def _python_of_workers(master: str, private: Path) -> Iterator[None]:
    """Make workers on this machine use this Python, which has pyarrow. Other machines use their own, or the one that the operator names."""
    before = os.environ.get(PYTHON_OF_WORKERS)
    if master.startswith("local"):
        os.environ[PYTHON_OF_WORKERS] = program(private)
    try:
        yield
    finally:
        os.environ.pop(PYTHON_OF_WORKERS, None)
        if before is not None:
            os.environ[PYTHON_OF_WORKERS] = before


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
