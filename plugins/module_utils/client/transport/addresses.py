# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resolves and connects to host names within a time limit. The system's resolver has no limit, so threads call it."""

from __future__ import annotations

import errno
import ipaddress
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.socket_users import ADDRESS

# At once. A resolver that hangs blocks its thread, and later names wait for a free one.
THREADS = 100
Address = tuple[Any, ...]  # as socket.getaddrinfo returns it
# Errors of a machine without addresses, or without a route, of a family.
NO_FAMILY = (errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class Resolver:
    """Resolves many names at once, in daemon threads. It may be used from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._names: deque[tuple[str, int, Future[list[Address]]]] = deque()
        self._threads = 0

    def lookup(self, host: str, port: int) -> Future[list[Address]]:
        """Return a future of the addresses. A caller that stops waiting for it cancels it."""
        pending: Future[list[Address]] = Future()
        if _is_number(host):
            _look_up(host, port, pending)
            return pending
        with self._guard:
            self._names.append((host, port, pending))
            if self._threads < THREADS:
                self._threads += 1
                threading.Thread(target=self._work, daemon=True).start()
        return pending

    def resolve(self, host: str, port: int, seconds: float) -> list[Address]:
        """Return the addresses of a host. socket.gaierror if there are none within `seconds`."""
        return lookup_result(host, self.lookup(host, port), seconds)

    def _work(self) -> None:
        while True:
            with self._guard:
                if not self._names:
                    self._threads -= 1
                    return
                host, port, pending = self._names.popleft()
            if pending.set_running_or_notify_cancel():
                _look_up(host, port, pending)


def lookup_result(host: str, lookup: Future[list[Address]], seconds: float = 0.0) -> list[Address]:
    """Return the addresses of `host` from a lookup. socket.gaierror if it is not done within another `seconds`."""
    try:
        return lookup.result(seconds)
    except TimeoutError as error:
        lookup.cancel()
        raise socket.gaierror(socket.EAI_AGAIN, "the resolver does not answer in time") from error


def connect(host: str, port: int, seconds: float) -> socket.socket:
    """Resolve a name and connect, within `seconds` in total. socket.gaierror, TimeoutError or another OSError if that fails."""
    deadline = time.monotonic() + seconds
    addresses = Resolver().resolve(host, port, seconds)
    return connect_to(addresses, deadline - time.monotonic())


def connect_to(addresses: Sequence[Address], seconds: float) -> socket.socket:
    """Connect to the first of these addresses that accepts, within `seconds` in total.

    TimeoutError or another OSError if none does; ConnectionRefusedError only if all of them refuse. Addresses of a family of which this machine reaches
    none (IPv6 on a machine that has only IPv4) do not count beside others.
    """
    deadline = time.monotonic() + seconds
    failures: list[tuple[int, OSError]] = []
    for number, (family, kind, protocol, _name, address) in enumerate(addresses):
        share = (deadline - time.monotonic()) / (len(addresses) - number)
        if share <= 0:
            break
        try:
            return _connected(socket.socket(family, kind, protocol), address, share)
        except OSError as error:
            failures.append((family, error))
    if len(failures) < len(addresses) or not failures:
        raise TimeoutError("timed out")
    reached = {family for family, error in failures if error.errno not in NO_FAMILY}
    counted = [error for family, error in failures if family in reached or not reached]
    raise next((error for error in counted if not isinstance(error, ConnectionRefusedError)), counted[-1])


def _connected(stream: socket.socket, address: Any, seconds: float) -> socket.socket:
    try:
        stream.settimeout(seconds)
        stream.connect(address)
    except OSError:
        stream.close()
        raise
    return stream


def _look_up(host: str, port: int, pending: Future[list[Address]]) -> None:
    try:
        pending.set_result(_preferred(host, socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
    except Exception as error:  # an invalid name raises ValueError or OverflowError
        pending.set_exception(error)


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _preferred(host: str, addresses: list[Address]) -> list[Address]:
    # A server and another user's process can have the same port, one on 127.0.0.1 and one on ::1.
    return sorted(addresses, key=lambda address: address[4][0] != ADDRESS) if host.lower() == "localhost" else addresses
