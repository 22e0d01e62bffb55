# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file of JSON lines that survives a kill: locked while it is open, each line on disk, or in the store, before what it announces is begun.

A last line that was cut off while it was written is dropped: what it announces had not begun.
"""

from __future__ import annotations

import io
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_lock, lock_holder, mounts, strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, TakenError, replacing

HOLDER_LINE = "run"  # the kind of a line that names a process which has, or had, the journal open


class JournalBusy(RecoveryError):
    """Another process has the journal open: a run is in progress. The text names it."""


class _DiskLines:
    """The lines of a journal on a disk.

    `content`: when it was opened, or, if it is not locked, what the run wrote that has it locked. `length`: of the file now, in bytes, 0 in check mode,
    without the last line that names this process. `holder`: the run that has the lease of a journal in a store, if it was found.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: IO[bytes] | None = None
        self.length = 0
        self.content = b""
        self.holder: dict[str, Any] = {}
        self._last_line = b""

    def read(self, patience: float) -> bool:
        """Set `content` without a change, for check mode. Return whether no other run is in the way, for which it waits `patience` seconds."""
        return not self._path.exists() or self.lock(patience)

    def lock(self, patience: float) -> bool:
        """Lock the file, wait at most `patience` seconds for it, and set `content`. Return whether it is locked."""
        while True:
            self._stream = file_lock.opened(self._path)
            try:
                is_locked = file_lock.locked(self._path, self._stream, patience)
                if not is_locked or self._is_current(self._stream):
                    self.content = self._load(self._stream, is_locked)
                    return is_locked
            except BaseException:
                self._stream.close()
                raise
            self._stream.close()

    def _is_current(self, stream: IO[bytes]) -> bool:
        """Return whether the path still has this file. The process that had the lock may have replaced it before it was locked here."""
        with suppress(FileNotFoundError):
            return os.path.samestat(os.lstat(self._path), os.fstat(stream.fileno()))
        return False

    def _load(self, stream: IO[bytes], _is_locked: bool) -> bytes:
        return stream.read()

    def is_held(self) -> bool:
        """Return whether a run that lives has a file that was only read. A file on a disk could not be read then."""
        return False

    def doubtful_seconds(self) -> float:
        """Return for how long the run that had the lock before may still act."""
        return 0.0 if self._stream is None else file_lock.doubtful_seconds(self._stream)

    def confirmed(self) -> bool:
        """Return whether the file is locked still."""
        return self._stream is not None and file_lock.confirmed(self._stream)

    def replace(self, content: bytes, patience: float) -> bool:
        """Replace the file, whole or not at all, and lock it. Return whether it is locked."""
        old = self._stream
        with replacing(self._path) as new:
            new.write(content)
        try:
            is_locked = self.lock(patience)
            self.length = len(content)
        finally:
            if old is not None:
                old.close()
        return is_locked

    def cut(self, length: int) -> None:
        """Truncate the file to so many bytes."""
        if self._stream is not None:
            self._stream.truncate(length)
            self.length = length
            if self._last_line:
                self.append(b"")

    def append(self, line: bytes) -> None:
        """Append a line. Raises FileError if that fails: then the file is as it was, without the line that names this process."""
        assert self._stream is not None  # it was locked
        file = self._stream.fileno()
        try:
            if self._last_line:  # not overwritten, which could leave a line of both
                os.ftruncate(file, self.length)
            # Not through the buffer of the stream, which would try again later to write what did not fit.
            written, lines = 0, line + self._last_line
            while written < len(lines):
                written += os.pwrite(file, lines[written:], self.length + written)
            os.fsync(file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(file, self.length)
            raise FileError(f"cannot write {self._path}: {error.strerror}; make room on its disk, or repair it, then run again") from error
        self.length += len(line)

    def name_holder(self, line: bytes) -> None:
        """Let the last line name this process until the file is closed. Without room for it no line does."""
        self._last_line = line
        try:
            self.append(b"")
        except FileError:
            self._last_line = b""

    def close(self) -> None:
        """Release the lock."""
        if self._stream is None:
            return
        try:
            if self._last_line:
                self._last_line = b""
                self.cut(self.length)
        finally:
            self._stream.close()


class _StoredLines(_DiskLines):
    """The lines of a journal in a store: the truth is there, and this machine has a copy, whose lock is a lease."""

    def __init__(self, path: Path, stored: mounts.StoredJournal) -> None:
        super().__init__(path)
        self._stored = stored

    def read(self, patience: float) -> bool:
        """Set `content` without a lock, which would be a write. What another run writes meanwhile does not matter to a prediction."""
        self.content = self._stored.read()
        return True

    def _is_current(self, stream: IO[bytes]) -> bool:
        return True  # the copy is of this process alone

    def _load(self, stream: IO[bytes], is_locked: bool) -> bytes:
        if not is_locked:
            self.holder = strict_json.parse(stream.read())
        content = self._stored.take() if is_locked else self._stored.read()
        stream.truncate(0)
        stream.write(content)
        stream.flush()
        return content

    def is_held(self) -> bool:
        """Return whether a run that lives has the journal."""
        lease = file_lock.lease_of(self._path)
        is_held = lease.is_alive()
        self.holder = lease.holder()
        return is_held

    def name_holder(self, line: bytes) -> None:
        """Do nothing: the lease names this process."""

    def replace(self, content: bytes, patience: float) -> bool:
        """Replace the journal."""
        assert self._stream is not None  # it was locked
        self._stored.replace(content)
        self._stream.seek(0)
        self._stream.truncate(0)
        self._stream.write(content)
        self._stream.flush()
        self.length = len(content)
        return True

    def cut(self, length: int) -> None:
        """Truncate the journal, if it is longer."""
        if self._stream is not None and length != len(self.content):
            self._stored.replace(self.content[:length])
        super().cut(length)

    def append(self, line: bytes) -> None:
        """Append a line to the journal in the store, and then to its copy."""
        assert self._stream is not None  # it was locked
        self._stored.replace(os.pread(self._stream.fileno(), self.length, 0) + line)
        super().append(line)


def _line(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def checked_entry(line: bytes, shapes: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the entry of one line, whose kind is one of `shapes` and has that shape, or HOLDER_LINE. Raises ContentError for another one."""
    entry: dict[str, Any] = strict_json.parse(line)
    strict_json.check(entry, {"kind": strict_json.Name()})
    if (shape := {HOLDER_LINE: {}, **shapes}.get(entry["kind"])) is None:
        raise strict_json.ContentError(f"kind {strict_json.shortened(entry['kind'])} is unknown")
    strict_json.check(entry, shape)
    return entry


class JournalFile:
    """Lines of JSON, read when the file is opened (as a context manager), and appended."""

    def __init__(self, path: Path, patience: float, busy: Callable[[], Exception], read_only: bool = False) -> None:
        """`patience`: seconds to wait for another process that has the file open. `busy`: the error if that was not enough.

        `read_only`: for check mode. The file stays as it is, also if it is missing, if a killed run has left half a line in it, or if lines are appended.
        """
        self.path = path
        self._read_only, self._patience, self._busy = read_only, patience, busy
        self._sure_at = -math.inf
        mount = mounts.mount_of(path)
        self._file = _DiskLines(path) if mount is None else _StoredLines(path, mount.journal(path))

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
        if not self._file.confirmed():
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
        if self._read_only and self._file.is_held():
            raise self._busy()

    def __enter__(self) -> Self:
        is_mine = self._file.read(self._patience) if self._read_only else self._file.lock(self._patience)
        try:
            if not is_mine:
                raise self._busy()
            self.note_doubt(self._file.doubtful_seconds())
            self._read()
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._release()

    def _release(self) -> None:
        """Close the journal, so that other runs may open it."""
        self._file.close()

    def lines(self) -> list[bytes]:
        """Return the lines that the journal had when it was opened, those of the other run if it is busy."""
        return io.BytesIO(self._file.content).readlines()  # unlike `splitlines`, only a newline ends a line

    def _name_holder(self) -> None:
        """Name this process to runs that find the journal locked, for as long as it is open."""
        if not self._read_only:
            self._file.name_holder(_line({"kind": HOLDER_LINE, **lock_holder.this_process()}))

    def _holder(self) -> str:
        """Return a part of a sentence with the run that has the journal, empty if it is not known."""
        for line in reversed(self.lines()):
            with suppress(strict_json.ContentError):
                entry = strict_json.parse(line)
                if isinstance(entry, dict) and entry.get("kind") == HOLDER_LINE:
                    return lock_holder.as_text(entry)
        return lock_holder.as_text(self._file.holder)

    def _read(self) -> None:
        good = 0
        for number, line in enumerate(self.lines(), start=1):
            if not line.endswith(b"\n"):
                break
            good += len(line)
            self._take(number, line)
        self._cut(good)

    def _replace(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Replace the file by these entries, whole or not at all, and lock it. Raises FileError, or the error `busy`, if that fails."""
        if not self._file.replace(b"".join(map(_line, entries)), self._patience):
            raise self._busy()

    def _cut(self, length: int) -> None:
        """Truncate the file to `length` bytes, unless it is `read_only`."""
        if not self._read_only:
            self._file.cut(length)

    def _take(self, number: int, line: bytes) -> None:
        """Process one line when the file is opened. `number` counts from 1. A subclass raises its own error for a line that is not valid."""
        raise NotImplementedError

    def _append(self, entry: Mapping[str, Any]) -> None:
        """Append `entry` as one line; it is on disk when this returns. With `read_only` nothing is written.

        Raises FileError if it cannot be written, for example because the disk is full: then the file is as it was.
        """
        if not self._read_only:
            self._file.append(_line(entry))
