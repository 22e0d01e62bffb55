# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts what all clusters of a run have saved together, while each of them is saved by a process of its own.

What is on the disk counts. A process that is saving has a file with a number of bytes, which counts instead: what its cluster has on the disk, and what
it has reserved for the next batches. It holds a lock on that file, so the number of a killed process does not count. These files are not kept in a store: if
the workdir is there, what other processes save counts when a part is complete.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.file_lock import held, locked, opened
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64, whole_number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, refresh
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import BATCHES, INDEX

COUNT, RUN_LOCK = ".bytes", ".lock"
# So many bytes are reserved at a time. Other clusters may be refused as many while they are not used.
RESERVED_BYTES = 1 << 20
# Others hold a lock for some reads and one write.
LOCK_SECONDS = 60.0


class RunBytes:
    """What the cluster of one folder may still save, so that its run has at most `most` bytes. `count`: the locked file of this process."""

    def __init__(self, folder: Path, most: int, count: int) -> None:
        self._folder, self._most, self._count = folder, most, count
        self._used = _on_disk(folder, finished=True)
        self._reserve(self._used)

    def take(self, size: int) -> bool:
        """Return whether so many more bytes may be saved, and count them if they may. Raises FileError if the files cannot be read."""
        if self._used + size > self._reserved:
            path = self._folder.parent / RUN_LOCK
            with held(path, f"another run has locked {path}: wait until it has ended, and run again", LOCK_SECONDS):
                refresh(self._folder.parent)
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
    path = folder / COUNT
    with held(path, f"another run has locked {path}: wait until it has ended, and run again", LOCK_SECONDS) as stream:
        yield RunBytes(folder, most, stream.fileno())


def _bytes_of(folder: Path) -> int:
    """Return the bytes that count for the cluster of a folder."""
    path = folder / COUNT
    if not os.path.lexists(path):
        return _on_disk(folder)
    with opened(path) as stream:
        if locked(path, stream):
            return _on_disk(folder)
        # Before its process has written the first number it is empty, or has that of an earlier run.
        number = whole_number(os.pread(stream.fileno(), 19, 0).decode("ascii", "replace") or "0", MOST_INT64)
    if number is None:
        raise FileError(f"{path} has no number: wait until the run that saves there has ended, and run again")
    return max(_on_disk(folder), number)


def _on_disk(folder: Path, finished: bool = False) -> int:
    """Return the bytes of all parts of a folder. `finished`: only of those that have an index."""
    parts = [path for path in folder.glob(f"*{BATCHES}") if not finished or path.with_suffix(INDEX).exists()]
    return sum(path.lstat().st_size for path in parts)
