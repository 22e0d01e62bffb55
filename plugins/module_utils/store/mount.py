# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder of an object store, mounted as a private folder of this process (see `common.mounts`)."""

from __future__ import annotations

import atexit
import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.optional_imports import import_error
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, private_directory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.client import Client, ConflictError, Etag, Stored
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.fenced_journal import FencedJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store.lease import SUFFIX, State, StoreLease, seconds_to_live

PROBE, PROBE_CONTENT, NO_ETAG = "probe", b"kafka_recovery\n", Etag({"e_tag": '"00000000000000000000000000000000"', "version": "0"})
VIEWS, SHARED = "views", "shared"
NEW_SECONDS = 60.0  # a folder that a process has just created may not be locked yet
# Folders with files for each run, snapshot or outage. Who looks for files in one calls `mounts.list_folder`; the names of all others are there from the start.
GROWING = {
    "healthy", "history", "impact", "incidents", "landing", "layout", "move_results", "plans", "proposed_replays", "proposed_revivals", "reassignments",
    "replay_results", "replayed", "reports", "results", "revival_results", "saved",
}  # fmt: skip
# The content of larger files does not stay in the folder after it was written.
KEPT_BYTES = 8 << 20


class StoreMount:
    """A mounted folder. Files that were listed and not read have their size and no content (`fetch` brings it)."""

    def __init__(self, url: str, lists: bool = True) -> None:
        """`lists`: whether to list the folder now, without what is in the folders GROWING."""
        self.url, self.client, self._seconds = url, Client(url), seconds_to_live()
        place = private_directory(_base() / hashlib.sha256(url.encode()).hexdigest()[:16])
        self.shared = private_directory(place / SHARED)
        self.root, self._lock = _new_view(private_directory(place / VIEWS))
        self._present: dict[str, str] = {}  # ETags of files whose content is in the folder
        self._read: dict[str, str] = {}  # ETags of files that this process has read or written
        self._listed: set[Path] = set()
        self._silent: dict[str, State] = {}
        self._proved = False
        self._guard = threading.RLock()
        if lists:
            self._list_top()

    def key(self, path: Path) -> str:
        """Return the name of a file in the store."""
        return Path(os.path.abspath(path)).relative_to(self.root).as_posix()  # noqa: PTH100

    def prove(self) -> None:
        """Raise FileError unless the store can be written, and refuses writes whose condition is not met."""
        if self._proved:
            return
        lies = FileError(
            f"{self.url} cannot be used: its store does not refuse a write whose condition (If-None-Match, If-Match) is not met, so two runs could not be "
            "kept apart; name a store that does, such as S3, in kafka_recovery_workdir"
        )
        for _ in range(2):  # the first one may create it
            with suppress(ConflictError):
                self.client.create(PROBE, PROBE_CONTENT + os.urandom(8).hex().encode())
                continue
            break
        else:
            raise lies
        with suppress(ConflictError):
            self.client.replace(PROBE, PROBE_CONTENT + os.urandom(8).hex().encode(), NO_ETAG)
            raise lies
        self._proved = True

    def fetch(self, path: Path) -> None:
        """Make the content of a file that of the store. Raises FileNotFoundError if the store does not have it."""
        key = self.key(path)
        with self._guard:
            temporary = path.with_name(f".{path.name}.fetch")
            try:
                _make(path.parent)
                etag = self.client.download(key, temporary, self._present.get(key) if path.exists() else None)
                if etag is not None:
                    temporary.chmod(0o600)
                    temporary.replace(path)
                    self._present[key] = etag
            except FileNotFoundError:
                self._forget(key)
                raise
            except OSError as error:
                raise FileError(
                    f"cannot write {path}: {error.strerror}; make room in {self.root.parent} (TMPDIR names its place)"
                ) from error
            finally:
                temporary.unlink(missing_ok=True)
            self._read[key] = self._present[key]

    def read_from(self, path: Path, start: int, size: int) -> bytes:
        """Return a file of `size` bytes from the byte `start`, and do not keep it."""
        return self.client.get_range(self.key(path), start, size)

    def publish(self, staged: Path, path: Path, new: bool) -> None:
        """Write the content of `staged` to the store as `path`: on the condition that it is as this process has read it, if it has.

        One that is `new` must not be there. Other files are replaced whatever is there, as in a local folder. `staged` is the file of `path` afterwards.
        """
        self.prove()
        key, size = self.key(path), staged.stat().st_size
        with self._guard:
            before = self._read.get(key)
            if new:
                etag = self.client.create(key, staged.read_bytes())
            else:
                etag = self.client.put(key, staged) if before is None else self.client.replace(key, staged.read_bytes(), before)
            self._present[key] = self._read[key] = etag
            if size > KEPT_BYTES:
                _empty(staged, size)
                del self._present[key]

    def create(self, path: Path, content: bytes) -> None:
        """Write a file that does not exist. Raises FileExistsError if it exists with another content: an own write whose answer was lost has this one."""
        self.prove()
        key = self.key(path)
        with self._guard:
            try:
                self._read[key] = self.client.create(key, content)
            except ConflictError as error:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error
            _make(path.parent)
            path.write_bytes(content)
            self._present[key] = self._read[key]

    def remove(self, path: Path) -> None:
        """Remove a file from the store and from the folder, if it exists."""
        key = self.key(path)
        with self._guard:
            self.client.remove(key)
            self._forget(key)

    def _forget(self, key: str) -> None:
        self._present.pop(key, None)
        self._read.pop(key, None)
        self.root.joinpath(key).unlink(missing_ok=True)

    def _list_top(self) -> None:
        files, folders = self.client.list_top()
        for key, stored in files.items():
            self._note(key, stored)
        for name in folders:
            if name not in GROWING and _is_own([name]):
                self.refresh(self.root / name)

    def list_folder(self, folder: Path) -> None:
        """List what is in the store below a folder, unless this process has done so."""
        if self._listed.isdisjoint((folder, *folder.parents)):
            self.refresh(folder)

    def refresh(self, folder: Path) -> None:
        """List what is in the store below a folder again."""
        prefix = "" if folder == self.root else self.key(folder)
        with self._guard:
            found = self.client.list(prefix)
            for key, stored in found.items():
                self._note(key, stored)
            for path in [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(mounts.LOCAL_PREFIX)]:
                if self.key(path) not in found:
                    self._forget(self.key(path))
            self._listed.add(folder)

    def _note(self, key: str, stored: Stored) -> None:
        names = key.split("/")
        # This collection writes nothing empty: consoles of stores do, for a folder that was created in them.
        if key.endswith(SUFFIX) or not _is_own(names) or not stored.size:
            return
        path = self.root.joinpath(*names)
        if key in self._present and self._present[key] == stored.etag and path.exists():
            return
        self._present.pop(key, None)
        try:
            _make(path.parent)
            path.unlink(missing_ok=True)  # not emptied: this process may have it open as a journal
            _empty(path, stored.size)
            os.utime(path, (stored.modified, stored.modified))
        except OSError as error:
            raise FileError(
                f"{self.url}/{key} cannot be listed in {self.root}: {error.strerror}; remove what this collection has not written"
            ) from error

    def lease(self, path: Path) -> StoreLease:
        """Return the lease that stands for the lock of a file."""
        return StoreLease(self.client, self.key(path), self._seconds, self.prove, self._silent)

    def journal(self, path: Path) -> FencedJournal:
        """Return the journal at a path."""
        return FencedJournal(self.client, self.key(path))

    def close(self) -> None:
        """Forget the mount, and remove its folder."""
        mounts.discard(self)
        shutil.rmtree(self.root, ignore_errors=True)
        os.close(self._lock)


def mounted(url: str, lists: bool = True) -> StoreMount:
    """Mount the folder at a URL (as `urls.checked` returned it) for the rest of this process. Raises RecoveryError as `check_library`."""
    check_library(url)
    mount = StoreMount(url, lists)
    mounts.add(mount)
    return mount


def check_library(url: str) -> None:
    """Raise RecoveryError if obstore is missing."""
    if import_error("obstore") is not None:
        raise RecoveryError(f"{url} needs the Python library obstore on this machine: pip install 'obstore>=0.12,<0.13'")


def shared_folder(url: str) -> Path:
    """Return the folder for files of a workdir that stay on this machine. It may not exist."""
    return _place() / hashlib.sha256(url.encode()).hexdigest()[:16] / SHARED


def _place() -> Path:
    return Path(tempfile.gettempdir()) / f"kafka-recovery-{os.geteuid()}"


def _base() -> Path:
    """Return the folder of this user, which must be private. Any user may have created one with its name."""
    try:
        return private_directory(_place())
    except FileError as error:
        raise FileError(f"{error}. Or let TMPDIR name a folder of your own") from error


def _new_view(views: Path) -> tuple[Path, int]:
    """Create a folder, locked for as long as this process lives, and remove those of processes that were killed."""
    for old in views.iterdir():
        with suppress(OSError):
            if time.time() - old.lstat().st_mtime > NEW_SECONDS:
                handle = os.open(old, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(old, ignore_errors=True)
                finally:
                    os.close(handle)
    root = Path(tempfile.mkdtemp(dir=views))
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    atexit.register(_remove_view, root, os.getpid())
    return root, handle


def _remove_view(root: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a process that was forked
        shutil.rmtree(root, ignore_errors=True)


def _is_own(names: Iterable[str]) -> bool:
    """Return whether a path can be one that this collection has written. Others stay out: they could lead out of the folder, or replace a local file."""
    return not any(name in ("", ".", "..") or name.startswith(mounts.LOCAL_PREFIX) or "\0" in name for name in names)


def _make(folder: Path) -> None:
    """Create a folder and its parents, which are below a private one: unlike `private_directory` without a trial write in each."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _empty(path: Path, size: int) -> None:
    """Make a file that has a size and no content."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as stream:
        stream.truncate(size)
