# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of applied plans and other approved files, pushed to the protected branch: they prove there that a plan was applied."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import strict_json
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.strict_json import ContentError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import PLANS, Kind
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.recovery_folder import Layout, Published, content_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import (
    ATTEMPTS,
    GitError,
    PushRejectedError,
    Repository,
)

# Forges run no pipeline for such a commit: results do not approve anything.
SKIP = "[skip ci]"
_SHAPE = {"summary": dict, "partitions": [dict]}
_COUNT = {"name": strict_json.Name(), "number": strict_json.OFFSET}


def commit_results(
    repository: Repository,
    layout: Layout,
    run_id: str,
    plans: Mapping[str, Path],
    results: Mapping[str, Path],
    push: bool = True,
    kind: Kind = PLANS,
) -> Published:
    """Push the results of clusters to the protected branch. Returns what was pushed, and what was left out.

    Results of a run that was interrupted, or that was not allowed to elect, are left out: the plan is still to be applied. `plans`, `results`:
    files of this `kind` by cluster. `run_id`: used if a plan has none. Raises PlanError or ReviewedFileError for a plan that cannot be used, GitError if
    results do not belong to their plan or the branch has others, PushRejectedError if the remote rejects the push.
    """
    contents, left_out = {}, {}
    applied = {cluster: kind.parse(content_of(plans[cluster]), plans[cluster]) for cluster in results}
    names = {plan.get("run_id", run_id) for plan in applied.values()}
    if len(names) > 1:
        raise GitError(f"the plans belong to several recoveries ({', '.join(sorted(names))}): commit the results of each separately")
    recovery = names.pop() if names else run_id
    for cluster, path in sorted(results.items()):
        content, document = _results(path)
        if document["plan_id"] != applied[cluster].get("plan_id"):
            raise GitError(f"{path} are not results of the plan {plans[cluster]}: give each recovery its own kafka_recovery_run_id")
        if why := kind.unfinished(document):
            left_out[cluster] = why
            continue
        contents[cluster] = content, document["summary"]
    files = {layout.results(recovery, cluster, kind): content for cluster, (content, _summary) in contents.items()}
    message = _results_message(recovery, kind, {cluster: summary for cluster, (_content, summary) in contents.items()})
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
                    f"the repository rejected the results of recovery {recovery} on {repository.branch}: {error}. {kind.done}, and the "
                    f"results are in {', '.join(str(path) for path in results.values())}. Grant this user push access to {repository.branch}, "
                    "then apply again"
                ) from error
    return Published(repository.branch, recovery, repository.tip, left_out=left_out)


def _results(path: Path) -> tuple[bytes, dict[str, Any]]:
    content = content_of(path)
    try:
        document = strict_json.parse(content)
    except ContentError as error:
        raise GitError(f"{path}: {error}") from error
    try:
        strict_json.check(document, _SHAPE)
        # They are in the message of the commit.
        strict_json.check([{"name": name, "number": number} for name, number in document["summary"].items()], [_COUNT])
        if "plan_id" not in document:
            raise ContentError("plan_id is missing")
    except ContentError as error:
        raise GitError(f"{path} is not a results file ({error}): apply the plan again") from error
    return content, document


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


def _results_message(run_id: str, kind: Kind, summaries: Mapping[str, Mapping[str, int]]) -> str:
    counts = {
        cluster: ", ".join(f"{number} {outcome}" for outcome, number in summary.items() if number) for cluster, summary in summaries.items()
    }
    of = "" if kind is PLANS else f"{kind.noun} of "
    lines = [f"Results of {of}recovery {run_id} {SKIP}", "", *(f"{cluster}: {text or 'nothing to do'}" for cluster, text in counts.items())]
    return "\n".join(lines) + "\n"
