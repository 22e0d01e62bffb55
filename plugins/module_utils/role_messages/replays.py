# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role replay shows: how many saved records were written again, and which partitions have some left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, spaced, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun

SHOWN = 20
HOW_TO_COUNT = "To count what can be written again (docs/record-replay.md):"
_CONSENT = "kafka_recovery_allow_data_loss"


def screen(
    replayed: Mapping[str, Any], allowed: bool, run: PresentRun, proposed: bool = False, require_commit: bool = False
) -> dict[str, Any]:
    """Return as `lines` what came of each partition, and after a dry run how to write the records. `failure`: one sentence, empty if nothing is left to do.

    replayed        the result of `kafka_record_replay`
    allowed         whether records were written: not in a dry run, and not to propose the replay
    proposed        whether the run only proposes the replay, or would without check mode
    require_commit  whether only merged replays may be written, and this one is not merged
    """
    counts = replayed["counts"]
    skipped = ", ".join(f"{number} {spaced(reason)}" for reason, number in counts["skipped"].items() if number)
    number = counts["replayed"] if allowed else counts["left"]
    first = f"{count(number, 'saved record')} {'written again' if allowed else 'would be written again'}, {counts['already_there']} already there"
    unwritten = "To be proposed, nothing was written. " if proposed and counts["left"] else "Dry run, nothing was written. "
    rows = [row for row in replayed["partitions"] if row["reason"]]
    lines = [
        f"{'' if allowed else unwritten}{first}{f', not written: {skipped}' if skipped else ''}",
        *(f"{row['topic']}-{row['partition']}: {row['reason']}" for row in rows[:SHOWN]),
        *(["and more"] if len(rows) > SHOWN else []),
        *([] if allowed or proposed or not counts["left"] else _write_lines(run, require_commit)),
    ]
    return {"lines": lines, "failure": _failure(counts, run.cluster) if allowed else ""}


def count_command(run: PresentRun) -> str:
    """Return the command that counts which records that this run has saved would be written again. It writes nothing."""
    # The inventory, or a file of variables that the command repeats, may allow data loss: what is set last in a command goes before both.
    return run.commands.line("replay", run.cluster, {"kafka_recovery_replay_run_id": run.run_id, _CONSENT: "false"})


def _failure(counts: Mapping[str, Any], cluster: str) -> str:
    left, unreadable, undecided = counts["left"], counts["unreadable"], counts["skipped"].get("undecided", 0)
    if left:
        return f"{count(left, 'saved record')} of {cluster} {verb(left, 'is', 'are')} not written again. Why is shown above; then run again"
    if unreadable:
        batches = f"{count(unreadable, 'saved batch', 'saved batches')} of {cluster}"
        return f"{batches} cannot be decoded, so their records are not written again. What to do is shown above"
    if undecided:
        records = f"{count(undecided, 'saved record')} of {cluster} {verb(undecided, 'is', 'are')} undecided, and not written again"
        return f"{records}. Look at them (kafka_records_info). To write them, set kafka_recovery_replay_include to [undecided]"
    return ""


def _write_lines(run: PresentRun, require_commit: bool) -> list[str]:
    if require_commit:
        return ["Only merged replays are written here. Propose them with", run.commands.line("propose", run.cluster)]
    begin = "Consumers get them after the newest records. docs/record-replay.md says when not to do it. To write them"
    if not run.playbook:
        # What another playbook sets itself, such as topics, is not known here.
        return [f"{begin}, run this playbook again with -e {_CONSENT}=true"]
    return [f"{begin}:", run.commands.line(run.playbook, run.cluster, {_CONSENT: "true"})]
