# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Approvals: the plans that are merged into the protected branch and may be applied. In doubt a plan is refused; the reason names file and remedy.

All files in the folder of a recovery are checked, not only the plan: anyone who may push a branch can write all of them, and reviewers read README.md.

A plan that may be applied is written to `<workdir>/merged/<run_id>/<cluster>.json`, byte for byte as it is on the branch. That file is applied, so it
cannot change between the check and the election.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    SAFE_NAME,
    read_regular,
    work_file,
    write_private,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops import branch_log, proposals, provenance
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.proposals import Layout, branch_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import Repository
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import AllowedSigners, SignatureError

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
    """

    require_signature: bool = False
    merge_signers: AllowedSigners | None = None
    max_plan_age: float = 0.0
    plan_signers: AllowedSigners | None = None


@dataclass
class Approval:
    """One plan. `path`: in the repository; `plan`: the private copy to apply, empty if the plan may not be applied."""

    run_id: str
    cluster: str
    path: str
    state: str = UNUSABLE
    reason: str = ""
    plan: str = ""
    plan_id: str = ""
    created_at: str = ""
    plan_signer: str = ""
    brought_by: dict[str, str] = field(default_factory=dict)
    merged_by: dict[str, str] = field(default_factory=dict)
    signer: str = ""


class _RefusedError(RecoveryError):
    """A plan may not be applied."""

    def __init__(self, state: str, reason: str) -> None:
        super().__init__(reason)
        self.state = state


class Approvals:
    """Judges plans against the fetched tip of the protected branch. Copies of plans that may be applied are written below `workdir`.

    An approval is returned as a dict with the fields of Approval. A plan that may not be applied has another `state` than MERGED and its
    `reason`; no error is raised for it. Raises GitError if the branch cannot be read.
    """

    def __init__(self, repository: Repository, layout: Layout, workdir: Path, rules: Rules) -> None:
        self._repository = repository
        self._layout = layout
        self._workdir = workdir
        self._rules = rules
        self._present = repository.list_files(repository.tip, layout.directory)
        self._changes = branch_log.changes(repository, repository.tip, layout.directory)
        self._where = f"{repository.branch} (at {repository.tip[:12]})"
        self._folders: dict[str, RecoveryError | None] = {}
        self.applied: list[dict[str, Any]] = []

    def of_files(self, plans: Mapping[str, Path]) -> list[dict[str, Any]]:
        """Return an approval for each plan file, oldest plan first. `plans`: files by cluster; each must equal the merged one byte for byte."""
        approvals = []
        for cluster, path in plans.items():
            approval = Approval("", cluster, "")
            try:
                plan = plan_file.load(path)
                if "plan_id" not in plan:
                    raise _RefusedError(UNUSABLE, f"{path} is a bare KIP-1275 file: apply a plan that the playbook plan has written")
                if plan["cluster"] != cluster:
                    raise _RefusedError(OTHER_CLUSTER, f"{path} was made for cluster {plan['cluster']}, not for {cluster}")
                approval = Approval(plan["run_id"], cluster, self._layout.plan(plan["run_id"], cluster), plan_id=plan["plan_id"])
                self._judge(approval, path)
            except RecoveryError as error:
                approval.state, approval.reason = getattr(error, "state", UNUSABLE), str(error)
            approvals.append(asdict(approval))
        return _oldest_first(approvals)

    def merged(self, clusters: Collection[str], run_ids: Sequence[str] = (), since: str = "") -> list[dict[str, Any]]:
        """Return an approval for each plan of these `clusters` on the branch that was not applied yet, oldest plan first.

        run_ids  if not empty, only plans of these recoveries, applied ones included
        since    only plans that changed after this commit; empty or all zeros: all. Raises GitError if it is not a commit of the branch

        Plans that are left out because they were applied are then in `applied`.
        """
        changed = (
            provenance.files_changed_since(self._repository, since, self._repository.tip, self._layout.directory)
            if since.strip("0")
            else None
        )
        approvals = []
        self.applied = []
        for run_id, cluster, path in self._candidates():
            if cluster not in clusters or (run_ids and run_id not in run_ids) or (changed is not None and path not in changed):
                continue
            approval = Approval(run_id, cluster, path)
            try:
                self._judge(approval)
            except RecoveryError as error:
                approval.state, approval.reason = getattr(error, "state", UNUSABLE), str(error)
            if run_ids or approval.state != ALREADY_APPLIED:
                approvals.append(asdict(approval))
            else:
                self.applied.append(asdict(approval))
        self.applied.sort(key=lambda row: (row["run_id"], row["cluster"]))
        return _oldest_first(approvals)

    def _candidates(self) -> Iterator[tuple[str, str, str]]:
        depth = len(self._layout.directory.split("/"))
        for path in self._present:
            parts = path.split("/")[depth:]
            if len(parts) == 3 and parts[1] == "plans" and parts[2].endswith(".json"):
                run_id, cluster = parts[0], parts[2].removesuffix(".json")
                if SAFE_NAME.fullmatch(run_id) and SAFE_NAME.fullmatch(cluster):
                    yield run_id, cluster, path

    def _judge(self, approval: Approval, given: Path | None = None) -> None:
        repository, path = self._repository, approval.path
        if path not in self._present:
            raise _RefusedError(
                NOT_MERGED,
                f"{path} is not on {self._where}: have the branch {branch_of(approval.run_id)} merged into {repository.branch} first",
            )
        content = self._content(path)
        if given is not None and read_regular(given) != content:
            raise _RefusedError(
                CHANGED,
                f"{given} differs from {path} on {self._where}: apply that file, or make a new plan and have it merged",
            )
        self._check_results(approval, content)
        plan = plan_file.parse(content, path)
        if (plan.get("cluster"), plan.get("run_id")) != (approval.cluster, approval.run_id):
            raise _RefusedError(
                OTHER_CLUSTER,
                f"{path} on {self._where} was made for cluster {plan.get('cluster')} in run {plan.get('run_id')}: move it to its own path, or remove it",
            )
        approval.plan_id, approval.created_at = plan["plan_id"], plan["created_at"]
        self._check_folder(approval.run_id)
        self._check_signature_of_plan(approval, content)
        self._check_date(approval)
        approval.brought_by = provenance.commit_introducing(repository, repository.tip, path)
        approval.merged_by = provenance.merged_by(repository, repository.tip, path)
        self._check_signature_of_commit(approval)
        copy = work_file(self._workdir, "merged", approval.cluster, approval.run_id)
        write_private(copy, content)
        approval.state, approval.plan = MERGED, str(copy)

    def _content(self, path: str) -> bytes:
        if not self._present[path]:
            raise _RefusedError(
                UNEXPECTED_FILE, f"{path} on {self._where} is a link, not a file: remove it, and have a new proposal merged"
            )
        return self._repository.content(self._present[path])

    def _check_results(self, approval: Approval, content: bytes) -> None:
        """Refuse a plan that was applied. The proof is results with its plan id, in a commit of the branch itself after the plan's first commit: a plan
        that is removed and added again stays applied."""
        path = self._layout.results(approval.run_id, approval.cluster)
        first = max(change.age for change in self._changes[approval.path] if change.content == self._present[approval.path])
        plan_id = _plan_id(content)
        of_plan = [
            change
            for change in self._changes.get(path, ())
            if change.content and change.age < first and plan_id and _plan_id(self._repository.content(change.content)) == plan_id
        ]
        if path in self._present and of_plan and of_plan[0].content == self._present[path]:
            raise _RefusedError(
                ALREADY_APPLIED,
                f"recovery {approval.run_id} of cluster {approval.cluster} is not applied: results by {of_plan[0].committer} in commit "
                f"{of_plan[0].commit[:12]} of {self._repository.branch} ({of_plan[0].committed_at}) say that it was already. Make a new plan for "
                "partitions without a leader",
            )
        if path in self._present:
            raise _RefusedError(
                OTHER_RESULTS,
                f"{path} on {self._where} does not prove that {approval.path} was applied: it belongs to another plan, or was not committed after it. "
                "Find out who committed it, remove it, and have a new proposal merged",
            )
        if of_plan:
            raise _RefusedError(
                OTHER_RESULTS,
                f"{path} was on {self._repository.branch} (commit {of_plan[0].commit[:12]}) and was removed. If the plan was applied, restore the file; "
                f"otherwise remove {self._layout.folder(approval.run_id)} and have a new proposal merged",
            )

    def _check_folder(self, run_id: str) -> None:
        """Refuse a recovery if the summary in its folder is not that of its plans, or if a file belongs to neither a proposal nor its results."""
        if run_id not in self._folders:
            try:
                self._judge_folder(run_id)
                self._folders[run_id] = None
            except RecoveryError as error:
                self._folders[run_id] = error
        if (refusal := self._folders[run_id]) is not None:
            raise refusal

    def _judge_folder(self, run_id: str) -> None:
        folder = self._layout.folder(run_id)
        present = {path for path in self._present if path.startswith(f"{folder}/")}
        clusters = sorted(cluster for run, cluster, _path in self._candidates() if run == run_id)
        links = {path for path in present if not self._present[path]}
        if unexpected := sorted(links | present - self._layout.files(run_id, clusters)):
            raise _RefusedError(
                UNEXPECTED_FILE,
                f"{unexpected[0]} on {self._where} does not belong to a recovery and may mislead reviewers: remove it and merge the removal",
            )
        plans = [plan_file.parse(self._content(path), path) for path in (self._layout.plan(run_id, cluster) for cluster in clusters)]
        summary = self._layout.summary(run_id)
        if summary not in present or self._content(summary) != proposals.summary(plans, run_id):
            raise _RefusedError(
                OTHER_SUMMARY,
                f"{summary} on {self._where} is not the summary of its plans, so reviewers may have approved something else: make a new plan, "
                "propose it with the version of the collection that applies it, and have it merged",
            )

    def _check_signature_of_plan(self, approval: Approval, content: bytes) -> None:
        if self._rules.plan_signers is None:
            return
        signature = self._layout.signature(approval.run_id, approval.cluster)
        remedy = "set kafka_recovery_plan_signing_key where plans are proposed, to a key of kafka_recovery_plan_signers; propose and merge a new plan"
        if signature not in self._present:
            raise _RefusedError(UNSIGNED, f"{approval.path} on {self._where} is not signed, there is no {signature}: {remedy}")
        try:
            approval.plan_signer = self._rules.plan_signers.signer(content, self._content(signature))
        except SignatureError as error:
            raise _RefusedError(UNSIGNED, f"{signature} on {self._where} is not a valid signature: {error}. To fix it, {remedy}") from error

    def _check_signature_of_commit(self, approval: Approval) -> None:
        if not self._rules.require_signature:
            return
        commit = approval.merged_by["commit"]
        if why := provenance.signature_problem(self._repository, commit, self._rules.merge_signers):
            raise _RefusedError(
                UNSIGNED,
                f"the commit {commit[:12]} that merged {approval.path} into {self._repository.branch} is not approved: {why}. Have it merged with a commit "
                "that is signed by a key of kafka_recovery_merge_signers, or of gpg's keyring",
            )
        approval.signer = provenance.signer(self._repository, commit, self._rules.merge_signers)

    def _check_date(self, approval: Approval) -> None:
        try:
            age = (datetime.now(UTC) - datetime.fromisoformat(approval.created_at)).total_seconds()
        except (ValueError, TypeError, OverflowError) as error:
            raise _RefusedError(UNUSABLE, f"{approval.path} has no valid created_at ({approval.created_at!r}): make a new plan") from error
        if age < -CLOCK_SKEW:
            raise _RefusedError(
                IN_FUTURE,
                f"{approval.path} was made at {approval.created_at}, which is in the future: correct the clock of the machine that plans or of this one, "
                "then make a new plan and have it merged",
            )
        if self._rules.max_plan_age and age > self._rules.max_plan_age:
            raise _RefusedError(
                TOO_OLD,
                f"{approval.path} was made {age:.0f} s ago, and kafka_recovery_max_plan_age is {self._rules.max_plan_age:g} s: make a new plan and have "
                "it merged",
            )


def _plan_id(content: bytes) -> str:
    """Return the plan id of a plan or of results, of any version; an empty text if there is none."""
    try:
        document = strict_json.parse(content)
    except (strict_json.ContentError, RecursionError):
        return ""
    plan_id = document.get("plan_id") if isinstance(document, dict) else None
    return plan_id if isinstance(plan_id, str) else ""


def _oldest_first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["created_at"], row["run_id"], row["cluster"]))
