# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens folders and files of a log dir to read them. Nothing is written, no access time is changed if the kernel allows that, no link is followed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError, printable

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KEEP_ACCESS_TIME = getattr(os, "O_NOATIME", 0)
# Files and folders in one folder. A log dir has a folder for each partition, a log some files for each segment. Several logs are read at once.
MOST_ENTRIES, MOST_LOG_FILES = 500_000, 100_000


class DiskError(RecoveryError):
    """A file or folder cannot be read, or has content that Kafka does not write. The text names its path and what is wrong."""

    def __init__(self, path: Path, wrong: str) -> None:
        super().__init__(f"{path}: {wrong}")
        self.path, self.wrong = printable(str(path)), printable(wrong)


class Entry(NamedTuple):
    """A name in a folder. A link is neither a file nor a folder."""

    name: str
    is_folder: bool
    is_file: bool


class _Opened:
    """A descriptor that is closed at the end of the context."""

    def __init__(self, parent: _Opened | Path, name: str, descriptor: int) -> None:
        self.descriptor, self.parent, self.name = descriptor, parent, name

    @cached_property
    def path(self) -> Path:
        """Return the path. Paths of many thousand files take a second, so they are made for messages only."""
        return (self.parent if isinstance(self.parent, Path) else self.parent.path) / self.name

    def __enter__(self):  # type: ignore[no-untyped-def]  # Self is newer than some of the hosts that disks are mounted on
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        os.close(self.descriptor)


class Folder(_Opened):
    """An open folder."""

    def __init__(self, parent: _Opened | Path, name: str, descriptor: int) -> None:
        super().__init__(parent, name, descriptor)
        self._files = set[str]()  # that were regular when the folder was listed

    @property
    def identity(self) -> tuple[int, int]:
        """Return what no other folder of this host has: its device and its number there."""
        status = os.fstat(self.descriptor)
        return status.st_dev, status.st_ino

    def entries(self, most: int = MOST_ENTRIES) -> Iterator[Entry]:
        """Yield what is in the folder, in no order. Raises DiskError for more than `most`."""
        try:
            with os.scandir(self.descriptor) as found:
                for number, entry in enumerate(found):
                    if number >= most:
                        raise DiskError(self.path, f"it has more than {most} entries")
                    is_file = entry.is_file(follow_symlinks=False)
                    if is_file:
                        self._files.add(entry.name)
                    yield Entry(entry.name, not is_file and entry.is_dir(follow_symlinks=False), is_file)
        except OSError as error:
            raise DiskError(self.path, _reason(error)) from error

    def folder(self, name: str) -> Folder:
        """Open a folder in it. Raises DiskError."""
        try:
            return Folder(self, name, _descriptor(name, _FLAGS | os.O_DIRECTORY, self.descriptor))
        except OSError as error:
            raise _not_a_folder(self.path / name, error) from error

    def file(self, name: str) -> DiskFile:
        """Open a file in it. Raises DiskError, also if it is not a regular file."""
        file = self._file(name)
        if file is None:
            raise DiskError(self.path / name, "there is no such file")
        return file

    def _file(self, name: str) -> DiskFile | None:
        try:
            # Opening a device or a pipe may already do something.
            is_regular = name in self._files or self._is_regular(name)
            file = DiskFile(self, name, _descriptor(name, _FLAGS, self.descriptor)) if is_regular else None
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DiskError(self.path / name, _reason(error)) from error
        if file is not None and not stat.S_ISREG(file.status.st_mode):
            os.close(file.descriptor)
            file = None
        if file is None:
            raise DiskError(self.path / name, "it is not a regular file")
        return file

    def _is_regular(self, name: str) -> bool:
        mode = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False).st_mode
        return stat.S_ISREG(mode) or stat.S_ISLNK(mode)  # a link is refused when it is opened, which names it as one

    def size(self, name: str) -> int:
        """Return the size of a file in it, 0 if it is gone."""
        try:
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False).st_size
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise DiskError(self.path / name, _reason(error)) from error

    def content(self, name: str, most: int) -> bytes | None:
        """Return the content of a small file in it, None if there is no such file. Raises DiskError if it has more than `most` bytes."""
        file = self._file(name)
        if file is None:
            return None
        with file:
            if file.size > most:
                raise DiskError(file.path, f"it has {file.size} bytes, more than the {most} that are read")
            return file.read(0, most)


class DiskFile(_Opened):
    """An open file. `size`: when it was opened."""

    def __init__(self, parent: _Opened | Path, name: str, descriptor: int) -> None:
        super().__init__(parent, name, descriptor)
        self.status = os.fstat(descriptor)
        self.size = self.status.st_size

    def read(self, position: int, length: int) -> bytes:
        """Return up to `length` bytes from a position on, fewer at the end of the file. Raises DiskError if the disk cannot read them."""
        try:
            return os.pread(self.descriptor, length, position)
        except OSError as error:
            raise DiskError(self.path, f"{_reason(error)} at byte {position}") from error

    def next_data(self, position: int) -> int:
        """Return where the next bytes are that were written, `position` or behind it: holes of the file are passed over. Its size if there are none."""
        try:
            return max(position, os.lseek(self.descriptor, position, os.SEEK_DATA))
        except OSError as error:
            # Some file systems know no holes.
            return self.size if error.errno == errno.ENXIO else position


def log_dir_folder(path: Path) -> Folder:
    """Open a log dir. Raises DiskError."""
    try:
        return Folder(path, "", _descriptor(str(path), _FLAGS | os.O_DIRECTORY, None))
    except (OSError, ValueError) as error:
        raise _not_a_folder(path, error) from error


def _not_a_folder(path: Path, error: OSError | ValueError) -> DiskError:
    link = isinstance(error, OSError) and error.errno in (errno.ENOTDIR, errno.ELOOP) and path.is_symlink()
    return DiskError(path, "it is a symbolic link, and links are not followed: name the real folder" if link else _reason(error))


def _descriptor(name: str, flags: int, parent: int | None) -> int:
    try:
        return os.open(name, flags | _KEEP_ACCESS_TIME, dir_fd=parent)
    except PermissionError:  # only the owner of a file may keep its access time, and root
        return os.open(name, flags, dir_fd=parent)


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, ValueError):
        return "it is not a valid path"
    return "it is a symbolic link, and links are not followed" if error.errno == errno.ELOOP else f"it cannot be read: {error.strerror}"
