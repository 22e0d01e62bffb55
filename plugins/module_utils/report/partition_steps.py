# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Next steps and commands for partitions without a leader, as the report shows them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import (
    LOST_BROKERS,
    PARTITIONS,
    PARTITIONS_FILE,
    STRATEGY,
    Playbooks,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election import next_steps
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import recovery_queries
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.scope import Wanted

# The group of the inventory with the hosts that have disks of lost brokers.
DISK_HOSTS = "kafka_brokers"


def others_offline(rows: Sequence[Mapping[str, Any]], playbooks: Playbooks) -> list[dict[str, Any]]:
    """Add to rows of `recovery_queries.others_offline` the next step and the command that plans for the whole cluster.

    Results have only the number of these partitions, so no command can name them.
    """
    step = "plan for all partitions of the cluster without a leader. The last run was not about these, which are among them"
    return [
        {**row, "reason_code": "other_offline", "next_step": step, "command": playbooks.line("plan", row["cluster"], without=[STRATEGY])}
        for row in rows
    ]


def held(groups: Sequence[Mapping[str, Any]], shown: Sequence[Mapping[str, Any]], wanted: Wanted) -> list[dict[str, Any]]:
    """Return one entry per cluster, outcome and reason of partitions without a leader, the cheapest next step first.

    An entry whose partitions are not all in `shown` has no command, because a command names all of them.
    """
    found, rows = [], defaultdict(list)
    for row in shown:
        if row["online_at"]:
            continue
        rows[row["cluster"], row["outcome"], row["reason_code"]].append(row)
    for group in groups:
        if group["outcome"] not in recovery_queries.WITHOUT_LEADER or group["online_later"]:
            continue
        own = rows[group["cluster"], group["outcome"], group["reason_code"]]
        plan = _plan(wanted.workdir, own[0]["run_id"] if own else "", group["cluster"])
        names = [(row["topic"], row["partition"]) for row in own] if len(own) == group["partitions"] else []
        found.append(
            {
                **{key: group[key] for key in ("cluster", "outcome", "reason_code", "partitions", "first")},
                "plan": plan,
                "next_step": next_steps.next_step(_codes(group), plan, wanted.playbooks.require_commit),
                "command": next_steps.command(
                    _codes(group), group["cluster"], names, plan if _designates(group, plan, names) else None, wanted.playbooks
                ),
                "rescue": rescue(group["cluster"], wanted.playbooks) if next_steps.disks_first(_codes(group)) else None,
            }
        )
    return sorted(found, key=lambda row: (next_steps.order(next_steps.first_with_step(_codes(row))), -row["partitions"], row["cluster"]))


def with_next(row: dict[str, Any], wanted: Wanted) -> dict[str, Any]:
    """Add to a partition its next step and command, both null if it has a leader."""
    if row["outcome"] not in recovery_queries.WITHOUT_LEADER:
        return {**row, "next_step": None, "command": None}
    if row["online_at"]:
        return {**row, "next_step": seen_online(row), "command": None}
    plan, codes = _plan(wanted.workdir, row["run_id"], row["cluster"]), _codes(row)
    return {
        **row,
        "next_step": next_steps.next_step(codes, plan, wanted.playbooks.require_commit),
        "command": next_steps.command(codes, row["cluster"], [(row["topic"], row["partition"])], None, wanted.playbooks),
    }


def rescue(cluster: str, playbooks: Playbooks, run_id: str | None = None) -> str | None:
    """Return the command that reads and saves the disks of lost brokers of a cluster, None if the inventory is not known.

    The disks are those of hosts in a group of their own, so the command names that, too. `run_id`: of the election, None before there was one.
    """
    if not playbooks.inventory:
        return None
    variables = {"kafka_recovery_run_id": run_id} if run_id else {}
    return playbooks.line("rescue", f"{cluster},{DISK_HOSTS}", variables, without=[PARTITIONS, PARTITIONS_FILE, LOST_BROKERS])


def seen_online(row: Mapping[str, Any]) -> str:
    """Return what stands in place of the next step of a partition that has a leader again."""
    return f"nothing, it was seen with a leader at {row['online_at']}"


def _plan(workdir: Path, run_id: str, cluster: str) -> str:
    return str(workdir / "plans" / run_id / f"{cluster}.json")


def _codes(row: Mapping[str, Any]) -> list[str]:
    return [row["reason_code"], row["outcome"]]


def _designates(group: Mapping[str, Any], plan: str, keys: Sequence[TopicPartition]) -> bool:
    """Return whether the plan elects leaders for exactly these partitions. It may not exist any more, or a later run may have some of its partitions."""
    if next_steps.first_with_step(_codes(group)) not in next_steps.APPLIED:
        return False
    try:
        return {(row["topic"], row["partition"]) for row in plan_file.load(plan)["partitions"]} == set(keys)
    except RecoveryError:
        return False
