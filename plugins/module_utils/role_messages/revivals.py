# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role revive shows: partitions with an empty leader, groups that skip new records, hanging transactions, disks to save."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.rule import REVIVED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.election_results import disk_lines
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.partition_lists import summary
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun


def revival_lines(revived: Mapping[str, Any], run: PresentRun, allowed: bool, require_commit: bool = False) -> list[str]:
    """Return what became of each partition that the module returned, and what must be done.

    revived         the result of `kafka_partition_revival`
    allowed         whether partitions were revived: not in check mode, and not without the operator's consent
    require_commit  whether only merged revivals may be made, and these are not merged
    """
    counts = revived["summary"]
    # Without the permission they are held, which is not what would become of them.
    unmade = "To be proposed" if revived.get("proposal_path") else "Dry run"
    prefix = "" if allowed else f"{unmade}, nothing was revived. {'It would be: ' if counts.get(REVIVED) else ''}"
    disks = disk_lines(revived["save_disks_of"], run)
    lines = [
        prefix + (summary(counts) or "no partition without a survivor"),
        *(_partition(row, bool(revived.get("proposal_path"))) for row in revived["results"]),
        *(["and more"] if sum(counts.values()) > len(revived["results"]) else []),
        *(_group(row) for row in revived["groups"]),
        *(_transaction(row) for row in revived["hanging_transactions"]),
        # The command compares with the new leaders.
        *(disks if allowed else disks[:1]),
    ]
    waiting = any(row["reason_code"] == ReasonCode.DATA_LOSS_NOT_ALLOWED for row in revived["results"])
    if waiting and not (allowed or run.check_mode or revived.get("proposal_path")):
        lines += (
            [
                "Only merged revivals are made here. Propose them with",
                run.commands.line("propose", run.cluster),
            ]
            if require_commit
            else [
                "Next, to give these partitions an empty leader (every record that no disk has is given up):",
                run.commands.line(run.playbook or "revive", run.cluster, {"kafka_recovery_allow_data_loss": "true"}),
            ]
        )
    return lines


def _partition(row: Mapping[str, Any], is_proposed: bool) -> str:
    new = ", ".join(map(str, row["target_replicas"])) or "none"
    if is_proposed and row["reason_code"] == ReasonCode.DATA_LOSS_NOT_ALLOWED:
        return f"{row['topic']}-{row['partition']}: held until its revival is merged, new replicas {new}"
    leader = "no leader" if row["leader"] is None else f"leader {row['leader']}"
    why = f" ({row['reason_code']}): {row['message']}" if row["reason_code"] else ""
    return f"{row['topic']}-{row['partition']}: {row['outcome']}, {leader}, new replicas {new}{why}"


def _group(row: Mapping[str, Any]) -> str:
    name = f"group {row['group']} on {row['topic']}-{row['partition']}"
    if row["reset"]:
        return f"{name}: reset to 0, before that {row['committed_offset']}"
    return f"{name}: committed {row['committed_offset']} ({row['state']}), so it skips as many new records unless it is reset"


def _transaction(row: Mapping[str, Any]) -> str:
    place = f"{row['topic']}-{row['partition']}, from offset {row['start_offset']} on"
    return f"transaction of producer {row['producer_id']} on {place}: {row['explanation']}"
