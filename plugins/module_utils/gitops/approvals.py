# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Approvals: files of KINDS that are merged into the protected branch and may be applied. In doubt a plan is refused; the reason names file and remedy.

All files in the folder of a recovery are checked, not only the plan: anyone who may push a branch can write all of them, and reviewers read README.md.

A plan that may be applied is written to `<workdir>/merged/<run_id>/<cluster>.json`, for example moves to `<workdir>/merged_moves/<run_id>/<cluster>.json`,
byte for byte as they are on the branch. That file is applied, so it cannot change between the check and the election.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import (
    SAFE_NAME,
    read_regular,
    work_file,
    write_private,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops import branch_log, proposals, provenance
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.approval_rules import (
    ALREADY_APPLIED,
    CHANGED,
    MERGED,
    NOT_MERGED,
    OTHER_CLUSTER,
    OTHER_RESULTS,
    OTHER_SUMMARY,
    UNEXPECTED_FILE,
    UNSIGNED,
    UNUSABLE,
    Approval,
    RefusedError,
    Rules,
    check_date,
    check_people,
    plan_id_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import KINDS, PLANS, Kind
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.recovery_folder import (
    MAX_SIGNATURES,
    Layout,
    branch_of,
    signatures_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import Repository
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import SignatureError


class Approvals:
    """Judges plans against the fetched tip of the protected branch. Copies of plans that may be applied are written below `workdir`.

    An approval is returned as a dict with the fields of Approval. A plan that may not be applied has another `state` than MERGED and its
    `reason`; no error is raised for it. Raises GitError if the branch cannot be read.
    """

    def __init__(self, repository: Repository, layout: Layout, workdir: Path, rules: Rules) -> None:
        self._repository = repository
        self._layout = layout
        # On this machine: who may write in the store of a workdir must not change a copy between its approval and its use.
        self._copies = mounts.shared(workdir)
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
                    raise RefusedError(UNUSABLE, f"{path} is a bare KIP-1275 file: apply a plan that the playbook plan has written")
                if plan["cluster"] != cluster:
                    raise RefusedError(OTHER_CLUSTER, f"{path} was made for cluster {plan['cluster']}, not for {cluster}")
                approval = Approval(plan["run_id"], cluster, self._layout.plan(plan["run_id"], cluster), plan_id=plan["plan_id"])
                self._judge(PLANS, approval, path)
            except RecoveryError as error:
                approval.state, approval.reason = getattr(error, "state", UNUSABLE), str(error)
            approvals.append(asdict(approval))
        return _oldest_first(approvals)

    def merged(self, clusters: Collection[str], run_ids: Sequence[str] = (), since: str = "") -> list[dict[str, Any]]:
        """Return an approval for each file of KINDS of these `clusters` on the branch that were not applied yet, oldest first.

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
        for kind, run_id, cluster, path in self._candidates():
            if cluster not in clusters or (run_ids and run_id not in run_ids) or (changed is not None and path not in changed):
                continue
            approval = Approval(run_id, cluster, path, kind.name)
            try:
                self._judge(kind, approval)
            except RecoveryError as error:
                approval.state, approval.reason = getattr(error, "state", UNUSABLE), str(error)
            if run_ids or approval.state != ALREADY_APPLIED:
                approvals.append(asdict(approval))
            else:
                self.applied.append(asdict(approval))
        self.applied.sort(key=lambda row: (row["run_id"], row["cluster"], row["kind"]))
        return _oldest_first(approvals)

    def _candidates(self) -> Iterator[tuple[Kind, str, str, str]]:
        kinds = {kind.folder: kind for kind in KINDS}
        depth = len(self._layout.directory.split("/"))
        for path in self._present:
            parts = path.split("/")[depth:]
            if len(parts) == 3 and parts[1] in kinds and parts[2].endswith(".json"):
                run_id, cluster = parts[0], parts[2].removesuffix(".json")
                if SAFE_NAME.fullmatch(run_id) and SAFE_NAME.fullmatch(cluster):
                    yield kinds[parts[1]], run_id, cluster, path

    def _judge(self, kind: Kind, approval: Approval, given: Path | None = None) -> None:
        repository, path = self._repository, approval.path
        if path not in self._present:
            raise RefusedError(
                NOT_MERGED,
                f"{path} is not on {self._where}: have the branch {branch_of(approval.run_id)} merged into {repository.branch} first",
            )
        content = self._content(path)
        if given is not None and read_regular(given) != content:
            raise RefusedError(
                CHANGED,
                f"{given} differs from {path} on {self._where}: apply that file, or make a new plan and have it merged",
            )
        self._check_results(kind, approval, content)
        plan = kind.parse(content, path)
        if (plan.get("cluster"), plan.get("run_id")) != (approval.cluster, approval.run_id):
            raise RefusedError(
                OTHER_CLUSTER,
                f"{path} on {self._where} was made for cluster {plan.get('cluster')} in run {plan.get('run_id')}: move it to its own path, or remove it",
            )
        approval.plan_id, approval.created_at = plan["plan_id"], plan["created_at"]
        self._check_folder(approval.run_id)
        self._check_signatures(kind, approval, content)
        check_date(approval, self._rules.max_plan_age)
        approval.brought_by = provenance.commit_introducing(repository, repository.tip, path)
        approval.merged_by = provenance.merged_by(repository, repository.tip, path)
        self._check_signature_of_commit(approval)
        copy = work_file(self._copies, kind.copies, approval.cluster, approval.run_id)
        write_private(copy, content)
        approval.state, approval.plan = MERGED, str(copy)

    def _content(self, path: str) -> bytes:
        if not self._present[path]:
            raise RefusedError(UNEXPECTED_FILE, f"{path} on {self._where} is a link, not a file: remove it, and have a new proposal merged")
        return self._repository.content(self._present[path])

    def _check_results(self, kind: Kind, approval: Approval, content: bytes) -> None:
        """Refuse a plan that was applied. The proof is results with its plan id, in a commit of the branch itself after the plan's first commit: a plan
        that is removed and added again stays applied."""
        path = self._layout.results(approval.run_id, approval.cluster, kind)
        first = max(change.age for change in self._changes[approval.path] if change.content == self._present[approval.path])
        plan_id = plan_id_of(content)
        of_plan = [
            change
            for change in self._changes.get(path, ())
            if change.content and change.age < first and plan_id and plan_id_of(self._repository.content(change.content)) == plan_id
        ]
        if path in self._present and of_plan and of_plan[0].content == self._present[path]:
            raise RefusedError(
                ALREADY_APPLIED,
                f"{'' if kind is PLANS else f'{kind.noun} of '}recovery {approval.run_id} of cluster {approval.cluster} is not applied: results by "
                f"{of_plan[0].committer} in commit "
                f"{of_plan[0].commit[:12]} of {self._repository.branch} ({of_plan[0].committed_at}) say that it was already. Make a new plan for "
                "partitions without a leader",
            )
        if path in self._present:
            raise RefusedError(
                OTHER_RESULTS,
                f"{path} on {self._where} does not prove that {approval.path} was applied: it belongs to another plan, or was not committed after it. "
                "Find out who committed it, remove it, and have a new proposal merged",
            )
        if of_plan:
            raise RefusedError(
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
        files = sorted(
            ((path, kind, cluster) for kind, run, cluster, path in self._candidates() if run == run_id), key=lambda file: file[2]
        )
        expected = {self._layout.summary(run_id)}
        for path, kind, cluster in files:
            expected |= {*self._layout.files(run_id, [cluster], kind), *signatures_of(path, present)}
        links = {path for path in present if not self._present[path]}
        if unexpected := sorted(links | present - expected):
            raise RefusedError(
                UNEXPECTED_FILE,
                f"{unexpected[0]} on {self._where} does not belong to a recovery and may mislead reviewers: remove it and merge the removal",
            )
        documents = {of: [of.parse(self._content(path), path) for path, kind, _cluster in files if kind is of] for of in KINDS}
        summary = self._layout.summary(run_id)
        if summary not in present or self._content(summary) != proposals.summary(documents, run_id):
            raise RefusedError(
                OTHER_SUMMARY,
                f"{summary} on {self._where} is not the summary of its plans, so reviewers may have approved something else: make a new plan, "
                "propose it with the version of the collection that applies it, and have it merged",
            )

    def _check_signatures(self, kind: Kind, approval: Approval, content: bytes) -> None:
        """Refuse a plan unless every signature beside it is valid, and enough people made them."""
        if self._rules.plan_signers is None:
            return
        paths = signatures_of(approval.path, self._present)
        remedy = "set kafka_recovery_plan_signing_key where plans are proposed, to a key of kafka_recovery_plan_signers; propose and merge a new plan"
        if not paths:
            expected = self._layout.signature(approval.run_id, approval.cluster, kind)
            raise RefusedError(UNSIGNED, f"{approval.path} on {self._where} is not signed, there is no {expected}: {remedy}")
        if len(paths) > MAX_SIGNATURES:
            raise RefusedError(
                UNEXPECTED_FILE, f"{approval.path} on {self._where} has {len(paths)} signatures: leave at most {MAX_SIGNATURES}"
            )
        signers = []
        for path in paths:
            try:
                signers.append(self._rules.plan_signers.signer(content, self._content(path)))
            except SignatureError as error:
                raise RefusedError(UNSIGNED, f"{path} on {self._where} is not a valid signature: {error}. To fix it, {remedy}") from error
        approval.plan_signer = ", ".join(map(str, signers))
        check_people(approval, signers, self._rules.signers)

    def _check_signature_of_commit(self, approval: Approval) -> None:
        if not self._rules.require_signature:
            return
        commit = approval.merged_by["commit"]
        if why := provenance.signature_problem(self._repository, commit, self._rules.merge_signers):
            raise RefusedError(
                UNSIGNED,
                f"the commit {commit[:12]} that merged {approval.path} into {self._repository.branch} is not approved: {why}. Have it merged with a commit "
                "that is signed by a key of kafka_recovery_merge_signers, or of gpg's keyring",
            )
        approval.signer = provenance.signer(self._repository, commit, self._rules.merge_signers)


def _oldest_first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["created_at"], row["run_id"], row["cluster"], row["kind"]))
