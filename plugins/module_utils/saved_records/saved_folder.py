# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of saved records of one run and cluster, `<workdir>/saved/<run_id>/<cluster>`: its lock, and the room for more files in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.file_lock import held
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    FileError,
    private_directory,
    refresh,
    safe_name,
)

LOCK = ".lock"
# What stays free of the file system of the workdir: so many bytes, or this share of a small one, and this share of its files.
# Journals of elections need room, too.
FREE_BYTES, FREE_SHARE = 1 << 30, 0.05


def folder_of(workdir: Path, run_id: str, cluster: str) -> Path:
    """Return the folder of a run's saved records. Raises FileError for a name that cannot be a file name."""
    return workdir / "saved" / safe_name("run_id", run_id) / safe_name("cluster", cluster)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Create a folder of saved records, and hold its lock. Raises FileError if another run has it, or if it cannot be created."""
    private_directory(folder)
    with held(folder / LOCK, f"another run saves records in {folder}: wait until it has ended, or use another run_id"):
        refresh(folder)  # the run that had the lock before may have written since this process began
        yield


def room(folder: Path) -> int:
    """Return how many bytes may still be saved in a folder, 0 or less if none. Raises FileError if its file system cannot be read."""
    found = _file_system(folder)
    return found.f_bavail * found.f_frsize - _kept_free(found)


def no_room(folder: Path, more: int) -> str | None:
    """Return why so many more bytes must not be written in a folder, None if they may be. Raises FileError as `room`."""
    if (free := room(folder)) >= more:
        return None
    kept = _kept_free(_file_system(folder))
    return (
        f"{max(0, free)} bytes may still be written in {folder}, and {kept} stay free for journals: make room on its disk, then run again"
    )


def _kept_free(found: os.statvfs_result) -> int:
    return min(FREE_BYTES, int(FREE_SHARE * found.f_blocks * found.f_frsize))


def room_for_files(folder: Path) -> int | None:
    """Return how many files may still be created in a folder, 0 or less if none, None if its file system has no limit. Raises FileError as `room`."""
    found = _file_system(folder)
    return found.f_favail - int(FREE_SHARE * found.f_files) if found.f_files else None


def _file_system(folder: Path) -> os.statvfs_result:
    try:
        return os.statvfs(folder)
    except OSError as error:
        raise FileError(f"how much is free in {folder} cannot be read: {error.strerror}") from error
