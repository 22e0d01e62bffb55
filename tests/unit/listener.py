# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of another user at the port of a Spark server: one listens on a port that a server has, or had, and keeps all that it is sent; one
connects."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

NOBODY = 65534
# Another user where the test may become one. Elsewhere another process of the same user, which is not to be taken for the server either.
OTHER = NOBODY if os.geteuid() == 0 else os.geteuid()
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, DATA = 1, 0
# A gRPC client sends its first request once it has the SETTINGS of the server.
SETTINGS = bytes(3) + bytes([4]) + bytes(5)
# The first line is the port, the rest is what was received.
SCRIPT = """
import os, socket, sys
host, port, uid, greeting = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), bytes.fromhex(sys.argv[4])
if uid != os.geteuid():
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
server = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
print(server.getsockname()[1], flush=True)
while True:
    client = server.accept()[0]
    try:
        client.sendall(greeting)
        while data := client.recv(65536):
            sys.stdout.buffer.write(data)
            sys.stdout.flush()
    except OSError:
        pass
"""


def command(host: str, port: int, uid: int, greeting: bytes = SETTINGS) -> list[str]:
    """The command line of such a process. `port`: 0 is any free one. `greeting`: what a client is sent at once."""
    return [sys.executable, "-c", SCRIPT, host, str(port), str(uid), greeting.hex()]


class Listener:
    """Of one test."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process, self.port = process, port

    def received(self) -> bytes:
        """End it and return what it was sent."""
        self.process.kill()
        return self.process.communicate()[0]


@contextmanager
def listener(host: str = "127.0.0.1", port: int = 0, uid: int = OTHER, greeting: bytes = SETTINGS) -> Iterator[Listener]:
    """Run one."""
    with subprocess.Popen(command(host, port, uid, greeting), stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield Listener(process, int(process.stdout.readline()))
        finally:
            process.kill()


# What another user may not be able to read is imported before.
def frames(received: bytes) -> set[int]:
    """The types of the HTTP/2 frames of one connection."""
    found, left = set(), received.removeprefix(PREFACE)
    while len(left) >= 9:
        found.add(left[3])
        left = left[9 + int.from_bytes(left[:3], "big") :]
    return found
