# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of the workdir: private, written whole or not at all, never through a symbolic link."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.errors import SpokenError

SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,199}")


class FileError(SpokenError):
    """A file or directory of the workdir cannot be used; the text names it and says why."""


def safe_name(kind: str, name: str) -> str:
    """Return `name` if it can be a single path component, else raise FileError naming the option `kind`."""
    if not SAFE_NAME.fullmatch(name):
        raise FileError(
            f"{kind} {name!r} cannot be a file name: use at most 200 letters, digits, dots, dashes, underscores, and no dot first"
        )
    return name


def private_directory(path: Path) -> Path:
    """Create `path` (mode 0700) with what is missing above it; prove by a trial write that it can be written."""
    if path.is_symlink():
        raise FileError(f"{path} is a symbolic link: name the real directory")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise FileError(f"cannot write in {path}: {error.strerror}; choose another workdir or mend its permissions") from error
    return path


def work_file(workdir: Path, kind: str, cluster: str, run_id: str | None = None, suffix: str = ".json") -> Path:
    """Return `<workdir>/<kind>/[<run_id>/]<cluster><suffix>`, its directories made and known to be writable."""
    folders = [kind] if run_id is None else [kind, safe_name("run_id", run_id)]
    name = safe_name("cluster", cluster) + suffix
    folder = private_directory(workdir)
    for part in folders:
        folder = private_directory(folder / part)
    return folder / name


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file (mode 0600) beside `path` and rename it over `path` after an fsync; on any error `path` stays as it was."""
    if path.is_symlink():
        raise FileError(f"{path} is a symbolic link: remove it, files of the workdir are never written through links")
    try:
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(beside).replace(path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(beside).unlink()
        raise


def write_private(path: Path, content: bytes) -> None:
    """Replace `path` by `content`, whole or not at all."""
    with replacing(path) as stream:
        stream.write(content)
