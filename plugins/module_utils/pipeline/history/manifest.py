# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files the history tables consist of, and how that changes: for all tables at once, or not at all.

One file, `manifest.json`, names every data file. Whoever writes stages new files aside, moves them to where they belong, where nobody
looks for them yet, and then replaces the manifest: that rename is the commit. A run that is killed before it has changed nothing that a reader
sees; the next writer removes what it left. Files that the manifest no longer names stay for a while, for readers that are under way.
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
# Seconds for which files that were replaced stay, and for which a second writer waits for the first one.
GRACE, PATIENCE = 3600.0, 300.0
_PATH = re.compile(r"([a-z_]+)/cluster=([A-Za-z0-9_][A-Za-z0-9_.\-]*)/date=(\d{4}-\d\d-\d\d)/[0-9a-f]{32}\.parquet")
_SHAPE = {"version": int, "files": [str], "replaced": [{"path": str, "at": float}]}


class CatalogError(RecoveryError):
    """The history tables cannot be read or written; the text says why and what to do."""


@dataclass(frozen=True, order=True)
class DataFile:
    """One Parquet file of a table. `path` is relative to the directory of the history."""

    table: str
    cluster: str
    date: Date
    path: str

    @classmethod
    def parse(cls, path: str) -> DataFile:
        """ValueError for a path that no data file has."""
        found = _PATH.fullmatch(path)
        if found is None:
            raise ValueError(f"{path!r:.300} is no path of a data file")
        table, cluster, day = found.groups()
        return cls(table, cluster, Date.fromisoformat(day), path)

    @classmethod
    def new(cls, table: str, cluster: str, day: Date) -> DataFile:
        """A file that is not there yet."""
        return cls(table, cluster, day, f"{table}/cluster={cluster}/date={day}/{uuid.uuid4().hex}.parquet")


@dataclass
class Change:
    """What a writer wants to change. `folder`: where it stages its files, on the same file system; `current`: the files as they are."""

    folder: Path
    current: tuple[DataFile, ...]
    added: dict[DataFile, Path] = field(default_factory=dict)
    removed: set[DataFile] = field(default_factory=set)

    def replace(self, files: set[DataFile] | list[DataFile], by: tuple[DataFile, Path] | None) -> None:
        """Put one staged file, or none, in the place of others."""
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
        """The files that all tables consist of at this moment, sorted."""
        return tuple(sorted(DataFile.parse(path) for path in self._read()["files"]))

    @contextmanager
    def writing(self) -> Iterator[Change]:
        """Alone among all writers, prepare a change; it is committed when the block ends well. One that adds and removes nothing writes nothing."""
        try:
            private_directory(self.root)
            with self._locked():
                self._sweep()
                folder = private_directory(self.root / STAGING / uuid.uuid4().hex)
                try:
                    change = Change(folder, self.files())
                    yield change
                    if change.added or change.removed:
                        self._commit(change)
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
        except OSError as error:
            if error.errno not in (*NO_ROOM, errno.EACCES):
                raise
            raise CatalogError(
                f"cannot write the history tables in {self.root}: {error.strerror or error}; they stand as before: make room and run again"
            ) from error

    def _read(self) -> dict[str, Any]:
        try:
            refuse_link(self._manifest)
            content = strict_json.parse(read_regular(self._manifest, follow=False))
            strict_json.check(content, {"version": int})
            if content["version"] != VERSION:
                raise CatalogError(
                    f"{self._manifest}: version {strict_json.shortened(content['version'])} of the history tables is not {VERSION}; "
                    f"move {self.root} away, and the tables are made again from the files of the workdir"
                )
            strict_json.check(content, _SHAPE)
            for path in content["files"]:
                DataFile.parse(path)
        except FileNotFoundError:
            return {"version": VERSION, "files": [], "replaced": []}
        except (strict_json.ContentError, ValueError) as error:
            raise CatalogError(
                f"{self._manifest}: {error}; move {self.root} away, and the tables are made again from the files of the workdir"
            ) from error
        except OSError as error:
            raise CatalogError(f"{self._manifest}: cannot be read: {error.strerror}; mend its permissions") from error
        found: dict[str, Any] = content
        return found

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock. The kernel gives back that of a process which is killed."""
        path = self.root / ".lock"
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+") as stream:
            deadline = time.monotonic() + self._patience
            while True:
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError as error:
                    if time.monotonic() >= deadline:
                        raise CatalogError(
                            f"another run writes the history tables in {self.root} ({stream.read(200) or 'not known which'}): "
                            "run again when it has ended"
                        ) from error
                    time.sleep(min(0.2, self._patience))
            stream.truncate(0)
            stream.write(f"process {os.getpid()} on {socket.gethostname()} since {utc_now()}")
            stream.flush()
            yield

    def _commit(self, change: Change) -> None:
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
        # Those that somebody may still read by the manifest of before.
        kept = [row for row in manifest["replaced"] if now - row["at"] < self._grace]
        for row in manifest["replaced"]:
            if row not in kept:
                self._remove(row["path"])
        gone = {file.path for file in change.removed}
        manifest["files"] = sorted([path for path in manifest["files"] if path not in gone] + [file.path for file in change.added])
        manifest["replaced"] = kept + [{"path": path, "at": now} for path in sorted(gone)]
        write_private(self._manifest, json.dumps(manifest, indent=0).encode() + b"\n")

    def _sweep(self) -> None:
        """Remove what a writer left that was killed: its staged files, and those that it moved and never committed."""
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
        with suppress(OSError):  # others are in it, or it is gone already
            file.parent.rmdir()


def private_directory_quickly(path: Path) -> None:
    """As `files.private_directory`, for thousands of directories below one that was proven already: no trial write."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
        path.chmod(0o700)
