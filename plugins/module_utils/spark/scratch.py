# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private folders of a Spark that runs on this machine. Spark creates its files with the umask, so other users could read shuffled and spilled rows."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_lock
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError, check_directory

PREFIX, LOCK = ".spark-", "lock"
# A folder that a run has just created may not be locked yet.
NEW_SECONDS = 60.0
# The path of a socket has at most 103 bytes on macOS (107 on Linux). Spark's are <directory>/tmp<8 letters>/.<uuid>.sock.
LONGEST_DIRECTORY = 103 - len("/tmp") - 8 - len("/.") - 36 - len(".sock")
SHORT_DIRECTORY = "/tmp"


@contextmanager
def scratch_folder(workdir: Path | None) -> Iterator[Path]:
    """Yield a private folder (0700) in `workdir` for shuffled and spilled rows. It is removed at the end, with those that killed runs have left.

    The folder is in the system's directory for temporary files if there is no workdir yet, or if its path has a comma, which separates paths in
    `spark.local.dir`. Raises FileError if another user could replace the files of the workdir.
    """
    if workdir is None or "," in str(workdir) or not workdir.is_dir():
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            yield Path(folder)
        return
    check_directory(workdir)
    _remove_abandoned(workdir)
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=PREFIX, dir=workdir, ignore_cleanup_errors=True))
        except OSError as error:
            raise FileError(f"cannot write in {workdir}: {error.strerror}; make room, or fix its permissions") from error
        lock = Path(folder, LOCK)
        stream = stack.enter_context(file_lock.opened(lock))
        # Without locks, as on some network file systems, no run removes the folder of another one.
        with suppress(FileError):
            file_lock.locked(lock, stream)
        yield Path(folder)


@contextmanager
def socket_folder() -> Iterator[Path]:
    """Yield a private folder (0700) with a path so short that Spark can create sockets in it, on a file system of this machine."""
    short = len(os.fsencode(tempfile.gettempdir())) <= LONGEST_DIRECTORY
    with tempfile.TemporaryDirectory(dir=None if short else SHORT_DIRECTORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _remove_abandoned(workdir: Path) -> None:
    """Remove the folders of runs that were killed. The kernel has released their locks."""
    for folder in workdir.glob(f"{PREFIX}*"):
        with suppress(OSError, FileError):
            if time.time() - folder.lstat().st_mtime < NEW_SECONDS:
                continue
            lock = folder / LOCK
            with file_lock.opened(lock) as stream:
                if file_lock.locked(lock, stream):
                    shutil.rmtree(folder, ignore_errors=True)
