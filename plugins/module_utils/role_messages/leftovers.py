# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role cleanup shows: what killed runs have left, what became of it, and the next step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, spaced
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.model import (
    FAILED,
    KEPT,
    KILLED_RUN,
    MOVE,
    ORDER,
    REMOVABLE,
    REMOVED,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun

OUTCOMES = {FAILED: "not removed", REMOVABLE: "to be removed", KEPT: "kept", REMOVED: "removed"}
VERBS = {ORDER: "restored", MOVE: "cancelled"}  # what removing means for these kinds


def leftover_lines(found: Mapping[str, Any], run: PresentRun, allowed: bool) -> list[str]:
    """Return a line for each row that the module returned, for what it does not know, and for the next step.

    found    a result of `kafka_recovery_leftovers` or `kafka_recovery_leftovers_info`
    allowed  whether the operator has allowed to remove anything
    """
    counts = found["summary"]
    total = sum(counts[outcome] for outcome in OUTCOMES)
    more = total - len(found["leftovers"])
    parts = [f"{counts[outcome]} {words}" for outcome, words in OUTCOMES.items() if counts[outcome]]
    dry_run = not allowed or run.check_mode
    lines = [
        ("Dry run, nothing was removed. " if dry_run and total else "")
        + (f"{count(total, 'leftover')}: {', '.join(parts)}" if total else "nothing is left over"),
        *([f"{count(counts['moving'], 'reassignment')} in progress, not left over"] if counts["moving"] else []),
        *(_row(row) for row in found["leftovers"]),
        *([f"and {count(more, 'leftover')} more: kafka_recovery_leftovers_info shows them with a higher preview"] if more > 0 else []),
        *(f"Run in progress, left alone: {sentence}" for sentence in found["running"]),
        *(f"Not known: {sentence}" for sentence in found["unknown"]),
        *(f"Problem: {sentence}" for sentence in found["problems"]),
    ]
    if not allowed and counts[REMOVABLE]:
        lines += ["Next, to remove what is ours:", run.commands.line("cleanup", run.cluster, {"kafka_recovery_remove_leftovers": "true"})]
    return lines


def _row(row: Mapping[str, Any]) -> str:
    place = row["resource"] if row["partition"] is None else f"{row['topic']}-{row['partition']}"
    present = f" {row['config']}={row['present']}" if row["config"] else f": {row['present']}"
    before = "" if row["original"] is None else f", before {row['original']}"
    run = f"{'' if row['owner'] == KILLED_RUN else ', run'} {row['run_id']}" if row["run_id"] else ""
    begun = "" if row["since"] is None else f", begun {row['since']}"
    outcome = OUTCOMES[row["outcome"]].replace("removed", VERBS.get(row["kind"], "removed"))
    why = f": {row['reason']}" if row["reason"] else ""
    return f"{spaced(row['kind'])} of {place}{present}{before} ({spaced(row['owner'])}{run}{begun}): {outcome}{why}"
