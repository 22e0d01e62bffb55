# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Handshake: one connection made step by step, TLS and then SASL, so that the step that fails can be named.

The client library knows less: a broker sends the reason of a failed login and closes the connection in one go, and what is
read together with the end of a connection is lost there.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import addresses, loopback_peers, scram, tls
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.kafka_python import Frames

CHUNK = 1 << 16
UNSUPPORTED_MECHANISM, ILLEGAL_SASL_STATE = 33, 34
# SCRAM takes two, OAUTHBEARER with an error two, the others one.
SASL_ROUNDS = 4


class Refused(Exception):
    """The step that failed, in words. `credentials`: whether it was the login, which other brokers will not take either."""

    def __init__(self, text: str, credentials: bool = False) -> None:
        super().__init__(text)
        self.credentials = credentials


def try_out(connection: Connection, host: str, port: int, seconds: float) -> None:
    """Connect as the options say, within `seconds`. Raises Refused, or OSError if nobody answers."""
    deadline = time.monotonic() + seconds
    if refusal := connection.plaintext_refusal([f"{host}:{port}"]):
        raise Refused(refusal)
    with addresses.connect(host, port, seconds) as raw:
        if connection.guarded_secret:
            try:
                loopback_peers.check(raw, f"{host}:{port}", connection.guarded_secret, _left(deadline))
            except loopback_peers.PeerError as error:
                raise Refused(str(error)) from error
        if not connection.encrypted:
            _speak(raw, connection, host, deadline)
            return
        raw.settimeout(_left(deadline))
        try:
            with connection.ssl_context().wrap_socket(raw, server_hostname=host) as stream:
                _speak(stream, connection, host, deadline)
        except ssl.SSLCertVerificationError as error:
            raise Refused(tls.refused(error, "the broker's", connection.ca_cert)) from error
        except ssl.SSLError as error:
            # With TLS 1.3 a client's certificate is judged after the client's own part of the handshake is over.
            if "ALERT" in str(error.reason).upper() and "CERTIFICATE" in str(error.reason).upper():
                raise Refused(tls.client_refused(connection.client_cert)) from error
            raise Refused(f"the TLS handshake failed ({error.reason or error}); do both sides share a TLS version?") from error


def _speak(stream: socket.socket, connection: Connection, host: str, deadline: float) -> None:
    from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
    from kafka.protocol.parser import KafkaProtocol

    protocol = KafkaProtocol(client_id="streamops-kafka-recovery")
    protocol.receive_bytes = Frames(protocol).receive_bytes
    ask = partial(_ask, stream, protocol, deadline)
    ask(ApiVersionsRequest[0]())
    if connection.sasl:
        _log_in(ask, connection, host)
    ask(MetadataRequest[4](topics=[], allow_auto_topic_creation=False))


def _log_in(ask: Callable[[Any], Any], connection: Connection, host: str) -> None:
    from kafka.net.sasl import get_sasl_mechanism
    from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

    answer = ask(SaslHandshakeRequest[1](mechanism=connection.sasl_mechanism))
    if answer.error_code == ILLEGAL_SASL_STATE:
        raise Refused(f"this listener takes no login; set security_protocol to {'SSL' if connection.encrypted else 'PLAINTEXT'}")
    if answer.error_code == UNSUPPORTED_MECHANISM:
        raise Refused(
            f"this listener takes no {connection.sasl_mechanism}; set sasl_mechanism to one of {', '.join(answer.mechanisms)}", True
        )
    mechanism = get_sasl_mechanism(connection.sasl_mechanism)(host=host, **connection.for_kafka_python())
    for _round in range(SASL_ROUNDS):
        answer = ask(SaslAuthenticateRequest[1](auth_bytes=mechanism.auth_bytes()))
        if answer.error_code:
            raise Refused(f"the login was refused; check {_login_options(connection)} (the broker said: {answer.error_message})", True)
        try:
            mechanism.receive(answer.auth_bytes)
        except scram.ChallengeError as error:
            raise Refused(f"the login is not answered: {error}", True) from error
        except (ValueError, KeyError, TypeError) as error:  # SCRAM proves that the broker knows the password, too
            raise Refused(f"the broker cannot prove that it knows the password of sasl_username: {error}", True) from error
        if mechanism.is_done():
            return
    raise Refused(f"the login does not come to an end within {SASL_ROUNDS} rounds; is this port a Kafka broker's?", True)


def _login_options(connection: Connection) -> str:
    if connection.sasl_mechanism == "OAUTHBEARER":
        return "sasl_oauth_client_id, sasl_oauth_scope and whether the brokers trust the tokens of sasl_oauth_token_endpoint"
    return "sasl_username, sasl_password and sasl_mechanism"


def _left(deadline: float) -> float:
    """Seconds until then. TimeoutError if there are none."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _ask(stream: socket.socket, protocol: Any, deadline: float, request: Any) -> Any:
    from kafka.errors import KafkaError

    protocol.send_request(request)
    stream.settimeout(_left(deadline))
    stream.sendall(protocol.send_bytes())
    while True:
        stream.settimeout(_left(deadline))  # a broker may send its answer byte by byte
        received = stream.recv(CHUNK)
        if not received:
            raise Refused("the broker hangs up; check security_protocol, and whether its listener wants a login (SASL)")
        try:
            answers = protocol.receive_bytes(received)
        except KafkaError as error:
            raise Refused(f"{error}; is this port a Kafka broker's?") from error
        for _correlation_id, answer in answers:
            return answer
