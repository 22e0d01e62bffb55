# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds out with plain sockets why an address does not answer as Kafka, so that the error can name the remedy."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Collection, Iterable, Sequence
from concurrent import futures

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport import addresses
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import is_address
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import Node

CONNECT_SECONDS = 1.0
# For the resolver of names, before the first connection is tried.
NAME_SECONDS = 5.0
CONCURRENT_CONNECTIONS = 100  # so the largest cluster takes some seconds, even if most of its brokers are down
HANDSHAKE_SECONDS = 5.0
ADDRESSES = 5  # that one message describes


def fenced_that_answer(nodes: Iterable[Node]) -> set[int]:
    """Return the ids of the fenced brokers among `nodes` whose port accepts connections: they may be coming back.

    It takes at most NAME_SECONDS (less if the caller's deadline is earlier), and CONNECT_SECONDS for each CONCURRENT_CONNECTIONS of them.
    """
    return {broker for broker, failed in _connection_failures([node for node in nodes if node.fenced]) if failed is None}


def that_refuse(nodes: Iterable[Node]) -> set[int]:
    """Return the ids of the brokers among `nodes` whose host refuses connections to their port: no process listens there. Time: as above.

    A broker may have several addresses, as brokers state them: then all of them must refuse.
    """
    failures = _connection_failures(nodes)
    return {broker for broker, _failed in failures} - {
        broker for broker, failed in failures if not isinstance(failed, ConnectionRefusedError)
    }


def _connection_failures(nodes: Iterable[Node]) -> list[tuple[int, OSError | None]]:
    """Return why no connection to these nodes could be made, None for one that was made, each after its broker's id. Invalid addresses are left out."""
    resolver = addresses.Resolver()
    valid = [node for node in nodes if is_address(node.host, node.port)]
    lookups = [resolver.lookup(node.host, node.port) for node in valid]
    futures.wait(lookups, deadline.at_most(NAME_SECONDS))
    with futures.ThreadPoolExecutor(max_workers=CONCURRENT_CONNECTIONS) as pool:
        return [(node.broker_id, failed) for node, failed in zip(valid, pool.map(_connection_failure, valid, lookups), strict=True)]


def _connection_failure(node: Node, lookup: futures.Future[list[addresses.Address]]) -> OSError | None:
    try:
        with addresses.connect_to(addresses.lookup_result(node.host, lookup), CONNECT_SECONDS):
            return None
    except OSError as error:
        return error


def explain(connection: Connection, error: Exception) -> str:
    """Return one sentence with the reason and the remedy for each bootstrap server. `error`: the client's error."""
    why = diagnose(connection, connection.bootstrap_servers, error)
    return (
        "no bootstrap server answered (bootstrap_servers, in an inventory kafka_bootstrap_servers; "
        f"request_timeout {connection.request_timeout:g} s): {why}"
    )


def diagnose(connection: Connection, servers: Collection[str], error: Exception) -> str:
    """Return the reasons why the first ADDRESSES of these servers do not answer, joined by semicolons.

    It takes at most another `request_timeout`, but always describes the first server. A login that one broker refuses is not tried on the
    next one: accounts get locked.
    """
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection_probe import (
        ProbeError,  # no other use of a connection needs it
    )

    end = time.monotonic() + connection.request_timeout
    findings: list[str] = []
    for place, server in enumerate(servers):
        if place == ADDRESSES or (findings and time.monotonic() > end):
            findings.append(f"{len(servers) - place} others were not checked")
            break
        try:
            findings.append(f"{server}: {_reason(server, connection, error)}")
        except ProbeError as refused:
            findings.append(f"{server}: {refused}")
            if refused.credentials:
                break
    return "; ".join(findings)


def _reason(server: str, connection: Connection, error: Exception) -> str:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection_probe import probe

    host, _colon, port = server.rpartition(":")
    host = host.strip("[]")
    if not is_address(host, int(port)):
        return "this is not a valid address; correct the broker's advertised.listeners"
    seconds = min(connection.request_timeout, HANDSHAKE_SECONDS)
    try:
        resolved = addresses.Resolver().resolve(host, int(port), seconds)
        with addresses.connect_to(resolved, CONNECT_SECONDS):
            pass
    except socket.gaierror as problem:
        return f"the name {host} cannot be resolved ({problem.strerror}); correct bootstrap_servers, or the brokers' advertised.listeners"
    except TimeoutError:
        return "no connection within the time limit; is the address right, and is a firewall in between?"
    except OSError as problem:
        return f"{problem.strerror or problem}; is a broker running there, and is it this port?"
    cause = str(error) or type(error).__name__
    silent = f"the port accepts connections but gives no Kafka answer ({cause}); check security_protocol, and whether the broker hangs"
    try:
        tls = _has_tls(host, resolved, seconds)
    except TimeoutError:
        return silent
    if tls and not connection.encrypted:
        return f"the port uses TLS but security_protocol is {connection.security_protocol}; set SSL or SASL_SSL"
    if connection.encrypted and not tls:
        return f"the port does not use TLS but security_protocol is {connection.security_protocol}; set PLAINTEXT or SASL_PLAINTEXT"
    try:
        probe(connection, host, int(port), seconds)
    except OSError:
        return silent
    return f"connecting works, but the answer did not come ({cause}); is the broker overloaded?"


def _has_tls(host: str, resolved: Sequence[addresses.Address], seconds: float) -> bool:
    """Return whether a port answers a TLS ClientHello with TLS. TimeoutError if it does not answer."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with addresses.connect_to(resolved, seconds) as raw, context.wrap_socket(raw, server_hostname=host):
            return True
    except ssl.SSLError as error:
        # An alert (for example that a client certificate is required) is TLS, too; all other errors mean that it is not.
        return "ALERT" in str(error).upper()
    except TimeoutError:
        raise
    except OSError:
        return False
