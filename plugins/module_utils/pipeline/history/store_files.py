# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the history tables in an object store: several writers at once, on any machines. The conditional write of the manifest is the commit.

No clock of this machine is compared with one of another: the age of an object is that by the clock of the store.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import time
import uuid
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.mounts import Mount
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, fetch, private_directory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.folder_files import DATA_FILES, MANIFEST, STAGING
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.history.manifest import ConflictError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.store import client

REMOVED = "another run took what this one has staged for the history tables for that of a killed run, and removed it: run again"
_DATA_FILE = re.compile(r"[a-z_]+/cluster=[^/]+/date=[^/]+/[^/]+\.parquet")


class StoreFiles:
    """The files below `root`, a folder of `mount`. `abandoned`: see `catalog.ABANDONED`."""

    def __init__(self, root: Path, mount: Mount, abandoned: float) -> None:
        self._root, self._mount, self._client = root, mount, mount.client
        self._abandoned = abandoned
        self._manifest = mount.key(root / MANIFEST)
        self._began = 0.0, 0.0  # by the clock of the store, and by the monotonic one of this process

    def read(self) -> tuple[bytes | None, str | None]:
        """Return content and ETag of the manifest, None if there is none yet. Raises FileError if the store cannot be read."""
        try:
            return self._client.get(self._manifest)
        except FileNotFoundError:
            return None, None

    def replace(self, content: bytes, version: str | None) -> bool:
        """Replace the manifest with this ETag, None if there is none yet. Return whether it was this one that was replaced."""
        try:
            if version is None:
                self._client.create(self._manifest, content)
            else:
                self._client.replace(self._manifest, content, version)
        except client.ConflictError:
            return False
        return True

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Yield a private folder in which files are staged, here or in the store. Other writers are not locked out."""
        self._mount.prove()
        folder = self._root / STAGING / uuid.uuid4().hex
        mark = self._mount.key(folder / "writer")
        self._client.put(mark, f"process {os.getpid()} on {socket.gethostname()}".encode())
        try:
            if (marked := self._client.list(self._mount.key(folder)).get(mark)) is None:
                raise ConflictError(REMOVED)
            self._began = marked.modified, time.monotonic()
            private_directory(self._root)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(FileError):  # else the next writers do it
                for key in self._client.list(self._mount.key(folder)):
                    self._client.remove(key)

    def sweep(self, _known: Collection[str]) -> None:
        """Do nothing: other writers may live. See `orphans`."""

    def orphans(self) -> Collection[str]:
        """Return the paths of data files that are so old that a writer which has not committed them was killed. Remove what such writers have staged.

        The caller leaves out the files in the manifest, and names the others in the next one before they are removed: a writer that lives after all
        finds them there, and does not commit them.
        """
        found, old = [], self.now() - self._abandoned
        top = self._mount.key(self._root)
        for key, stored in self._client.list(top).items():
            path = key.removeprefix(f"{top}/")
            if stored.modified <= old:
                if path.startswith(f"{STAGING}/"):
                    self._client.remove(key)
                elif _DATA_FILE.fullmatch(path):
                    found.append(path)
        return found

    def staged(self, folder: Path) -> list[Path]:
        """Return the files of a table that Spark has staged in `folder`: here, or itself in the store."""
        if folder.is_dir():
            return sorted(folder.glob(DATA_FILES))
        top = self._mount.key(folder)
        keys = (key for key in self._client.list(top) if Path(key).match(f"{top}/{DATA_FILES}"))
        return [self._mount.root / key for key in sorted(keys)]

    def publish(self, staged: Path, path: str) -> None:
        """Give a staged file its final `path`. Raises ConflictError if another run has removed it."""
        target = self._mount.key(self._root / path)
        if staged.is_file():
            self._client.put(target, staged)
        else:
            try:
                self._client.copy(self._mount.key(staged), target)
            except FileNotFoundError as error:
                raise ConflictError(REMOVED) from error

    def all_exist(self, paths: Iterable[str]) -> bool:
        """Return whether all of these data files exist."""
        wanted = {self._mount.key(self._root / path) for path in paths}
        return wanted <= self._client.list(self._mount.key(self._root)).keys()

    def remove(self, paths: Iterable[str]) -> None:
        """Remove data files, which may be missing."""
        for path in paths:
            self._mount.remove(self._root / path)

    def local(self, paths: Iterable[str]) -> list[Path]:
        """Return where this process reads data files, which are brought from the store. Raises ConflictError if another run has removed one."""
        found = [self._root / path for path in paths]
        try:
            for path in found:
                fetch(path)
        except FileNotFoundError as error:
            raise ConflictError(f"other runs have replaced {error.filename}, and removed it since: run again") from error
        return found

    def now(self) -> float:
        """Return the time in seconds since 1970, by the clock of the store."""
        at, began = self._began
        return at + time.monotonic() - began
