# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads files with secrets, only if no other user can read or replace their content."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import opened_regular


def read(option: str, path: Path) -> bytes:
    """Return the content of a file with a secret. `option`: the option that names it, for errors.

    Raises RecoveryError if it cannot be read, if another user owns it, or if others can read or change it. Root may own it.
    """
    try:
        with opened_regular(path) as stream:
            _check(option, path, os.fstat(stream.fileno()))
            return stream.read()
    except OSError as error:
        raise RecoveryError(f"{option} {path} cannot be read: {error.strerror}") from error


def check(option: str, path: Path) -> None:
    """Check a file as `read` does, for a library that reads it by its path. Raises RecoveryError as in `read`."""
    try:
        with opened_regular(path) as stream:
            _check(option, path, os.fstat(stream.fileno()))
    except OSError as error:
        raise RecoveryError(f"{option} {path} cannot be read: {error.strerror}") from error


def _check(option: str, path: Path, found: os.stat_result) -> None:
    quoted, mode = shlex.quote(str(path)), stat.S_IMODE(found.st_mode)
    if found.st_uid not in (os.geteuid(), 0):
        raise RecoveryError(
            f"{option} {path} belongs to another user (uid {found.st_uid}), who can change it: chown {os.geteuid()} {quoted}"
        )
    # systemd's LoadCredential= gives a service a file of root with an ACL, which stat shows as mode 0440 with group root.
    granted = stat.S_IRGRP if (found.st_uid, found.st_gid) == (0, 0) != (os.geteuid(), 0) else 0
    if mode & 0o077 & ~granted:
        raise RecoveryError(
            f"{option} {path} can be read or written by other users (mode {mode:04o}): chmod go= {quoted}, then replace the secret"
        )
