# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Approvals: which plans are merged into the protected branch, by whom, and may be applied. A doubt refuses, and the reason names file and remedy.

Everything in the folder of a recovery is checked, not the plan alone: who may push a branch writes all of it, and reviewers read README.md.

A plan that may be applied is written to `<workdir>/merged/<run_id>/<cluster>.json`, byte for byte as it is on the branch. That file is what is applied, so
it cannot change between the check and the election.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import SpokenError
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
# How far the clocks of two machines may be apart, in seconds.
CLOCK_SKEW = 300.0


@dataclass(frozen=True)
class Rules:
    """What an approval takes. `require_signature`: of the commit that merged a plan, by one of `merge_signers` or a key of gpg; `max_plan_age`: seconds, 0
    for no limit; `plan_signers`: who may make plans, None if anybody may."""

    require_signature: bool = False
    merge_signers: AllowedSigners | None = None
    max_plan_age: float = 0.0
    plan_signers: AllowedSigners | None = None


@dataclass
class Approval:
    """One plan. `path`: in the repository; `plan`: the private copy that may be applied, empty where it may not be."""

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


class _RefusedError(SpokenError):
    """A plan may not be applied."""

    def __init__(self, state: str, reason: str) -> None:
        super().__init__(reason)
        self.state = state


class Approvals:
    """Judges plans against the fetched tip of the protected branch."""

    def __init__(self, repository: Repository, layout: Layout, workdir: Path, rules: Rules) -> None:
        self._repository = repository
        self._layout = layout
        self._workdir = workdir
        self._rules = rules
        self._present = repository.listed(repository.tip, layout.directory)
        self._changes = branch_log.changes(repository, repository.tip, layout.directory)
        self._where = f"{repository.branch} (at {repository.tip[:12]})"
        self._folders: dict[str, SpokenError | None] = {}
        self.applied: list[dict[str, Any]] = []

    def of_files(self, plans: Mapping[str, Path]) -> list[dict[str, Any]]:
        """Judge plan files (by cluster) that are to be applied: they must be what was merged."""
        found = []
        for cluster, path in plans.items():
            approval = Approval("", cluster, "")
            try:
                plan = plan_file.load(path)
                if "plan_id" not in plan:
                    raise _RefusedError(
                        UNUSABLE, f"{path} is a bare KIP-1275 file: what was merged are plans that the playbook plan has written"
                    )
                if plan["cluster"] != cluster:
                    raise _RefusedError(OTHER_CLUSTER, f"{path} was made for cluster {plan['cluster']}, not for {cluster}")
                approval = Approval(plan["run_id"], cluster, self._layout.plan(plan["run_id"], cluster), plan_id=plan["plan_id"])
                self._judge(approval, path)
            except SpokenError as error:
                approval.state, approval.reason = getattr(error, "state", UNUSABLE), str(error)
            found.append(asdict(approval))
        return _oldest_first(found)

    def merged(self, clusters: Collection[str], run_ids: Sequence[str] = (), since: str = "") -> list[dict[str, Any]]:
        """Judge what is on the branch and was not applied yet: all of it, or these recoveries (applied ones too), or what came after a commit.

        `applied` then has what is left out because it has results.
        """
        came = provenance.came_since(self._repository, since, self._repository.tip, self._layout.directory) if since.strip("0") else None
        found = []
        self.applied = []
        for run_id, cluster, path in self._candidates():
            if cluster not in clusters or (run_ids and run_id not in run_ids) or (came is not None and path not in came):
                continue
            approval = Approval(run_id, cluster, path)
            try:
                self._judge(approval)
            except SpokenError as error:
                approval.state, approval.reason = getattr(error, "state", UNUSABLE), str(error)
            if run_ids or approval.state != ALREADY_APPLIED:
                found.append(asdict(approval))
            else:
                self.applied.append(asdict(approval))
        self.applied.sort(key=lambda row: (row["run_id"], row["cluster"]))
        return _oldest_first(found)

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
                f"{given} is not what was merged as {path} on {self._where}: take it from there, or make a new plan and have it merged",
            )
        self._check_results(approval, content)
        plan = plan_file.parse(content, path)
        if (plan.get("cluster"), plan.get("run_id")) != (approval.cluster, approval.run_id):
            raise _RefusedError(
                OTHER_CLUSTER,
                f"{path} on {self._where} was made for cluster {plan.get('cluster')} in run {plan.get('run_id')}: it is not in its own place",
            )
        approval.plan_id, approval.created_at = plan["plan_id"], plan["created_at"]
        self._check_folder(approval.run_id)
        self._check_signature_of_plan(approval, content)
        self._check_date(approval)
        approval.brought_by = provenance.brought_by(repository, repository.tip, path)
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
        """Refuse a plan that was applied. Only results of this very plan prove it, in a commit of the branch itself after the plan's first one: a plan
        that is removed and put back stays applied."""
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
                f"{of_plan[0].commit[:12]} of {self._repository.branch} ({of_plan[0].committed_at}) say that it was already. Make a new plan for what has no "
                "leader",
            )
        if path in self._present:
            raise _RefusedError(
                OTHER_RESULTS,
                f"{path} on {self._where} does not prove that {approval.path} was applied: it is of another plan, or was not committed after it. "
                "Find out who put it there, remove it, and have a new proposal merged",
            )
        if of_plan:
            raise _RefusedError(
                OTHER_RESULTS,
                f"{path} was on {self._repository.branch} (commit {of_plan[0].commit[:12]}) and was removed. If the plan was applied, put it back; "
                f"else remove {self._layout.folder(approval.run_id)} and have a new proposal merged",
            )

    def _check_folder(self, run_id: str) -> None:
        """Refuse a recovery whose folder has another summary than its plans make, or anything that is none of a proposal and its results."""
        if run_id not in self._folders:
            try:
                self._judge_folder(run_id)
                self._folders[run_id] = None
            except SpokenError as error:
                self._folders[run_id] = error
        if (refusal := self._folders[run_id]) is not None:
            raise refusal

    def _judge_folder(self, run_id: str) -> None:
        folder = self._layout.folder(run_id)
        there = {path for path in self._present if path.startswith(f"{folder}/")}
        clusters = sorted(cluster for run, cluster, _path in self._candidates() if run == run_id)
        links = {path for path in there if not self._present[path]}
        if unexpected := sorted(links | there - self._layout.files(run_id, clusters)):
            raise _RefusedError(
                UNEXPECTED_FILE,
                f"{unexpected[0]} on {self._where} does not belong to a recovery and may mislead reviewers: remove it and merge the removal",
            )
        plans = [plan_file.parse(self._content(path), path) for path in (self._layout.plan(run_id, cluster) for cluster in clusters)]
        summary = self._layout.summary(run_id)
        if summary not in there or self._content(summary) != proposals.summary(plans, run_id):
            raise _RefusedError(
                OTHER_SUMMARY,
                f"{summary} on {self._where} is not the summary of its plans, so it is not known what was approved: make a new plan, propose it with the "
                "version of the collection that applies it, and have it merged",
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
            raise _RefusedError(
                UNSIGNED, f"{signature} on {self._where} is not a valid signature: {error}. To mend it, {remedy}"
            ) from error

    def _check_signature_of_commit(self, approval: Approval) -> None:
        if not self._rules.require_signature:
            return
        commit = approval.merged_by["commit"]
        if why := provenance.unsigned(self._repository, commit, self._rules.merge_signers):
            raise _RefusedError(
                UNSIGNED,
                f"the commit {commit[:12]} that brought {approval.path} onto {self._repository.branch} is not approved: {why}. Have the recovery merged by "
                "somebody whose signature counts (kafka_recovery_merge_signers, or gpg's keyring), with a signed commit",
            )
        approval.signer = provenance.signer(self._repository, commit, self._rules.merge_signers)

    def _check_date(self, approval: Approval) -> None:
        try:
            age = (datetime.now(UTC) - datetime.fromisoformat(approval.created_at)).total_seconds()
        except (ValueError, TypeError, OverflowError) as error:
            raise _RefusedError(
                UNUSABLE, f"{approval.path} does not say when it was made ({approval.created_at!r}): make a new plan"
            ) from error
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
    """The plan id of a plan or of results, of whichever version; an empty text if there is none."""
    try:
        document = strict_json.parse(content)
    except (strict_json.ContentError, RecursionError):
        return ""
    plan_id = document.get("plan_id") if isinstance(document, dict) else None
    return plan_id if isinstance(plan_id, str) else ""


def _oldest_first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["created_at"], row["run_id"], row["cluster"]))
