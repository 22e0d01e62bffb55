# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of an approval that one merged file must fulfil: its signatures, its merge, its date, and that it was not applied yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.different_signers import Signer, people
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import PLANS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import NAMESPACE, SUFFIX, AllowedSigners

MERGED, NOT_MERGED, CHANGED, UNUSABLE = "merged", "not_merged", "changed", "unusable"
OTHER_CLUSTER, ALREADY_APPLIED, UNSIGNED, TOO_OLD = "other_cluster", "already_applied", "unsigned", "too_old"
OTHER_SUMMARY, OTHER_RESULTS, UNEXPECTED_FILE, IN_FUTURE = "other_summary", "other_results", "unexpected_file", "in_future"
STATES = (
    MERGED, NOT_MERGED, CHANGED, UNUSABLE, OTHER_CLUSTER, ALREADY_APPLIED, UNSIGNED, TOO_OLD, OTHER_SUMMARY, OTHER_RESULTS, UNEXPECTED_FILE,
    IN_FUTURE,
)  # fmt: skip
# Seconds by which the clocks of two machines may differ.
CLOCK_SKEW = 300.0


@dataclass(frozen=True)
class Rules:
    """Requirements of an approval.

    require_signature  whether the commit that merged a plan must be signed, by one of `merge_signers` or a key of gpg
    max_plan_age       seconds, 0 for no limit
    plan_signers       keys that may sign plans, None if plans need no signature
    signers            how many different people must have signed a plan
    """

    require_signature: bool = False
    merge_signers: AllowedSigners | None = None
    max_plan_age: float = 0.0
    plan_signers: AllowedSigners | None = None
    signers: int = 1


@dataclass
class Approval:
    """One plan, or another file of KINDS. `kind`: its name. `path`: in the repository; `plan`: the private copy to apply, empty if it may
    not be applied."""

    run_id: str
    cluster: str
    path: str
    kind: str = PLANS.name
    state: str = UNUSABLE
    reason: str = ""
    plan: str = ""
    plan_id: str = ""
    created_at: str = ""
    plan_signer: str = ""
    brought_by: dict[str, str] = field(default_factory=dict)
    merged_by: dict[str, str] = field(default_factory=dict)
    signer: str = ""


class RefusedError(RecoveryError):
    """A plan may not be applied; `state` is why."""

    def __init__(self, state: str, reason: str) -> None:
        super().__init__(reason)
        self.state = state


def check_date(approval: Approval, max_plan_age: float) -> None:
    """Refuse a plan that was made in the future, or is older than `max_plan_age` seconds (0 for no limit)."""
    try:
        age = (datetime.now(UTC) - datetime.fromisoformat(approval.created_at)).total_seconds()
    except (ValueError, TypeError, OverflowError) as error:
        raise RefusedError(UNUSABLE, f"{approval.path} has no valid created_at ({approval.created_at!r}): make a new plan") from error
    if age < -CLOCK_SKEW:
        raise RefusedError(
            IN_FUTURE,
            f"{approval.path} was made at {approval.created_at}, which is in the future: correct the clock of the machine that plans or of this one, "
            "then make a new plan and have it merged",
        )
    if max_plan_age and age > max_plan_age:
        raise RefusedError(
            TOO_OLD,
            f"{approval.path} was made {age:.0f} s ago, and kafka_recovery_max_plan_age is {max_plan_age:g} s: make a new plan and have "
            "it merged",
        )


def check_people(approval: Approval, signers: Sequence[Signer], needed: int) -> None:
    """Refuse a plan that fewer than `needed` different people have signed. `signers`: of its valid signatures."""
    if needed <= 1 or (found := people(signers)) >= needed:
        return
    path = approval.path
    raise RefusedError(
        UNSIGNED,
        f"{path} needs signatures of {needed} different people (kafka_recovery_require_signatures), and has those of {found}: "
        f"{', '.join(map(str, signers))}. A key counts once, and so does a name in the file of allowed signers; a pattern of names does not count. Sign in a "
        f"clone of the repository with ssh-keygen -Y sign -n {NAMESPACE} -f KEY < {path} > {path}.NAME{SUFFIX}, and have that file merged",
    )


def plan_id_of(content: bytes) -> str:
    """Return the plan id of a plan or of results, of any version; an empty text if there is none."""
    try:
        document = strict_json.parse(content)
    except (strict_json.ContentError, RecursionError):
        return ""
    plan_id = document.get("plan_id") if isinstance(document, dict) else None
    return plan_id if isinstance(plan_id, str) else ""
