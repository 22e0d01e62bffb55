# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why an address does not answer as Kafka: asked with plain sockets, so that the error can name the remedy."""

from __future__ import annotations

import socket
import ssl

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.connection import Connection

KNOCK_SECONDS = 1.0


def port_answers(host: str, port: int) -> bool:
    """Whether something accepts connections there. Enough for a doubt: a broker that is silent may be coming back."""
    try:
        with socket.create_connection((host, port), timeout=KNOCK_SECONDS):
            return True
    except OSError:
        return False


def explain(connection: Connection, error: Exception) -> str:
    """Return what is wrong with the bootstrap servers, address by address, and what to do about it."""
    reasons = [f"{server}: {_why(server, connection)}" for server in connection.bootstrap_servers]
    said = str(error) or type(error).__name__
    return (
        f"no bootstrap server answered (request_timeout {connection.request_timeout:g} s): {'; '.join(reasons)} (the client said: {said})"
    )


def _why(server: str, connection: Connection) -> str:
    host, _, port = server.rpartition(":")
    host = host.strip("[]")
    try:
        with socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS):
            pass
    except socket.gaierror as error:
        return f"the name {host} cannot be resolved ({error.strerror}); correct bootstrap_servers"
    except TimeoutError:
        return "no connection within the time limit; is the address right, and is a firewall in between?"
    except OSError as error:
        return f"{error.strerror or error}; is a broker running there, and is it this port?"
    tls = _speaks_tls(host, int(port))
    if tls and not connection.encrypted:
        return f"the port speaks TLS but security_protocol is {connection.security_protocol}; set SSL or SASL_SSL"
    if connection.encrypted and not tls:
        return f"the port does not speak TLS but security_protocol is {connection.security_protocol}; set PLAINTEXT or SASL_PLAINTEXT"
    return "the port accepts connections but gives no Kafka answer; check security_protocol, the SASL options and whether the broker hangs"


def _speaks_tls(host: str, port: int) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with socket.create_connection((host, port), timeout=KNOCK_SECONDS) as raw, context.wrap_socket(raw, server_hostname=host):
            return True
    except ssl.SSLError as error:
        # An alert (a client certificate is wanted, say) is TLS too; anything else that is not TLS is called so.
        return "ALERT" in str(error).upper()
    except OSError:
        return False
