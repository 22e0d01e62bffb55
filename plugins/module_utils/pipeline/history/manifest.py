# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifest of the history tables names the data files of all tables, which change atomically. Here is its content, and what a change makes of it."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import date as Date
from pathlib import Path
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.schemas import VERSION

_PATH = re.compile(r"([a-z_]+)/cluster=([A-Za-z0-9_][A-Za-z0-9_.\-]*)/date=(\d{4}-\d\d-\d\d)/[0-9a-f]{32}\.parquet")
_ROWS = [{"path": str, "at": float}]
_SHAPE = {"version": int, "commit": str, "files": [str], "replaced": _ROWS, "orphans": _ROWS}


class ManifestError(RecoveryError):
    """A manifest is not valid, or of another version."""


class ConflictError(RecoveryError):
    """Another writer has changed what a change depends on. Nothing was changed: make it again of what the tables have now."""


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
    """The change of a writer.

    folder    where it stages files, private to this writer
    current   the data files that the change starts from
    clusters  those whose rows must be as in `current` when the change is committed: what is added depends on them
    """

    folder: Path
    current: tuple[DataFile, ...]
    added: dict[DataFile, Path] = field(default_factory=dict)
    removed: set[DataFile] = field(default_factory=set)
    clusters: set[str] = field(default_factory=set)

    def replace(self, files: set[DataFile] | list[DataFile], by: tuple[DataFile, Path] | None) -> None:
        """Replace `files` when the change is committed. `by`: one new data file and the path where it is staged, None to remove them only."""
        self.removed |= set(files)
        if by is not None:
            self.added[by[0]] = by[1]


class Gone(NamedTuple):
    """A path that the tables no longer have, and since when: seconds since 1970, by the clock of the file system or store."""

    path: str
    at: float


@dataclass(frozen=True)
class Manifest:
    """The content of a manifest.

    files     paths of the data files
    replaced  files that readers of an earlier manifest may still use
    orphans   files that no manifest named, and that are about to be removed: no writer may commit them any more
    commit    unique, so that no two manifests have the same bytes
    """

    files: tuple[str, ...] = ()
    replaced: tuple[Gone, ...] = ()
    orphans: tuple[Gone, ...] = ()
    commit: str = ""

    @classmethod
    def parse(cls, content: bytes) -> Manifest:
        """Return the manifest with this content. Raises ManifestError if it is not valid or of another version."""
        try:
            found = strict_json.parse(content)
            strict_json.check(found, {"version": int})
            if found["version"] != VERSION:
                raise ManifestError(f"version {strict_json.shortened(found['version'])} of the history tables is not {VERSION}")
            strict_json.check(found, _SHAPE)
            replaced, orphans = ([Gone(row["path"], row["at"]) for row in found[name]] for name in ("replaced", "orphans"))
            for path in (*found["files"], *(row.path for row in (*replaced, *orphans))):
                DataFile.parse(path)
        except (strict_json.ContentError, ValueError) as error:
            raise ManifestError(str(error)) from error
        return cls(tuple(sorted(found["files"])), tuple(replaced), tuple(orphans), found["commit"])

    def content(self) -> bytes:
        """Return the bytes of the manifest, which `parse` reads."""
        rows = {name: [row._asdict() for row in getattr(self, name)] for name in ("replaced", "orphans")}
        return json.dumps({"version": VERSION, "commit": self.commit, "files": self.files, **rows}, indent=0).encode() + b"\n"

    def data_files(self) -> tuple[DataFile, ...]:
        """Return the data files, sorted."""
        return tuple(sorted(map(DataFile.parse, self.files)))

    def known(self) -> set[str]:
        """Return all paths that it names."""
        return {*self.files, *(row.path for row in (*self.replaced, *self.orphans))}

    def has_had(self, paths: Iterable[str]) -> bool:
        """Return whether these files were committed: the tables have one of them, or another writer has replaced it since."""
        return not {*self.files, *(row.path for row in self.replaced)}.isdisjoint(paths)

    def need_unchanged(self, change: TableChange) -> None:
        """Raise ConflictError if another writer has committed something that `change` depends on, or has begun to remove what it adds."""
        since = set(self.files) ^ {file.path for file in change.current}
        if (
            not {file.path for file in change.removed} <= set(self.files)
            or any(DataFile.parse(path).cluster in change.clusters for path in since)
            or not {file.path for file in change.added}.isdisjoint(self.known())
        ):
            raise ConflictError("other runs have changed the history tables meanwhile: run again when they have ended")

    def changed(self, change: TableChange, now: float, grace: float, orphans: Iterable[str] = ()) -> Manifest:
        """Return the manifest after `change` at the time `now`. Files that have been gone for `grace` seconds are no longer named: see `expired`."""
        removed = {file.path for file in change.removed}

        def left(rows: Collection[Gone]) -> list[Gone]:
            return [row for row in rows if now - row.at < grace]

        return Manifest(
            tuple(sorted([path for path in self.files if path not in removed] + [file.path for file in change.added])),
            (*left(self.replaced), *(Gone(path, now) for path in sorted(removed))),
            (*left(self.orphans), *(Gone(path, now) for path in sorted(orphans))),
            uuid.uuid4().hex,
        )

    def expired(self, now: float, grace: float) -> list[str]:
        """Return the paths of files that have been gone for `grace` seconds, and can be removed."""
        return [row.path for row in (*self.replaced, *self.orphans) if now - row.at >= grace]
