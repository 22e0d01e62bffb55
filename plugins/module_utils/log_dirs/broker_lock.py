# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a running broker has locked a log dir. Asking changes nothing."""

from __future__ import annotations

import fcntl
import struct

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_files import DiskError, Folder

LOCK = ".lock"
# struct flock of Linux: type, whence, start, length, pid.
_FLOCK = struct.Struct("@hhqqi0q")


def lock_holder(folder: Folder) -> int | None:
    """Return the process that holds the lock of a log dir, 0 if it is in another container or on another host, None if no process holds it.

    Brokers take a POSIX lock. One is seen by processes of the same kernel, and through NFS if it has locks. This process takes none: closing the file
    would drop only its own. Raises DiskError if the lock cannot be read.
    """
    if folder.content(LOCK, 1 << 16) is None:
        return None
    with folder.file(LOCK) as file:
        question = _FLOCK.pack(fcntl.F_RDLCK, 0, 0, 0, 0)
        try:
            answer = fcntl.fcntl(file.descriptor, fcntl.F_GETLK, question)
        except OSError as error:
            raise DiskError(file.path, f"whether a broker has locked it cannot be read: {error.strerror}") from error
    kind, _whence, _start, _length, process = _FLOCK.unpack(answer)
    return None if kind == fcntl.F_UNLCK else max(0, process)
