#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read what a recovery has left without a leader, and assess its impact."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_result_info
short_description: Read what a recovery has left without a leader, and its impact
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Reads with one login which partitions of a run have no live leader, as M(streamops.kafka_recovery.kafka_partition_info) does, and which consumers and
    producers the run affects, as M(streamops.kafka_recovery.kafka_consumer_impact_info) does. Use these modules to read only one of the two.
  - A topic may be deleted at any time. Partitions that the cluster does not have are in C(unknown) of RV(still_offline), and the others are read.
  - If the impact cannot be assessed, the task does not fail, because partitions are online. RV(impact) then has the reason.
  - Only returns data, except for the files of the impact. The role P(streamops.kafka_recovery.verify#role) decides from it whether a recovery has failed.
options:
  assess_impact:
    description: Whether to assess the impact on consumers and producers. It is known only for a run that gave partitions a leader.
    type: bool
    default: false
  plan:
    description: Plan file that was applied, for the impact. Default is the plan of the run.
    type: path
  canary_topic:
    description: See O(streamops.kafka_recovery.kafka_consumer_impact_info#module:canary_topic). Without it nothing is written.
    type: str
  limit:
    description: Return at most this many partitions without a live leader. C(still_offline.count) counts all. V(0) returns all, but never more than 10,000.
    type: int
    default: 0
  preview:
    description: Number of rows to return of each kind of impact.
    type: int
    default: 20
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.partitions.workdir
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.kafka
attributes:
  check_mode:
    support: full
    details: Writes neither the impact nor canaries in check mode.
  diff_mode:
    support: none
  idempotent:
    support: partial
    details: With O(canary_topic) and O(assess_impact) it writes records each time.
"""

EXAMPLES = r"""
- name: Read what is still offline, and assess the impact
  streamops.kafka_recovery.kafka_recovery_result_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    partitions_file: "{{ election.results_path }}"
    assess_impact: true
  register: result

- name: Show how many partitions have no live leader
  ansible.builtin.debug:
    msg: "{{ result.still_offline.count }} partitions have no live leader"
"""

RETURN = r"""
still_offline:
  description: What M(streamops.kafka_recovery.kafka_partition_info) returns of partitions without a live leader, from C(count) to C(cluster_id).
  returned: success
  type: dict
  sample: {count: 0, partitions: [], unknown_count: 0, unknown: [], cluster_id: 5L6g3nShT-eMCtK--X86sw}
impact:
  description:
    - What M(streamops.kafka_recovery.kafka_consumer_impact_info) returns, from C(summary) to C(path). V(null) without O(assess_impact).
    - If it cannot be assessed, only C(impact.msg), the reason.
  returned: success
  type: dict
  sample: {msg: there are no results of run 2026-11-21}
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact import run
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import (
    KafkaModule,
    partition_arguments,
    workdir_arguments,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import requested
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import readiness


def recovery_result_info(module: KafkaModule, cluster: ConsumerAdmin) -> dict[str, Any]:
    """Return what RETURN documents."""
    wanted = requested(module.params["partitions"], module.params["partitions_file"])
    found = readiness.partitions(cluster, wanted, limit=module.params["limit"], unknown=readiness.SKIP)
    if found.warning:
        module.ansible.warn(found.warning)
    impact = _impact(module, cluster) if module.params["assess_impact"] else None
    return {"changed": False, "still_offline": found.rows, "impact": impact, "unreachable_brokers": cluster.unreachable_rows()}


def _impact(module: KafkaModule, cluster: ConsumerAdmin) -> dict[str, Any]:
    try:
        found, warnings = run.assess(cluster, module.params, module.workdir, module.connection, module.check_mode)
    except signals.Interrupted:
        raise
    except RecoveryError as error:
        return {"msg": str(error)}
    for warning in warnings:
        module.ansible.warn(warning)
    return found


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **partition_arguments(),
            **workdir_arguments(),
            "assess_impact": {"type": "bool", "default": False},
            "plan": {"type": "path"},
            "canary_topic": {"type": "str"},
            "limit": {"type": "int", "default": 0},
            "preview": {"type": "int", "default": 20},
        },
        mutually_exclusive=[("partitions", "partitions_file")],
    )
    module.run(recovery_result_info, opening=ConsumerAdmin)


if __name__ == "__main__":
    main()
