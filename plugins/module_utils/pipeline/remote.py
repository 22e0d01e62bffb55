# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Being a client of a Spark Connect server: which one, its token, and what is found out in seconds instead of minutes."""

from __future__ import annotations

import gc
import os
import socket
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import SparkSession

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import spark_server
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.complaints import SparkError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_options import AUTO
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark_server import Server

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # What breaks is told by the error that it raises.
warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")
# Nothing here goes through pandas: Spark Connect only wants it to be there.
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)

LOOPBACK = ("localhost", "127.0.0.1", "::1")
CONNECT_SECONDS = 10.0
HEALTH = "/grpc.health.v1.Health/Check"
# Together about ten seconds: a connection may break, a server that is gone is not waited for.
RETRIES = 6
RETRY_MILLISECONDS = 4000


def own_server(workdir: Path | None, remote: str | None, warn: Callable[[str], None]) -> Server | None:
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
def token_of(server: Server | None, workdir: Path | None) -> Iterator[None]:
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


def connect(remote: str, conf: Mapping[str, str]) -> SparkSession:
    """A client of a Spark Connect server; Java is needed there, not here."""
    reach(remote, "sc", 15002, "spark_remote")
    try:
        _import_client()
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


def _import_client() -> None:
    """Import Spark's client, which brings a thousand modules with it, all of which stay to the end. Without a word to Python's collector it would look
    through them for garbage while they come in, and once more when the process ends: 0.15 s."""
    gc.disable()
    try:
        import pyspark.sql.connect.session  # noqa: F401
    finally:
        gc.enable()
    gc.freeze()


def _shake_hands(remote: str) -> None:
    """Find out whether what answers speaks gRPC: Spark's client would try for minutes.

    Any status of a call proves it, also that there is no such service. To wait for the channel to be ready proves no more, and closing a channel
    that was waited for takes 0.2 s.
    """
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    builder = DefaultChannelBuilder(remote)
    with builder.toChannel() as channel:
        try:
            channel.unary_unary(HEALTH)(b"", timeout=CONNECT_SECONDS, wait_for_ready=True)
        except grpc.RpcError as error:
            if error.code() not in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE):
                return
            tls = " over TLS, because a token is sent" if builder.token and not builder.use_ssl else " over TLS" if builder.secure else ""
            hint = "name it localhost if it is on this machine" if tls.endswith("sent") else "a server with TLS needs ;use_ssl=true"
            what = f"spark_remote: what answers on {builder.endpoint} does not speak Spark Connect{tls}"
            raise SparkError(f"{what}: look which port the server has ({hint})") from error


def reach(address: str, scheme: str, port: int, option: str) -> None:
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
