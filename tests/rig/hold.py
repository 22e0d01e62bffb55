"""Holding a starting broker at a certain point, for as long as one likes."""

import errno
import os
import time

from rig.config import Node
from rig.errors import RigError

RELEASE_SECONDS = 60.0


class Hold:
    """Replaces a file that a broker reads when it begins to load its logs by a pipe, which blocks the reader until someone writes.

    At that point the broker is registered and fetches the metadata log, and it is not unfenced before its logs are loaded.
    """

    def __init__(self, node: Node) -> None:
        """Call it while the broker is down."""
        self._node = node
        self._path = node.data_dir / "recovery-point-offset-checkpoint"
        self._content = self._path.read_bytes()
        self._path.unlink()
        os.mkfifo(self._path)

    def release(self) -> None:
        """Put the file back and give its content to the broker that waits for it."""
        deadline = time.monotonic() + RELEASE_SECONDS
        while True:
            try:
                pipe = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
                break
            except OSError as problem:
                if problem.errno != errno.ENXIO:  # no reader yet
                    raise
                if time.monotonic() > deadline:
                    raise RigError(f"{self._node.name} never came to load its logs, see {self._node.log_file}") from problem
                time.sleep(0.05)
        whole = self._path.with_suffix(".whole")
        whole.write_bytes(self._content)
        whole.rename(self._path)
        with os.fdopen(pipe, "wb") as writer:
            writer.write(self._content)
