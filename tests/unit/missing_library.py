# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A library that is not there, for modules that run in a process of their own."""

from __future__ import annotations

import os
from pathlib import Path


def without(library: str, folder: Path) -> dict[str, str]:
    """Variables of a process that cannot import `library`; `folder` is for what makes it so."""
    (folder / f"{library}.py").write_text(f"raise ImportError('no {library} here')")
    # What is on the path already stays: under ansible-test the collection is.
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))}
