#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Push what a recovery would change to a branch of a git repository, to be approved by a merge, or its results to the protected branch."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_commit
short_description: Commit plans or results of a recovery to a git repository
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Without O(results_dir), commits plans, revivals of partitions (O(revivals_dir)), replays of saved records (O(replays_dir)), moves of replicas
    (O(moves_dir)) and a readable summary of them (C(README.md)) to C(<directory>/<run_id>/) on a new branch C(recovery/<run_id>). A merge of that branch
    into the protected one (O(branch)) approves them.
  - With O(plan_signing_key), adds the signature C(<cluster>.json.sig) of each plan. It proves who made the plan, independent of who may push the branch.
  - With O(results_dir), commits results to the protected branch itself, which records that the plans are applied. If another push came
    first, the commit is repeated on top of it. Results of an interrupted run are excluded, because that run must be continued.
  - Never pushes with force. A file that the repository already has is unchanged if it is identical, and an error if it differs.
  - Contacts no Kafka cluster.
options:
  run_id:
    description: Name of the recovery, and of its directory. Results of a plan are written to the directory of the recovery that the plan names.
    type: str
    required: true
  clusters:
    description: Names of the clusters. Clusters without a file are skipped.
    type: list
    elements: str
    required: true
  plan_dir:
    description: Directory with the plans, C(<cluster>.json). With O(results_dir), with the applied files of the kind O(results_of).
    type: path
  results_dir:
    description: Directory with the results of the files in O(plan_dir), C(<cluster>.json).
    type: path
  results_of:
    description: The kind of the files in O(plan_dir), if results are committed.
    type: str
    choices: [plans, revivals, replays, moves]
    default: plans
  revivals_dir:
    description: Directory with revivals to propose, C(<cluster>.json), as O(streamops.kafka_recovery.kafka_partition_revival#module:propose) has written them.
    type: path
  replays_dir:
    description: Directory with replays to propose, C(<cluster>.json), as O(streamops.kafka_recovery.kafka_record_replay#module:propose) has written them.
    type: path
  moves_dir:
    description:
      - Directory with moves of replicas, C(<cluster>.json), to propose, as M(streamops.kafka_recovery.kafka_redundancy_plan) has written them. They are
        sealed with the rate of O(throttles), so later changes of these files have no effect.
    type: path
  throttles:
    description:
      - Bytes per second at which each broker may send, and receive, the moved replicas, by cluster. A run may move them slower, never faster.
      - Default, and V(null), is no limit.
    type: dict
    default: {}
  file_sha256:
    description:
      - The sha256 that each file must have, by kind and cluster, as C(sha256sum) prints it and the modules that make these files return it. The kinds are
        V(plans), V(revivals), V(replays) and V(moves).
      - The task fails before it signs or pushes anything if a file has another one, because it was replaced since it was made. It also fails if a file of a
        kind that is named has no entry. Files of other kinds are not checked, nor are results.
    type: dict
    default: {}
  author_name:
    description: Author and committer. Default is git's C(user.name), then V(kafka_recovery).
    type: str
    default: ""
  author_email:
    description: Address of the author and committer. Default is git's C(user.email), then V(kafka-recovery@localhost).
    type: str
    default: ""
  signing_key:
    description:
      - Private ssh key, without a passphrase or held by an agent, to sign the commit with.
      - Default is git's own configuration, C(commit.gpgSign) and C(user.signingKey).
    type: path
  plan_signing_key:
    description:
      - Private ssh key without a passphrase, or the public key of one that an agent holds, to sign the plans with, see C(ssh-keygen -Y sign).
      - The namespace of the signature is V(kafka-recovery-plan-v1). M(streamops.kafka_recovery.kafka_recovery_commit_info) checks it.
    type: path
extends_documentation_fragment:
  - streamops.kafka_recovery.git
  - streamops.kafka_recovery.attributes
attributes:
  check_mode:
    support: full
    details: Fetches, but pushes nothing.
  diff_mode:
    support: full
    details: Shows the summary or the results, and which files are added.
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Propose a recovery, and moves of replicas, at 20 MB/s in east
  streamops.kafka_recovery.kafka_recovery_commit:
    repository: "{{ kafka_recovery_git_repository }}"
    run_id: "{{ kafka_recovery_run_id }}"
    plan_dir: "{{ kafka_recovery_workdir }}/plans/{{ kafka_recovery_run_id }}"
    moves_dir: "{{ kafka_recovery_workdir }}/reassignments/{{ kafka_recovery_run_id }}"
    throttles: {east: 20000000}
    # "plan" is the registered result of kafka_recovery_plan.
    file_sha256:
      plans: "{{ plan.plans | items2dict(key_name='cluster', value_name='file_sha256') }}"
    clusters: "{{ groups['kafka_clusters'] }}"
    plan_signing_key: /etc/kafka-recovery/signing_key

- name: Commit the results in the run that has applied the plans
  streamops.kafka_recovery.kafka_recovery_commit:
    repository: "{{ kafka_recovery_git_repository }}"
    run_id: "{{ kafka_recovery_run_id }}"
    plan_dir: "{{ kafka_recovery_workdir }}/plans/{{ kafka_recovery_run_id }}"
    results_dir: "{{ kafka_recovery_workdir }}/results/{{ kafka_recovery_run_id }}-applied"
    clusters: "{{ groups['kafka_clusters'] }}"
"""

RETURN = r"""
branch:
  description: The branch that has the files. The protected branch if the plans are merged already.
  returned: success
  type: str
  sample: recovery/2026-11-21T02-47-10Z
commit:
  description: The commit that has them. In check mode the one that would be pushed.
  returned: success
  type: str
  sample: 3f1c0a7c8a5e4f5f0c9d1c2b7a6e5d4c3b2a1908
run_id:
  description: The recovery whose directory has the files.
  returned: success
  type: str
  sample: 2026-11-21T02-47-10Z
merged:
  description: Whether the plans are on the protected branch already.
  returned: success
  type: bool
  sample: false
signed:
  description: Whether each plan of the proposal has a signature. It is checked when plans are applied.
  returned: success
  type: bool
  sample: true
protected_branch:
  description: The protected branch.
  returned: success
  type: str
  sample: main
files:
  description: Files that the commit adds. Empty if all of them existed.
  returned: success
  type: list
  elements: str
  sample: [recoveries/2026-11-21T02-47-10Z/README.md, recoveries/2026-11-21T02-47-10Z/plans/east.json]
remote_messages:
  description: Messages of the remote, for example where to open a pull request.
  returned: success
  type: list
  elements: str
  sample: ["Create a pull request for 'recovery/2026-11-21T02-47-10Z' on GitHub by visiting:"]
left_out:
  description: Clusters whose results were not committed, with the reason.
  returned: success
  type: list
  elements: dict
  sample:
    - cluster: west
      reason: there are no results, the plan can be applied again
"""

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import file_digest
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import moves_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops import (
    committed_results,
    module_options,
    proposals,
    signatures,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import KINDS, MOVES, PLANS, REPLAYS, REVIVALS, Kind
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.recovery_folder import Layout, Published, content_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import GitError, Repository
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.model import rate_problem

# Options with the folder of each kind.
FOLDERS = {"plan_dir": PLANS, "revivals_dir": REVIVALS, "replays_dir": REPLAYS, "moves_dir": MOVES}
WITHOUT_RESULTS = "there are no results, the plan can be applied again"


def recovery_commit(module: AnsibleModule, repository: Repository, layout: Layout) -> dict[str, Any]:
    """Return what RETURN documents."""
    params, push = module.params, not module.check_mode
    published = _results(params, repository, layout, push) if params["results_dir"] else _proposal(params, repository, layout, push)
    result: dict[str, Any] = {
        "changed": published.changed,
        "branch": published.branch,
        "commit": published.commit,
        "run_id": published.run_id,
        "merged": published.merged,
        "signed": published.signed,
        "protected_branch": repository.branch,
        "files": sorted(published.files),
        "remote_messages": published.remote_messages,
        "left_out": [{"cluster": cluster, "reason": reason} for cluster, reason in sorted(published.left_out.items())],
    }
    # Plans are long. The summary has their content.
    long = tuple(f"/{kind.folder}/" for kind in KINDS)
    shown = {path: content.decode() for path, content in published.files.items() if not any(folder in path for folder in long)}
    added = [f"{path}\n" for path in published.files]
    result["diff"] = {"before": "", "after": "".join([*added, *shown.values()]), "after_header": published.branch}
    return result


def _results(params: Mapping[str, Any], repository: Repository, layout: Layout, push: bool) -> Published:
    kind = next(kind for kind in KINDS if kind.folder == params["results_of"])
    applied = module_options.files(params["plan_dir"], params["clusters"])
    _require(params, applied)
    results = module_options.files(params["results_dir"], list(applied))
    published = committed_results.commit_results(repository, layout, params["run_id"], applied, results, push, kind)
    published.left_out |= {cluster: WITHOUT_RESULTS for cluster in applied if cluster not in results}
    return published


def _proposal(params: Mapping[str, Any], repository: Repository, layout: Layout, push: bool) -> Published:
    found = {kind: _contents(params, option, kind) for option, kind in FOLDERS.items()}
    found[MOVES] = {cluster: _moves(content, cluster, params["throttles"]) for cluster, content in found[MOVES].items()}
    # What changes nothing needs no approval.
    others = {
        kind: {
            cluster: content for cluster, content in contents.items() if kind.parse(content, f"the {kind.noun} of {cluster}")["partitions"]
        }
        for kind, contents in found.items()
        if kind is not PLANS
    }
    concerned = {cluster for contents in others.values() for cluster in contents}
    plans = {
        cluster: content
        for cluster, content in found[PLANS].items()
        if cluster not in concerned or _busy(content, cluster, others[REVIVALS].get(cluster))
    }
    _require(params, plans or concerned)
    key = params["plan_signing_key"]
    sign = partial(signatures.sign, key=Path(key), seconds=params["timeout"]) if key else None
    return proposals.propose(repository, layout, params["run_id"], {PLANS: plans, **others}, push, sign)


def _contents(params: Mapping[str, Any], option: str, kind: Kind) -> dict[str, bytes]:
    """Return the contents of the files of a kind, by cluster. Raises RecoveryError for a file that was replaced since it was made."""
    paths = module_options.files(params[option], params["clusters"]) if params[option] else {}
    contents = {cluster: content_of(path) for cluster, path in paths.items()}
    expected = params["file_sha256"].get(kind.folder)
    if expected is None:
        return contents
    for cluster, content in contents.items():
        if cluster not in expected:
            raise RecoveryError(
                f"{paths[cluster]}: file_sha256 has no sha256 of the {kind.noun} of {cluster}, so this run has not made the file"
            )
        file_digest.check(content, str(expected[cluster]), paths[cluster], f"file_sha256 of the {kind.noun} of {cluster}")
    return contents


def _require(params: Mapping[str, Any], files: Collection[str]) -> None:
    """Raise GitError if there are no files."""
    if not files:
        folders = " and ".join(f"{name} {params[name]}" for name in FOLDERS if params[name])
        raise GitError(f"{folders} has no plan of {', '.join(params['clusters'])}: make one with the playbook plan")


def _busy(content: bytes, cluster: str, revivals: bytes | None) -> bool:
    """Return whether a plan elects partitions, or holds others than those that are to be revived."""
    plan = PLANS.parse(content, f"the plan of {cluster}")
    revived = {_key(row) for row in REVIVALS.parse(revivals, f"the revivals of {cluster}")["partitions"]} if revivals else set()
    return bool(plan["partitions"]) or any(_key(row) not in revived for row in plan.get("held", ()))


def _key(row: Mapping[str, Any]) -> tuple[str, int]:
    return row["topic"], row["partition"]


def _moves(content: bytes, cluster: str, throttles: Mapping[str, Any]) -> bytes:
    """Return the moves of a cluster as they are proposed."""
    rate = throttles.get(cluster)
    if rate == "":  # the default of the role's variable
        rate = None
    if rate is not None:
        try:
            rate = int(rate)
        except (TypeError, ValueError) as error:
            raise RecoveryError(f"throttles: {rate!r:.40} of {cluster} is not a number of bytes per second") from error
        if problem := rate_problem(f"throttles of {cluster}", rate):
            raise RecoveryError(problem)
    return moves_file.sealed(content, f"the moves of {cluster}", rate)


def main() -> None:
    """Run the module."""
    module = PrintableModule(
        argument_spec={
            **module_options.GIT_ARGUMENTS,
            "run_id": {"type": "str", "required": True},
            "clusters": {"type": "list", "elements": "str", "required": True},
            "plan_dir": {"type": "path"},
            "results_dir": {"type": "path"},
            "results_of": {"type": "str", "choices": [kind.folder for kind in KINDS], "default": PLANS.folder},
            "revivals_dir": {"type": "path"},
            "replays_dir": {"type": "path"},
            "moves_dir": {"type": "path"},
            "throttles": {"type": "dict", "default": {}},
            "file_sha256": {"type": "dict", "default": {}},
            "author_name": {"type": "str", "default": ""},
            "author_email": {"type": "str", "default": ""},
            "signing_key": {"type": "path", "no_log": False},
            "plan_signing_key": {"type": "path", "no_log": False},
        },
        required_one_of=[list(FOLDERS)],
        required_by={"results_dir": "plan_dir"},
        supports_check_mode=True,
    )
    module_options.run(module, recovery_commit)


if __name__ == "__main__":
    main()
