# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python of Spark's workers on this machine: the one that runs here, with the installed PySpark.

Spark puts a zip of PySpark's sources first on the path. Python does not cache the bytecode of a zip, so that each worker process would compile
PySpark again, which takes 0.7 s.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

NAME, PATH = "python", "PYTHONPATH"


def program(folder: Path) -> str:
    """Write a program into the private `folder` that runs this Python with the PYTHONPATH of this process, and return its path.

    If `folder` is mounted noexec, or this Python cannot be executed, return the path of this Python.
    """
    if os.statvfs(folder).f_flag & os.ST_NOEXEC or not os.access(sys.executable, os.X_OK):
        return sys.executable
    own = os.environ.get(PATH)
    path = f"unset {PATH}" if own is None else f"export {PATH}={shlex.quote(own)}"
    file = folder / NAME
    file.write_text(f'#!/bin/sh\n{path}\nexec {shlex.quote(sys.executable)} "$@"\n')
    file.chmod(0o700)
    return str(file)
