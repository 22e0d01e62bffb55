# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the disk of a lost broker has, and what only it has, as a sentence. Pure."""

from __future__ import annotations

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Relation, follows
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Decision
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import Log
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.phrases import instant

_REMEDY = "start that broker before the election, or save its disk after it and before that start"


def only_on_disk(decision: Decision, disk: Log) -> int | None:
    """Return the offset from which on no survivor has what this disk has; the end of its log if a survivor has all. None if that is not known."""
    pairs = [decision.evidence.pair(disk.broker_id, log.broker_id) for log in decision.survivors]
    common = [pair.common_offset for pair in pairs if pair is not None and pair.common_offset is not None]
    return max(common) if len(common) == len(decision.survivors) > 0 else None


def disk_text(decision: Decision, disk: Log, row: Relation | None, unsure: bool) -> str:
    """Return what the log on a disk has. `row`: how it relates to the winner's log, None without a winner; `unsure`: whether it is in a hidden fork."""
    read_at, last = instant(disk.read_from_disk_at or 0), disk.end - 1
    where = f"the disk of broker {disk.broker_id} (read at {read_at})"
    alone = only_on_disk(decision, disk)
    if row is None:
        return f"{where} has offsets {disk.log_start_offset or 0} to {last}: start that broker"
    if follows(row) and not unsure:
        return f"{where} has nothing more (its log ends at offset {disk.end})"
    if row.common_offset is None or unsure:
        return f"whether {where} has more (its log ends at offset {disk.end}) is not known: {_REMEDY}"
    if alone is not None and alone < disk.end:
        more = f", and a survivor has offsets {row.common_offset} to {alone - 1}, too" if alone > row.common_offset else ""
        return f"only {where} has offsets {alone} to {last}{more}: {_REMEDY}"
    return f"{where} has {row.beyond_common} more offsets ({row.common_offset} to {last})"
