# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role plan shows: the plan of a cluster, and how to apply the plans of the fleet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

with suppress(ImportError):  # common.optional_imports names what is missing
    from prettytable import PrettyTable, TableStyle

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.phrases import count, number, range_of, verb
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.next_steps import command, order
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.partition_groups import described, group_lines
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun, keys_of

# These show at their end which partitions have no leader.
ELECTING = "recover", "respond"
# Rows of the table of elections, and lines of brokers to start first.
SHOWN = 8
SHOWN_BROKERS = 3
COLUMNS = ("elect", "leader", "evidence", "records lost", "partitions")


def plan_lines(planned: Mapping[str, Any], run: PresentRun, strategy: str, manual_output_dir: str) -> list[str]:
    """Return the counts of a cluster's plan, why partitions are held, and the files. Empty if the cluster has no plan.

    planned            the result of `kafka_recovery_plan`
    manual_output_dir  folder of the files that an operator may edit, empty without
    """
    plan = next((row for row in planned["plans"] if row["cluster"] == run.cluster), None)
    if plan is None:
        return []
    lines = [
        f"{plan['elect']} to elect, {plan['held']} held, {plan['online']} online already, with strategy {strategy}",
        *(
            []
            if run.playbook in ELECTING
            else [*election_table(plan["elections"]), *return_lines(plan["in_sync_on_return"]), *_held_lines(plan, run)]
        ),
        *truncated_line(plan),
        f"Plan: {plan['path']}",
    ]
    edited = str(Path(manual_output_dir, f"{run.cluster}.json"))
    candidates = str(Path(manual_output_dir, f"{run.cluster}.held.json"))
    if edited in planned.get("manual_outputs", ()):
        lines.append(f"To review and edit: {edited}")
    if candidates in planned.get("manual_candidates", ()):
        lines.append(f"Candidates of what is held: {candidates}")
    return lines


def election_table(elections: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the lines of a table of what a plan elects, none if it elects nothing. `elections`: of a row of `plans`, the dearest first."""
    if not elections:
        return []
    table = PrettyTable(COLUMNS, align="l")
    table.set_style(TableStyle.PLAIN_COLUMNS)
    table.right_padding_width = 2
    table.add_rows(
        [[number(row["count"]), row["leader"], row["evidence"], range_of(row["loss"]), row["ranges"]] for row in elections[:SHOWN]]
    )
    lines = [line.rstrip() for line in table.get_string().splitlines()]
    if left := elections[SHOWN:]:
        lines.append(f"{count(sum(row['count'] for row in left), 'more partition')} to elect: see the plan")
    return lines


def return_lines(brokers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return which lost brokers to start before anything is elected, because that may lose nothing. `brokers`: as `in_sync_on_return` of a plan."""
    lines = []
    for row in brokers[:SHOWN_BROKERS]:
        leads = f"if its log is whole, it leads {row['ranges']} and loses nothing committed"
        if row["save_first"]:
            lines.append(f"Save what only the disk of broker {row['broker_id']} has (rescue), then try to start it: {leads}")
        else:
            lines.append(f"Try first to start broker {row['broker_id']}: {leads}")
    left = brokers[SHOWN_BROKERS:]
    unsafe = sum(row["save_first"] for row in left)
    if safe := len(left) - unsafe:
        lines.append(f"Try first to start {count(safe, 'more broker')}, too: see in_sync_on_return")
    if unsafe:
        disks = verb(unsafe, "its disk has", "their disks have")
        lines.append(
            f"Save what only {disks} (rescue) before you start {count(unsafe, 'more broker')}: see save_first in in_sync_on_return"
        )
    return lines


def _held_lines(plan: Mapping[str, Any], run: PresentRun) -> list[str]:
    """Return the lines of each reason, the cheapest step first: which partitions, why, what to do, and a command that names them if they are few."""
    groups = []
    for row in sorted(plan["held_reasons"], key=lambda one: order(one["reason_code"])):
        code, keys = row["reason_code"], keys_of(row["partitions"])
        line = command([code], run.cluster, keys, None, run.commands) if len(keys) == row["count"] else None
        groups.append(described({"outcome": Outcome.HELD.value, **row}, code, line))
    lines = group_lines(groups, "the plan")
    if any(len(row["partitions"]) < row["count"] for row in plan["held_reasons"]):
        lines += ["A command for each of them, with files that name partitions:", run.commands.line("status", run.cluster)]
    return lines


def truncated_line(plan: Mapping[str, Any]) -> list[str]:
    """Return how much the elections of a plan would truncate at most, nothing if they truncate nothing. `plan`: a row of `plans`."""
    if not plan["truncated_replicas"]:
        return []
    records = f"at most {count(plan['truncated_offsets'], 'record')} of {count(plan['truncated_replicas'], 'replica')}"
    return [f"The elections would truncate {records}, which are saved before (kafka_recovery_save_records)"]


def apply_lines(planned: Mapping[str, Any], run: PresentRun, require_commit: bool, manual_output_dir: str) -> list[str]:
    """Return how to apply the plans of the fleet. Parameters: those of `plan_lines`.

    require_commit  whether only merged plans may be applied
    A plan is sealed, so operators edit the files of `manual_output_dir`. If these were written, they are applied.
    """
    if not sum(plan["elect"] for plan in planned["plans"]):
        return ["Nothing is to be elected, so there is nothing to apply"]
    if require_commit:
        return [
            "Only merged plans are applied here. Read the plans, then propose them with",
            run.commands.line("propose", run.limit),
        ]
    edited = manual_output_dir if planned.get("manual_outputs") else ""
    variables = {"kafka_recovery_plan_dir": edited or run.plan_dir, "kafka_recovery_allow_data_loss": "true"}
    instruction = f"Read and change the files in {edited}, then apply them with" if edited else "Read the plans, then apply them with"
    return [instruction, run.commands.line("apply", run.limit, variables)]
