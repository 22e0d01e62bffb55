# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proposals: plans and other files of KINDS, their summary and their signatures, pushed to a new branch `recovery/<run_id>` for review and merge.

Existing files are never overwritten: the same content is no change, other content is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.markdown import block, code
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import KINDS, PLANS, Kind
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.recovery_folder import (
    Layout,
    Published,
    branch_of,
    signatures_of,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import GitError, PushRejectedError, Repository

APPLY = """\
ansible-playbook streamops.kafka_recovery.apply_merged -i INVENTORY -e kafka_recovery_allow_data_loss=true \\
  -e kafka_recovery_git_repository=REPOSITORY -e kafka_recovery_plan_signers=PLAN_SIGNERS"""


Documents = Mapping[Kind, Sequence[Mapping[str, Any]]]


def summary(documents: Documents, run_id: str) -> bytes:
    """Return the content of README.md of a recovery, Markdown in UTF-8. `documents`: checked, sorted by cluster; the same ones give the same bytes.

    It stays readable with thousands of partitions: it counts topics, shows some partitions, and states how many more are in the files.
    """
    present = [(kind, documents[kind]) for kind in KINDS if documents.get(kind)] or [(PLANS, ())]
    lines = [f"# Recovery {code(run_id)}", "", *(line for kind, own in present for line in kind.heading(own))]
    lines += ["After the merge:", "", *block(APPLY), ""]
    lines += [line for kind, own in present for document in own for line in kind.lines(document, len(own))]
    return ("\n".join(lines).rstrip("\n") + "\n").encode()


def propose(
    repository: Repository,
    layout: Layout,
    run_id: str,
    proposed: Mapping[Kind, Mapping[str, bytes]],
    push: bool = True,
    sign: Callable[[bytes], bytes] | None = None,
) -> Published:
    """Push files with their summary and their signatures to the branch of the recovery. Returns what was pushed.

    `proposed`: contents of files by kind and cluster. `push`: False to make the commit only (check mode). `sign`: returns the signature of a file's
    bytes, and raises its own errors; None for no signatures. Raises PlanError, ReviewedFileError or GitError if a file cannot be used or the
    repository has other files, PushRejectedError if the remote rejects the branch.
    """
    branch, folder = branch_of(run_id), layout.folder(run_id)
    repository.check_branch(branch)
    contents = {(kind, cluster): content for kind in KINDS for cluster, content in sorted(proposed.get(kind, {}).items())}
    loaded = {(kind, cluster): _checked(kind, content, cluster, run_id) for (kind, cluster), content in contents.items()}
    files = {layout.summary(run_id): _page(loaded, run_id)}
    files |= {layout.plan(run_id, cluster, kind): content for (kind, cluster), content in contents.items()}
    if sign is not None:
        files |= {layout.signature(run_id, cluster, kind): sign(content) for (kind, cluster), content in contents.items()}
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


def _page(loaded: Mapping[tuple[Kind, str], Mapping[str, Any]], run_id: str) -> bytes:
    return summary({kind: [document for (one, _cluster), document in loaded.items() if one is kind] for kind in KINDS}, run_id)


def _checked(kind: Kind, content: bytes, cluster: str, run_id: str) -> dict[str, Any]:
    source = f"the {kind.noun} of {cluster}"
    document = kind.parse(content, source)
    if "plan_id" not in document:
        raise GitError(f"{source} is a bare KIP-1275 file without evidence: propose a plan that the playbook plan has written")
    if (document["cluster"], document["run_id"]) != (cluster, run_id):
        made = f"cluster {document['cluster']} in run {document['run_id']}"
        raise GitError(f"the file of {source} was made for {made}, not for {cluster} in run {run_id}")
    return document


def _same(repository: Repository, branch: str, run_id: str, head: str, files: Mapping[str, bytes], folder: str) -> Published:
    """Return the state of a branch that exists already. Raises GitError if its plans or files are not those to propose."""
    if other := _others(repository, head, files, folder, exact=True):
        raise GitError(
            f"the branch {branch} exists already, with other content ({other[0]}); it is not overwritten. Make the plan under another "
            f"kafka_recovery_run_id, or delete that branch"
        )
    return Published(branch, run_id, head, signed=_signed(repository.list_files(head, folder)))


def _signed(paths: Collection[str]) -> bool:
    """Return whether each of the plans and other approvable files among these files has a signature file."""
    return all(signatures_of(path, paths) for path in paths if _kind(path))


def _kind(path: str) -> Kind | None:
    """Return the kind of a file of a recovery's folder, None for others than those of KINDS."""
    file = PurePosixPath(path)
    return next((kind for kind in KINDS if file.suffix == ".json" and file.parent.name == kind.folder), None)


def _others(repository: Repository, commit: str, files: Mapping[str, bytes], folder: str, exact: bool) -> list[str]:
    """Return the paths whose content differs from `files`, sorted. `exact`: the folder may have no other file, and the summary counts, too.

    A plan that was made again while the cluster did not change is the same plan, with another id and another time.
    """
    present = repository.list_files(commit, folder)
    contents = {path: repository.content(present[path]) for path in files if present.get(path)}
    plans = {path: kind for path in files if (kind := _kind(path))}
    # Signatures of the same plan by the same key can differ, and other signers may have added theirs. They are verified when a plan is applied.
    signature_paths = {signature for path in plans for signature in signatures_of(path, present)}
    changed = {path: _parsed(kind, contents[path]) for path, kind in plans.items() if path in contents and contents[path] != files[path]}
    other = {
        path
        for path, kind in plans.items()
        if path not in contents or (path in changed and kind.essence(changed[path]) != kind.essence(_parsed(kind, files[path])))
    }
    if exact and not other:
        readme = f"{folder}/README.md"
        pages = {(kind, path): changed.get(path) or _parsed(kind, contents[path]) for path, kind in plans.items()}
        other = (set(present) - set(files) - signature_paths) | {path for path in files if path not in contents}
        if contents.get(readme) != _page(pages, folder.rpartition("/")[2]):
            other.add(readme)
    return sorted(other)


def _parsed(kind: Kind, content: bytes) -> Mapping[str, Any]:
    """Return a plan or another file, empty if the content is not valid."""
    try:
        return kind.parse(content, f"{kind.noun} of the repository")
    except RecoveryError:
        return {}


def _proposal_message(run_id: str, loaded: Mapping[tuple[Kind, str], Mapping[str, Any]]) -> str:
    counts = {kind: sum(len(document["partitions"]) for (one, _cluster), document in loaded.items() if one is kind) for kind in KINDS}
    present = {kind for kind, _cluster in loaded}
    others = "".join(f", {counts[kind]} to {kind.verb}" for kind in KINDS if kind in present and kind is not PLANS)
    lines = [f"Recovery {run_id}: {counts[PLANS]} partitions to elect{others}", ""]
    lines += [
        f"{cluster}: {len(plan['partitions'])} to {kind.verb}, {len(plan['held'])} held, plan {plan['plan_id']}, sha256 {plan['sha256']}"
        for (kind, cluster), plan in loaded.items()
    ]
    return "\n".join(lines) + "\n"
