# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock of moves of a cluster, `throttles/id-<cluster id>.run`: a run that moves replicas holds it from before its first request to its end."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from pathlib import Path
from typing import IO

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import lock_holder, strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.file_lock import (
    confirmed,
    doubtful_seconds,
    is_stored,
    is_unlocked,
    locked,
    may_be_locked,
    opened,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.journal_file import JournalBusy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    TakenError,
    fetch,
    read_regular,
    write_private,
)

PROBE_SECONDS = 1.0  # to wait for the lock, which a process that checks for an active run holds for a moment
_LAST = {"run_id": strict_json.Name(), "begun": strict_json.Name()}


class ActiveRun:
    """A run that holds the lock, until `end`, or until the process ends. `doubtful_seconds`: for how long the one before may still act."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.doubtful_seconds = doubtful_seconds(stream)

    def confirm(self) -> None:
        """Raise TakenError if another run has taken the lock because this one was stalled, another RecoveryError if that cannot be known now."""
        if not confirmed(self._stream):
            raise TakenError(
                "another run moves replicas of this cluster since this one was stalled; this one stops; run again when the other one has ended"
            )

    def end(self) -> None:
        """Release the lock."""
        self._stream.close()


class RunLock:
    """The lock at `path`. `read_only`: for check mode, nothing is locked."""

    def __init__(self, path: Path, read_only: bool) -> None:
        self._path, self._read_only = path, read_only

    def acquire(self, run_id: str | None = None) -> ActiveRun:
        """Hold the lock, unless it is `read_only`. `run_id`: of a run that moves replicas, for `last_run`.

        Raises JournalBusy if another run is active, FileError if the file cannot be used.
        """
        if self._read_only:
            self.fail_if_active("wait until it has ended")
            return ActiveRun(io.BytesIO())
        stream = self._locked()
        run = {} if run_id is None else {"run_id": run_id}
        content = json.dumps(run | lock_holder.this_process()).encode()
        try:
            stream.truncate(0)
            stream.write(content)
            stream.flush()
            if is_stored(self._path):  # the lock of a store does not have the id of the run
                with suppress(FileNotFoundError):
                    fetch(self._path)  # a store lets a process replace only what it has read
                write_private(self._path, content)
        except BaseException:
            stream.close()
            raise
        return ActiveRun(stream)

    def shut_out(self) -> float:
        """Take the lock from a run that seems to be dead, and may only be stalled. Return for how long it may still act, 0 if it does not.

        Raises as `acquire`.
        """
        with self._locked() as stream:
            return doubtful_seconds(stream)

    def _locked(self) -> IO[bytes]:
        stream = opened(self._path)
        if not locked(self._path, stream, PROBE_SECONDS):
            with stream:
                raise _busy(stream, "wait until it has ended")
        return stream

    def fail_if_active(self, remedy: str) -> None:
        """Raise JournalBusy if a run moves replicas of this cluster now. `remedy`: the end of the message."""
        if may_be_locked(self._path):
            with opened(self._path) as stream:
                if not is_unlocked(self._path, stream, PROBE_SECONDS):
                    raise _busy(stream, remedy)

    def is_active(self) -> bool:
        """Return whether a run moves replicas of this cluster now."""
        if not may_be_locked(self._path):
            return False
        with opened(self._path) as stream:
            return not is_unlocked(self._path, stream)

    def last_run(self) -> tuple[str, str] | None:
        """Return the id of the run that has moved replicas of this cluster last, and when it began; None if that is not known."""
        try:
            entry = strict_json.parse(read_regular(self._path, follow=False))
            strict_json.check(entry, _LAST)
        except (OSError, ValueError):
            return None
        return entry["run_id"], entry["begun"]


def _busy(stream: IO[bytes], remedy: str) -> JournalBusy:
    holder = ""
    with suppress(strict_json.ContentError):
        holder = lock_holder.as_text(strict_json.parse(stream.read(4096)))
    return JournalBusy(f"another run moves replicas of this cluster{holder}; {remedy}")
