# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workdirs in an object store. Each is mounted: a private folder of this process stands for it, and the functions that read and write files of a workdir
ask here whether a path is below such a folder.

The store is the truth. The folder has the names of all files, except in folders that grow with each run and were not listed yet, and the content of those
that were read or written. It goes with the process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

# Names of files and folders that stay on this machine, in every folder of a workdir: locks, files that are being written, scratch.
LOCAL_PREFIX = "."

_URL = re.compile(r"(s3|gs|az)://")
_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.\-]*:")


def has_url(value: Any) -> bool:
    """Return whether a JSON value has the URL of a folder or file in an object store, valid or not."""
    if isinstance(value, Mapping):
        return any(map(has_url, value.values()))
    return any(map(has_url, value)) if isinstance(value, (list, tuple)) else isinstance(value, str) and _URL.match(value) is not None


def begins_as_url(text: str) -> bool:
    """Return whether a text begins as a URL does, of any kind, also with a slash too few: as a path it would be in the present folder."""
    return _SCHEME.match(text) is not None


class Lease(Protocol):
    """A lock in a store. `lost`: another run has taken it."""

    lost: bool

    def doubtful_seconds(self) -> float:
        """Return for how long a run that held it before may still act, because it did not release it: a time to live after another run has taken it."""

    def is_held(self) -> bool:
        """Return whether no other run has taken it. Raises RecoveryError if that cannot be known now."""

    def acquire(self, seconds: float) -> bool:
        """Wait at most `seconds` for another run that lives, and as long as it takes to know that one does not live. Return whether it is held now."""

    def is_free(self) -> bool:
        """Return whether no run holds it. One that a killed run held is not free before its time to live."""

    def is_alive(self) -> bool:
        """Return whether a run that lives has it. Writes nothing. To know that the holder was killed takes up to its time to live."""

    def holder(self) -> dict[str, Any]:
        """Return host, process and begin of the run that holds it, as far as they are known."""

    def release(self) -> None:
        """Release it, if it is held."""


class StoredJournal(Protocol):
    """A journal in a store, which is replaced with each line."""

    def read(self) -> bytes:
        """Return its content, empty if it does not exist."""

    def take(self) -> bytes:
        """Return its content. From now on, what earlier holders write is refused."""

    def replace(self, content: bytes) -> None:
        """Replace its content; it is in the store when this returns. Raises FileError if another run has taken it, or if the store cannot be written."""


class Mount(Protocol):
    """A workdir in a store. `root`: the folder that stands for `url`. `shared`: what stays on this machine, for all of its processes."""

    root: Path
    url: str
    shared: Path
    client: Any  # `store.client.Client`

    def key(self, path: Path) -> str:
        """Return the name of a file in the store."""

    def prove(self) -> None:
        """Raise FileError unless the store can be written, and refuses writes whose condition is not met. Asks once."""

    def fetch(self, path: Path) -> None:
        """Make the content of a file that of the store. Raises FileNotFoundError if the store does not have it."""

    def read_from(self, path: Path, start: int, size: int) -> bytes:
        """Return a file of `size` bytes from the byte `start`, and do not keep it. Raises FileNotFoundError if the store does not have it."""

    def publish(self, staged: Path, path: Path, new: bool) -> None:
        """Write the content of `staged` to the store as `path`.

        Raises FileError if that fails, if it has changed since this process read it, or if it is there although it is `new`.
        """

    def create(self, path: Path, content: bytes) -> None:
        """Write a file that does not exist. Raises FileExistsError if it does."""

    def remove(self, path: Path) -> None:
        """Remove a file from the store, if it exists there."""

    def list_folder(self, folder: Path) -> None:
        """List what is in the store below a folder, unless this process has done so."""

    def refresh(self, folder: Path) -> None:
        """List what is in the store below a folder again: other runs may have written since."""

    def lease(self, path: Path) -> Lease:
        """Return the lease that stands for the lock of a file."""

    def journal(self, path: Path) -> StoredJournal:
        """Return the journal at a path."""


_mounts: list[Mount] = []


def add(mount: Mount) -> None:
    """Register a mount for the rest of this process."""
    _mounts.append(mount)


def discard(mount: Mount) -> None:
    """Forget a mount."""
    _mounts.remove(mount)


def clear() -> None:
    """Forget all mounts."""
    _mounts.clear()


def mount_of(path: Path) -> Mount | None:
    """Return the mount of a file that is kept in a store, None for files of this machine."""
    if not _mounts or (mount := _below(path)) is None:
        return None
    return None if any(name.startswith(LOCAL_PREFIX) for name in _names(mount, path)) else mount


def _below(path: Path) -> Mount | None:
    named = _absolute(path)
    return next((mount for mount in _mounts if named == mount.root or mount.root in named.parents), None)


def _names(mount: Mount, path: Path) -> tuple[str, ...]:
    return _absolute(path).relative_to(mount.root).parts


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - as private_files does, without following links


def list_folder(folder: Path) -> None:
    """List a folder of a workdir in a store, unless this process has done so. Without it a file that was not read may seem to be missing."""
    if (mount := mount_of(folder)) is not None:
        mount.list_folder(folder)


def shared(path: Path) -> Path:
    """Return where all processes of this machine find a file that is not kept in the store: `path` itself if it is not below a mount."""
    mount = _below(path) if _mounts else None
    return path if mount is None else mount.shared.joinpath(*_names(mount, path))


def shown(text: str) -> str:
    """Return a text with the URL of each mount instead of the folder that stands for it."""
    for mount in _mounts:
        text = text.replace(str(mount.root), mount.url)
    return text


def shown_tree(value: Any) -> Any:
    """Return a JSON value with every text as `shown` returns it."""
    if not _mounts:
        return value
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {key: shown_tree(item) for key, item in value.items()}
    return [shown_tree(item) for item in value] if isinstance(value, (list, tuple)) else value
