"""Ports that stay a cluster's own, also while its broker is down."""

import fcntl
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

from rig.errors import RigError

BLOCK = 64
# Below the ephemeral ranges of Linux and macOS: a port of a killed broker must not become the source port of some client.
FIRST, LAST = 20000, 32000
LOCKS = "streamops-kafka-rig-ports"  # in the folder of temporary files; stays, for all rigs of the machine


class PortBlock:
    """A range of ports that other rigs on this machine keep away from, as long as the lock file is held open."""

    def __init__(self) -> None:
        locks = Path(tempfile.gettempdir()) / LOCKS
        locks.mkdir(mode=0o777, exist_ok=True)
        with suppress(PermissionError):  # made by another user, who opened it for all
            locks.chmod(0o777)
        for first in range(FIRST, LAST - BLOCK, BLOCK):
            try:
                self._lock = (locks / str(first)).open("w")
            except PermissionError:
                continue
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._lock.close()
                continue
            self._free = [port for port in range(first, first + BLOCK) if _is_free(port)]
            return
        raise RigError(f"no free block of ports between {FIRST} and {LAST}: are old rigs still running?")

    @property
    def lock_fd(self) -> int:
        return self._lock.fileno()

    def take(self) -> int:
        """The next free port of the block."""
        if not self._free:
            raise RigError(f"a cluster has at most {BLOCK} listeners")
        return self._free.pop(0)

    def release(self) -> None:
        self._lock.close()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Java does: a port in TIME_WAIT is free
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
