# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks of files. The kernel releases a lock when the process ends, however it ends. In a workdir in a store the lock is a lease (see `mounts`)."""

from __future__ import annotations

import fcntl
import io
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.durable_names import sync_names
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, refuse_link

RETRY_SECONDS = 0.05


class LeasedFile(io.BufferedRandom):
    """A file of a workdir in a store, open on this machine. `lease`: its lock, which closing the file releases."""

    lease: mounts.Lease | None = None

    def close(self) -> None:
        """Close the file, and release its lock."""
        try:
            super().close()
        finally:
            lease, self.lease = self.lease, None
            if lease is not None:
                lease.release()


def opened(path: Path) -> IO[bytes]:
    """Open a file to read and write, and create it if it is missing. Its name is on the disk when this returns. Its mode becomes 0600.

    Raises FileError if it is a link or a pipe, or if it cannot be opened.
    """
    refuse_link(path)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        stream = LeasedFile(io.FileIO(handle, "r+")) if is_stored(path) else os.fdopen(handle, "r+b")
        os.fchmod(stream.fileno(), 0o600)
        if not is_stored(path):
            sync_names(path.parent)
    except (OSError, ValueError) as error:
        # ValueError: a pipe, which cannot be read and written at one place.
        raise FileError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error
    return stream


def locked(path: Path, stream: IO[bytes], seconds: float = 0.0) -> bool:
    """Wait at most `seconds` for an exclusive lock on an open file. Return whether it is locked now, until the stream is closed.

    `path`: its name in errors. Raises FileError if the file system has no locks. If another run has the lease of a file in a store, the file has the
    holder as JSON.
    """
    if isinstance(stream, LeasedFile):
        return _leased(path, stream, seconds)
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(RETRY_SECONDS)
        except OSError as error:
            raise FileError(f"cannot lock {path}: {error.strerror}; choose a workdir on a file system that has locks") from error


def is_stored(path: Path) -> bool:
    """Return whether a lock is a lease: the file, or a file for locks alone, is in a workdir in a store."""
    return mounts.mount_of(_visible(path)) is not None


def _visible(path: Path) -> Path:
    """Return the name that the lease of a lock goes by: a file for locks alone may have one that stays on this machine."""
    return path.parent / path.name.lstrip(mounts.LOCAL_PREFIX)


def may_be_locked(path: Path) -> bool:
    """Return False if no run can have a file locked, because it does not exist or was released."""
    mount = mounts.mount_of(path)
    return path.exists() if mount is None else not mount.lease(path).is_free()


def is_unlocked(path: Path, stream: IO[bytes], seconds: float = 0.0) -> bool:
    """Return whether no run that lives has an open file locked, which may be locked then as by `locked`.

    Of a file in a store the lease is not taken: a run that is only stalled must keep it. Then parameters and the content of the file are as `locked` has them.
    """
    if not isinstance(stream, LeasedFile):
        return locked(path, stream, seconds)
    lease = lease_of(path)
    if not lease.is_alive():
        return True
    _name_holder(stream, lease)
    return False


def lease_of(path: Path) -> mounts.Lease:
    """Return the lease that stands for the lock of a file in a store."""
    mount = mounts.mount_of(_visible(path))
    assert mount is not None  # `opened` has found it
    return mount.lease(_visible(path))


def _leased(path: Path, stream: LeasedFile, seconds: float) -> bool:
    lease = lease_of(path)
    if lease.acquire(seconds):
        stream.lease = lease
        return True
    _name_holder(stream, lease)
    return False


def _name_holder(stream: LeasedFile, lease: mounts.Lease) -> None:
    stream.truncate(0)
    stream.write(json.dumps(lease.holder()).encode())
    stream.flush()
    stream.seek(0)


def still_locked(stream: IO[bytes]) -> bool:
    """Return whether a file that was locked is locked still. Another run can take the lease of one that was stalled, and a kernel's lock never.

    A run that wakes up may see it a moment later: `confirmed` asks.
    """
    return not (isinstance(stream, LeasedFile) and stream.lease is not None and stream.lease.lost)


def confirmed(stream: IO[bytes]) -> bool:
    """Return whether a file that was locked is locked still. Asks the store if its lease was not renewed in time. Raises RecoveryError without an answer."""
    return not isinstance(stream, LeasedFile) or stream.lease is None or stream.lease.is_held()


def doubtful_seconds(stream: IO[bytes]) -> float:
    """Return for how long a run that had the lock of a file before, and seems to be dead, may still act because it was only stalled. 0 for none."""
    lease = stream.lease if isinstance(stream, LeasedFile) else None
    return 0.0 if lease is None else lease.doubtful_seconds()


@contextmanager
def held(path: Path, busy: str, seconds: float = 0.0) -> Iterator[IO[bytes]]:
    """Open a file, and hold its lock in the block. Raises FileError as `opened` does, and with the text `busy` if it is still locked after `seconds`."""
    with opened(path) as stream:
        if not locked(path, stream, seconds):
            raise FileError(busy)
        yield stream
