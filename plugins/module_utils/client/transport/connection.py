# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection options: their argument spec, their checks, and the Kafka client's configuration made from them."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import env_fallback

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import loopback_peers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.sasl import MECHANISMS, Mechanism
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import plaintext, secret_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import whole_number

if TYPE_CHECKING:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.oauth import TokenSource


def _option(name: str, **spec: Any) -> dict[str, Any]:
    return {"fallback": (env_fallback, [f"KAFKA_{name.upper()}"]), **spec}


CONNECTION_ARGUMENTS: dict[str, Any] = {
    "bootstrap_servers": _option("bootstrap_servers", type="list", elements="str", required=True),
    "controller_bootstrap_servers": _option("controller_bootstrap_servers", type="list", elements="str", default=[]),
    "security_protocol": _option(
        "security_protocol", type="str", default="PLAINTEXT", choices=["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
    ),
    "sasl_mechanism": _option("sasl_mechanism", type="str", choices=list(MECHANISMS)),
    "sasl_username": _option("sasl_username", type="str"),
    "sasl_password": _option("sasl_password", type="str", no_log=True),
    "sasl_oauth_token_endpoint": _option("sasl_oauth_token_endpoint", type="str", no_log=False),
    "sasl_oauth_client_id": _option("sasl_oauth_client_id", type="str"),
    "sasl_oauth_client_secret": _option("sasl_oauth_client_secret", type="str", no_log=True),
    "sasl_oauth_scope": _option("sasl_oauth_scope", type="str"),
    "ca_cert": _option("ca_cert", type="path"),
    "client_cert": _option("client_cert", type="path"),
    "client_key": _option("client_key", type="path", no_log=False),
    "client_key_password": _option("client_key_password", type="str", no_log=True),
    "validate_certs": _option("validate_certs", type="bool", default=True),
    "allow_plaintext_secrets": _option("allow_plaintext_secrets", type="bool", default=False, no_log=False),
    "request_timeout": _option("request_timeout", type="float", default=10.0),
}
CONNECTION_REQUIRED_IF = [
    ("security_protocol", "SASL_PLAINTEXT", ("sasl_mechanism",)),
    ("security_protocol", "SASL_SSL", ("sasl_mechanism",)),
    *(("sasl_mechanism", name, mechanism.required) for name, mechanism in MECHANISMS.items()),
]
CONNECTION_REQUIRED_TOGETHER = [("client_cert", "client_key")]
TOKEN_SECONDS = 60.0  # after which librdkafka requests a token again, which the source has kept or fetches


@dataclass(frozen=True)
class Connection:
    """The connection options of one cluster. `request_timeout`: seconds, for every broker separately."""

    bootstrap_servers: tuple[str, ...]
    controller_bootstrap_servers: tuple[str, ...] = ()
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str | None = None
    sasl_username: str | None = None
    sasl_password: str | None = field(default=None, repr=False)
    sasl_oauth_token_endpoint: str | None = None
    sasl_oauth_client_id: str | None = None
    sasl_oauth_client_secret: str | None = field(default=None, repr=False)
    sasl_oauth_scope: str | None = None
    ca_cert: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    client_key_password: str | None = field(default=None, repr=False)
    validate_certs: bool = True
    allow_plaintext_secrets: bool = False
    request_timeout: float = 10.0

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Connection:
        """Build from module parameters. RecoveryError for the first option that is not valid."""
        options = {name: params[name] for name in CONNECTION_ARGUMENTS}
        for option in ("bootstrap_servers", "controller_bootstrap_servers"):
            options[option] = tuple(server.strip() for server in options[option] if server.strip())
        connection = cls(**options)
        connection._check()
        return connection

    def _check(self) -> None:
        if not self.bootstrap_servers:
            raise RecoveryError("bootstrap_servers is empty: name at least one broker as host:port")
        for option in ("bootstrap_servers", "controller_bootstrap_servers"):
            for server in getattr(self, option):
                host, _colon, port = server.rpartition(":")
                if not host or not 0 < (whole_number(port) or 0) < 65536:
                    raise RecoveryError(f"{option}: {server!r} is not host:port, such as broker-1.example.com:9092")
        if self.request_timeout <= 0:
            raise RecoveryError("request_timeout must be more than 0 seconds")
        for option in ("ca_cert", "client_cert", "client_key"):
            path = getattr(self, option)
            if path and not Path(path).is_file():
                raise RecoveryError(f"{option}: file not found: {path}")
        endpoint = self.sasl_oauth_token_endpoint
        if endpoint and "@" in endpoint:
            # Not quoted: the text before the @ may be a password.
            raise RecoveryError(
                "sasl_oauth_token_endpoint has an @: put a login into sasl_oauth_client_id and sasl_oauth_client_secret, write any other @ as %40"
            )
        if endpoint and not endpoint.startswith(("https://", "http://")):
            raise RecoveryError(f"sasl_oauth_token_endpoint: {endpoint!r} is not an http:// or https:// URL")
        if self.client_key:
            secret_files.check("client_key", Path(self.client_key))
        self.check_plaintext((*self.bootstrap_servers, *self.controller_bootstrap_servers))
        refusal = plaintext.endpoint_refusal(endpoint or "") if self._fetches_tokens else None
        if refusal and not self.allow_plaintext_secrets:
            raise RecoveryError(refusal)

    def check_plaintext(self, servers: Iterable[str]) -> None:
        """Raise RecoveryError if a login would send a secret unencrypted to one of `servers` (each host:port) without permission."""
        if refusal := self.plaintext_refusal(servers):
            raise RecoveryError(refusal)

    @property
    def guarded_secret(self) -> loopback_peers.Secret | None:
        """The secret that a login sends unencrypted and that no other user's process may receive. None if there is none."""
        return loopback_peers.Secret(self._open_secret, "SASL_SSL") if self._open_secret else None

    def plaintext_refusal(self, servers: Iterable[str]) -> str | None:
        """Return why a login must not be sent to `servers` (each host:port), None if it may be sent."""
        return plaintext.broker_refusal(self.sasl_mechanism or "", self._open_secret, servers) if self._open_secret else None

    @property
    def _open_secret(self) -> str | None:
        """The secret that a login sends unencrypted without permission to do so everywhere, None if there is none."""
        if self.mechanism is None or self.encrypted or self.allow_plaintext_secrets:
            return None
        return self.mechanism.sent_secret

    @property
    def encrypted(self) -> bool:
        """Whether the security protocol uses TLS."""
        return self.security_protocol.endswith("SSL")

    @property
    def mechanism(self) -> Mechanism | None:
        """The SASL mechanism of the login, None if there is no login."""
        return MECHANISMS.get(self.sasl_mechanism or "") if self.security_protocol.startswith("SASL_") else None

    @property
    def _fetches_tokens(self) -> bool:
        return self.mechanism is not None and self.mechanism.fetches_tokens

    @cached_property
    def _tokens(self) -> TokenSource | None:
        """The source of tokens, None for a mechanism without them."""
        if not self._fetches_tokens:
            return None
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.oauth import TokenSource

        source = TokenSource(
            self.sasl_oauth_token_endpoint or "",
            self.sasl_oauth_client_id or "",
            self.sasl_oauth_client_secret or "",
            self.sasl_oauth_scope,
            self.ca_cert,
            self.validate_certs,
            self.request_timeout,
            self.allow_plaintext_secrets,
        )
        source.token()  # here its error reaches the user; inside the client it would only be a connection that fails
        return source

    def for_kafka_python(self) -> dict[str, Any]:
        """Return the configuration of kafka-python's connection manager. Raises RecoveryError."""
        if self._tokens is not None:
            from kafka.net.sasl.oauth import AbstractTokenProvider

            AbstractTokenProvider.register(type(self._tokens))
        return {
            "bootstrap_servers": list(self.bootstrap_servers),
            "client_id": "streamops-kafka-recovery",
            "request_timeout_ms": int(self.request_timeout * 1000),
            "socket_connection_setup_timeout_ms": int(self.request_timeout * 1000),
            "socket_connection_setup_timeout_max_ms": int(self.request_timeout * 1000),
            # Answers about thousands of partitions exceed the default of 1 MB.
            "receive_message_max_bytes": 100_000_000,
            "max_in_flight_requests_per_connection": 100,
            "security_protocol": self.security_protocol,
            "ssl_context": self.ssl_context() if self.encrypted else None,
            "sasl_mechanism": self.sasl_mechanism,
            "sasl_plain_username": self.sasl_username,
            "sasl_plain_password": self.sasl_password,
            "sasl_oauth_token_provider": self._tokens,
        }

    def for_librdkafka(self) -> dict[str, Any]:
        """Return the configuration of librdkafka. Raises RecoveryError."""
        timeout = int(self.request_timeout * 1000)
        config = {
            "bootstrap.servers": ",".join(self.bootstrap_servers),
            "client.id": "streamops-kafka-recovery",
            "socket.timeout.ms": timeout,
            "socket.connection.setup.timeout.ms": max(timeout, 1000),
            "security.protocol": self.security_protocol,
            "sasl.mechanism": self.sasl_mechanism if self.mechanism else None,
            "sasl.username": self.sasl_username if self.mechanism else None,
            "sasl.password": self.sasl_password if self.mechanism else None,
        }
        if self.encrypted:
            config |= {
                "ssl.ca.location": self.ca_cert,
                "ssl.certificate.location": self.client_cert,
                "ssl.key.location": self.client_key,
                "ssl.key.password": self.client_key_password,
                "enable.ssl.certificate.verification": self.validate_certs,
                "ssl.endpoint.identification.algorithm": "https" if self.validate_certs else "none",
            }
        if (tokens := self._tokens) is not None:
            config["oauth_cb"] = lambda _config: (tokens.token(), time.time() + TOKEN_SECONDS)
        return {name: value for name, value in config.items() if value is not None}

    def ssl_context(self) -> ssl.SSLContext:
        """Return the TLS context of these options. Raises RecoveryError."""
        from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import tls

        client = (self.client_cert, self.client_key or "", self.client_key_password) if self.client_cert else None
        return tls.context(self.ca_cert, client, self.validate_certs)
