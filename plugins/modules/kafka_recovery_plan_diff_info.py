#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the plan of a run with an earlier one of the same cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_plan_diff_info
short_description: Compare two plans of a cluster
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Says for which partitions two plans of one cluster elect another leader, lose other records, or hold what the other one elects.
  - Also says if they have another strategy or ranking, or if the same election depends on something else, for example on another topic id.
  - Contacts no Kafka cluster, and writes nothing.
  - The playbook C(plan) uses it with C(--diff).
options:
  workdir:
    description: Directory of all files of the recovery.
    type: path
    required: true
  cluster:
    description: Name of the cluster, as in the inventory.
    type: str
    required: true
  run_id:
    description: The run whose plan is compared.
    type: str
    required: true
  compare_with:
    description:
      - The run with the plan before. Default is the newest plan of this cluster in O(workdir) that was made before the one of O(run_id).
      - By default plans that cannot be compared are skipped, for example those of another version or damaged ones.
    type: str
extends_documentation_fragment:
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
"""

EXAMPLES = r"""
- name: Compare the plan with the one before
  streamops.kafka_recovery.kafka_recovery_plan_diff_info:
    workdir: "{{ kafka_recovery_workdir }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
  register: compared

- name: Show what has changed
  ansible.builtin.debug:
    var: compared.lines
"""

RETURN = r"""
compared_with:
  description: The run with the plan before, V(null) if there is none.
  returned: success
  type: str
  sample: 2026-11-21T04-00-00Z
changed_partitions:
  description: How many partitions the two plans treat differently.
  returned: success
  type: int
  sample: 3
changed_settings:
  description: Settings that the two plans have differently, for example C(strategy), C(ranking) or C(strategy of orders).
  returned: success
  type: list
  elements: dict
  sample:
    - name: strategy
      before: balanced
      after: aggressive
skipped_plans:
  description: Newer plans that were made before that of O(run_id) and cannot be compared, by their runs.
  returned: success
  type: list
  elements: str
  sample:
    - 2026-11-21T05-00-00Z
lines:
  description: How the plans differ, for people. One line for each kind of change, and for each plan that was skipped.
  returned: success
  type: list
  elements: str
  sample:
    - "Compared with the plan 2026-11-21T04-00-00Z: 3 partitions changed"
    - "held (no_survivor) -> broker 2 (prefix), 3: orders-0..2"
changes:
  description:
    - The first 1,000 partitions that the plans treat differently. C(before) and C(after) say what the plans do, V(null) if a plan does not have the partition.
    - C(loss_before) and C(loss_after) are the committed records that the election loses, V(null) if it is not elected.
    - C(differences) says what differs if both plans do the same with the partition.
  returned: success
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 0
      before: held (no_survivor)
      after: broker 2 (prefix)
      loss_before: null
      loss_after: 0 to 240
      differences: []
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import check_inside, safe_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Word
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.plan_entries import plan_entries
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.earlier_plans import earlier_plans
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.reason_codes import ReasonCode
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule, run_and_exit
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.partition_explanation import RunFiles
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.plan_comparison import (
    Changes,
    change_lines,
    change_rows,
    changes,
    setting_rows,
    skipped_lines,
)


def plan_diff_info(module: AnsibleModule) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    files = RunFiles(Path(params["workdir"]).absolute(), params["run_id"], params["cluster"])
    after = files.path("plans")
    new = _load(files.workdir, after)
    skipped: list[tuple[str, str]] = []
    before: tuple[str, dict[str, Any]] | None = None
    if params["compare_with"]:
        named = replace(files, run_id=safe_name("compare_with", params["compare_with"])).path("plans")
        before = named.parent.name, _load(files.workdir, named, new["cluster_id"])
    else:
        for path in earlier_plans(files.workdir, params["cluster"], after):
            try:
                before = path.parent.name, _load(files.workdir, path, new["cluster_id"])
                break
            except RecoveryError as error:
                skipped.append((path.parent.name, str(error)))
    found = changes(before[1], new) if before else Changes([], [])
    return {
        "changed": False,
        "compared_with": before and before[0],
        "changed_partitions": len(found.partitions),
        "changed_settings": setting_rows(found),
        "skipped_plans": [run for run, _why in skipped],
        "lines": [*(change_lines(found, before[0]) if before else ["There is no earlier plan to compare with"]), *skipped_lines(skipped)],
        "changes": change_rows(found),
    }


def _load(workdir: Path, path: Path, cluster_id: str | None = None) -> dict[str, Any]:
    """Return a plan, which must be one that elections accept. `cluster_id`: of the cluster whose plan it must be, None for any."""
    check_inside(workdir, path)
    plan = plan_file.load(path)
    if "plan_id" not in plan:
        raise RecoveryError(f"{path} is a bare KIP-1275 file, not the plan of a run: name another run")
    if cluster_id not in (None, plan["cluster_id"]):
        raise RecoveryError(f"{path} is a plan of another cluster: name a run with a plan of this one in compare_with")
    plan_entries(plan, str(path), plan["cluster_id"])
    for row in plan["held"]:
        try:
            ReasonCode(row["reason_code"])
            Word(row["evidence"])
        except ValueError as error:
            raise RecoveryError(f"{path}: {error}; make the plan with this version of the collection") from error
    return plan


def main() -> None:
    """Run the module."""
    module = PrintableModule(
        argument_spec={
            "workdir": {"type": "path", "required": True},
            "cluster": {"type": "str", "required": True},
            "run_id": {"type": "str", "required": True},
            "compare_with": {"type": "str"},
        },
        supports_check_mode=True,
    )
    run_and_exit(module, lambda: plan_diff_info(module))


if __name__ == "__main__":
    main()
