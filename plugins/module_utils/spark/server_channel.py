# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gRPC channels to a Spark server on this machine. A process of another user on the port gets neither the token nor rows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

with suppress(ImportError):  # common.optional_imports names what is missing
    import grpc
try:
    from pyspark.sql.connect.client import DefaultChannelBuilder
except ImportError:
    DefaultChannelBuilder = object  # type: ignore[misc, assignment]

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import socket_users
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError

REMEDY = "use TLS (;use_ssl=true), or leave spark_remote out"


class CallGuard:
    """A grpc.AuthMetadataPlugin: gRPC calls it when a connection exists, before it sends any part of a call."""

    def __init__(self, port: int, trusted: Callable[[], bool], token: str | None) -> None:
        self._port, self._trusted, self._token = port, trusted, token

    def __call__(self, _context: object, callback: grpc.AuthMetadataPluginCallback) -> None:
        # gRPC reconnects by itself, and another process may have the port by then.
        if self._trusted():
            callback((("authorization", f"Bearer {self._token}"),) if self._token else (), None)
        else:
            callback((), ConnectionError(f"another process listens on port {self._port}"))


class LoopbackChannel(DefaultChannelBuilder):  # type: ignore[misc]
    """Connects to a loopback address if only root and this user listen there."""

    def __init__(self, remote: str, address: str) -> None:
        # gRPC would use the proxy of the environment for loopback addresses too.
        super().__init__(remote, [("grpc.enable_http_proxy", 0)])
        self._address = address
        self._server_port = int(self.endpoint.rpartition(":")[2])

    @property
    def secure(self) -> bool:
        """Return whether the channel uses TLS."""
        return False

    def toChannel(self) -> grpc.Channel:
        """Return a channel. Raises RecoveryError unless the listener is known to be root's or this user's."""
        return self._guarded(self._check())

    def _check(self) -> Callable[[], bool]:
        """Return the check of each call. Raises RecoveryError if the listener must not get any data."""
        address, port = self._address, self._server_port
        try:
            users = socket_users.listening(address, port)
        except OSError as error:
            raise RecoveryError(f"spark_remote: only Linux shows whose server listens on {address}:{port}: {REMEDY}") from error
        if not users:
            raise RecoveryError(f"spark_remote: no process of this machine listens on {address}:{port}: correct the address, or {REMEDY}")
        for user in socket_users.strangers(users):
            raise RecoveryError(
                f"spark_remote: another user (uid {user}) listens on {address}:{port} and could read what is sent there: {REMEDY}"
            )
        return lambda: socket_users.connected_to_own(address, port)

    def _guarded(self, trusted: Callable[[], bool]) -> grpc.Channel:
        guard = grpc.metadata_call_credentials(CallGuard(self._server_port, trusted, self.token))
        credentials = grpc.composite_channel_credentials(grpc.local_channel_credentials(), guard)
        host = f"ipv6:[{self._address}]" if ":" in self._address else f"ipv4:{self._address}"
        return self._secure_channel(f"{host}:{self._server_port}", credentials)
