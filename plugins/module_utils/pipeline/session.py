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
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import spark_server
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.interruption import unbroken
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_options import AUTO
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server import Server

# What Py4J and gRPC say of connections that break is told by the error that they raise.
logging.getLogger("py4j").addHandler(logging.NullHandler())
logging.getLogger("py4j").propagate = False
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")
# Nothing here goes through pandas: Spark Connect only wants it to be there.
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)

LOCAL = "local[*]"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
CONNECT_SECONDS = 10.0
# Together about ten seconds: a connection may break, a server that is gone is not waited for.
RETRIES = 6
RETRY_MILLISECONDS = 4000
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
# What Java says when a file of Spark's own cannot be written.
NO_ROOM = ("No space left on device", "Permission denied", "File too large", "Failed to create a temp directory", "Read-only file system")


class SparkError(SpokenError):
    """Spark cannot be reached or started, or its work failed; the text says which and the remedy."""


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
) -> Iterator[SparkSession]:
    """Open a session on `remote` (sc://host:port) or `master` (default: embedded), sized for `input_bytes` of landing files.

    `remote` can be AUTO: the server of `workdir` once it answers, where there is one; where there is none in the end, `warn` is told why.
    `conf` goes over all settings made here. Errors of Spark become SparkError, in the work done with the session too.
    """
    own = _own_server(workdir, remote, warn)
    if own or remote == AUTO:
        remote = own.remote if own else None
    with tempfile.TemporaryFile() as log, in_words(log, remote):
        settings = {"spark.sql.shuffle.partitions": str(max(1, -(-input_bytes // BYTES_PER_TASK))), **SESSION}
        if remote:
            with _token_of(own, workdir):
                spark = _connect(remote, {**settings, **conf})
        else:
            spark = _start(master or LOCAL, {**settings, **(SMALL if input_bytes < SMALL_BYTES else {})}, conf, log)
        try:
            yield spark
        except (PySparkException, ConnectionError):
            if remote:  # asked once more to end the session, a server that is gone would be waited for once more
                spark.client.set_retry_policies([])
            raise
        finally:
            spark.stop()


def _own_server(workdir: Path | None, remote: str | None, warn: Callable[[str], None]) -> Server | None:
    """The server that kafka_recovery_spark runs for this workdir, if it is the one that is meant."""
    if workdir is None or not remote or (found := spark_server.running(workdir)) is None:
        return None
    if remote != AUTO:
        target = urlsplit(remote)
        return found if target.hostname in LOOPBACK and target.port == found.port and spark_server.is_here(found) else None
    server = spark_server.awaited(workdir)
    if server is None:
        where = f"runs on {found.host}, not here" if not spark_server.is_here(found) else "ended before it answered"
        warn(f"the Spark server of {workdir} {where} (see {spark_server.Folder(workdir).log}): this step starts a Spark of its own")
    return server


@contextmanager
def _token_of(server: Server | None, workdir: Path | None) -> Iterator[None]:
    """Have Spark's client send the token of this workdir's own server; what the environment says is for other servers."""
    if server is None or workdir is None:
        yield
        return
    before = os.environ.get(spark_server.TOKEN_VARIABLE)
    os.environ[spark_server.TOKEN_VARIABLE] = spark_server.token(workdir)
    try:
        yield
    finally:
        os.environ.pop(spark_server.TOKEN_VARIABLE)
        if before is not None:
            os.environ[spark_server.TOKEN_VARIABLE] = before


@contextmanager
def in_words(log: IO[bytes], remote: str | None = None) -> Iterator[None]:
    """Turn errors of Spark into SparkError; `log` holds what its JVM wrote."""
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise SparkError(_spoken(error, log, remote)) from error


def _connect(remote: str, conf: Mapping[str, str]) -> SparkSession:
    """A client of a Spark Connect server; Java is needed there, not here."""
    _reach(remote, "sc", 15002, "spark_remote")
    try:
        _shake_hands(remote)
        spark = SparkSession.builder.remote(remote).getOrCreate()
    except ImportError as error:
        raise SparkError(f"spark_remote needs more libraries ({error}); install pyspark[connect]") from error
    from pyspark.sql.connect.client.retries import DefaultPolicy

    # By itself it tries for ten minutes.
    spark.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES, max_backoff=RETRY_MILLISECONDS)])
    for key, value in conf.items():
        spark.conf.set(key, value)
    return spark


def _shake_hands(remote: str) -> None:
    """Find out whether what answers speaks gRPC: Spark's client would try for minutes."""
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    builder = DefaultChannelBuilder(remote)
    with builder.toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=CONNECT_SECONDS)
        except grpc.FutureTimeoutError as error:
            tls = " over TLS, because a token is sent" if builder.token and not builder.use_ssl else " over TLS" if builder.secure else ""
            hint = "name it localhost if it is on this machine" if tls.endswith("sent") else "a server with TLS needs ;use_ssl=true"
            what = f"spark_remote: what answers on {builder.endpoint} does not speak Spark Connect{tls}"
            raise SparkError(f"{what}: look which port the server has ({hint})") from error


def _start(master: str, settings: Mapping[str, str], conf: Mapping[str, str], log: IO[bytes]) -> SparkSession:
    """A driver in this process's own JVM, which writes to `log` what it would write to the console."""
    need_java()
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


def need_java() -> None:
    """Raise SparkError where there is no Java, which Spark itself says in a hundred lines."""
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


def _spoken(error: Exception, log: IO[bytes], remote: str | None = None) -> str:
    text = " ".join(str(error).split("\n\n", maxsplit=1)[0].split("JVM stacktrace")[0].split())[:600]
    if "PATH_NOT_FOUND" in text or "FAILED_READ_FILE" in text:
        return f"Spark cannot read the landing files: the workdir must be readable under the same path on every Spark host ({text})"
    if "JAVA_GATEWAY_EXITED" in text:
        return f"Java ended before Spark was up (Spark needs Java 17 or newer); its last words: {_last_words(log)}"
    if remote:
        return _spoken_of_remote(remote.partition(";")[0].rstrip("/"), text)
    if any(sign in text for sign in NO_ROOM):
        return f"Spark has no room for its work, or may not write there: make room, or name another directory with spark_conf spark.local.dir ({text})"
    return f"Spark failed: {text}"


def _spoken_of_remote(remote: str, text: str) -> str:
    """`remote` without its parameters: a token may be among them."""
    if "UNAUTHENTICATED" in text:
        return (
            f"spark_remote: the Spark Connect server {remote} wants another token: put the right one into the environment variable "
            f"{spark_server.TOKEN_VARIABLE}"
        )
    if "UNAVAILABLE" in text or "INVALID_HANDLE" in text:
        return f"spark_remote: the Spark Connect server {remote} is gone in the middle of the work: start it again, or leave spark_remote out ({text})"
    if any(sign in text for sign in NO_ROOM):
        return f"spark_remote: the Spark Connect server {remote} has no room for its work, or may not write: look at its spark.local.dir ({text})"
    return f"spark_remote: the Spark Connect server {remote} failed: {text}"


def _last_words(log: IO[bytes]) -> str:
    log.seek(0)
    lines = [line.strip() for line in log.read()[-4000:].decode(errors="replace").splitlines() if line.strip()]
    return " | ".join(lines[-3:])
