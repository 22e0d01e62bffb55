# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Being a client of a Spark Connect server: which one, its token, and what is found out in seconds instead of minutes."""

from __future__ import annotations

import gc
import os
import socket
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

with suppress(ImportError):  # libraries.py says why
    from pyspark.sql import SparkSession
if TYPE_CHECKING:
    from pyspark.sql.connect.client import DefaultChannelBuilder

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import loopback, socket_users
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.optional_imports import import_error
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import server_state
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.error_messages import SparkError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.options import AUTO
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_state import Server

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # What breaks is told by the error that it raises.
warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")

LOOPBACK = ("localhost", "127.0.0.1", "::1")
CONNECT_SECONDS = 10.0
HEALTH = "/grpc.health.v1.Health/Check"
# Together about ten seconds: a connection may break, a server that is gone is not waited for.
RETRIES = 6
RETRY_MILLISECONDS = 4000


def own_server(workdir: Path | None, remote: str | None, warn: Callable[[str], None]) -> Server | None:
    """The server that kafka_recovery_spark runs for this workdir, if it is the one that is meant."""
    if workdir is None or not remote or (found := server_state.running(workdir)) is None:
        return None
    if import_error("psutil"):
        raise SparkError(
            "psutil is needed to check that the Spark server of the workdir is the one that listens on its port: install psutil"
        )
    if remote != AUTO:
        target = urlsplit(remote)
        return found if target.hostname in LOOPBACK and target.port == found.port and server_state.is_here(found) else None
    server = server_state.awaited(workdir)
    if server and loopback.listener(server.pid, server.port):
        return server
    where = "ended before it answered" if server is None else f"does not listen on its port {server.port} any more"
    where = where if server_state.is_here(found) else f"runs on {found.host}, not here"
    warn(f"the Spark server of {workdir} {where} (see {server_state.Folder(workdir).log}): this step starts a Spark of its own")
    return None


def need_tls(remote: str) -> None:
    """SparkError if secrets would be sent to that server in plain text."""
    if "use_ssl=true" not in remote.lower().split(";")[1:]:
        raise SparkError(
            f"spark_secret_conf would be sent to {remote.partition(';')[0]} in plain text: use TLS (;use_ssl=true), or set it on that server"
        )


def connect(remote: str, conf: Mapping[str, str], server: Server | None = None, workdir: Path | None = None) -> SparkSession:
    """A client of a Spark Connect server; Java is needed there, not here. `server`: the one of `workdir`, if `remote` is its address."""
    if server is None:
        reach(remote, "sc", 15002, "spark_remote")
    try:
        _import_client()
        builder = _channel(remote, server, workdir)
        if server is None:
            _shake_hands(builder)
        spark = _client(builder)
    except ImportError as error:
        raise SparkError(f"spark_remote needs more libraries ({error}); install pyspark[connect]") from error
    from pyspark.sql.connect.client.retries import DefaultPolicy

    # By itself it tries for ten minutes.
    spark.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES, max_backoff=RETRY_MILLISECONDS)])
    _configure(spark, conf)
    return spark


def _configure(spark: SparkSession, conf: Mapping[str, str]) -> None:
    """Set `conf` with one request. The server leaves out what it refuses. Each of these is set again, alone, and the error says why it is refused."""
    from pyspark.sql.connect.session import SparkSession as Client

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # A warning shows the value of what is refused, which may be a secret.
        Client.builder.config(map=dict(conf)).getOrCreate()
    accepted = spark.conf.getAll
    for name, value in conf.items():
        if accepted.get(name) != value:
            spark.conf.set(name, value)


def _channel(remote: str, server: Server | None, workdir: Path | None) -> DefaultChannelBuilder:
    """How to connect. Without TLS nothing proves who listens on this machine, so the owner of the port is checked."""
    from pyspark.sql.connect.client import DefaultChannelBuilder

    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_channel import LoopbackChannel, ServerChannel

    if server and workdir:
        return ServerChannel(remote, server, server_state.token(workdir))
    builder = DefaultChannelBuilder(remote)
    address = None if builder.use_ssl else socket_users.loopback_address(builder.host.strip("[]"))
    return LoopbackChannel(remote, address) if address else builder


def _client(builder: DefaultChannelBuilder) -> SparkSession:
    from pyspark.sql.connect.session import SparkSession as Client

    client = Client.builder.channelBuilder(builder).getOrCreate()
    # PySpark's functions go by it. PySpark itself sets it for a client that is made from an address.
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    return cast("SparkSession", client)


def _import_client() -> None:
    """Import Spark's client, which brings a thousand modules with it, all of which stay to the end. Without a word to Python's collector it would look
    through them for garbage while they come in, and once more when the process ends: 0.15 s."""
    gc.disable()
    try:
        import pyspark.sql.connect.session  # noqa: F401
    finally:
        gc.enable()
    gc.freeze()


def _shake_hands(builder: DefaultChannelBuilder) -> None:
    """Find out whether what answers speaks gRPC: Spark's client would try for minutes.

    Any status of a call proves it, also that there is no such service. To wait for the channel to be ready proves no more, and closing a channel
    that was waited for takes 0.2 s.
    """
    import grpc

    with builder.toChannel() as channel:
        try:
            channel.unary_unary(HEALTH)(b"", timeout=CONNECT_SECONDS, wait_for_ready=True)
        except grpc.RpcError as error:
            if error.code() not in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE):
                return
            tls = " over TLS" if builder.secure else ""
            because = ", because a token is sent" if tls and not builder.use_ssl else ""
            what = f"spark_remote: what answers on {builder.endpoint} does not speak Spark Connect{tls}{because}"
            raise SparkError(f"{what}: look which port the server has (a server with TLS needs ;use_ssl=true)") from error


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
