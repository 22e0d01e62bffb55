# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of several event sources on one workdir is active: the one that holds a lock there. The others stand by, and send no events.

`<workdir>/incidents/watcher.lock` is the lock. `<workdir>/incidents/watcher.json` names the source that took it last, so that a run that an earlier source has
started claims nothing any more, and the clusters that it watches: a source that stands by for one which does not watch the same would leave outages unhandled.
"""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Callable, Collection
from pathlib import Path
from typing import IO, Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_lock, strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    FileError,
    create,
    fetch,
    private_directory,
    read_regular,
    write_private,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now

FOLDER, LOCK, OWNER = "incidents", "watcher.lock", "watcher.json"
_NAME = strict_json.Name()
_SHAPE = {"watcher": _NAME, "host": _NAME, "pid": int, "since": _NAME, "clusters": [_NAME]}


class ActiveWatcher:
    """One event source, of these clusters. `watcher`: its id while it is active, another one each time, None while it stands by."""

    def __init__(self, workdir: Path, clusters: Collection[str] = ()) -> None:
        self._folder, self._clusters = workdir / FOLDER, sorted(clusters)
        self._lock: IO[bytes] | None = None
        self.watcher: str | None = None

    def check(self) -> bool:
        """Return whether this source is active now, and become active if no other one is.

        Raises FileError if the workdir cannot be used, or if the active source does not watch all clusters of this one.
        In an object store it takes up to the time to live of a lease to know that the active one is gone.
        """
        if self._lock is not None:
            if file_lock.still_locked(self._lock):
                return True
            self.stop()
        for folder in (self._folder.parent, self._folder):
            private_directory(folder)
        path, owner = self._folder / LOCK, self._folder / OWNER
        # A store lets a process replace only what it has read. Read before the lock, it is refused to a source that is stalled until another one is active.
        write = _replacement(owner)
        stream = file_lock.opened(path)
        try:
            if not file_lock.locked(path, stream):
                self._need_same_fleet(owner)
                stream.close()
                return False
            watcher = uuid.uuid4().hex
            content = {"watcher": watcher, "host": socket.gethostname(), "pid": os.getpid(), "since": utc_now(), "clusters": self._clusters}
            write(owner, json.dumps(content).encode() + b"\n")
        except FileExistsError as error:
            stream.close()
            raise FileError(f"another source has written {owner} meanwhile: this one stands by") from error
        except BaseException:
            stream.close()
            raise
        self._lock, self.watcher = stream, watcher
        return True

    def _need_same_fleet(self, owner: Path) -> None:
        try:
            active = _read(owner)
        except (OSError, strict_json.ContentError):
            return  # it has not written the file yet
        if missed := sorted({*self._clusters} - {*active["clusters"]}):
            raise FileError(
                f"the event source that is active on {self._folder.parent} (process {active['pid']} on {active['host']}) does not watch {missed[0]}"
                + (f" and {len(missed) - 1} more" if len(missed) > 1 else "")
                + ", so outages there are not handled: give both the same inventory and restart the older one, or give this fleet another workdir"
            )

    def stop(self) -> None:
        """Let another source become active."""
        if self._lock is not None:
            self._lock.close()
        self._lock = self.watcher = None


def _replacement(owner: Path) -> Callable[[Path, bytes], None]:
    """Return the function that writes the file, in a store only if it is as it is now."""
    try:
        fetch(owner)
    except FileNotFoundError:
        return create
    return write_private


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = strict_json.parse(read_regular(path, follow=False))
    strict_json.check(content, _SHAPE)
    return content


def active_watcher(workdir: Path) -> str | None:
    """Return the id of the event source that became active last, None if there was none. Raises RecoveryError for a file that cannot be used."""
    path = workdir / FOLDER / OWNER
    try:
        content = _read(path)
    except FileNotFoundError:
        return None
    except (OSError, strict_json.ContentError) as error:
        problem = error.strerror if isinstance(error, OSError) else error
        raise RecoveryError(f"{path}: {problem}. Restart the event source, which writes the file again") from error
    watcher: str = content["watcher"]
    return watcher
