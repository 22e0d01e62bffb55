#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Return which plans and other reviewed files are merged into the protected branch of a git repository, by whom, and which may be applied."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_commit_info
short_description: Find merged plans, revivals, replays and moves that may be applied
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Fetches the protected branch of the repository, and checks its plans C(<directory>/<run_id>/plans/<cluster>.json). Its revivals (C(revivals)), replays
    of saved records (C(replays)) and moves of replicas (C(moves)), in directories beside C(plans), are checked in the same way.
  - A plan may be applied (C(plans[].state=merged)) when it is on that branch, byte for byte; was made for this cluster in this run; is signed by one of
    O(plan_signers); was merged with the signature that O(require_signature) requires; is neither older than O(max_plan_age) nor from the future; and has no
    results there.
  - The directory of its recovery must have the plans, revivals, replays and moves, their signatures, their results and their summary C(README.md), byte for
    byte, and nothing else.
  - Results count if they are of this plan, and a commit of the protected branch itself added them after the plan.
  - Such a plan is copied unchanged to C(<workdir>/merged/<run_id>/<cluster>.json), so that the applied plan is the checked plan. The other files are
    copied to C(merged_revivals), C(merged_replays) and C(merged_moves) in the place of C(merged).
  - Contacts no Kafka cluster. M(streamops.kafka_recovery.kafka_designated_election) checks for each partition, when it applies the plan, whether
    the plan still matches the cluster.
options:
  workdir:
    description: Directory for the plans that may be applied. Created if it is missing, private to its owner.
    type: path
    required: true
  clusters:
    description: Names of the clusters.
    type: list
    elements: str
    required: true
  plan_dir:
    description:
      - Directory with plans, C(<cluster>.json), to apply. Each must be identical, byte for byte, to the plan on the protected branch.
      - Default is all plans, revivals, replays and moves of the protected branch that are not applied yet.
    type: path
  run_ids:
    description: Select only these recoveries. Then plans that are already applied are returned, too.
    type: list
    elements: str
  since:
    description: Select only plans that were merged into the protected branch after this commit of it. A commit of zeros selects all.
    type: str
    default: ""
  require_signature:
    description:
      - The commit that added a plan to the protected branch (its merge commit, or what was pushed, squashed or rebased onto it) must have a valid
        signature of a trusted key. See C(git verify-commit).
    type: bool
    default: false
  merge_signers:
    description:
      - The file of ssh keys that may sign (see C(ssh-keygen), ALLOWED SIGNERS). Default is git's C(gpg.ssh.allowedSignersFile).
      - Must belong to root or to the user who runs Ansible, and others must not be able to write it.
      - gpg keys are trusted if the keyring of the user who runs Ansible trusts them.
    type: path
  max_plan_age:
    description:
      - Refuse plans that are older than this many seconds. V(0) refuses none.
      - A plan that was made more than 5 minutes in the future is refused in any case.
    type: float
    default: 0.0
  plan_signers:
    description:
      - The file of ssh keys that may make plans (see C(ssh-keygen), ALLOWED SIGNERS). Each plan must have a signature C(<cluster>.json.sig) by one
        of them, for the namespace V(kafka-recovery-plan-v1).
      - Must belong to root or to the user who runs Ansible, and others must not be able to write it. Keep it on the machine that applies, not in the
        repository.
    type: path
  require_signatures:
    description:
      - How many different people must have signed each plan, and all revivals, replays and moves. Others than the machine that proposes add
        C(<cluster>.json.<name>.sig).
      - Each signature beside a plan must be valid. Signatures by the same key, or of the same name in O(plan_signers), count once. A key whose name is a
        pattern does not count.
      - Needs O(plan_signers) if it is more than V(1).
    type: int
    default: 1
  allow_unsigned_plans:
    description:
      - Without O(plan_signers), nothing proves who made a plan. Then every user who may push a branch can propose to elect any replica on forged
        evidence, and only the review can detect that. V(true) accepts that.
      - Has no effect with O(plan_signers).
    type: bool
    default: false
extends_documentation_fragment:
  - streamops.kafka_recovery.git
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
"""

EXAMPLES = r"""
- name: Find merged plans that are not applied yet
  streamops.kafka_recovery.kafka_recovery_commit_info:
    repository: "{{ kafka_recovery_git_repository }}"
    workdir: "{{ kafka_recovery_workdir }}"
    clusters: "{{ groups['kafka_clusters'] }}"
    plan_signers: /etc/kafka-recovery/plan_signers
  register: merged

- name: Check whether these plans are merged with a trusted signature
  streamops.kafka_recovery.kafka_recovery_commit_info:
    repository: "{{ kafka_recovery_git_repository }}"
    workdir: "{{ kafka_recovery_workdir }}"
    clusters: "{{ groups['kafka_clusters'] }}"
    plan_dir: "{{ kafka_recovery_workdir }}/plans/{{ kafka_recovery_run_id }}"
    plan_signers: /etc/kafka-recovery/plan_signers
    require_signature: true
    merge_signers: /etc/kafka-recovery/merge_signers
"""

RETURN = r"""
branch:
  description: The protected branch.
  returned: success
  type: str
  sample: main
commit:
  description: Its tip, as it was fetched.
  returned: success
  type: str
  sample: 3f1c0a7c8a5e4f5f0c9d1c2b7a6e5d4c3b2a1908
applied:
  description:
    - The plans that O(clusters), O(run_ids) and O(since) select but C(plans) excludes, because the branch has results of them.
    - C(applied[].reason) names the committer and the commit of these results. The name can be forged if a proposal was merged by a fast-forward or a rebase.
    - The other fields are those of C(plans), empty if they were not checked.
  returned: success
  type: list
  elements: dict
  sample: []
moves:
  description: The moves of replicas, with the fields of C(plans). Empty with O(plan_dir).
  returned: success
  type: list
  elements: dict
  sample: []
replays:
  description: The replays of saved records, with the fields of C(plans). Empty with O(plan_dir).
  returned: success
  type: list
  elements: dict
  sample: []
revivals:
  description: The revivals of partitions, with the fields of C(plans). Empty with O(plan_dir).
  returned: success
  type: list
  elements: dict
  sample: []
plans:
  description:
    - The plans, the oldest first.
    - C(plans[].state) is V(merged) if a plan may be applied. Else it is V(not_merged), V(changed), V(unusable), V(other_cluster), V(already_applied),
      V(unsigned), V(too_old), V(in_future), V(other_summary), V(other_results) or V(unexpected_file), and C(plans[].reason) has the reason.
    - C(plans[].plan_signer) is who signed the plan, empty if that was not checked. C(plans[].signer) is who signed the commit that merged it.
    - C(plans[].brought_by) is the commit that gave the file its content, C(plans[].merged_by) the one that added it to the branch.
  returned: success
  type: list
  elements: dict
  sample:
    - run_id: 2026-11-21T02-47-10Z
      cluster: east
      kind: plan
      path: recoveries/2026-11-21T02-47-10Z/plans/east.json
      state: merged
      reason: ""
      plan: /var/lib/kafka-recovery/merged/2026-11-21T02-47-10Z/east.json
      plan_id: 5e0a3f0e-6f0a-4b0c-9a55-1f8a5d0e8c77
      created_at: "2026-11-21T02:48:02Z"
      plan_signer: planner@example.com (SHA256:Q2uJ7hMTxj1eXw0dX8W1SgZ1c0cC4Pz8vVq0bq8b1nE)
      brought_by:
        commit: 9d1c2b7a6e5d4c3b2a19083f1c0a7c8a5e4f5f0c
        author: kafka_recovery <kafka-recovery@localhost>
        committer: kafka_recovery <kafka-recovery@localhost>
        committed_at: "2026-11-21T02:48:05+00:00"
        subject: "Recovery 2026-11-21T02-47-10Z: 118 partitions to elect"
      merged_by:
        commit: 3f1c0a7c8a5e4f5f0c9d1c2b7a6e5d4c3b2a1908
        author: Ada <ada@example.com>
        committer: Ada <ada@example.com>
        committed_at: "2026-11-21T02:55:41+00:00"
        subject: Merge branch 'recovery/2026-11-21T02-47-10Z'
      signer: ada@example.com (SHA256:0hbk3bYyCvcKbjhcm1MBkqGfGEuqJ6tGxdWhfZ1X0zA)
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops import module_options, provenance, signatures
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.approval_rules import Rules
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.approvals import Approvals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.kinds import KINDS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.recovery_folder import Layout
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.repository import Repository
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.gitops.signatures import NO_SIGNERS, AllowedSigners
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule


def recovery_commit_info(module: AnsibleModule, repository: Repository, layout: Layout) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    signers = None
    if params["require_signature"]:
        path = Path(params["merge_signers"]).absolute() if params["merge_signers"] else None
        signers = provenance.merge_signers(repository, path, params["timeout"])
    plan_signers = AllowedSigners(Path(params["plan_signers"]).absolute(), params["timeout"]) if params["plan_signers"] else None
    rules = Rules(params["require_signature"], signers, params["max_plan_age"], plan_signers, params["require_signatures"])
    approvals = Approvals(repository, layout, Path(params["workdir"]).absolute(), rules)
    if params["plan_dir"]:
        rows = approvals.of_files(module_options.files(params["plan_dir"], params["clusters"]))
    else:
        rows = approvals.merged(params["clusters"], params["run_ids"] or (), params["since"])
    of_kind = {kind.folder: [row for row in rows if row["kind"] == kind.name] for kind in KINDS}
    return {"changed": False, "branch": repository.branch, "commit": repository.tip, **of_kind, "applied": approvals.applied}


def main() -> None:
    """Run the module."""
    module = PrintableModule(
        argument_spec={
            **module_options.GIT_ARGUMENTS,
            "workdir": {"type": "path", "required": True},
            "clusters": {"type": "list", "elements": "str", "required": True},
            "plan_dir": {"type": "path"},
            "run_ids": {"type": "list", "elements": "str"},
            "since": {"type": "str", "default": ""},
            "require_signature": {"type": "bool", "default": False},
            "merge_signers": {"type": "path"},
            "max_plan_age": {"type": "float", "default": 0.0},
            "plan_signers": {"type": "path"},
            "require_signatures": {"type": "int", "default": 1},
            "allow_unsigned_plans": {"type": "bool", "default": False},
        },
        mutually_exclusive=[("plan_dir", "run_ids"), ("plan_dir", "since")],
        supports_check_mode=True,
    )
    if not (module.params["plan_signers"] or module.params["allow_unsigned_plans"]):
        module.fail_json(msg=NO_SIGNERS)
    if problem := signatures.signers_problem(
        "require_signatures", module.params["require_signatures"], bool(module.params["plan_signers"])
    ):
        module.fail_json(msg=problem)
    module_options.run(module, recovery_commit_info)


if __name__ == "__main__":
    main()
