# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends secrets over plain text on loopback only to processes of root and of this user: any user of this host may listen on a free port."""

from __future__ import annotations

import ipaddress
import socket
import time
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import socket_users
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.plaintext import REMEDY

POLL_SECONDS = 0.01
# A local process accepts within milliseconds. One that takes longer may be on another machine or in its own network namespace.
ACCEPT_SECONDS = 2.0


class PeerError(RecoveryError):
    """The secret must not be sent over this connection; the text says why."""


class Secret(NamedTuple):
    """The name of a secret that would be sent unencrypted, and the setting that encrypts it."""

    name: str
    instead: str


def trusted(stream: socket.socket, server: str, secret: Secret) -> bool:
    """Return whether a process of root or of this user has accepted the connection; False until a process has accepted it.

    PeerError if the other end is another machine or another user's process.
    """
    if not ipaddress.ip_address(stream.getpeername()[0].partition("%")[0]).is_loopback:
        raise _refused(f"{server} is an address of another machine", secret)
    try:
        user = socket_users.accepted_by(stream)
    except OSError as error:
        raise _refused(f"only Linux shows whose process listens on {server}: another user's may", secret) from error
    if user is None:
        return False
    if socket_users.strangers({user}):
        raise _refused(f"another user (uid {user}) listens on {server}", secret)
    return True


def unknown(server: str, secret: Secret) -> PeerError:
    """Return the error for a listening process that is not found in time."""
    return _refused(f"the user whose process listens on {server} is not found (no process of this machine accepts the connection)", secret)


def check(stream: socket.socket, server: str, secret: Secret, seconds: float) -> None:
    """Wait at most `seconds` until the process at the other end is known. PeerError if the secret must not be sent to it."""
    deadline = time.monotonic() + min(seconds, ACCEPT_SECONDS)
    while not trusted(stream, server, secret):
        if time.monotonic() > deadline:
            raise unknown(server, secret)
        time.sleep(POLL_SECONDS)


def _refused(reason: str, secret: Secret) -> PeerError:
    return PeerError(f"{reason} and could read the {secret.name}: use {secret.instead}, {REMEDY}")
