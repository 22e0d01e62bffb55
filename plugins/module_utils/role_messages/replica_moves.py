# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role restore_redundancy shows: planned and made moves of replicas, and partitions that are not fully redundant."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ansible.module_utils.common.text.formatters import bytes_to_human

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.partition_lists import dry_run, summary
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun

_IN_PROGRESS = "reassignment_in_progress"
_STEPS = {
    "no_leader": "recover them first (playbook recover)",
    _IN_PROGRESS: "wait until it ends, or cancel it (playbook cancel_moves)",
    "too_few_brokers": "start brokers, or set fewer replicas (kafka_recovery_replication_factor)",
    "below_min_isr": "lower min.insync.replicas of these topics first",
    "no_room": "free disk space, add brokers, or raise kafka_recovery_max_disk_percent",
    "incomplete": "a broker did not report its replicas; run again",
}


def planned_lines(moves: Mapping[str, Any], run: PresentRun, interrupted_run: str, require_commit: bool = False) -> list[str]:
    """Return what is planned for a cluster, and which partitions are held.

    moves            its row of `kafka_redundancy_plan`
    interrupted_run  id of an earlier run whose moves did not end, empty if there is none
    require_commit   whether only merged moves may be made
    """
    planned, violations = moves["planned"], moves["rack_violations"]
    lines = [
        f"{count(planned, 'partition')} {verb(planned, 'gets', 'get')} back {count(moves['adding_replicas'], 'replica')}, "
        f"{bytes_to_human(moves['bytes'])} to be copied"
        if planned
        else "no partition is to get other replicas, so nothing is copied and no throttle is needed",
        *(
            f"held: {count(held, 'partition')}, {reason}: {_step(reason, interrupted_run)}"
            for reason, held in moves["held_by_reason"].items()
        ),
        *_continue_lines(moves, run, interrupted_run, require_commit),
    ]
    if violations:
        lines.append(
            f"{count(violations, 'partition')} {verb(violations, 'keeps', 'keep')} two replicas in one rack although another rack has none: "
            "survivors are not moved"
        )
    return [*lines, f"Plan: {moves['path']}"]


def held_lines(moves: Mapping[str, Any], run: PresentRun, interrupted_run: str, require_commit: bool = False) -> list[str]:
    """Return which partitions were held, and the next step for each reason. Parameters: those of `planned_lines`."""
    return [
        *(
            f"{count(held, 'partition')} {verb(held, 'was', 'were')} held, {reason}. Next: {_step(reason, interrupted_run)}"
            for reason, held in moves["held_by_reason"].items()
        ),
        *_continue_lines(moves, run, interrupted_run, require_commit),
    ]


def _step(reason: str, interrupted_run: str) -> str:
    alternative = f", or continue the moves of run {interrupted_run}" if reason == _IN_PROGRESS and interrupted_run else ""
    return _STEPS.get(reason, "run again") + alternative


def _continue_lines(moves: Mapping[str, Any], run: PresentRun, interrupted_run: str, require_commit: bool) -> list[str]:
    """Return the command that continues the moves of the interrupted run, in a list; empty if there are none."""
    if _IN_PROGRESS not in moves["held_by_reason"] or not interrupted_run:
        return []
    if require_commit:
        return [run.commands.line("apply_merged", run.cluster, {"kafka_recovery_allow_data_loss": "true"})]
    return [_command(run, f"{run.workdir}/reassignments/{interrupted_run}")]


def _command(run: PresentRun, folder: str) -> str:
    variables = {"kafka_recovery_reassignment_dir": folder, "kafka_recovery_allow_data_loss": "true"}
    return run.commands.line("reassign", run.cluster, variables)


def moved_lines(
    reassigned: Mapping[str, Any], path: str, run: PresentRun, allowed: bool, merged: bool = False, require_commit: bool = False
) -> list[str]:
    """Return what became of the moves, and how to undo or make them.

    reassigned      the result of `kafka_partition_reassignment`
    path            the file with the moves
    allowed         whether replicas were moved: not in check mode, and not without the operator's consent
    merged          whether the moves are merged ones
    require_commit  whether only merged moves may be made
    """
    counts = reassigned["summary"]
    lines = [summary(counts) if allowed else dry_run("moved", counts, "no partition has other replicas to get")]
    lines += unmade_lines(reassigned) if merged else []
    if reassigned["previous_assignment"]:
        lines.append(
            f"To undo the moves, name this file as reassignment_file of kafka_partition_reassignment: {reassigned['previous_assignment']}"
        )
    elif not allowed and merged:
        lines.append("Next, to make the merged moves: run this playbook again with -e kafka_recovery_allow_data_loss=true")
    elif not allowed and not run.check_mode and require_commit:
        command = run.commands.line("propose", run.cluster, {"kafka_recovery_restore_redundancy": "true"})
        lines += ["Only merged moves are made here. Propose moves with", command]
    elif not allowed and not run.check_mode:
        lines += [
            "Next, to move replicas (a replica that is given up is deleted if its broker ever returns):",
            _command(run, os.path.dirname(path)),  # noqa: PTH120 - it may be a URL
        ]
    return lines


def unmade_lines(reassigned: Mapping[str, Any]) -> list[str]:
    """Return a line for each shown partition of merged moves that was not moved. `reassigned`: the result of `kafka_partition_reassignment`."""
    bad = [row for row in reassigned.get("results", ()) if row["outcome"] in ("stale", "failed")]
    return [f"{row['topic']}-{row['partition']} is {row['outcome']}: {row['message']}" for row in bad]


def incomplete_lines(planned: int, restored: Mapping[str, Any]) -> list[str]:
    """Return which of the `planned` partitions are not fully redundant, in one line; empty if all are.

    `restored`: the result of `kafka_partition_reassignment_info`, empty if nothing was planned.
    """
    rows: Sequence[Mapping[str, Any]] = [row for row in restored.get("partitions", ()) if row["state"] != "in_place"]
    if not rows:
        return []
    missing = planned - restored["summary"].get("in_place", 0)
    examples = ", ".join(f"{row['topic']}-{row['partition']} ({row['state']})" for row in rows)
    return [
        f"{missing} of {count(planned, 'partition')} {verb(missing, 'is', 'are')} not fully redundant, for example {examples}. "
        "Next: run this playbook again"
    ]
