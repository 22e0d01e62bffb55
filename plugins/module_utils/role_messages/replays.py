# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role replay shows: how many saved records were written again, and which partitions have some left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, spaced

SHOWN = 20


def replay_lines(replayed: Mapping[str, Any], allowed: bool = False) -> list[str]:
    """Return what came of each partition. `replayed`: the result of `kafka_record_replay`.

    allowed  whether records were written: not in a dry run, and not to propose the replay
    """
    counts = replayed["counts"]
    skipped = ", ".join(f"{number} {spaced(reason)}" for reason, number in counts["skipped"].items() if number)
    number = counts["replayed"] if allowed else counts["left"]
    first = f"{count(number, 'saved record')} {'written again' if allowed else 'would be written again'}, {counts['already_there']} already there"
    unwritten = "To be proposed, nothing was written. " if replayed.get("proposal_path") else "Dry run, nothing was written. "
    rows = [row for row in replayed["partitions"] if row["reason"]]
    return [
        f"{'' if allowed else unwritten}{first}{f', not written: {skipped}' if skipped else ''}",
        *(f"{row['topic']}-{row['partition']}: {row['reason']}" for row in rows[:SHOWN]),
        *(["and more"] if len(rows) > SHOWN else []),
    ]
