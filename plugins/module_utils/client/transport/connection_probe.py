# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes one connection step by step, TLS and then SASL, so that the error can name the step that fails.

kafka-python loses the reason: a broker sends why a login failed and closes the connection at once, and kafka-python drops data that
arrives together with the end of a connection.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import addresses, loopback_peers, scram, tls
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.kafka_python import Frames
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import quoted

CHUNK = 1 << 16
UNSUPPORTED_MECHANISM, ILLEGAL_SASL_STATE = 33, 34
# SCRAM needs two, OAUTHBEARER with an error two, the others one.
SASL_ROUNDS = 4
# What an answer names before any login is bounded: anything may have given it.
MECHANISM = re.compile(r"[A-Z0-9_-]{1,40}")
MOST_MECHANISMS = 10


class ProbeError(Exception):
    """A step of the connection failed; the text names it and the remedy. `credentials`: the login failed, which other brokers would refuse, too."""

    def __init__(self, text: str, credentials: bool = False) -> None:
        super().__init__(text)
        self.credentials = credentials


def probe(connection: Connection, host: str, port: int, seconds: float) -> None:
    """Connect and log in with these options, within `seconds`. ProbeError for a step that fails, OSError if nothing answers."""
    deadline = time.monotonic() + seconds
    if refusal := connection.plaintext_refusal([f"{host}:{port}"]):
        raise ProbeError(refusal)
    with addresses.connect(host, port, seconds) as raw:
        if connection.guarded_secret:
            try:
                loopback_peers.check(raw, f"{host}:{port}", connection.guarded_secret, _left(deadline))
            except loopback_peers.PeerError as error:
                raise ProbeError(str(error)) from error
        if not connection.encrypted:
            _exchange(raw, connection, host, deadline)
            return
        raw.settimeout(_left(deadline))
        try:
            with connection.ssl_context().wrap_socket(raw, server_hostname=host) as stream:
                _exchange(stream, connection, host, deadline)
        except ssl.SSLCertVerificationError as error:
            raise ProbeError(tls.refused(error, "the broker's", connection.ca_cert)) from error
        except ssl.SSLError as error:
            # With TLS 1.3 the server checks a client's certificate after the client's part of the handshake is over.
            if "ALERT" in str(error.reason).upper() and "CERTIFICATE" in str(error.reason).upper():
                raise ProbeError(tls.client_refused(connection.client_cert)) from error
            raise ProbeError(f"the TLS handshake failed ({error.reason or error}); do both sides share a TLS version?") from error


def _exchange(stream: socket.socket, connection: Connection, host: str, deadline: float) -> None:
    from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
    from kafka.protocol.parser import KafkaProtocol

    protocol = KafkaProtocol(client_id="streamops-kafka-recovery")
    protocol.receive_bytes = Frames(protocol).receive_bytes
    send = partial(_send, stream, protocol, deadline)
    send(ApiVersionsRequest[0]())
    if connection.mechanism:
        _log_in(send, connection, connection.mechanism.login, host)
    send(MetadataRequest[4](topics=[], allow_auto_topic_creation=False))


def _log_in(send: Callable[[Any], Any], connection: Connection, login_options: str, host: str) -> None:
    from kafka.net.sasl import get_sasl_mechanism
    from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

    answer = send(SaslHandshakeRequest[1](mechanism=connection.sasl_mechanism))
    if answer.error_code == ILLEGAL_SASL_STATE:
        raise ProbeError(f"this listener does not support SASL; set security_protocol to {'SSL' if connection.encrypted else 'PLAINTEXT'}")
    if answer.error_code == UNSUPPORTED_MECHANISM:
        offered = ", ".join(list(filter(MECHANISM.fullmatch, answer.mechanisms))[:MOST_MECHANISMS])
        raise ProbeError(
            f"this listener does not support {connection.sasl_mechanism}; set sasl_mechanism to one of {offered or 'none'}", True
        )
    mechanism = get_sasl_mechanism(connection.sasl_mechanism)(host=host, **connection.for_kafka_python())
    for _round in range(SASL_ROUNDS):
        answer = send(SaslAuthenticateRequest[1](auth_bytes=mechanism.auth_bytes()))
        if answer.error_code:
            raise ProbeError(f"the login was refused; check {login_options} (the broker's message: {quoted(answer.error_message)})", True)
        try:
            mechanism.receive(answer.auth_bytes)
        except scram.ChallengeError as error:
            raise ProbeError(f"the login is not answered: {error}", True) from error
        except (ValueError, KeyError, TypeError) as error:  # SCRAM proves that the broker knows the password, too
            raise ProbeError(f"the broker cannot prove that it knows the password of sasl_username: {error}", True) from error
        if mechanism.is_done():
            return
    raise ProbeError(f"the login does not end within {SASL_ROUNDS} rounds; is this port a Kafka broker's?", True)


def _left(deadline: float) -> float:
    """Return the seconds until the deadline. TimeoutError if there are none."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _send(stream: socket.socket, protocol: Any, deadline: float, request: Any) -> Any:
    from kafka.errors import KafkaError

    protocol.send_request(request)
    stream.settimeout(_left(deadline))
    stream.sendall(protocol.send_bytes())
    while True:
        stream.settimeout(_left(deadline))  # a broker may send its answer byte by byte
        received = stream.recv(CHUNK)
        if not received:
            raise ProbeError("the broker closed the connection; check security_protocol, and whether its listener requires a login (SASL)")
        try:
            answers = protocol.receive_bytes(received)
        except KafkaError as error:
            raise ProbeError(f"{error}; is this port a Kafka broker's?") from error
        for _correlation_id, answer in answers:
            return answer
