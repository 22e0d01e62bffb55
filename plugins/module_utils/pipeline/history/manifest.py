# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifest of the history tables: the data files of all tables, which change atomically.

One file, `manifest.json`, names every data file. A writer stages new files, moves them to their final paths, which the manifest does not name yet, and
then replaces the manifest: that rename is the commit. If a writer is killed before, readers see no change, and the next writer removes its files. Files
that the manifest no longer names are kept for a while, for readers that still use them.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date as Date
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    NO_ROOM,
    private_directory,
    read_regular,
    refuse_link,
    write_private,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.schemas import VERSION

STAGING = "_staging"
# Seconds for which replaced files are kept, and seconds for which a writer waits for another one.
GRACE, PATIENCE = 3600.0, 300.0
_PATH = re.compile(r"([a-z_]+)/cluster=([A-Za-z0-9_][A-Za-z0-9_.\-]*)/date=(\d{4}-\d\d-\d\d)/[0-9a-f]{32}\.parquet")
_SHAPE = {"version": int, "files": [str], "replaced": [{"path": str, "at": float}]}


@dataclass(frozen=True, order=True)
class DataFile:
    """One Parquet file of a table. `path` is relative to the directory of the history."""

    table: str
    cluster: str
    date: Date
    path: str

    @classmethod
    def parse(cls, path: str) -> DataFile:
        """Return the data file of a path, which is relative to the directory of the history. Raises ValueError if it is not that of a data file."""
        found = _PATH.fullmatch(path)
        if found is None:
            raise ValueError(f"{path!r:.300} is not the path of a data file")
        table, cluster, day = found.groups()
        return cls(table, cluster, Date.fromisoformat(day), path)

    @classmethod
    def new(cls, table: str, cluster: str, day: Date) -> DataFile:
        """Return a data file with a unique new path. Nothing is created."""
        return cls(table, cluster, day, f"{table}/cluster={cluster}/date={day}/{uuid.uuid4().hex}.parquet")


@dataclass
class TableChange:
    """The change of a writer. `folder`: where it stages files, on the same file system; `current`: the present data files."""

    folder: Path
    current: tuple[DataFile, ...]
    added: dict[DataFile, Path] = field(default_factory=dict)
    removed: set[DataFile] = field(default_factory=set)

    def replace(self, files: set[DataFile] | list[DataFile], by: tuple[DataFile, Path] | None) -> None:
        """Replace `files` when the change is committed. `by`: one new data file and the path where it is staged, None to remove them only."""
        self.removed |= set(files)
        if by is not None:
            self.added[by[0]] = by[1]


class Catalog:
    """The history tables below `root`. `grace`, `patience`: see GRACE and PATIENCE."""

    def __init__(self, root: Path, grace: float = GRACE, patience: float = PATIENCE) -> None:
        self.root = root
        self._manifest = root / "manifest.json"
        self._grace = grace
        self._patience = patience

    def files(self) -> tuple[DataFile, ...]:
        """Return the present data files of all tables, sorted. Raises RecoveryError if the manifest is not valid."""
        return tuple(sorted(DataFile.parse(path) for path in self._read()["files"]))

    @contextmanager
    def begin_change(self) -> Iterator[TableChange]:
        """Lock out other writers and yield a change, which is committed at the end of the block. An empty change writes nothing.

        Raises RecoveryError if another writer holds the lock for too long, or if the tables cannot be written.
        """
        try:
            private_directory(self.root)
            with self._locked():
                self._sweep()
                folder = private_directory(self.root / STAGING / uuid.uuid4().hex)
                try:
                    change = TableChange(folder, self.files())
                    yield change
                    if change.added or change.removed:
                        self._commit(change)
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
        except OSError as error:
            if error.errno not in (*NO_ROOM, errno.EACCES):
                raise
            raise RecoveryError(
                f"cannot write the history tables in {self.root}: {error.strerror or error}; they have not changed: make room and run again"
            ) from error

    def _read(self) -> dict[str, Any]:
        try:
            refuse_link(self._manifest)
            content = strict_json.parse(read_regular(self._manifest, follow=False))
            strict_json.check(content, {"version": int})
            if content["version"] != VERSION:
                raise RecoveryError(
                    f"{self._manifest}: version {strict_json.shortened(content['version'])} of the history tables is not {VERSION}; "
                    f"move {self.root} away, and the tables are made again from the files of the workdir"
                )
            strict_json.check(content, _SHAPE)
            for path in content["files"]:
                DataFile.parse(path)
        except FileNotFoundError:
            return {"version": VERSION, "files": [], "replaced": []}
        except (strict_json.ContentError, ValueError) as error:
            raise RecoveryError(
                f"{self._manifest}: {error}; move {self.root} away, and the tables are made again from the files of the workdir"
            ) from error
        except OSError as error:
            raise RecoveryError(f"{self._manifest}: cannot be read: {error.strerror}; correct its permissions") from error
        manifest: dict[str, Any] = content
        return manifest

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of writers. The kernel releases the lock of a killed process."""
        path = self.root / ".lock"
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+") as stream:
            deadline = time.monotonic() + self._patience
            while True:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError as error:
                    if time.monotonic() >= deadline:
                        raise RecoveryError(
                            f"another run writes the history tables in {self.root} ({stream.read(200) or 'its process is not known'}): "
                            "run again when it has ended"
                        ) from error
                    time.sleep(min(0.2, self._patience))
            stream.truncate(0)
            stream.write(f"process {os.getpid()} on {socket.gethostname()} since {utc_now()}")
            stream.flush()
            yield

    def _commit(self, change: TableChange) -> None:
        now = time.time()
        manifest = self._read()
        for file, staged in sorted(change.added.items()):
            target = self.root / file.path
            for folder in (target.parents[2], target.parents[1], target.parent):
                private_directory_quickly(folder)
            with staged.open("rb") as stream:
                os.fchmod(stream.fileno(), 0o600)
                os.fsync(stream.fileno())
            staged.rename(target)
        # Readers may still use these by an earlier manifest.
        kept = [row for row in manifest["replaced"] if now - row["at"] < self._grace]
        for row in manifest["replaced"]:
            if row not in kept:
                self._remove(row["path"])
        gone = {file.path for file in change.removed}
        manifest["files"] = sorted([path for path in manifest["files"] if path not in gone] + [file.path for file in change.added])
        manifest["replaced"] = kept + [{"path": path, "at": now} for path in sorted(gone)]
        write_private(self._manifest, json.dumps(manifest, indent=0).encode() + b"\n")

    def _sweep(self) -> None:
        """Remove the files of a killed writer: those that it staged, and those that it moved without a commit."""
        staging = self.root / STAGING
        left = list(staging.iterdir()) if staging.is_dir() else []
        if not left:
            return
        manifest = self._read()
        known = {*manifest["files"], *(row["path"] for row in manifest["replaced"])}
        for path in self.root.glob("*/cluster=*/date=*/*.parquet"):
            if str(path.relative_to(self.root)) not in known:
                path.unlink()
        for folder in left:
            shutil.rmtree(folder, ignore_errors=True)

    def _remove(self, path: str) -> None:
        DataFile.parse(path)
        file = self.root / path
        file.unlink(missing_ok=True)
        with suppress(OSError):  # it has other files, or does not exist
            file.parent.rmdir()


def private_directory_quickly(path: Path) -> None:
    """Create a directory with mode 0700 in an existing one that has been checked. Unlike `private_directory` it does no trial write.

    Raises OSError if it cannot be created.
    """
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
        path.chmod(0o700)
