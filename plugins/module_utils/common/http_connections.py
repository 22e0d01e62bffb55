# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections of an HTTP server that anyone can reach: a deadline for each, a limit for all, and old ones make room for new ones."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable

BACKLOG = 128
IPV6_NETWORK_BYTES = 8  # a /64: one sender usually has all of its addresses
PAUSE_SECONDS = 0.1  # until the next attempt if the process has no file descriptor left

logger = logging.getLogger("streamops.kafka_recovery.webhook")


async def listen(host: str, port: int) -> list[socket.socket]:
    """Return non-blocking sockets that listen on `port`, one for each address of `host` that this machine has.

    Raises OSError if `host` cannot be resolved, if this machine has none of its addresses, or if the port is in use.
    """
    resolved = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    listeners: list[socket.socket] = []
    for family, address in sorted({(family, address) for family, _kind, _protocol, _name, address in resolved}):
        try:
            listeners.append(socket.create_server(address, family=family, backlog=BACKLOG))
        except OSError as error:
            if listeners and error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):  # localhost is ::1, too, on machines without IPv6
                continue
            for listener in listeners:
                listener.close()
            raise
        listeners[-1].setblocking(False)
    return listeners


class _Connection(asyncio.Protocol):
    """Forwards all calls to the server's own protocol. `lost`: a future that is done when the connection has ended."""

    def __init__(self, inner: asyncio.Protocol) -> None:
        self._inner = inner
        self.transport: asyncio.BaseTransport | None = None
        self.lost = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._inner.connection_lost(exc)
        if not self.lost.done():
            self.lost.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()


class _Unauthenticated(NamedTuple):
    """A connection whose sender has not authenticated yet."""

    connection: _Connection
    deadline: asyncio.Timeout
    holder: str | bytes


def holder(address: str) -> str | bytes:
    """Return the key by which connections of one sender are counted: its IPv4 address as text, or its IPv6 network (/64) as bytes."""
    if ":" not in address:
        return address
    return ipaddress.IPv6Address(address.partition("%")[0]).packed[:IPV6_NETWORK_BYTES]


class Connections:
    """Accepts at most `most` connections at once, and gives each `seconds` from the TLS handshake to the end of its request.

    Beyond `most`, a connection whose sender has not authenticated (`trust`) makes room for a new one: the oldest one of the address that has
    the most of them. So incomplete requests never keep a complete one out, and a flood from one address ends its own connections. If all
    senders have authenticated, the new connection is closed.
    """

    def __init__(self, context: ssl.SSLContext | None, most: int, seconds: float) -> None:
        self._context, self._most, self._seconds = context, most, seconds
        self._tasks: set[asyncio.Task[None]] = set()
        self._unauthenticated: dict[asyncio.Task[None], _Unauthenticated] = {}  # the oldest first

    def trust(self, transport: asyncio.BaseTransport | None) -> None:
        """Mark the sender as authenticated: neither the deadline nor another connection ends this connection."""
        for task, stranger in list(self._unauthenticated.items()):
            if stranger.connection.transport is transport:
                if not stranger.deadline.expired():
                    stranger.deadline.reschedule(None)
                del self._unauthenticated[task]

    async def serve(self, listener: socket.socket, server: Callable[[], asyncio.Protocol]) -> None:
        """Accept connections until the task is cancelled, then close all of them. `server` makes a protocol for each connection.

        An error of one connection is logged, and ends only that connection.
        """
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    accepted, address = await loop.sock_accept(listener)
                except OSError as error:
                    logger.warning("cannot accept a connection: %s", error.strerror)
                    await asyncio.sleep(PAUSE_SECONDS)
                    continue
                if len(self._tasks) >= self._most and not self._make_room(holder(str(address[0]))):
                    accepted.close()
                    continue
                task = loop.create_task(self._hold(accepted, str(address[0]), server()))
                self._tasks.add(task)
                task.add_done_callback(self._forget)
                await asyncio.sleep(0)  # lets the task begin: sock_accept does not wait while there is something to accept
        finally:
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _make_room(self, newcomer: str | bytes) -> bool:
        """Close a connection to make room for one of sender `newcomer`. False if none may be closed."""
        if not self._unauthenticated:
            return False
        held = Counter(stranger.holder for stranger in self._unauthenticated.values())
        if newcomer in held:
            held[newcomer] += 1
        most = max(held.values())
        oldest = next(task for task, stranger in self._unauthenticated.items() if held[stranger.holder] == most)
        oldest.cancel()
        self._forget(oldest)
        return True

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._unauthenticated.pop(task, None)

    async def _hold(self, accepted: socket.socket, peer: str, protocol: asyncio.Protocol) -> None:
        """Serve one connection, from the handshake until it is lost."""
        task, connection = asyncio.current_task(), _Connection(protocol)
        assert task is not None
        try:
            async with asyncio.timeout(self._seconds) as deadline:
                self._unauthenticated[task] = _Unauthenticated(connection, deadline, holder(peer))
                connect = asyncio.get_running_loop().connect_accepted_socket
                await connect(
                    lambda: connection, accepted, ssl=self._context, ssl_handshake_timeout=self._seconds if self._context else None
                )
                await connection.lost
        except TimeoutError:
            logger.warning("closed a connection from %s: no whole request within %g s", peer, self._seconds)
        except OSError as error:  # a TLS handshake that fails, for example
            logger.warning("closed a connection from %s: %s", peer, printable(str(error)))
        finally:
            if isinstance(connection.transport, asyncio.WriteTransport):
                connection.transport.abort()
            else:
                accepted.close()
