#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far partitions are on their way to other brokers, as KIP-179 wanted `kafka-reassign-partitions.sh --progress` to tell."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_partition_reassignment_info
short_description: See how far partitions are on their way to other brokers
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Says of each partition whether it has the replicas that it is to have, is on its way there, or on its way elsewhere; and of each of these replicas whether
    it is in sync, or by how many bytes and messages it is behind.
  - Only asks. Unlike C(kafka-reassign-partitions.sh --verify) it removes no throttles.
  - With O(cluster) and O(workdir) it also reports the throttles that this collection has set from there and not removed.
  - Needs DESCRIBE on the cluster and on the topics.
options:
  window:
    description: Seconds between two looks, which tell how fast replicas are copied and when they will be in sync. V(0) looks once.
    type: float
    default: 0.0
  layout:
    description:
      - Whether to write where all replicas of the cluster are and how much they hold, C(<workdir>/layout/<run_id>/<cluster>.jsonl), which is what
        M(streamops.kafka_recovery.kafka_redundancy_plan) plans from. Then O(cluster), O(run_id) and O(workdir) are needed.
    type: bool
    default: false
  cluster:
    description: Name of the cluster, as the inventory has it.
    type: str
  run_id:
    description: Name of the recovery that the file belongs to.
    type: str
  workdir:
    description: Directory for files on the host that runs the modules. Made where it is missing, private to its owner.
    type: path
  preview:
    description: Number of partitions to return in RV(partitions), and of replicas in RV(replicas), one of each kind first, then the worst.
    type: int
    default: 20
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
- name: See every move that is under way, and when it will end
  streamops.kafka_recovery.kafka_partition_reassignment_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    window: 5

- name: See whether a partition has the replicas that it is to have
  streamops.kafka_recovery.kafka_partition_reassignment_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    partitions:
      - {topic: orders, partition: 0, replicas: [2, 3]}

- name: Write down where replicas are, for a plan
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
    - Number of partitions per state, of those named, else of all that are moving. V(in_place) have the replicas that they are to have, all of them in sync,
      V(under_replicated) have them, not all in sync, V(moving) are on their way there, V(moving_elsewhere) on another one, V(not_moving) have other
      replicas and stay there, V(unknown) do not exist.
  returned: success
  type: dict
  sample: {unknown: 0, moving_elsewhere: 0, not_moving: 0, moving: 117, under_replicated: 0, in_place: 3}
progress:
  description:
    - All of these partitions together. C(progress.in_sync) of C(progress.partitions) have every replica in sync that they are to have;
      C(progress.replicas) counts the replicas by status.
    - C(progress.bytes_behind) and C(progress.messages_behind) are what is still to be copied, C(progress.bytes_per_second) and
      C(progress.estimated_seconds) need O(window). V(null) is what nobody told.
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
    - Some of the replicas that these partitions are to have, one of each status first, then those that are furthest behind.
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
    - Throttles that this collection has set from this O(workdir) and not removed, at most one of a run and one that stands.
    - C(throttles[].state) is V(running) for the throttle of a run that lives, V(left_over) for that of a run that was killed, V(stands), or V(expired).
      What is left over or has expired is removed by the next task that works on the throttles of this cluster.
    - C(throttles[].expires_at) is in UTC, V(null) for a throttle that does not expire. All of it is V(null) without O(cluster) and O(workdir).
  returned: success
  type: list
  elements: dict
  sample:
    - {state: stands, brokers: 3, topics: 12, replicas: 240, expires_at: "2026-11-21T18:05:00Z"}
unreachable_brokers:
  description: Brokers that were asked and did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.reassignment_admin import Replication
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import status, validate
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run import throttle_rows


def partition_reassignment_info(module: KafkaModule, cluster: Replication) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    wanted = validate.wanted(params["partitions"], params["reassignment_file"])
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
    named = ("partitions", "reassignment_file")
    module.run(
        partition_reassignment_info, opening=Replication, before=lambda kafka: validate.wanted(*(kafka.params[name] for name in named))
    )


if __name__ == "__main__":
    main()
