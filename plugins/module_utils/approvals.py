# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Approvals: which plans are merged into the protected branch, by whom, and may be applied. A doubt refuses, and says why.

A plan that may be applied is written to `<workdir>/merged/<run_id>/<cluster>.json`, byte for byte as it is on the branch. That file is what is applied, so
nobody can change it between the check and the election.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import git_history, planfile
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.errors import SpokenError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.files import SAFE_NAME, read_regular, work_file, write_private
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.git import Repository
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.proposals import Layout, branch_of

MERGED, NOT_MERGED, CHANGED, UNUSABLE = "merged", "not_merged", "changed", "unusable"
OTHER_CLUSTER, ALREADY_APPLIED, UNSIGNED, TOO_OLD = "other_cluster", "already_applied", "unsigned", "too_old"
STATES = (MERGED, NOT_MERGED, CHANGED, UNUSABLE, OTHER_CLUSTER, ALREADY_APPLIED, UNSIGNED, TOO_OLD)


@dataclass(frozen=True)
class Rules:
    """What an approval takes. `allowed_signers`: the file that says who may sign; `max_plan_age`: seconds, 0 for no limit."""

    require_signature: bool = False
    allowed_signers: Path | None = None
    max_plan_age: float = 0.0


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

    def of_files(self, plans: Mapping[str, Path]) -> list[dict[str, Any]]:
        """Judge plan files (by cluster) that somebody wants to apply: they have to be what was merged."""
        found = []
        for cluster, path in plans.items():
            approval = Approval("", cluster, "")
            try:
                plan = planfile.load(path)
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
        """Judge what is on the branch and was not applied yet: all of it, or these recoveries (applied ones too), or what came after a commit."""
        came = git_history.came_since(self._repository, since, self._repository.tip, self._layout.directory) if since.strip("0") else None
        found = []
        for run_id, cluster, path in self._candidates():
            wanted = cluster in clusters and (not run_ids or run_id in run_ids) and (came is None or path in came)
            if not wanted or (not run_ids and self._applied(run_id, cluster)):
                continue
            approval = Approval(run_id, cluster, path)
            try:
                self._judge(approval)
            except SpokenError as error:
                approval.state, approval.reason = getattr(error, "state", UNUSABLE), str(error)
            found.append(asdict(approval))
        return _oldest_first(found)

    def _candidates(self) -> Iterator[tuple[str, str, str]]:
        depth = len(self._layout.directory.split("/"))
        for path in self._present:
            parts = path.split("/")[depth:]
            if len(parts) == 3 and parts[1] == "plans" and parts[2].endswith(".json"):
                run_id, cluster = parts[0], parts[2].removesuffix(".json")
                if SAFE_NAME.fullmatch(run_id) and SAFE_NAME.fullmatch(cluster):
                    yield run_id, cluster, path

    def _applied(self, run_id: str, cluster: str) -> bool:
        """Whether its results are on the branch, or ever were."""
        path = self._layout.results(run_id, cluster)
        return path in self._present or git_history.was_there(self._repository, self._repository.tip, path)

    def _judge(self, approval: Approval, given: Path | None = None) -> None:
        repository, path = self._repository, approval.path
        where = f"{repository.branch} (at {repository.tip[:12]})"
        if path not in self._present:
            raise _RefusedError(
                NOT_MERGED, f"{path} is not on {where}: have the branch {branch_of(approval.run_id)} merged into {repository.branch} first"
            )
        content = repository.content(self._present[path])
        if given is not None and read_regular(given) != content:
            raise _RefusedError(
                CHANGED, f"{given} is not what was merged as {path} on {where}: take it from there, or make a new plan and have it merged"
            )
        if self._applied(approval.run_id, approval.cluster):
            raise _RefusedError(
                ALREADY_APPLIED,
                f"{path} is already applied: its results are on {repository.branch}. Nothing is done; make a new plan for what has no leader",
            )
        copy = work_file(self._workdir, "merged", approval.cluster, approval.run_id)
        write_private(copy, content)
        plan = planfile.load(copy)
        if (plan.get("cluster"), plan.get("run_id")) != (approval.cluster, approval.run_id):
            raise _RefusedError(
                OTHER_CLUSTER,
                f"{path} on {where} was made for cluster {plan.get('cluster')} in run {plan.get('run_id')}: it lies in a place that is not its own",
            )
        approval.plan_id, approval.created_at = plan["plan_id"], plan["created_at"]
        approval.brought_by = git_history.brought_by(repository, repository.tip, path)
        approval.merged_by = git_history.merged_by(repository, repository.tip, path)
        self._check_signature(approval)
        self._check_age(approval)
        approval.state, approval.plan = MERGED, str(copy)

    def _check_signature(self, approval: Approval) -> None:
        if not self._rules.require_signature:
            return
        commit = approval.merged_by["commit"]
        if why := git_history.unsigned(self._repository, commit, self._rules.allowed_signers):
            raise _RefusedError(
                UNSIGNED,
                f"the commit {commit[:12]} that brought {approval.path} onto {self._repository.branch} is not approved: {why}. Have the recovery merged by "
                "somebody whose signature counts (kafka_recovery_git_allowed_signers, or gpg's keyring), with a signed commit",
            )
        approval.signer = git_history.signer(self._repository, commit, self._rules.allowed_signers)

    def _check_age(self, approval: Approval) -> None:
        if not self._rules.max_plan_age:
            return
        try:
            age = (datetime.now(UTC) - datetime.fromisoformat(approval.created_at)).total_seconds()
        except (ValueError, TypeError) as error:
            raise _RefusedError(
                UNUSABLE, f"{approval.path} does not say when it was made ({approval.created_at!r}): make a new plan"
            ) from error
        if age > self._rules.max_plan_age:
            raise _RefusedError(
                TOO_OLD,
                f"{approval.path} was made {age:.0f} s ago, and kafka_recovery_max_plan_age is {self._rules.max_plan_age:g} s: make a new plan and have "
                "it merged",
            )


def _oldest_first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["created_at"], row["run_id"], row["cluster"]))
