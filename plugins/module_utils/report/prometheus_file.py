# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The textfile: metrics in a directory of a textfile collector, which may belong to another user."""

from __future__ import annotations

import os
import secrets
import shlex
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    import prometheus_client

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import FileError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.metrics import registry

# The collector runs as another user and must read the file.
MODE = 0o644


def check(path: Path) -> None:
    """Raise FileError if `path` cannot be a textfile. It is outside of the workdir, for example in the directory of the node exporter.

    That directory may belong to another user, so only this file is changed in it, and no links are followed. It must not be a directory in which every
    user can replace the file.
    """
    if path.is_symlink():
        raise FileError(f"textfile {path} is a symbolic link: name the real file")
    if path.suffix != ".prom":
        raise FileError(f"textfile {path} must end with .prom, or no textfile collector reads it")
    if not path.parent.is_dir():
        raise FileError(f"cannot write textfile {path}: make its directory first")
    mode = path.parent.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise FileError(f"every user can replace textfile {path}: chmod o-w {shlex.quote(str(path.parent))}")


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Replace the textfile `path` atomically. Raises FileError if that fails."""
    check(path)
    content = prometheus_client.generate_latest(registry(document))
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _replace(folder, path.name, content)
        finally:
            os.close(folder)
    except OSError as error:
        raise FileError(f"cannot write textfile {path}: {error.strerror}; its directory must be writable") from error


def _replace(folder: int, name: str, content: bytes) -> None:
    # The name cannot be guessed, and no collector reads it. The directory is used through its descriptor, because its owner may replace paths.
    temporary = f".{name}.{secrets.token_hex(8)}"
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), MODE)
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise
