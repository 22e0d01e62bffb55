# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role preferred shows: the outcomes of preferred elections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.partition_lists import dry_run, summary


def preferred_lines(elected: Mapping[str, Any], check_mode: bool) -> list[str]:
    """Return the outcomes, and the leader of each partition that the module returned. `elected`: the result of `kafka_leader_election`."""
    counts, results, nothing = elected["summary"], elected["results"], "every partition is led by its preferred leader"
    return [
        dry_run("written", counts, nothing) if check_mode else summary(counts) or nothing,
        *map(_result, results),
        *(["and more"] if sum(counts.values()) > len(results) else []),
    ]


def _result(row: Mapping[str, Any]) -> str:
    leader = "no leader" if row["leader"] is None else f"leader {row['leader']}"
    error = f", {row['error']}" if row["error"] else ""
    message = f": {row['message']}" if row["message"] else ""
    return f"{row['topic']}-{row['partition']}: {row['outcome']}, {leader}{error}{message}"
