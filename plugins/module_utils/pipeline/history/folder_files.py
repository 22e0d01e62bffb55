# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the history tables in a local folder: one writer at a time, which holds a lock. The rename of the manifest is the commit."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import time
import uuid
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    private_directory,
    read_regular,
    refuse_link,
    write_private,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now

MANIFEST, STAGING = "manifest.json", "_staging"
DATA_FILES = "cluster=*/date=*/*.parquet"


class FolderFiles:
    """The files below `root`. `patience`: seconds for which a writer waits for another one."""

    def __init__(self, root: Path, patience: float) -> None:
        self._root = root
        self._manifest = root / MANIFEST
        self._patience = patience

    def read(self) -> tuple[bytes | None, None]:
        """Return the content of the manifest, None if there is none yet. Raises OSError if it cannot be read, FileError if it is a link."""
        refuse_link(self._manifest)
        try:
            return read_regular(self._manifest, follow=False), None
        except FileNotFoundError:
            return None, None

    def replace(self, content: bytes, _version: None) -> bool:
        """Replace the manifest."""
        write_private(self._manifest, content)
        return True

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Lock out other writers, and yield a private folder in which files are staged. Raises RecoveryError if another writer has the lock too long."""
        private_directory(self._root)
        with self._locked():
            folder = self._root / STAGING / uuid.uuid4().hex
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of writers. The kernel releases the lock of a killed process."""
        path = self._root / ".lock"
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+") as stream:
            deadline = time.monotonic() + self._patience
            while True:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError as error:
                    if time.monotonic() >= deadline:
                        raise RecoveryError(
                            f"another run writes the history tables in {self._root} ({stream.read(200) or 'its process is not known'}): "
                            "run again when it has ended"
                        ) from error
                    time.sleep(min(0.2, self._patience))
            stream.truncate(0)
            stream.write(f"process {os.getpid()} on {socket.gethostname()} since {utc_now()}")
            stream.flush()
            yield

    def sweep(self, known: Collection[str]) -> None:
        """Remove what a killed writer has left: files that it staged, and those that it moved without a commit. `known`: the paths in the manifest."""
        staging = self._root / STAGING
        left = list(staging.iterdir()) if staging.is_dir() else []
        if left:
            for path in self._root.glob(f"*/{DATA_FILES}"):
                if str(path.relative_to(self._root)) not in known:
                    path.unlink()
            for folder in left:
                shutil.rmtree(folder, ignore_errors=True)

    def orphans(self) -> Collection[str]:
        """Return nothing: with the lock held, `sweep` removes them."""
        return ()

    @staticmethod
    def staged(folder: Path) -> list[Path]:
        """Return the files of a table that Spark has staged in `folder`."""
        return sorted(folder.glob(DATA_FILES))

    def publish(self, staged: Path, path: str) -> None:
        """Move a staged file to its final `path`, private and durable."""
        target = self._root / path
        for folder in (target.parents[2], target.parents[1], target.parent):
            private_directory_quickly(folder)
        with staged.open("rb") as stream:
            os.fchmod(stream.fileno(), 0o600)
            os.fsync(stream.fileno())
        staged.rename(target)

    def all_exist(self, paths: Iterable[str]) -> bool:
        """Return whether all of these data files exist."""
        return all((self._root / path).exists() for path in paths)

    def remove(self, paths: Iterable[str]) -> None:
        """Remove data files, which may be missing."""
        for path in paths:
            file = self._root / path
            file.unlink(missing_ok=True)
            with suppress(OSError):  # it has other files, or does not exist
                file.parent.rmdir()

    def local(self, paths: Iterable[str]) -> list[Path]:
        """Return where this process reads data files."""
        return [self._root / path for path in paths]

    @staticmethod
    def now() -> float:
        """Return the time in seconds since 1970."""
        return time.time()


def private_directory_quickly(path: Path) -> None:
    """Create a directory with mode 0700 in an existing one that has been checked. Unlike `private_directory` it does no trial write.

    Raises OSError if it cannot be created.
    """
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
        path.chmod(0o700)
