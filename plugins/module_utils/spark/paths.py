# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Spark gets as the path of a file."""

from __future__ import annotations


def reads_store() -> bool:
    """Return whether Spark reads the object store itself."""
    return False


def spark_path(file: str) -> str:
    """Return `file` as a URL of the local (or shared) file system, with Hadoop's wildcards escaped."""
    return "file:" + "".join(f"\\{letter}" if letter in "{}[]*?\\" else letter for letter in file)
