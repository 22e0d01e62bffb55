# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of nodes: resolved and connected to within a time limit. The system's resolver has none, so it is called in threads."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.socket_users import ADDRESS

# At once. A resolver that hangs keeps a thread for as long as it takes, and names that are asked for later wait for one.
THREADS = 100
Address = tuple[Any, ...]  # as socket.getaddrinfo returns it


class Resolver:
    """Resolves names, many at once. No thread of it keeps the process from ending. May be used from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._names: deque[tuple[str, int, Future[list[Address]]]] = deque()
        self._threads = 0

    def lookup(self, host: str, port: int) -> Future[list[Address]]:
        """Return the addresses to come. Whoever does not wait for them any longer cancels."""
        found: Future[list[Address]] = Future()
        if _is_number(host):
            _look_up(host, port, found)
            return found
        with self._guard:
            self._names.append((host, port, found))
            if self._threads < THREADS:
                self._threads += 1
                threading.Thread(target=self._work, daemon=True).start()
        return found

    def resolve(self, host: str, port: int, seconds: float) -> list[Address]:
        """Wait for the addresses. gaierror if there are none within `seconds`."""
        return taken(host, self.lookup(host, port), seconds)

    def _work(self) -> None:
        while True:
            with self._guard:
                if not self._names:
                    self._threads -= 1
                    return
                host, port, found = self._names.popleft()
            if found.set_running_or_notify_cancel():
                _look_up(host, port, found)


def taken(host: str, lookup: Future[list[Address]], seconds: float = 0.0) -> list[Address]:
    """The addresses of `host`, for which somebody has waited. gaierror if they do not come within another `seconds`."""
    try:
        return lookup.result(seconds)
    except TimeoutError as error:
        lookup.cancel()
        raise socket.gaierror(socket.EAI_AGAIN, "the resolver does not answer in time") from error


def connect(host: str, port: int, seconds: float) -> socket.socket:
    """Resolve a name and connect, within `seconds` in all. gaierror, TimeoutError or another OSError if that is not possible."""
    deadline = time.monotonic() + seconds
    addresses = Resolver().resolve(host, port, seconds)
    return connect_to(addresses, deadline - time.monotonic())


def connect_to(addresses: Sequence[Address], seconds: float) -> socket.socket:
    """Connect to the first of these addresses that answers, within `seconds` in all. TimeoutError or another OSError if none does."""
    deadline = time.monotonic() + seconds
    failed: OSError = TimeoutError("timed out")
    for number, (family, kind, protocol, _name, address) in enumerate(addresses):
        share = (deadline - time.monotonic()) / (len(addresses) - number)
        if share <= 0:
            break
        stream = socket.socket(family, kind, protocol)
        try:
            stream.settimeout(share)
            stream.connect(address)
            return stream
        except OSError as error:
            stream.close()
            failed = error
    raise failed


def _look_up(host: str, port: int, found: Future[list[Address]]) -> None:
    try:
        found.set_result(_preferred(host, socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
    except Exception as error:  # of a name that is none it is ValueError or OverflowError
        found.set_exception(error)


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _preferred(host: str, addresses: list[Address]) -> list[Address]:
    # A server and another user's process can have the same port, one on 127.0.0.1 and one on ::1.
    return sorted(addresses, key=lambda address: address[4][0] != ADDRESS) if host.lower() == "localhost" else addresses
