# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file of JSON lines that survives a kill: locked while it is open, each line on disk before what it announces is begun.

The kernel releases the lock when the process ends, however it ends. In a workdir in a store the lock is a lease (see `mounts`). A last line that was cut
off while it was written is dropped: what it announces had not begun.
"""

from __future__ import annotations

import fcntl
import io
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    FileError,
    TakenError,
    refuse_link,
    replacing,
)

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


class JournalBusy(RecoveryError):
    """Another process has the journal open: a run is in progress. The text names it."""


def opened(path: Path) -> IO[bytes]:
    """Open a file to read and write, and create it if it is missing. Its mode becomes 0600.

    Raises FileError if it is a link or a pipe, or if it cannot be opened.
    """
    refuse_link(path)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        stream = LeasedFile(io.FileIO(handle, "r+")) if is_stored(path) else os.fdopen(handle, "r+b")
        os.fchmod(stream.fileno(), 0o600)
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
    lease = _lease(path)
    if not lease.is_alive():
        return True
    _name_holder(stream, lease)
    return False


def _lease(path: Path) -> mounts.Lease:
    mount = mounts.mount_of(_visible(path))
    assert mount is not None  # `opened` has found it
    return mount.lease(_visible(path))


def _leased(path: Path, stream: LeasedFile, seconds: float) -> bool:
    lease = _lease(path)
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


def _line(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


class JournalFile:
    """Lines of JSON, read when the file is opened (as a context manager), and appended."""

    def __init__(self, path: Path, patience: float, busy: Callable[[], Exception], read_only: bool = False) -> None:
        """`patience`: seconds to wait for another process that has the file open. `busy`: the error if that was not enough.

        `read_only`: for check mode. The file stays as it is, also if it is missing, if a killed run has left half a line in it, or if lines are appended.
        """
        self.path = path
        self._read_only = read_only
        self._patience = patience
        self._busy = busy
        self._stream: IO[bytes]
        self._length = 0
        self._sure_at = -math.inf
        mount = mounts.mount_of(path)
        self._stored = None if mount is None else mount.journal(path)

    def outwait(self) -> bool:
        """Wait until a run that had the journal before, and may only be stalled, must have noticed that. Return False at once if there was none.

        The store refuses what that run writes, but Kafka does not refuse the one request that it was about to send. So after this, look at the cluster again.
        It counts whenever this object had the journal open, which need not be open now.
        """
        if self._sure_at == -math.inf:
            return False
        time.sleep(max(0.0, self._sure_at - time.monotonic()))
        return True

    def confirm(self) -> None:
        """Raise TakenError if another run has taken the journal because this one was stalled: for a request that no entry announces.

        Raises another RecoveryError if that cannot be known now.
        """
        if not confirmed(self._stream):
            raise TakenError(
                f"another run has taken {self.path} while this one was stalled: this one stops; run again when the other one has ended"
            )

    def is_sure_again(self) -> bool:
        """Return whether `outwait` would return True at once."""
        return -math.inf < self._sure_at <= time.monotonic()

    def note_doubt(self, seconds: float) -> None:
        """Note that an earlier run may still act for so long, as `doubtful_seconds` has it. `outwait` waits for it."""
        if seconds > 0:
            self._sure_at = max(self._sure_at, time.monotonic() + seconds)

    def fail_if_held(self) -> None:
        """Raise the error `busy` if the journal is open `read_only`, in a store, and a run that lives has it. On this machine it could not be opened then."""
        if self._read_only and self._stored is not None and _lease(self.path).is_alive():
            self._stream.seek(0)  # it names the other run
            raise self._busy()

    def __enter__(self) -> Self:
        if self._read_only and self._stored is not None:
            # A lease would be a write. What another run writes meanwhile does not matter to a prediction.
            self._stream = io.BytesIO(self._stored.read())
        elif self._read_only and not self.path.exists():
            self._stream = io.BytesIO()
            return self
        else:
            self._open_locked()
        try:
            self._read()
        except BaseException:
            self._stream.close()
            raise
        return self

    def _open_locked(self) -> None:
        """Open the file, and lock it. Raises the error `busy` if another process has it open."""
        while True:
            self._stream = opened(self.path)
            try:
                if not locked(self.path, self._stream, self._patience):
                    if self._stored is not None:
                        self._load(self._stored.read())  # it names the other run
                    raise self._busy()
                self.note_doubt(doubtful_seconds(self._stream))
                if self._stored is not None:
                    self._load(self._stored.take())
                    return
                # The process that had the lock may have replaced the file between the two calls.
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.lstat(self.path), os.fstat(self._stream.fileno())):
                        return
            except BaseException:
                self._stream.close()
                raise
            self._stream.close()

    def _load(self, content: bytes) -> None:
        """Make the content of the open file that of the store."""
        self._stream.truncate(0)
        self._stream.write(content)
        self._stream.flush()
        self._stream.seek(0)

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def _read(self) -> None:
        good = 0
        for number, line in enumerate(self._stream, start=1):
            if not line.endswith(b"\n"):
                break
            good += len(line)
            self._take(number, line)
        self._cut(good)

    def _replace(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Replace the file by these entries, whole or not at all, and lock it. Raises FileError, or the error `busy`, if that fails."""
        if self._stored is not None:
            content = b"".join(_line(entry) for entry in entries)
            self._stored.replace(content)
            self._load(content)
            self._length = len(content)
            return
        old = self._stream
        with replacing(self.path) as new:
            new.writelines(_line(entry) for entry in entries)
        try:
            self._open_locked()
            self._length = os.fstat(self._stream.fileno()).st_size
        finally:
            old.close()

    def _cut(self, length: int) -> None:
        """Truncate the file to `length` bytes, unless it is `read_only`."""
        if not self._read_only:
            if self._stored is not None and length != os.fstat(self._stream.fileno()).st_size:
                self._stored.replace(os.pread(self._stream.fileno(), length, 0))
            self._stream.truncate(length)
            self._length = length

    def _take(self, number: int, line: bytes) -> None:
        """Process one line when the file is opened. `number` counts from 1. A subclass raises its own error for a line that is not valid."""
        raise NotImplementedError

    def _append(self, entry: Mapping[str, Any]) -> None:
        """Append `entry` as one line; it is on disk when this returns. With `read_only` nothing is written.

        Raises FileError if it cannot be written, for example because the disk is full: then the file is as it was.
        """
        if self._read_only:
            return
        line = _line(entry)
        file = self._stream.fileno()
        if self._stored is not None:
            self._stored.replace(os.pread(file, self._length, 0) + line)
        try:
            # Not through the buffer of the stream, which would try again later to write what did not fit.
            written = 0
            while written < len(line):
                written += os.pwrite(file, line[written:], self._length + written)
            os.fsync(file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(file, self._length)
            raise FileError(f"cannot write {self.path}: {error.strerror}; make room on its disk, or repair it, then run again") from error
        self._length += len(line)
