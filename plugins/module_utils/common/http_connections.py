# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections of an HTTP server that strangers can reach: a deadline for each, a cap on all, and none that keeps a new one out."""

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
IPV6_NETWORK_BYTES = 8  # a /64, which one sender usually has as a whole
PAUSE_SECONDS = 0.1  # until the next attempt when the process has no file descriptor left

logger = logging.getLogger("streamops.kafka_recovery.webhook")


async def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen on the addresses of `host` that this machine has. OSError if it has none, or if the port is taken."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    made: list[socket.socket] = []
    for family, address in sorted({(family, address) for family, _kind, _protocol, _name, address in found}):
        try:
            made.append(socket.create_server(address, family=family, backlog=BACKLOG))
        except OSError as error:
            if made and error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):  # localhost is ::1, too, on machines without IPv6
                continue
            for listener in made:
                listener.close()
            raise
        made[-1].setblocking(False)
    return made


class _Connection(asyncio.Protocol):
    """Passes everything on to the server's own protocol. `lost` is done when the connection is over."""

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


class _Stranger(NamedTuple):
    """A connection whose sender has not proved yet who it is."""

    connection: _Connection
    deadline: asyncio.Timeout
    holder: str | bytes


def holder(address: str) -> str | bytes:
    """What connections of one sender have in common: the address, of IPv6 its network."""
    if ":" not in address:
        return address
    return ipaddress.IPv6Address(address.partition("%")[0]).packed[:IPV6_NETWORK_BYTES]


class Connections:
    """Accepts at most `most` connections at once, and gives each `seconds` from the TLS handshake to the end of its request.

    Beyond `most`, a connection whose sender has not proved who it is (`trust`) makes room for a new one: the oldest one of the address that
    has the most of them. So many halves of requests never keep out a whole one, and a flood from one address ends its own connections. If
    all have proved it, the new one is closed.
    """

    def __init__(self, context: ssl.SSLContext | None, most: int, seconds: float) -> None:
        self._context, self._most, self._seconds = context, most, seconds
        self._tasks: set[asyncio.Task[None]] = set()
        self._strangers: dict[asyncio.Task[None], _Stranger] = {}  # the oldest first

    def trust(self, transport: asyncio.BaseTransport | None) -> None:
        """The sender has proved who it is: neither the deadline nor another connection ends this one."""
        for task, stranger in list(self._strangers.items()):
            if stranger.connection.transport is transport:
                if not stranger.deadline.expired():
                    stranger.deadline.reschedule(None)
                del self._strangers[task]

    async def serve(self, listener: socket.socket, server: Callable[[], asyncio.Protocol]) -> None:
        """Accept for `server`, which makes a protocol for each connection, until cancelled. Then close everything."""
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
        """Close a connection for one of `newcomer`. False if there is none that may be closed."""
        if not self._strangers:
            return False
        held = Counter(stranger.holder for stranger in self._strangers.values())
        if newcomer in held:
            held[newcomer] += 1
        most = max(held.values())
        oldest = next(task for task, stranger in self._strangers.items() if held[stranger.holder] == most)
        oldest.cancel()
        self._forget(oldest)
        return True

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._strangers.pop(task, None)

    async def _hold(self, accepted: socket.socket, peer: str, protocol: asyncio.Protocol) -> None:
        """One connection, from the handshake until it is lost."""
        task, connection = asyncio.current_task(), _Connection(protocol)
        assert task is not None
        try:
            async with asyncio.timeout(self._seconds) as deadline:
                self._strangers[task] = _Stranger(connection, deadline, holder(peer))
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
