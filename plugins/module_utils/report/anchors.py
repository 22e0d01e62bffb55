# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The places of the page that links lead to. Pure: no I/O."""

from __future__ import annotations

from urllib.parse import quote


def partition_anchor(cluster: str, topic: str, partition: int) -> str:
    """Return the id of a partition, the same in each report of it: docs/report.md has its form.

    Every other character is percent-encoded, so no name can end the id, and no two partitions have the same one.
    """
    return "/".join(("partition", *(quote(str(part), safe="", errors="backslashreplace") for part in (cluster, topic, partition))))


def term_anchor(code: str) -> str:
    """Return the id of the meaning of a code."""
    return f"term-{code}"
