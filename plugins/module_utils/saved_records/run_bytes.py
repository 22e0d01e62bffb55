# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts what all clusters of a run have saved together, while each of them is saved by a process of its own.

What is on the disk counts. A process that is saving has a file with a number of bytes, which counts instead: what its cluster has on the disk, and what
it has reserved for the next batches. It holds a lock on that file, so the number of a killed process does not count.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64, whole_number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import BATCHES, INDEX

COUNT, RUN_LOCK = ".bytes", ".lock"
# So many bytes are reserved at a time. Other clusters may be refused as many while they are not used.
RESERVED_BYTES = 1 << 20


class RunBytes:
    """What the cluster of one folder may still save, so that its run has at most `most` bytes. `count`: the locked file of this process."""

    def __init__(self, folder: Path, most: int, count: int) -> None:
        self._folder, self._most, self._count = folder, most, count
        self._used = _on_disk(folder, finished=True)
        self._reserve(self._used)

    def take(self, size: int) -> bool:
        """Return whether so many more bytes may be saved, and count them if they may. Raises FileError if the files cannot be read."""
        if self._used + size > self._reserved:
            with _locked(self._folder.parent / RUN_LOCK):
                possible = self._most - sum(map(_bytes_of, self._others()))
                if self._used + size > possible:
                    return False
                self._reserve(min(possible, self._used + max(size, RESERVED_BYTES)))
        self._used += size
        return True

    def _reserve(self, size: int) -> None:
        self._reserved = size
        try:
            os.pwrite(self._count, b"%019d" % size, 0)
        except OSError as error:
            raise FileError(f"cannot write {self._folder / COUNT}: {error.strerror}") from error

    def _others(self) -> Iterator[Path]:
        for path in self._folder.parent.iterdir():
            if path != self._folder and path.is_dir() and not path.is_symlink():
                yield path


@contextmanager
def counted_bytes(folder: Path, most: int) -> Iterator[RunBytes]:
    """Yield the count for a folder of saved records, which must exist. Raises FileError if its file cannot be locked."""
    with _locked(folder / COUNT) as count:
        yield RunBytes(folder, most, count)


def _bytes_of(folder: Path) -> int:
    """Return the bytes that count for the cluster of a folder."""
    try:
        handle = _opened(folder / COUNT, os.O_RDONLY)
    except FileNotFoundError:
        return _on_disk(folder)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        # Before its process has written the first number it is empty, or has that of an earlier run.
        number = whole_number(os.pread(handle, 19, 0).decode("ascii", "replace") or "0", MOST_INT64)
        if number is None:
            raise FileError(f"{folder / COUNT} has no number: wait until the run that saves there has ended, and run again") from None
        return max(_on_disk(folder), number)
    else:
        return _on_disk(folder)
    finally:
        os.close(handle)


def _on_disk(folder: Path, finished: bool = False) -> int:
    """Return the bytes of all parts of a folder. `finished`: only of those that have an index."""
    parts = [path for path in folder.glob(f"*{BATCHES}") if not finished or path.with_suffix(INDEX).exists()]
    return sum(path.lstat().st_size for path in parts)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    handle = _opened(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def _opened(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise FileError(f"cannot open {path}: {error.strerror}") from error
