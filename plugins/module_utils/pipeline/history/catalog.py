# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalog of the history tables: what a reader reads, and how a writer changes all tables at once or none.

A writer stages new files, gives them their final paths, which the manifest does not name yet, and then replaces the manifest: that is the commit. If a
writer is killed before, readers see no change, and its files are removed later. Files that the manifest no longer names are kept for a while, for readers
that still use them.
"""

from __future__ import annotations

import errno
import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import NO_ROOM, private_directory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.folder_files import MANIFEST, FolderFiles
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.manifest import (
    ConflictError,
    DataFile,
    Manifest,
    ManifestError,
    TableChange,
)

# Seconds for which replaced files are kept, and seconds for which a writer waits for another one.
GRACE, PATIENCE = 3600.0, 300.0
# In a store: a file that no manifest names, and that is older than this (seconds), is of a writer that was killed. A living one that is slower makes its
# change again.
ABANDONED = 24 * 3600.0
# How often a commit is tried again after one of another writer, and how often a change is made again because it depends on what that one changed.
ATTEMPTS, CHANGES = 30, 10
PAUSE_SECONDS = 0.5
T = TypeVar("T")


class TableFiles(Protocol):
    """Where the files of the tables are. `version`: what identifies the manifest that was read."""

    def read(self) -> tuple[bytes | None, Any]: ...
    def replace(self, content: bytes, version: Any, /) -> bool: ...
    def writing(self) -> AbstractContextManager[Path]: ...
    def sweep(self, known: Collection[str], /) -> None: ...
    def orphans(self) -> Collection[str]: ...
    def staged(self, folder: Path, /) -> list[Path]: ...
    def publish(self, staged: Path, path: str, /) -> None: ...
    def all_exist(self, paths: Iterable[str], /) -> bool: ...
    def remove(self, paths: Iterable[str], /) -> None: ...
    def local(self, paths: Iterable[str], /) -> list[Path]: ...
    def now(self) -> float: ...


def _table_files(root: Path, patience: float, abandoned: float) -> TableFiles:
    if (mount := mounts.mount_of(root)) is None:
        return FolderFiles(root, patience)
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.store_files import StoreFiles

    return StoreFiles(root, mount, abandoned)


class Catalog:
    """The history tables below `root`. `grace`, `patience`, `abandoned`: see GRACE, PATIENCE and ABANDONED."""

    def __init__(self, root: Path, grace: float = GRACE, patience: float = PATIENCE, abandoned: float = ABANDONED) -> None:
        self.root = root
        self.medium = _table_files(root, patience, abandoned)
        self._grace = grace

    def files(self) -> tuple[DataFile, ...]:
        """Return the present data files of all tables, sorted. Raises RecoveryError if the manifest is not valid."""
        return self._read()[0].data_files()

    def local(self, files: Iterable[DataFile]) -> list[Path]:
        """Return where this process reads these files."""
        return self.medium.local(file.path for file in files)

    def change(self, make: Callable[[TableChange], T]) -> T:
        """Commit what `make` stages, and return its result. It is called again if another writer has changed what the change depends on.

        Raises RecoveryError as `begin_change` does.
        """
        for number in range(1, CHANGES):
            try:
                with self.begin_change() as change:
                    made = make(change)
            except ConflictError:
                time.sleep(random.uniform(0, PAUSE_SECONDS * number))
            else:
                return made
        with self.begin_change() as change:
            return make(change)

    @contextmanager
    def begin_change(self) -> Iterator[TableChange]:
        """Yield a change, which is committed at the end of the block. An empty change writes nothing.

        Raises RecoveryError if another writer holds the lock of a folder for too long, or if the tables cannot be written, ConflictError if another one
        has changed what the change depends on.
        """
        try:
            with self.medium.writing() as folder:
                manifest, version = self._read()
                self.medium.sweep(manifest.known())
                change = TableChange(private_directory(folder), manifest.data_files())
                yield change
                if change.added or change.removed:
                    self._commit(change, manifest, version)
        except OSError as error:
            if error.errno not in (*NO_ROOM, errno.EACCES):
                raise
            raise RecoveryError(
                f"cannot write the history tables in {self.root}: {error.strerror or error}; they have not changed: make room and run again"
            ) from error

    def _read(self) -> tuple[Manifest, Any]:
        path = self.root / MANIFEST
        try:
            content, version = self.medium.read()
            return (Manifest() if content is None else Manifest.parse(content)), version
        except ManifestError as error:
            raise RecoveryError(
                f"{path}: {error}; move {self.root} away, and the tables are made again from the files of the workdir"
            ) from error
        except OSError as error:
            raise RecoveryError(f"{path}: cannot be read: {error.strerror}; correct its permissions") from error

    def _commit(self, change: TableChange, manifest: Manifest, version: Any) -> None:
        added = [file.path for file in change.added]
        for file, staged in sorted(change.added.items()):
            self.medium.publish(staged, file.path)
        unnamed, tried = {*self.medium.orphans()} - {*added}, set()
        for number in range(ATTEMPTS):
            if number:
                time.sleep(random.uniform(0, PAUSE_SECONDS))
                manifest, version = self._read()
                if manifest.commit in tried or manifest.has_had(added):  # an answer was lost
                    return
                try:
                    manifest.need_unchanged(change)
                    if not self.medium.all_exist(added):
                        raise ConflictError(f"files that were staged for {self.root} were removed meanwhile: run again")
                except ConflictError:
                    # The manifest has changed since, so that no commit that was tried can arrive any more.
                    self.medium.remove(added)
                    raise
            now = self.medium.now()
            self.medium.remove(manifest.expired(now, self._grace))
            new = manifest.changed(change, now, self._grace, unnamed - manifest.known())
            tried.add(new.commit)
            if self.medium.replace(new.content(), version):
                return
        raise ConflictError(f"other runs change the history tables in {self.root} all the time: run again later")
