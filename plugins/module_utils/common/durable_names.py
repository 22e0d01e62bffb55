# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of files on the disk. To sync a file does not sync its name: that is in the folder, whose own name is in the folder above it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

# The folders above a file of a workdir that a run may have made, with the workdir itself.
FOLDERS = 5


def sync_names(folder: Path) -> None:
    """Wait until the names in a folder of a workdir are on the disk, and its own. A run that was killed may have made them. Raises OSError if that fails."""
    for path in (folder, *folder.parents[: FOLDERS - 1]):
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            # Some network file systems do not sync folders: they write names at once. Folders above the workdir may not be readable.
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EACCES):
                raise
