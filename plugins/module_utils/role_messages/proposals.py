# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role propose shows: proposed plans, approved plans, and committed results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import KINDS, PLANS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.present_run import PresentRun

_COMMIT_LENGTH = 12
_UNSIGNED = (
    "The plans are not signed, so nothing proves who made them and apply_merged refuses them. "
    "Propose them again with the key that docs/gitops.md shows how to make:"
)


@dataclass(frozen=True)
class PlanRepository:
    """The repository of plans. `directory`: its folder for recoveries. `plan_signers`: file of allowed signers, empty without.

    `require_signatures`: how many different people must sign what is applied.
    """

    address: str
    directory: str
    plan_signers: str = ""
    require_signatures: int = 1


def proposal_lines(proposed: Mapping[str, Any], run: PresentRun, repository: PlanRepository) -> list[str]:
    """Return where the plans were proposed, and the next step. `proposed`: the result of `kafka_recovery_commit`, skipped without plans."""
    if proposed.get("skipped"):
        return ["No partition is without a leader, and no replay or move is planned, so there is nothing to propose"]
    branch, signed = proposed["protected_branch"], proposed["signed"]
    command = _proposal_command(run, repository, signed)
    if proposed["merged"]:
        return [f"Recovery {run.run_id} is on {branch} already", "Next: apply it" if signed else _UNSIGNED, command]
    needed = repository.require_signatures
    signatures = (
        f"have {needed} different people sign each file (docs/gitops.md#two-people; the machine that proposes may be one), "
        if needed > 1
        else ""
    )
    return [
        f"{'Would be proposed' if run.check_mode else 'Proposed'} on the branch {proposed['branch']}, commit {proposed['commit'][:_COMMIT_LENGTH]}"
        f"{'' if proposed['changed'] else ' (it already exists)'}",
        *proposed["remote_messages"],
        f"Next: read {repository.directory}/{run.run_id}/README.md there, {signatures}and have the branch merged into {branch} to approve it",
        "Then apply it:" if signed else _UNSIGNED,
        command,
    ]


def _proposal_command(run: PresentRun, repository: PlanRepository, signed: bool) -> str:
    """Return the command that applies the plans. It never removes a check, so for unsigned plans it is the command that signs them."""
    variables = {"kafka_recovery_git_repository": repository.address}
    if not signed:
        return run.commands.line("propose", run.limit, {**variables, "kafka_recovery_plan_signing_key": "SIGNING_KEY"})
    signers = repository.plan_signers or "PLAN_SIGNERS"
    consent = {"kafka_recovery_allow_data_loss": "true", "kafka_recovery_plan_signers": signers}
    return run.commands.line("apply_merged", run.limit, {**variables, **consent})


def approval_lines(approvals: Mapping[str, Any]) -> list[str]:
    """Return a line for each plan or other file in the result of `kafka_recovery_commit_info`: who has signed and merged it, or why it must not be
    applied."""
    return [
        f"{row['cluster']}, {of}recovery {row['run_id'] or '?'}: {_merge(row) if row['state'] == 'merged' else row['reason']}"
        for of, rows in (("" if kind is PLANS else f"{kind.noun} of ", approvals[kind.folder]) for kind in KINDS)
        for row in rows
    ] or [f"No merged plan waits to be applied, on {approvals['branch']} at {approvals['commit'][:_COMMIT_LENGTH]}"]


def _merge(row: Mapping[str, Any]) -> str:
    merge = row["merged_by"]
    signature = f"plan signed by {row['plan_signer']}" if row["plan_signer"] else "signature of the plan not checked"
    signer = f", signed by {row['signer']}" if row["signer"] else ""
    commit = merge.get("commit", "")[:_COMMIT_LENGTH]
    return f"{signature}, merged by {merge.get('committer', '')} at {merge.get('committed_at', '')} ({commit}{signer})"


def commit_lines(committed: Mapping[str, Any]) -> list[str]:
    """Return where the results are, and which clusters were left out. `committed`: the result of `kafka_recovery_commit`."""
    return [
        f"Results of recovery {committed['run_id']} are on {committed['branch']}, commit {committed['commit'][:_COMMIT_LENGTH]}",
        *(f"{row['cluster']} is left out: {row['reason']}" for row in committed["left_out"]),
    ]
