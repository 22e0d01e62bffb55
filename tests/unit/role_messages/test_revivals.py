# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role revive shows."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.revivals import revival_lines

ROW = {
    "topic": "orders",
    "partition": 0,
    "outcome": "revived",
    "leader": 2,
    "target_replicas": [2, 3],
    "reason_code": None,
    "message": None,
}
HELD = {**ROW, "outcome": "held", "leader": None, "reason_code": "data_loss_not_allowed", "message": "set allow_data_loss"}
GROUP = {"group": "billing", "topic": "orders", "partition": 0, "committed_offset": 4711, "state": "Empty", "reset": True}
HANGING = {"topic": "payments", "partition": 1, "producer_id": 17, "producer_epoch": 0, "start_offset": 97, "explanation": "look at it"}


def result(**changed: Any) -> dict[str, Any]:
    none = {"failed": 0, "held": 0, "revived": 0, "already_online": 0}
    return {"summary": {**none, "revived": 1}, "results": [ROW], "groups": [], "hanging_transactions": [], "save_disks_of": [], **changed}


def test_partitions_groups_transactions_and_disks_are_shown() -> None:
    lines = revival_lines(result(groups=[GROUP], hanging_transactions=[HANGING], save_disks_of=[1, 4]), PresentRun("east"), True)
    assert [line.split(":")[0] for line in lines[:4]] == [
        "1 revived",
        "orders-0",
        "group billing on orders-0",
        "transaction of producer 17 on payments-1, from offset 97 on",
    ]
    assert lines[3].endswith(": look at it")
    assert "brokers 1, 4" in lines[4] and lines[5].endswith(".rescue") and len(lines) == 6


@pytest.mark.parametrize(("check_mode", "commands"), [(False, 1), (True, 0)])
def test_a_dry_run_ends_with_the_command(check_mode: bool, commands: int) -> None:
    held = result(summary={"held": 1}, results=[HELD])
    lines = revival_lines(held, PresentRun("east", check_mode=check_mode), False)
    assert lines[0].startswith("Dry run") and "data_loss_not_allowed" in lines[1]
    assert "It would be" not in lines[0], "with the permission it would not be held"
    assert sum("kafka_recovery_allow_data_loss=true" in line and "--limit east" in line for line in lines) == commands


def test_nothing_to_revive_is_not_an_empty_text() -> None:
    assert revival_lines(result(summary={"revived": 0}, results=[]), PresentRun("east"), True) == ["no partition without a survivor"]


def test_a_dry_run_where_only_merged_revivals_are_made_ends_with_the_command_that_proposes_it() -> None:
    held = result(summary={"held": 1}, results=[HELD])
    lines = revival_lines(held, PresentRun("east"), False, require_commit=True)
    assert not any("allow_data_loss=true" in line for line in lines)
    assert any(".propose" in line and "--limit east" in line for line in lines)


def test_what_is_proposed_is_not_called_a_dry_run() -> None:
    held = result(summary={"held": 1}, results=[HELD], proposal_path="/w/proposed_revivals/1/east.json")
    lines = revival_lines(held, PresentRun("east"), False)
    assert lines == ["To be proposed, nothing was revived. 1 held", "orders-0: held until its revival is merged, new replicas 2, 3"]
