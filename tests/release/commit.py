# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a commit, byte for byte.

`git archive` and `git checkout` obey attributes, which leave files out or change them: those of the commit, and those of .git/info/attributes, which no
review sees. So the blobs themselves are read, and no object that replaces another one (`git replace`).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from .errors import ReleaseError

_EXECUTABLE, _REGULAR = "100755", "100644"


def git(checkout: Path, *arguments: str, given: bytes = b"") -> bytes:
    """Return what git prints. `given`: its input. Raises CalledProcessError if it fails."""
    environment = {**os.environ, "GIT_NO_REPLACE_OBJECTS": "1"}
    return subprocess.run(["git", *arguments], cwd=checkout, env=environment, input=given, capture_output=True, check=True).stdout


def commit_id(checkout: Path, name: str) -> str:
    """Return the id of the commit that `name` means now."""
    return git(checkout, "rev-parse", "--verify", f"{name}^{{commit}}").decode().strip()


def write_tree(checkout: Path, commit: str, folder: Path) -> None:
    """Write the files of a commit to `folder`, which it makes. Raises ReleaseError if one is a link or a submodule."""
    blobs = []
    for row in git(checkout, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
        kind, name = row.split(b"\t", 1)
        mode, _type, blob = kind.decode().split()
        file = os.fsdecode(name)
        if mode not in (_EXECUTABLE, _REGULAR):
            raise ReleaseError(f"{file} is not a regular file in the commit; replace it with one")
        blobs.append((blob, mode, folder / file))
    # The answer to each id: "<id> blob <size>", a line feed, the content, a line feed.
    answer = git(checkout, "cat-file", "--batch", given="".join(f"{blob}\n" for blob, _mode, _path in blobs).encode())
    start = 0
    for _blob, mode, path in blobs:
        begin = answer.index(b"\n", start) + 1
        end = begin + int(answer[start:begin].split()[2])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(answer[begin:end])
        path.chmod(0o755 if mode == _EXECUTABLE else 0o644)
        start = end + 1
