#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check whether a recovery can be started, and collect its evidence."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_evidence_info
short_description: Check whether a recovery can be started, and collect its evidence
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Does with one login what M(streamops.kafka_recovery.kafka_readiness_info), M(streamops.kafka_recovery.kafka_lost_broker_info) and
    M(streamops.kafka_recovery.kafka_replica_log_info) do, in this order. Use these modules to do only one of the three.
  - Collects no evidence if a required permission is missing, the metadata quorum is not stable, a limit is exceeded, or O(lost_brokers) is wrong. The task does
    not fail then. The role P(streamops.kafka_recovery.preflight#role) has the reasons and the remedies.
  - Changes nothing in the cluster. The landing file is written in check mode, too, because a dry run needs it.
options:
  readiness_duration:
    description:
      - Time limit in seconds for the readiness checks, from the first connection on, in addition to O(window).
        As O(streamops.kafka_recovery.kafka_readiness_info#module:duration).
      - O(duration) begins after them.
    type: float
    default: 30.0
  window:
    description: Seconds for which the metadata quorum is watched, as O(streamops.kafka_recovery.kafka_readiness_info#module:window).
    type: float
    default: 3.0
  max_partitions:
    description:
      - With O(elect=true) no evidence is collected if more partitions of the cluster than this have no live leader.
      - Without it they are not limited.
    type: int
  max_offline_brokers:
    description:
      - With O(elect=true) no evidence is collected while more brokers of the cluster than this are fenced, or in replica sets without being registered.
    type: int
    default: 2
  lost_brokers:
    description: Complete list of the permanently lost broker ids. If it is not empty, they are checked, which takes 3 seconds.
    type: list
    elements: int
    default: []
requirements:
  - orjson >= 3.10
  - prettytable >= 3.16
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.stages
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.partitions.workdir
  - streamops.kafka_recovery.backend
  - streamops.kafka_recovery.first_answer
  - streamops.kafka_recovery.evidence_size
  - streamops.kafka_recovery.landing_file
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
"""

EXAMPLES = r"""
- name: Check whether a recovery can be started, and collect its evidence
  streamops.kafka_recovery.kafka_recovery_evidence_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    elect: true
  register: found

- name: Show what was collected
  ansible.builtin.debug:
    msg: "{{ found.evidence.table.splitlines() }}"
  when: found.evidence is not none
"""

RETURN = r"""
permissions:
  description: As M(streamops.kafka_recovery.kafka_readiness_info) returns it.
  returned: success
  type: dict
  sample: {missing: [], unknown: []}
quorum:
  description: As M(streamops.kafka_recovery.kafka_readiness_info) returns it. V(null) if it was not read.
  returned: success
  type: dict
  sample: {verdict: stable, reasons: [], leader_id: 101, leader_epoch: 4, looks: 13, pre_vote_supported: true, risks: [], unknown: []}
partitions:
  description: As M(streamops.kafka_recovery.kafka_readiness_info) returns it with C(limit=1). V(null) if they were not read.
  returned: success
  type: dict
  sample: {count: 118, cluster_id: 5L6g3nShT-eMCtK--X86sw}
throttles:
  description: As M(streamops.kafka_recovery.kafka_readiness_info) returns it.
  returned: success
  type: list
  elements: dict
  sample: []
lost_broker_objections:
  description: As C(objections) of M(streamops.kafka_recovery.kafka_lost_broker_info). Empty without O(lost_brokers).
  returned: success
  type: list
  elements: str
  sample: []
evidence:
  description: What M(streamops.kafka_recovery.kafka_replica_log_info) returns. V(null) if no evidence was collected.
  returned: success
  type: dict
  sample: {backend: compat, path: /var/lib/kafka-recovery/landing/2026-11-21/east.jsonl}
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.landing_file import collect_landing_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.strategy_options import EVIDENCE_ARGUMENTS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import (
    KafkaModule,
    partition_arguments,
    workdir_arguments,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius, readiness
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.obstacles import Obstacle, first_obstacle
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.start.readiness_checks import check_readiness, make_workdir


def readiness_info(module: KafkaModule, cluster: NativeCluster) -> dict[str, Any]:
    """Return what RETURN documents, from `permissions` to `lost_broker_objections`."""
    found = check_readiness(module, cluster, limit=1)
    lost = module.params["lost_brokers"]
    objections = []
    if lost and not obstacle_to(found, module.params):
        objections = blast_radius.lost_broker_mismatches(blast_radius.watch_all_brokers(cluster, lost), lost)
    return {**found, "lost_broker_objections": objections}


def evidence_info(module: KafkaModule, cluster: NativeCluster, found: dict[str, Any]) -> dict[str, Any]:
    """Return what RETURN documents. `found`: the result of `readiness_info`."""
    evidence = None if obstacle_to(found, module.params) else collect_landing_file(module, cluster)
    return {"changed": False, **found, "evidence": evidence, "unreachable_brokers": cluster.unreachable_rows()}


def obstacle_to(found: dict[str, Any], params: dict[str, Any]) -> Obstacle | None:
    """Return what stops the recovery. The limits are those of an election."""
    limits = (params["max_partitions"], params["max_offline_brokers"]) if params["elect"] else (None, None)
    return first_obstacle(found, *limits)


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **partition_arguments(),
            **workdir_arguments(),
            "elect": {"type": "bool", "default": False},
            **readiness.stage_arguments(),
            "readiness_duration": {"type": "float", "default": 30.0},
            "window": {"type": "float", "default": 3.0},
            "max_partitions": {"type": "int"},
            "max_offline_brokers": {"type": "int", "default": blast_radius.MAX_OFFLINE_BROKERS},
            "lost_brokers": {"type": "list", "elements": "int", "default": []},
            **EVIDENCE_ARGUMENTS,
            **backend_selection.BACKEND_ARGUMENTS,
        },
        mutually_exclusive=[("partitions", "partitions_file")],
    )
    module.require("prettytable", "orjson")
    seconds = module.params["readiness_duration"] + module.params["window"]
    module.run(readiness_info, opening=NativeCluster, before=make_workdir, seconds=seconds, then=evidence_info)


if __name__ == "__main__":
    main()
