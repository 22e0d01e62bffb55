#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Return the progress of reassignments, as KIP-179 proposed for `kafka-reassign-partitions.sh --progress`."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_partition_reassignment_info
short_description: Return the progress of reassignments
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Returns for each partition whether it has its target replicas, is moving to them, or is moving elsewhere. Returns for each target replica whether
    it is in sync, or by how many bytes and messages it is behind.
  - Reads only. Unlike C(kafka-reassign-partitions.sh --verify) it removes no throttles.
  - With O(cluster) and O(workdir) it also reports the throttles that this collection has set from there and not removed.
  - Needs DESCRIBE on the cluster and on the topics.
options:
  window:
    description: Seconds between two measurements, to compute the copy rate and the estimated end. V(0) measures once.
    type: float
    default: 0.0
  layout:
    description:
      - Whether to write the location and size of all replicas of the cluster to C(<workdir>/layout/<run_id>/<cluster>.jsonl), the input of
        M(streamops.kafka_recovery.kafka_redundancy_plan). Requires O(cluster), O(run_id) and O(workdir).
    type: bool
    default: false
  cluster:
    description: Name of the cluster, as in the inventory.
    type: str
  run_id:
    description: Name of the recovery that the file belongs to.
    type: str
  workdir:
    description: Directory for files on the host that runs the modules. Created if it is missing, private to its owner.
    type: path
  preview:
    description: Number of partitions to return in RV(partitions), and of replicas in RV(replicas), first one of each kind, then the worst.
    type: int
    default: 20
requirements:
  - orjson >= 3.10
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.reassignments
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
seealso:
  - module: streamops.kafka_recovery.kafka_partition_reassignment
"""

EXAMPLES = r"""
- name: Show every move that is in progress, and its estimated end
  streamops.kafka_recovery.kafka_partition_reassignment_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    window: 5

- name: Check whether a partition has its target replicas
  streamops.kafka_recovery.kafka_partition_reassignment_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    partitions:
      - {topic: orders, partition: 0, replicas: [2, 3]}

- name: Collect the replica layout for a plan
  streamops.kafka_recovery.kafka_partition_reassignment_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    layout: true
"""

RETURN = r"""
summary:
  description:
    - Number of partitions per state, of those named, else of all that are moving. V(in_place) have their target replicas, all of them in sync,
      V(under_replicated) have them, not all in sync, V(moving) are moving to them, V(moving_elsewhere) to others, V(not_moving) have other
      replicas and do not move, V(unknown) do not exist.
  returned: success
  type: dict
  sample: {unknown: 0, moving_elsewhere: 0, not_moving: 0, moving: 117, under_replicated: 0, in_place: 3}
progress:
  description:
    - Totals of these partitions. C(progress.in_sync) of C(progress.partitions) have all target replicas in sync.
      C(progress.replicas) counts the replicas by status.
    - C(progress.bytes_behind) and C(progress.messages_behind) are what remains to be copied. C(progress.bytes_per_second) and
      C(progress.estimated_seconds) need O(window). Values that no broker reported are V(null).
    - C(progress.brokers) has the same for each broker that still has something to copy. The one that is expected to be the last comes first.
  returned: success
  type: dict
  sample:
    partitions: 120
    in_sync: 3
    replicas: {in_sync: 243, behind: 117, unknown_topic: 0, unknown_partition: 0, unknown_broker: 0, broker_does_not_host_partition: 0}
    bytes_behind: 1276543210
    messages_behind: 1203455
    bytes_per_second: 19876543
    estimated_seconds: 64.2
    brokers:
      - broker_id: 4
        partitions: 117
        bytes_behind: 1276543210
        messages_behind: 1203455
        bytes_per_second: 19876543
        estimated_seconds: 64.2
partitions:
  description: Some partitions, one of each state first.
  returned: success
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 0
      state: moving
      replicas: [4, 2, 3, 1]
      target_replicas: [4, 2, 3]
      adding_replicas: [4]
      removing_replicas: [1]
replicas:
  description:
    - Some of the target replicas of these partitions, first one of each status, then those that are furthest behind.
    - C(replicas[].status) is one of those that KIP-179 names, V(in_sync), V(behind), V(unknown_topic), V(unknown_partition), V(unknown_broker) and
      V(broker_does_not_host_partition).
  returned: success
  type: list
  elements: dict
  sample:
    - {topic: orders, partition: 0, broker_id: 4, status: behind, bytes_behind: 10912345, messages_behind: 10456}
layout_path:
  description: The file that was written, V(null) without O(layout).
  returned: success
  type: str
  sample: /var/lib/kafka-recovery/layout/2026-11-21T14-05-00Z/east.jsonl
throttles:
  description:
    - Throttles that this collection has set from this O(workdir) and not removed, at most one of a run and one standing throttle.
    - C(throttles[].state) is V(running) for the throttle of a running task, V(left_over) for that of a task that was killed or has left its moves, V(stands),
      or V(expired). The next task that changes throttles of this cluster removes those that are left over or expired. Moves in progress keep theirs.
    - C(throttles[].expires_at) is in UTC, V(null) for a throttle that does not expire. All of it is V(null) without O(cluster) and O(workdir).
  returned: success
  type: list
  elements: dict
  sample:
    - {state: stands, brokers: 3, topics: 12, replicas: 240, expires_at: "2026-11-21T18:05:00Z"}
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.reassignment_admin import ReassignmentAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import status, validate
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run import throttle_rows


def partition_reassignment_info(module: KafkaModule, cluster: ReassignmentAdmin) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    wanted = validate.wanted_by(params)
    found = status.read_status(cluster, wanted, params["window"])
    path = None
    if params["layout"]:
        path, warnings = status.write_layout(cluster, module.workdir, params["cluster"], params["run_id"])
        for warning in warnings:
            module.ansible.warn(warning)
    throttles = None
    if params["cluster"] and params["workdir"]:
        throttles = throttle_rows(ThrottleJournal(module.workdir, params["cluster"], cluster.cluster_id, read_only=True))
    return {
        "changed": False,
        **found.report(params["preview"]),
        "throttles": throttles,
        "layout_path": None if path is None else str(path),
        "unreachable_brokers": cluster.unreachable_rows(),
    }


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **validate.arguments(),
            "window": {"type": "float", "default": 0.0},
            "layout": {"type": "bool", "default": False},
            "cluster": {"type": "str"},
            "run_id": {"type": "str"},
            "workdir": {"type": "path"},
            "preview": {"type": "int", "default": 20},
        },
        mutually_exclusive=[("partitions", "reassignment_file")],
        required_if=[("layout", True, ("cluster", "run_id", "workdir"))],
    )
    # A file that cannot be used is refused before any broker is asked.
    module.run(partition_reassignment_info, opening=ReassignmentAdmin, before=lambda kafka: validate.wanted_by(kafka.params))


if __name__ == "__main__":
    main()
