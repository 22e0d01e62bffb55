#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check whether a recovery of a cluster can be started."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_readiness_info
short_description: Check whether a recovery can be started
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Reads with one login what M(streamops.kafka_recovery.kafka_permission_info), M(streamops.kafka_recovery.kafka_quorum_info) and
    M(streamops.kafka_recovery.kafka_partition_info) read, in this order. Use these modules to read only one of the three.
  - If a required permission is missing, nothing else is read. If the metadata quorum is not stable, partitions are not read.
  - Only returns data. The role P(streamops.kafka_recovery.preflight#role) decides from it whether to stop.
options:
  workdir:
    description:
      - Directory on the host that runs the modules. Created if it is missing, private to its owner, but not in check mode. The task fails before it contacts a
        broker if the directory cannot be written or created, or if other users may write in it.
      - Without it no directory is checked.
    type: path
  cluster:
    description:
      - Name of the cluster. With O(workdir), the state of the metadata quorum is written to C(<workdir>/quorum/<cluster>.json), for the report's metrics.
      - Check mode writes nothing.
      - A warning names a replication throttle of this workdir that has expired, or that a killed run has left. This module does not remove it.
        The role P(streamops.kafka_recovery.elect#role) removes expired throttles.
      - A warning names each broker that is alive, or coming back, although its disk was not safe to start
        (M(streamops.kafka_recovery.kafka_lost_disk_info)).
    type: str
  duration:
    description:
      - Time limit in seconds for all requests together, from the first connection on, in addition to O(window). Requests end with it, even if
        O(request_timeout) is longer. Raise it for very large clusters.
      - A round of requests takes at most half of the time that is left, so that a broker that hangs leaves time for the others.
    type: float
    default: 30.0
  window:
    description:
      - Seconds for which the metadata quorum is watched. Only elections within this time are detected.
      - A quorum with one voter holds no elections and is read once.
    type: float
    default: 3.0
  limit:
    description: Return at most this many partitions without a live leader. C(partitions.count) counts all. V(0) returns all.
    type: int
    default: 0
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.stages
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.backend
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
"""

EXAMPLES = r"""
- name: Run readiness checks
  streamops.kafka_recovery.kafka_readiness_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    elect: true
    limit: 1
  register: readiness

- name: Show what is offline
  ansible.builtin.debug:
    msg: "{{ readiness.partitions.count }} partitions have no live leader"
  when: readiness.partitions is not none
"""

RETURN = r"""
permissions:
  description: What M(streamops.kafka_recovery.kafka_permission_info) returns, C(missing) and C(unknown).
  returned: success
  type: dict
  sample: {missing: [], unknown: []}
quorum:
  description: What M(streamops.kafka_recovery.kafka_quorum_info) returns, from C(verdict) to C(unknown). V(null) if it was not read.
  returned: success
  type: dict
  sample: {verdict: stable, reasons: [], leader_id: 101, leader_epoch: 4, looks: 13, pre_vote_supported: true, risks: [], unknown: []}
partitions:
  description:
    - What M(streamops.kafka_recovery.kafka_partition_info) returns of partitions without a live leader, from C(count) to C(cluster_id).
    - Requested partitions that the cluster does not have are in C(partitions.unknown), with a warning. The module fails if the cluster has none of them.
    - V(null) if they were not read.
  returned: success
  type: dict
  sample: {count: 118, cluster_id: 5L6g3nShT-eMCtK--X86sw}
throttles:
  description:
    - Throttles that this collection has set from this O(workdir) and not removed, as M(streamops.kafka_recovery.kafka_partition_reassignment_info) returns
      them.
    - V(null) without O(cluster) and O(workdir), and if the journal of throttles cannot be read.
  returned: success
  type: list
  elements: dict
  sample:
    - {state: expired, brokers: 3, topics: 12, replicas: 240, expires_at: "2026-11-21T18:05:00Z"}
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
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule, partition_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import readiness
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.start.readiness_checks import check_readiness, make_workdir


def readiness_info(module: KafkaModule, cluster: NativeCluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    found = check_readiness(module, cluster, module.params["limit"])
    return {"changed": False, **found, "unreachable_brokers": cluster.unreachable_rows()}


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **partition_arguments(),
            "workdir": {"type": "path"},
            "cluster": {"type": "str"},
            "elect": {"type": "bool", "default": False},
            **readiness.stage_arguments(),
            "duration": {"type": "float", "default": 30.0},
            "window": {"type": "float", "default": 3.0},
            "limit": {"type": "int", "default": 0},
            **backend_selection.BACKEND_ARGUMENTS,
        },
        mutually_exclusive=[("partitions", "partitions_file")],
    )
    seconds = module.params["duration"] + module.params["window"]
    module.run(readiness_info, opening=NativeCluster, before=make_workdir, seconds=seconds)


if __name__ == "__main__":
    main()
