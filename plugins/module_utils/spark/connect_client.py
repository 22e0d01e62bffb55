# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client of a Spark Connect server: which server, its token, and checks that fail in seconds where Spark's client would try for minutes."""

from __future__ import annotations

import gc
import os
import socket
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import SparkSession
if TYPE_CHECKING:
    from pyspark.sql.connect.client import DefaultChannelBuilder

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import socket_users
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # The error that it raises says what failed.
warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]")

CONNECT_SECONDS = 10.0
HEALTH = "/grpc.health.v1.Health/Check"
# About ten seconds in total: enough for a connection that breaks. A server that has ended is not awaited.
RETRIES = 6
RETRY_MILLISECONDS = 4000


def need_tls(remote: str) -> None:
    """Raise RecoveryError if secrets would be sent to that server in plain text."""
    # PySpark distinguishes upper and lower case here, and of two values takes the last.
    if [parameter for parameter in remote.split(";")[1:] if parameter.lower().startswith("use_ssl")] != ["use_ssl=true"]:
        raise RecoveryError(
            f"spark_secret_conf would be sent to {remote.partition(';')[0]} in plain text: use TLS (;use_ssl=true), or set it on that server"
        )


def connect(remote: str, conf: Mapping[str, str]) -> SparkSession:
    """Return a session on a Spark Connect server, which needs no Java here.

    Raises RecoveryError if the server does not answer, does not speak the protocol, or refuses a setting of `conf`.
    """
    reach(remote, "sc", 15002, "spark_remote")
    try:
        _import_client()
        builder = _channel(remote)
        _check_protocol(builder)
        spark = _client(builder)
    except ImportError as error:
        raise RecoveryError(f"spark_remote needs more libraries ({error}); install pyspark[connect]") from error
    from pyspark.sql.connect.client.retries import DefaultPolicy

    # Spark's default policy tries for ten minutes.
    spark.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES, max_backoff=RETRY_MILLISECONDS)])
    _configure(spark, conf)
    return spark


def _configure(spark: SparkSession, conf: Mapping[str, str]) -> None:
    """Set `conf` with one request. The server ignores settings that it refuses. Each of these is set again alone, so that the error gives the reason."""
    from pyspark.sql.connect.session import SparkSession as Client

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # A warning shows the value of what is refused, which may be a secret.
        Client.builder.config(map=dict(conf)).getOrCreate()
    accepted = spark.conf.getAll
    for name, value in conf.items():
        if accepted.get(name) != value:
            spark.conf.set(name, value)


def _channel(remote: str) -> DefaultChannelBuilder:
    """Return a channel builder. Without TLS nothing proves which process listens on this machine, so the owner of the port is checked."""
    from pyspark.sql.connect.client import DefaultChannelBuilder

    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.server_channel import LoopbackChannel

    builder = DefaultChannelBuilder(remote)
    address = None if builder.use_ssl else socket_users.loopback_address(builder.host.strip("[]"))
    return LoopbackChannel(remote, address) if address else builder


def _client(builder: DefaultChannelBuilder) -> SparkSession:
    from pyspark.sql.connect.session import SparkSession as Client

    client = Client.builder.channelBuilder(builder).getOrCreate()
    # PySpark's functions read it. PySpark sets it only for a client that is made from an address.
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    return cast("SparkSession", client)


def _import_client() -> None:
    """Import Spark's client with Python's garbage collector off. The import loads a thousand modules that live as long as the process. The collector
    would scan them during the import and when the process ends: 0.15 s."""
    gc.disable()
    try:
        import pyspark.sql.connect.session  # noqa: F401
    finally:
        gc.enable()
    gc.freeze()


def _check_protocol(builder: DefaultChannelBuilder) -> None:
    """Raise RecoveryError if the server does not speak gRPC. Spark's client would try for minutes.

    Any status of a call proves that it does, also UNIMPLEMENTED. To wait for a ready channel proves no more, and to close such a channel takes 0.2 s.
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
            raise RecoveryError(f"{what}: check the port of the server (a server with TLS needs ;use_ssl=true)") from error


def reach(address: str, scheme: str, port: int, option: str) -> None:
    """Raise RecoveryError, which names `option`, if nothing answers at `address`. Spark itself would try for minutes. `port`: the default."""
    try:
        target = urlsplit(address)
        host, port = target.hostname, target.port or port
    except ValueError:
        host = None
    if not host or target.scheme != scheme:
        raise RecoveryError(f"{option} {address!r} is not the URL of a Spark server; it looks like {scheme}://host:{port}")
    try:
        socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise RecoveryError(f"{option}: nothing answers on {host}:{port} ({error.strerror or error})") from error
