# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides whether a connection would send a secret unencrypted to another machine. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

REMEDY = "or accept the risk: allow_plaintext_secrets (kafka_allow_plaintext_secrets: true)"


def on_loopback(host: str) -> bool:
    """Return whether data for `host` stays on this machine. Names other than localhost are not resolved: their address may change."""
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def broker_refusal(mechanism: str, secret: str, servers: Iterable[str]) -> str | None:
    """Return why a login over SASL_PLAINTEXT must not be sent to `servers` (each host:port), None if it may be sent.

    `secret`: what a login with this SASL mechanism sends.
    """
    for server in servers:
        if not on_loopback(server.rpartition(":")[0]):
            return f"security_protocol SASL_PLAINTEXT with {mechanism} sends the {secret} unencrypted to {server}: use SASL_SSL, {REMEDY}"
    return None


def endpoint_refusal(endpoint: str) -> str | None:
    """Return why a client secret must not be sent to the token endpoint, None if it may be sent."""
    if endpoint.startswith("https://") or on_loopback(urlsplit(endpoint).hostname or ""):
        return None
    return f"sasl_oauth_token_endpoint {endpoint} receives sasl_oauth_client_secret unencrypted: use https://, {REMEDY}"
