# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads and writes files of the workdir: private, written whole or not at all, never through a symbolic link."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shlex
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.durable_names import sync_names
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.signals import critical_section

# Errors of a write to a file that could be opened.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
# More than twice a plan of 3,000,000 partitions. A user who may write a file must not decide how much memory its reader takes.
MOST_BYTES = 4 << 30
BUFFER_BYTES = 1 << 18  # of a file that is written: landing files and journals have thousands of lines
# Spark does not read files whose names begin with a dot or an underscore.
SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,199}")


class FileError(RecoveryError):
    """A file or directory of the workdir cannot be used; the text names it and the reason."""


class TakenError(FileError):
    """Another run has taken a journal in a store that this run held: this run was stalled for longer than its lease."""


def safe_name(kind: str, name: str) -> str:
    """Return `name` if it can be a single path component, else raise FileError naming the option `kind`."""
    if not SAFE_NAME.fullmatch(name):
        raise FileError(
            f"{kind} {name!r} cannot be a file name: use at most 200 letters, digits, dots, dashes and underscores, a letter or digit first"
        )
    return name


def private_directory(path: Path) -> Path:
    """Create `path` and its missing parents (mode 0700, whatever the umask), and return it.

    Raises FileError if it cannot be created, is not safe (see `check_directory`), or if a trial write in it fails.
    """
    with _writing(path):
        _make(path)
        _try(path)
    if (mount := mounts.mount_of(path)) is not None:
        mount.prove()
    return path


def _try(path: Path) -> None:
    check_directory(path)
    try_write(path)


def try_write(directory: Path) -> None:
    """Raise OSError if no file can be created in a directory. os.access is not enough: it says that root can write in /proc."""
    with tempfile.TemporaryFile(dir=directory):
        pass


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(
            f"cannot write in {path}: {error.strerror}; choose another workdir (kafka_recovery_workdir) or fix its permissions"
        ) from error


def _make(path: Path) -> None:
    if path.is_symlink() or path.exists():
        return
    _make(path.parent)
    with suppress(FileExistsError):  # another run made it meanwhile
        path.mkdir(mode=0o700)
        if path.stat().st_mode & 0o700 != 0o700:
            path.chmod(0o700)  # the umask removed a part of it


def check_directory(path: Path) -> None:
    """Raise FileError if another user could swap the files of a directory: it is a link, belongs to another user, or others may write in it.

    Others may list it: the files in it are private.
    """
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise FileError(f"{path} is a symbolic link: name the real directory")
    if not stat.S_ISDIR(status.st_mode):
        raise FileError(
            f"cannot write in {path}: it is not a directory; choose another workdir (kafka_recovery_workdir), or move that file"
        )
    if status.st_uid not in (os.geteuid(), 0):
        raise FileError(
            f"{path} belongs to another user (uid {status.st_uid}), who could swap its files; choose another workdir (kafka_recovery_workdir), or chown it"
        )
    if status.st_mode & 0o022:
        raise FileError(
            f"others may write in {path} (mode {stat.S_IMODE(status.st_mode):04o}) and could swap its files; chmod go-w {shlex.quote(str(path))}"
        )


def check_inside(workdir: Path, path: Path) -> None:
    """Raise FileError for a path below `workdir` that is reached through a link or an unsafe directory. A missing path is safe.

    Paths outside of the workdir are not checked: they are the operator's.
    """
    if not is_below(workdir, path):
        return
    top, named = map(_absolute, (workdir, path))
    try:
        for folder in (top, *(folder for folder in reversed(named.parents) if top in folder.parents)):
            check_directory(folder)
        refuse_link(named)
    except FileNotFoundError:
        return
    except OSError as error:
        raise FileError(f"{named} cannot be read: {error.strerror}; fix the permissions of the workdir") from error


def is_below(folder: Path, path: Path) -> bool:
    """Return whether a path leads to a place below `folder`, by their names."""
    return _absolute(folder) in _absolute(path).parents


def _absolute(path: Path) -> Path:
    # Not resolve(), which would follow the links that `check_inside` must find.
    return Path(os.path.abspath(path))  # noqa: PTH100


def check_writers(path: Path) -> None:
    """Raise FileError if another user could have written a file: it belongs to that user, or others may write in it or in its directory.

    In a directory with the sticky bit, as /tmp, others cannot replace a file. Links are followed. Raises FileError if there is no such file.
    """
    try:
        found = path.resolve(strict=True)
        status, folder = found.stat(), found.parent.stat()
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from error
    if (other := next((each.st_uid for each in (status, folder) if each.st_uid not in (os.geteuid(), 0)), None)) is not None:
        raise FileError(
            f"{found} or its directory belongs to another user (uid {other}), who could have written it: review it, then copy it"
        )
    replaceable = folder.st_mode & 0o022 and not folder.st_mode & stat.S_ISVTX
    if status.st_mode & 0o022 or replaceable:
        name = shlex.quote(str(found.parent if replaceable else found))
        raise FileError(f"others may write {found} or in its directory, so they could have written it: review it, then chmod go-w {name}")


def work_file(workdir: Path, kind: str, cluster: str, run_id: str | None = None, suffix: str = ".json", make: bool = True) -> Path:
    """Return `<workdir>/<kind>/[<run_id>/]<cluster><suffix>`. Create its directories, and check that they are writable and the path is not a link.

    `make` False is for check mode: the same errors, but no directory is created. Raises FileError for an unsafe name or path.
    """
    *folders, path = _below(workdir, kind, cluster, run_id, suffix)
    for folder in folders:
        if make:
            private_directory(folder)
        else:
            check_writable(folder)
    refuse_link(path)
    return path


def check_writable(folder: Path) -> None:
    """Raise FileError for a directory that is not writable, or that could not be created."""
    with _writing(folder):
        if folder.is_symlink() or folder.exists():
            _try(folder)
        else:
            try_write(_nearest(folder))


def _below(workdir: Path, kind: str, cluster: str, run_id: str | None, suffix: str) -> list[Path]:
    """Return the workdir, its folders and the file."""
    parts = [kind, *([] if run_id is None else [safe_name("run_id", run_id)]), safe_name("cluster", cluster) + suffix]
    return [workdir, *(workdir.joinpath(*parts[: number + 1]) for number in range(len(parts)))]


def _nearest(path: Path) -> Path:
    """Return the nearest parent directory that exists."""
    return next(folder for folder in path.parents if folder.exists())


def refuse_link(path: Path) -> None:
    """Raise FileError if a file of the workdir is a symbolic link."""
    if path.is_symlink():
        raise FileError(f"{path} is a symbolic link: remove it, files of the workdir are neither written nor read through links")


def read_regular(path: Path, follow: bool = True) -> bytes:
    """Return the content of a regular file. `follow`: whether `path` may be a symbolic link.

    Raises OSError if it cannot be read, has more than MOST_BYTES, or is not regular: a pipe or device could block the reader for ever.
    """
    with opened_regular(path, follow) as stream:
        if os.fstat(stream.fileno()).st_size > MOST_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return stream.read()


def read_end(path: Path, size: int, most: int) -> bytes:
    """Return the last `most` bytes of a regular file of `size` bytes, without what is before them. Raises OSError as `read_regular`, not through links."""
    start = max(0, size - most)
    if (mount := mounts.mount_of(path)) is not None:
        return mount.read_from(path, start, size)
    with opened_regular(path, follow=False) as stream:
        stream.seek(start)
        return stream.read(most + 1)


def opened_regular(path: Path, follow: bool = True) -> BinaryIO:
    """Open a regular file to read it. The caller closes it. Parameters and errors are those of `read_regular`."""
    fetch(path)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))
    except ValueError as error:
        raise OSError(errno.EINVAL, "not a valid file name") from error
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise OSError(errno.EINVAL, os.strerror(errno.EISDIR) if stat.S_ISDIR(mode) else "neither a file nor a link to one")
    return os.fdopen(handle, "rb")


@contextmanager
def replacing(path: Path, new: bool = False) -> Iterator[BinaryIO]:
    """Yield a new file (mode 0600) and rename it to `path` after an fsync. It has its name on the disk, too, when the context ends.

    On any error before that `path` stays as it was.

    `new`: there is no such file. In a store, which a run that was stalled may write to, too, that is a condition. The new file of a
    killed run is reused. Raises FileError if `path` is a link, if another run writes it, or if it cannot be written, for example because the
    disk is full.
    """
    refuse_link(path)
    temporary = path.with_name(f".{path.name}.new")
    stream: BinaryIO | None = None
    try:
        with critical_section():
            stream = _opened(temporary)
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
        if (mount := mounts.mount_of(path)) is not None:
            mount.publish(temporary, path, new)
        with critical_section():
            temporary.replace(path)
            temporary = path
        if mounts.mount_of(path) is None:
            sync_folder(path.parent)
    except BaseException as error:
        if stream is not None and temporary != path:
            with critical_section(), suppress(FileNotFoundError):
                temporary.unlink()
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise FileError(f"cannot write {path}: {error.strerror}") from error
        raise
    finally:
        if stream is not None:
            # There may be no room for the rest of its buffer, either. That error is raised already.
            with suppress(OSError):
                stream.close()


def _opened(path: Path) -> BinaryIO:
    """Open an empty file that no other run writes, locked until it is closed (the kernel unlocks it when a process is killed)."""
    while True:
        try:
            stream = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600), "wb", BUFFER_BYTES)
        except OSError as error:
            why = "it is no regular file: remove it" if error.errno == errno.ENXIO else error.strerror  # a pipe
            raise FileError(f"cannot write {path}: {why}") from error
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another run that had the lock may have renamed the file between the two calls: then it is that run's finished file.
            if os.path.samestat(os.lstat(path), os.fstat(stream.fileno())):
                os.fchmod(stream.fileno(), 0o600)
                stream.truncate(0)
                return stream
        except FileNotFoundError:
            pass
        except BlockingIOError as error:
            stream.close()
            raise FileError(f"another run is writing {path}: wait until it has ended, or use another run_id") from error
        except OSError as error:
            stream.close()
            raise FileError(f"cannot write {path}: {error.strerror}") from error
        stream.close()


def write_private(path: Path, content: bytes) -> None:
    """Replace the content of `path`, whole or not at all. Raises FileError as in `replacing`."""
    with replacing(path) as stream:
        stream.write(content)


def create(path: Path, content: bytes, syncs_name: bool = True) -> None:
    """Write a file (mode 0600) that does not exist; it is on disk when this returns. Raises FileExistsError if it exists, FileError if it cannot be written.

    `syncs_name`: False if the caller syncs the names of several files at once (`sync_folder`).
    """
    if (mount := mounts.mount_of(path)) is not None:
        mount.create(path, content)
        return
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    if syncs_name:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder of a workdir are on the disk, and its own. Raises FileError if that fails."""
    try:
        sync_names(folder)
    except OSError as error:
        raise FileError(f"cannot write {folder} to the disk: {error.strerror}; make room on it, or repair it, then run again") from error


def remove(path: Path) -> None:
    """Remove a file, if it exists."""
    if (mount := mounts.mount_of(path)) is not None:
        mount.remove(path)
    path.unlink(missing_ok=True)


def fetch(path: Path) -> None:
    """Bring the content of a file from the store of its workdir, for what reads it other than by `opened_regular`. Other files are there already.

    Raises FileNotFoundError if the store does not have it, FileError if the store cannot be read.
    """
    if (mount := mounts.mount_of(path)) is not None:
        mount.fetch(path)


def refresh(folder: Path) -> None:
    """List a folder of a workdir in a store again, since other runs may have written there since this process began. Other folders are as they are."""
    if (mount := mounts.mount_of(folder)) is not None:
        mount.refresh(folder)
