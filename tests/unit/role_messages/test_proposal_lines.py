# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role propose shows: who approved what, and a command that never removes a check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages import proposals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun

RUN = PresentRun("east", "1", limit="east,west", plan_path="/w/plans/1/east.json", commands=Playbooks(["hosts.yml"]))
REPOSITORY = proposals.PlanRepository("git@example.com:plans.git", "recoveries")
PROPOSED: dict[str, Any] = {
    "changed": True,
    "branch": "recovery/1",
    "commit": "3f1c0a7c8a5e4f5f",
    "protected_branch": "main",
    "merged": False,
    "signed": True,
    "remote_messages": ["Create a pull request"],
}


def test_without_plans_nothing_is_proposed() -> None:
    assert proposals.proposal_lines({"skipped": True, "changed": False}, RUN, REPOSITORY) == [
        "No partition is without a leader, and no replay or move is planned, so there is nothing to propose"
    ]


@pytest.mark.parametrize(("changed", "note"), [(True, ""), (False, " (it already exists)")])
@pytest.mark.parametrize(("check_mode", "verb"), [(True, "Would be proposed"), (False, "Proposed")])
def test_a_proposal_is_to_be_read_and_merged(changed: bool, note: str, check_mode: bool, verb: str) -> None:
    lines = proposals.proposal_lines({**PROPOSED, "changed": changed}, replace(RUN, check_mode=check_mode), REPOSITORY)
    assert lines[:4] == [
        f"{verb} on the branch recovery/1, commit 3f1c0a7c8a5e{note}",
        "Create a pull request",
        "Next: read recoveries/1/README.md there, and have the branch merged into main to approve it",
        "Then apply it:",
    ]


def test_signatures_that_are_required_are_made_before_the_merge() -> None:
    lines = proposals.proposal_lines(PROPOSED, RUN, replace(REPOSITORY, require_signatures=3))
    assert lines[2] == (
        "Next: read recoveries/1/README.md there, have 3 different people sign each file (docs/gitops.md#two-people; the machine that proposes may be one), "
        "and have the branch merged into main to approve it"
    )


@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.parametrize("signed", [True, False])
def test_only_signed_plans_are_applied(merged: bool, signed: bool) -> None:
    lines = proposals.proposal_lines({**PROPOSED, "merged": merged, "signed": signed}, RUN, REPOSITORY)
    assert lines[-1].endswith(" streamops.kafka_recovery.apply_merged" if signed else " streamops.kafka_recovery.propose")
    assert "--limit east,west" in lines[-1]
    assert ("not signed" in lines[-2]) == (not signed)
    assert ("-e kafka_recovery_plan_signers=PLAN_SIGNERS" in lines[-1], "plan_signing_key=SIGNING_KEY" in lines[-1]) == (signed, not signed)
    assert ("on main already" in lines[0]) == merged


MERGED: dict[str, Any] = {
    "cluster": "east",
    "run_id": "1",
    "state": "merged",
    "reason": "",
    "plan_signer": "planner",
    "signer": "ada",
    "merged_by": {"commit": "3f1c0a7c8a5e4f5f", "committer": "Ada", "committed_at": "2026-11-21"},
}


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({}, "east, recovery 1: plan signed by planner, merged by Ada at 2026-11-21 (3f1c0a7c8a5e, signed by ada)"),
        (
            {"plan_signer": "", "signer": ""},
            "east, recovery 1: signature of the plan not checked, merged by Ada at 2026-11-21 (3f1c0a7c8a5e)",
        ),
        ({"state": "too_old", "reason": "the plan is too old", "run_id": "", "merged_by": {}}, "east, recovery ?: the plan is too old"),
    ],
)
def test_an_approved_plan_says_who_signed_and_merged_it(changed: dict[str, Any], line: str) -> None:
    row = {**MERGED, **changed}
    assert proposals.approval_lines({"plans": [row], "revivals": [], "replays": [], "moves": [row], "branch": "main", "commit": "3f"}) == [
        line, line.replace("east, ", "east, moves of ", 1),
    ]  # fmt: skip


def test_without_merged_plans_the_branch_is_named() -> None:
    found = {"plans": [], "revivals": [], "replays": [], "moves": [], "branch": "main", "commit": "3f1c0a7c8a5e4f5f"}
    assert proposals.approval_lines(found) == ["No merged plan waits to be applied, on main at 3f1c0a7c8a5e"]


def test_clusters_without_committed_results_are_named() -> None:
    committed = {"run_id": "1", "branch": "main", "commit": "3f1c0a7c8a5e4f5f", "left_out": [{"cluster": "west", "reason": "no results"}]}
    assert proposals.commit_lines(committed) == [
        "Results of recovery 1 are on main, commit 3f1c0a7c8a5e",
        "west is left out: no results",
    ]
