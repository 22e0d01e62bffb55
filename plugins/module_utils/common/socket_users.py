# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the users of processes at a loopback address and port, from /proc/net (Linux). Any user of this host may listen on a free port."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

ADDRESS = "127.0.0.1"
ROOT, UNKNOWN = 0, -1
ESTABLISHED, LISTEN = "01", "0A"
TABLES = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
End = tuple[str, int]


class Socket(NamedTuple):
    """A TCP socket. `inode` is 0 for a connection that no process has accepted yet: its `user` is then unknown."""

    local: End
    remote: End
    state: str
    user: int
    inode: int


def loopback_address(host: str) -> str | None:
    """Return the loopback address by which `host` is reached, None if it is another machine or cannot be resolved."""
    if host == "localhost":
        return ADDRESS  # never ::1: a server and another user's process can have the same port, one on each address
    with suppress(OSError, UnicodeError):
        for *_, end in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM):
            address = ipaddress.ip_address(str(end[0]).partition("%")[0])
            address = getattr(address, "ipv4_mapped", None) or address
            if address.is_unspecified:
                return ADDRESS if address.version == 4 else "::1"
            if address.is_loopback:
                return str(address)
    return None


def listening(address: str, port: int) -> set[int]:
    """Return the ids of users whose processes listen on `port` of that IP address, or of all addresses. Raises OSError without /proc/net."""
    where = {(any_or_this, port) for any_or_this in (address, "0.0.0.0", "::")}
    return {row.user for row in _sockets() if row.state == LISTEN and row.local in where}


def connected_to_own(address: str, port: int) -> bool:
    """Return whether this process is connected to that IP address and port, and only to processes of this user or root.

    False if the owner of the other end is unknown. Raises OSError without /proc/net.
    """
    own = set(_own_inodes())
    connections = [row for row in _sockets() if row.state == ESTABLISHED and row.inode]
    users = {(row.local, row.remote): row.user for row in connections}
    others = {users.get((row.remote, row.local), UNKNOWN) for row in connections if row.inode in own and row.remote == (address, port)}
    return bool(others) and not strangers(others)


def accepted_by(connection: socket.socket) -> int | None:
    """Return the id of the user whose process accepted this loopback connection, None until one has. Raises OSError without /proc/net."""
    ends = _plain(connection.getpeername()), _plain(connection.getsockname())
    return next((row.user for row in _sockets() if row.state == ESTABLISHED and row.inode and (row.local, row.remote) == ends), None)


def strangers(users: set[int]) -> set[int]:
    """Return the ids of the users who are neither this process's user nor root."""
    return users - {ROOT, os.geteuid()}


def _own_inodes() -> Iterator[int]:
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            target = str(file.readlink())
            if target.startswith("socket:["):
                yield int(target[8:-1])


def _sockets() -> Iterator[Socket]:
    for table in TABLES:
        if table is TABLES[0] or table.exists():  # a kernel without IPv6 has no second table
            for line in table.read_text().splitlines()[1:]:
                _number, local, remote, state, _queues, _timer, _retransmits, user, _timeout, inode, *_ = line.split()
                yield Socket(_end(local), _end(remote), state, int(user), int(inode))


def _plain(name: tuple[Any, ...]) -> End:
    address = ipaddress.ip_address(name[0].partition("%")[0])
    return str(getattr(address, "ipv4_mapped", None) or address), name[1]


def _end(text: str) -> End:
    """Return an address and port. The kernel writes an address as 32-bit numbers in the byte order of this machine."""
    digits, _colon, port = text.partition(":")
    packed = b"".join(struct.pack("=I", int(digits[at : at + 8], 16)) for at in range(0, len(digits), 8))
    address = ipaddress.ip_address(packed)
    return str(getattr(address, "ipv4_mapped", None) or address), int(port, 16)
