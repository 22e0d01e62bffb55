# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Partitions without a leader in groups, each with why, what to do, and the command for it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.next_steps import FORCE, PLANNED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.short_reasons import short_reason

# Groups that are shown. There are as many lines for each.
SHOWN = 5
_DRY_RUN = " (this is its dry run)"


def described(row: Mapping[str, Any], code: str, command: str | None) -> dict[str, Any]:
    """Return a group for people and programs.

    row      its `outcome`, `reason_code`, `count` and `ranges`
    code     that of its next step
    command  for it, None without
    """
    why, remedy = short_reason(row["outcome"], row["reason_code"])
    return {
        **{key: row[key] for key in ("outcome", "reason_code", "count", "ranges")},
        "why": why,
        "remedy": remedy + (_DRY_RUN if code in FORCE and " --check " in (command or "") else ""),
        "command": command,
    }


def group_lines(groups: Sequence[Mapping[str, Any]], rest: str) -> list[str]:
    """Return at most three lines for each of the first groups. `rest`: what has the others."""
    lines = []
    for place, row in enumerate(groups[:SHOWN]):
        name = "to elect" if row["outcome"] == PLANNED else f"{row['outcome']} ({row['reason_code']})"
        lines += [f"{name}, {number(row['count'])}: {row['ranges']}".rstrip(": "), f"  {row['why']}: {row['remedy']}"]
        # Groups of one step share its command.
        if row["command"] and row["command"] not in {one["command"] for one in groups[place + 1 : SHOWN]}:
            lines.append(row["command"])
    if left := groups[SHOWN:]:
        partitions = sum(row["count"] for row in left)
        lines.append(f"{count(partitions, 'more partition')} without a leader, for {count(len(left), 'more reason')}: see {rest}")
    return lines


def one_line(cluster: str, headline: str, groups: Sequence[Mapping[str, Any]]) -> str:
    """Return a run or a status in one line, for a chat: "east: 6 held, 2 elected (forked 4, no_survivor 2)"."""
    reasons = ", ".join(f"{row['reason_code'] or row['outcome']} {number(row['count'])}" for row in groups)
    return f"{cluster}: {headline}" + (f" ({reasons})" if reasons else "")
