# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recovery in a git repository: `<directory>/<run_id>/` with README.md, `plans/<cluster>.json`, `plans/<cluster>.json.sig` if it is signed, and once it
is applied `results/<cluster>.json`.

Plans are pushed to a new branch `recovery/<run_id>`, for review and merge. Results are pushed to the protected branch, and prove there that a plan was
applied. Existing files are never overwritten: the same content is no change, other content is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.markdown import block
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import read_regular, safe_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import ContentError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops import pull_request_page, signatures
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import (
    ATTEMPTS,
    GitError,
    PushRejectedError,
    Repository,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode

# Forges run no pipeline for such a commit: results do not approve anything.
SKIP = "[skip ci]"
# Results with these reason codes are not committed: the plan is still to be applied.
STILL_TO_APPLY: Mapping[str, str] = {
    ReasonCode.INTERRUPTED: "it was interrupted; apply it again to continue",
    ReasonCode.DATA_LOSS_NOT_ALLOWED: "data loss is not allowed, so nothing was elected; apply it with -e kafka_recovery_allow_data_loss=true",
}
APPLY = """\
ansible-playbook streamops.kafka_recovery.apply_merged -i INVENTORY -e kafka_recovery_allow_data_loss=true \\
  -e kafka_recovery_git_repository=REPOSITORY -e kafka_recovery_plan_signers=PLAN_SIGNERS"""


@dataclass(frozen=True)
class Layout:
    """Paths of a recovery's files in the repository, relative to its top. `directory`: as `check_folder` returned it.

    Methods raise FileError for a run id or cluster that cannot be a file name.
    """

    directory: str

    def folder(self, run_id: str) -> str:
        """Return the folder of a recovery."""
        return f"{self.directory}/{safe_name('run_id', run_id)}"

    def summary(self, run_id: str) -> str:
        """Return the path of the summary that reviewers read."""
        return f"{self.folder(run_id)}/README.md"

    def plan(self, run_id: str, cluster: str) -> str:
        """Return the path of a cluster's plan."""
        return f"{self.folder(run_id)}/plans/{safe_name('cluster', cluster)}.json"

    def signature(self, run_id: str, cluster: str) -> str:
        """Return the path of the signature of a cluster's plan."""
        return self.plan(run_id, cluster) + signatures.SUFFIX

    def results(self, run_id: str, cluster: str) -> str:
        """Return the path of a cluster's results."""
        return f"{self.folder(run_id)}/results/{safe_name('cluster', cluster)}.json"

    def files(self, run_id: str, clusters: Iterable[str]) -> set[str]:
        """Return all paths that the folder of a recovery of these clusters may have: summary, plans, signatures and results."""
        kinds = self.plan, self.signature, self.results
        return {self.summary(run_id), *(kind(run_id, cluster) for cluster in clusters for kind in kinds)}


@dataclass
class Published:
    """State of a remote after a push.

    files            files that the commit adds, empty if the remote had them all
    merged           whether the proposal is on the protected branch already
    signed           whether every plan of a proposal has a signature, which is not verified here
    remote_messages  lines of the remote's output, for example where to open a pull request
    left_out         clusters whose results were not committed, with the reason
    """

    branch: str
    run_id: str
    commit: str
    files: dict[str, bytes] = field(default_factory=dict)
    merged: bool = False
    signed: bool = False
    remote_messages: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Return whether any file was added, or would be in check mode."""
        return bool(self.files)


def branch_of(run_id: str) -> str:
    """Return the branch on which a recovery is proposed."""
    return f"recovery/{run_id}"


def summary(plans: Sequence[Mapping[str, Any]], run_id: str) -> bytes:
    """Return the content of README.md of a recovery. `plans`: checked plans, sorted by cluster; the same plans give the same bytes."""
    return pull_request_page.page(plans, run_id, block(APPLY))


def propose(
    repository: Repository,
    layout: Layout,
    run_id: str,
    plans: Mapping[str, Path],
    push: bool = True,
    sign: Callable[[bytes], bytes] | None = None,
) -> Published:
    """Push plans (files by cluster), their summary and their signatures to the branch of the recovery. Returns what was pushed.

    `push`: False to make the commit only (check mode). `sign`: returns the signature of a plan's bytes, and raises its own errors; None for no
    signatures. Raises PlanError or GitError if a plan cannot be used or the repository has other files, PushRejectedError if the remote
    rejects the branch.
    """
    branch, folder = branch_of(run_id), layout.folder(run_id)
    repository.check_branch(branch)
    contents = {cluster: _content(path) for cluster, path in sorted(plans.items())}
    loaded = {cluster: _plan(content, plans[cluster], cluster, run_id) for cluster, content in contents.items()}
    files = {layout.summary(run_id): summary(list(loaded.values()), run_id)}
    files |= {layout.plan(run_id, cluster): content for cluster, content in contents.items()}
    if sign is not None:
        files |= {layout.signature(run_id, cluster): sign(content) for cluster, content in contents.items()}
    present = repository.list_files(repository.tip, folder)
    if present:
        if other := _others(repository, repository.tip, files, folder, exact=False):
            raise GitError(
                f"recovery {run_id} is on {repository.branch} already, with other content ({other[0]}): make the plan under another "
                "kafka_recovery_run_id"
            )
        return Published(repository.branch, run_id, repository.tip, merged=True, signed=_signed(present))
    if head := repository.fetch_branch(branch):
        return _same(repository, branch, run_id, head, files, folder)
    commit = repository.commit(repository.tip, files, _proposal_message(run_id, loaded))
    published = Published(branch, run_id, commit, files, signed=sign is not None)
    if push:
        try:
            published.remote_messages = repository.push(commit, branch)
        except PushRejectedError as error:
            if head := repository.fetch_branch(branch):  # another run was faster
                return _same(repository, branch, run_id, head, files, folder)
            raise PushRejectedError(
                f"the repository rejected the branch {branch}: {error}; nothing was proposed. Grant this user push access to recovery/*, "
                "then run again"
            ) from error
    return published


def commit_results(
    repository: Repository, layout: Layout, run_id: str, plans: Mapping[str, Path], results: Mapping[str, Path], push: bool = True
) -> Published:
    """Push the results of clusters to the protected branch. Returns what was pushed, and what was left out.

    Results of a run that was interrupted, or that was not allowed to elect, are left out: the plan is still to be applied. `plans`, `results`:
    files by cluster. `run_id`: used if a plan has none. Raises PlanError for a plan that cannot be used, GitError if results do not belong to
    their plan or the branch has others, PushRejectedError if the remote rejects the push.
    """
    contents, left_out = {}, {}
    applied = {cluster: plan_file.load(plans[cluster]) for cluster in results}
    names = {plan.get("run_id", run_id) for plan in applied.values()}
    if len(names) > 1:
        raise GitError(f"the plans belong to several recoveries ({', '.join(sorted(names))}): commit the results of each separately")
    recovery = names.pop() if names else run_id
    for cluster, path in sorted(results.items()):
        content, document = _results(path)
        if document["plan_id"] != applied[cluster].get("plan_id"):
            raise GitError(f"{path} are not results of the plan {plans[cluster]}: give each recovery its own kafka_recovery_run_id")
        if why := _not_applied(document):
            left_out[cluster] = why
            continue
        contents[cluster] = content, document["summary"]
    files = {layout.results(recovery, cluster): content for cluster, (content, _summary) in contents.items()}
    message = _results_message(recovery, {cluster: summary for cluster, (_content, summary) in contents.items()})
    attempts = 0
    while missing := _missing(repository, layout.folder(recovery), files):
        attempts += 1
        tip = repository.tip
        commit = repository.commit(tip, missing, message)
        published = Published(repository.branch, recovery, commit, missing, left_out=left_out)
        if not push:
            return published
        try:
            published.remote_messages = repository.push(commit, repository.branch)
            return published
        except PushRejectedError as error:
            # Another commit was pushed meanwhile, or the remote rejects every push.
            if repository.fetch() == tip or attempts == ATTEMPTS:
                raise PushRejectedError(
                    f"the repository rejected the results of recovery {recovery} on {repository.branch}: {error}. The elections are already done, and the "
                    f"results are in {', '.join(str(path) for path in results.values())}. Grant this user push access to {repository.branch}, "
                    "then apply again"
                ) from error
    return Published(repository.branch, recovery, repository.tip, left_out=left_out)


def _content(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise GitError(f"{path}: cannot be read: {error.strerror}") from error


def _plan(content: bytes, path: Path, cluster: str, run_id: str) -> dict[str, Any]:
    plan = plan_file.parse(content, path)
    if "plan_id" not in plan:
        raise GitError(f"{path} is a bare KIP-1275 file without evidence: propose a plan that the playbook plan has written")
    if (plan["cluster"], plan["run_id"]) != (cluster, run_id):
        raise GitError(f"{path} was made for cluster {plan['cluster']} in run {plan['run_id']}, not for {cluster} in run {run_id}")
    return plan


def _results(path: Path) -> tuple[bytes, dict[str, Any]]:
    content = _content(path)
    try:
        document = strict_json.parse(content)
    except ContentError as error:
        raise GitError(f"{path}: {error}") from error
    if not isinstance(document, dict) or not {"plan_id", "summary", "partitions"} <= set(document):
        raise GitError(f"{path} is not a results file: apply the plan again")
    return content, document


def _not_applied(document: Mapping[str, Any]) -> str:
    """Return the reason why these results do not prove that the plan was applied; empty if they do."""
    codes = {row.get("reason_code") for row in document["partitions"]}
    return next((why for code, why in STILL_TO_APPLY.items() if code in codes), "")


def _same(repository: Repository, branch: str, run_id: str, head: str, files: Mapping[str, bytes], folder: str) -> Published:
    """Return the state of a branch that exists already. Raises GitError if its plans or files are not those to propose."""
    if other := _others(repository, head, files, folder, exact=True):
        raise GitError(
            f"the branch {branch} exists already, with other content ({other[0]}); it is not overwritten. Make the plan under another "
            f"kafka_recovery_run_id, or delete that branch"
        )
    return Published(branch, run_id, head, signed=_signed(repository.list_files(head, folder)))


def _signed(paths: Collection[str]) -> bool:
    """Return whether each of the plans among these files has a signature file."""
    return all(f"{path}{signatures.SUFFIX}" in paths for path in paths if path.endswith(".json") and "/plans/" in path)


def _others(repository: Repository, commit: str, files: Mapping[str, bytes], folder: str, exact: bool) -> list[str]:
    """Return the paths whose content differs from `files`, sorted. `exact`: the folder may have no other file, and the summary counts, too.

    A plan that was made again while the cluster did not change is the same plan, with another id and another time.
    """
    present = repository.list_files(commit, folder)
    contents = {path: repository.content(present[path]) for path in files if present.get(path)}
    plans = [path for path in files if path.endswith(".json")]
    # Signatures of the same plan by the same key can differ. They are verified when a plan is applied.
    signature_paths = {f"{path}{signatures.SUFFIX}" for path in plans}
    changed = {path: _parsed(contents[path]) for path in plans if path in contents and contents[path] != files[path]}
    other = {
        path for path in plans if path not in contents or (path in changed and _essence(changed[path]) != _essence(_parsed(files[path])))
    }
    if exact and not other:
        readme = f"{folder}/README.md"
        pages = [changed.get(path) or _parsed(contents[path]) for path in plans]
        other = (set(present) - set(files) - signature_paths) | {path for path in files if path not in contents}
        if contents.get(readme) != summary(pages, folder.rpartition("/")[2]):
            other.add(readme)
    return sorted(other)


def _parsed(content: bytes) -> Mapping[str, Any]:
    """Return a plan, empty if the content is not a valid plan."""
    try:
        return plan_file.parse(content, "a plan of the repository")
    except plan_file.PlanError:
        return {}


def _essence(plan: Mapping[str, Any]) -> Any:
    """Return the decisions of a plan and their evidence, without ids and times, which differ if the same plan is made again."""
    elected = ("topic", "partition", "designatedLeader", "replicas_best_first", "evidence", "guards", "loss", "truncated")
    held = ("topic", "partition", "reason_code", "evidence", "candidate", "survivors", "loss")
    return plan and [
        [plan.get(key) for key in ("cluster", "cluster_id", "run_id", "backend", "strategy", "topic_strategies", "ranking")],
        [[row[key] for key in elected] for row in plan["partitions"]],
        [[row[key] for key in held] for row in plan.get("held", ())],
    ]


def _missing(repository: Repository, folder: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files that the protected branch does not have yet. Raises GitError if it has other content under one of the paths."""
    present = repository.list_files(repository.tip, folder)
    for path in files:
        if path in present and (not present[path] or repository.content(present[path]) != files[path]):
            raise GitError(
                f"{path} is on {repository.branch} already, with other content: another run has applied this recovery. It is not overwritten. "
                "Compare both, then make a new plan for partitions without a leader"
            )
    return {path: content for path, content in files.items() if path not in present}


def _proposal_message(run_id: str, plans: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [f"Recovery {run_id}: {sum(len(plan['partitions']) for plan in plans.values())} partitions to elect", ""]
    lines += [
        f"{cluster}: {len(plan['partitions'])} to elect, {len(plan['held'])} held, plan {plan['plan_id']}, sha256 {plan['sha256']}"
        for cluster, plan in plans.items()
    ]
    return "\n".join(lines) + "\n"


def _results_message(run_id: str, summaries: Mapping[str, Mapping[str, int]]) -> str:
    counts = {
        cluster: ", ".join(f"{number} {outcome}" for outcome, number in summary.items() if number) for cluster, summary in summaries.items()
    }
    return (
        "\n".join(
            [f"Results of recovery {run_id} {SKIP}", "", *(f"{cluster}: {text or 'nothing to do'}" for cluster, text in counts.items())]
        )
        + "\n"
    )
