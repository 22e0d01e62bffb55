#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Give partitions other replicas, throttled while they are copied, and wait until they are in sync (KIP-179, KIP-455)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_partition_reassignment
short_description: Move the replicas of partitions to other brokers, or cancel moves that are under way
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Does what C(kafka-reassign-partitions.sh --execute), C(--verify) and C(--cancel) do, in one task. Replicas are moved, added and removed, with brokers
    down as well.
  - Everything is looked at before anything is submitted. One partition that is refused stops them all, and each error goes by the name that Kafka has for
    it, as KIP-179 wanted it.
  - With O(throttle) the throttle is set before the first move and removed after the last, exactly what was set and nothing that an operator had set before;
    after a task that was killed by the next one, or by M(streamops.kafka_recovery.kafka_replication_throttle).
  - While it waits, a line per cluster says every few seconds how many partitions are in sync, how much is still to be copied, how fast, and when it will end.
  - A task that is interrupted, or whose O(duration) is over, leaves moves under way to Kafka, which goes on with them. With O(throttle) it cancels them and
    puts the order of their replicas back, because the throttle ends with the task. Run it again to go on.
  - Needs ALTER and DESCRIBE on the cluster, DESCRIBE on the topics, and for O(throttle) DESCRIBE_CONFIGS and ALTER_CONFIGS on both.
options:
  state:
    description:
      - V(present) gives each partition the replicas that are named for it. A partition that is already on its way there is waited for.
      - V(cancelled) ends moves that are under way, of the partitions named or of all; replicas named beside them mean nothing then. Replicas are put back
        in the order that they had where RV(previous_assignment) of this O(run_id) tells it; else they stay in the order that the cancelled move gave them.
    type: str
    choices: [present, cancelled]
    default: present
  allow_replication_factor_change:
    description: Whether a partition may be given more replicas, or fewer, than it has (KIP-860).
    type: bool
    default: true
  concurrent_moves:
    description: How many partitions are copied at the same time, at most. Those of which nothing has to be copied do not count.
    type: int
    default: 1000
  throttle:
    description:
      - Bytes per second at which each broker sends, and receives, the replicas that are moved. Without it they are moved as fast as brokers can.
      - A warning tells the arithmetic where it is less than what the partitions are written at, so that they could never get in sync.
    type: int
  wait:
    description:
      - Whether to wait until the moves have ended. V(false) submits all of them at once, whatever O(concurrent_moves) says, sees that they are under way, and
        cannot be had with O(throttle).
    type: bool
    default: true
  duration:
    description: Seconds for all of it. Without it the task waits for as long as something is copied.
    type: float
  stalled_after:
    description:
      - Seconds without anything being copied, after which the moves under way have failed. The others are still made.
      - Most often a broker has died that was to get replicas, or to give them. A throttled broker may pause for eleven seconds, so more is needed.
    type: float
    default: 300.0
  preview:
    description: Number of partitions to return in RV(results), one of each outcome and error first, then those that failed. RV(summary) counts all.
    type: int
    default: 20
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.reassignments
  - streamops.kafka_recovery.partitions.workdir
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.kafka
attributes:
  check_mode:
    support: full
    details:
      - Is the C(validateOnly) of KIP-179. Looks at everything that can be known without submitting it. That includes this client's permissions, another
        run that throttles the cluster, and the files of O(workdir).
      - With O(throttle) the brokers judge each change of a config without making it.
  diff_mode:
    support: full
    details: Shows the replicas of each partition that is moved, before and after.
  idempotent:
    support: full
seealso:
  - module: streamops.kafka_recovery.kafka_partition_reassignment_info
  - module: streamops.kafka_recovery.kafka_redundancy_plan
  - module: streamops.kafka_recovery.kafka_replication_throttle
"""

EXAMPLES = r"""
- name: Move two partitions at 20 MB/s
  streamops.kafka_recovery.kafka_partition_reassignment:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    partitions:
      - {topic: orders, partition: 0, replicas: [2, 3]}
      - {topic: orders, partition: 1, replicas: [3, 2]}
    throttle: 20000000

- name: See what a planned file would move, and what stands against it
  streamops.kafka_recovery.kafka_partition_reassignment:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    reassignment_file: "{{ kafka_recovery_workdir }}/reassignments/{{ kafka_recovery_run_id }}/{{ inventory_hostname }}.json"
  check_mode: true
  diff: true

- name: Cancel every move that is under way
  streamops.kafka_recovery.kafka_partition_reassignment:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    state: cancelled
"""

RETURN = r"""
summary:
  description:
    - Number of partitions per outcome. V(reassigned) have their new replicas, all of the added ones in sync, V(unchanged) had them before, V(moving) are on
      their way, V(cancelled) have their old ones, V(held) were not begun with or were cancelled because the task ended, V(stale) have changed meanwhile.
  returned: when partitions were looked at
  type: dict
  sample: {failed: 0, stale: 0, held: 0, moving: 0, cancelled: 0, reassigned: 118, unchanged: 2}
errors:
  description:
    - Number of partitions per error, by Kafka's names. V(UNKNOWN_TOPIC_OR_PARTITION) also stands for a topic that this client may not describe,
      V(INVALID_REPLICA_ASSIGNMENT) for an empty list, a broker that is named twice or one that is not registered, V(BROKER_NOT_AVAILABLE) for a broker that
      is not alive, V(LEADER_NOT_AVAILABLE) for a partition that there is nobody to copy from, V(INVALID_REPLICATION_FACTOR),
      V(REASSIGNMENT_IN_PROGRESS) for one that is on its way elsewhere, V(CLUSTER_AUTHORIZATION_FAILED), V(REQUEST_TIMED_OUT) for a move that stood still.
  returned: when partitions were looked at
  type: dict
  sample: {REASSIGNMENT_IN_PROGRESS: 1}
results:
  description:
    - Some partitions, one of each outcome and error first, then those that failed.
    - C(results[].replicas) are those that the partition has, and while it is moving those that it had. C(results[].message) says why, and what to do.
  returned: when partitions were looked at
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 0
      outcome: failed
      replicas: [1, 2, 3]
      target_replicas: [4, 2, 3]
      error: REASSIGNMENT_IN_PROGRESS
      message: "it is already moving from [1, 2, 3] to [5, 2, 3]; wait for that, or cancel it first (state: cancelled)"
progress:
  description:
    - The last measurement while the task waited, see M(streamops.kafka_recovery.kafka_partition_reassignment_info), or V(null) where it did not wait.
  returned: when partitions were looked at
  type: dict
  sample:
    partitions: 120
    in_sync: 120
    replicas: {in_sync: 0, behind: 0, unknown_topic: 0, unknown_partition: 0, unknown_broker: 0, broker_does_not_host_partition: 0}
    bytes_behind: 0
    messages_behind: 0
    bytes_per_second: 19876543
    estimated_seconds: 0.0
left_over_throttle:
  description:
    - What was removed first (in check mode, would be) of a throttle that a killed run had left, or that has expired. Number of brokers with other rates
      than before, of topics with other lists, and of entries in these.
    - If there was any, the task has changed something.
  returned: when partitions were looked at
  type: dict
  sample: {brokers: 0, topics: 0, replicas: 0}
previous_assignment:
  description:
    - File with the replicas that the partitions had, in the form of O(reassignment_file), which as such undoes the task. V(null) where nothing was moved.
      A second run of one O(run_id) adds to it.
  returned: when partitions were looked at
  type: str
  sample: /var/lib/kafka-recovery/reassignments/2026-11-21T14-05-00Z/east.before.json
unreachable_brokers:
  description: Brokers that were asked and did not answer, with the reason.
  returned: when partitions were looked at
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.reassignment_admin import Replication
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule, workdir_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import validate
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.run import ReassignmentTask, check_options


def partition_reassignment(module: KafkaModule, cluster: Replication) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    work = ReassignmentTask(cluster, module.workdir, params, validate.wanted(params["partitions"], params["reassignment_file"]))
    work.judge()
    if module.check_mode:
        work.predict()
    elif not work.refused:
        # From here on a signal does not break anything off: what is under way is left in order first.
        signals.only_note()
        if params["state"] == "present":
            work.move(signals.noted)
        else:
            work.cancel()
    for warning in work.warnings:
        module.ansible.warn(warning)
    return work.report(module.ansible._diff)


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **workdir_arguments(),
            **validate.arguments(),
            "state": {"type": "str", "choices": ["present", "cancelled"], "default": "present"},
            "allow_replication_factor_change": {"type": "bool", "default": True},
            "concurrent_moves": {"type": "int", "default": 1000},
            "throttle": {"type": "int"},
            "wait": {"type": "bool", "default": True},
            "duration": {"type": "float"},
            "stalled_after": {"type": "float", "default": 300.0},
            "preview": {"type": "int", "default": 20},
        },
        mutually_exclusive=[("partitions", "reassignment_file")],
        required_if=[("state", "present", ("partitions", "reassignment_file"), True)],
    )
    module.run(partition_reassignment, opening=Replication, before=lambda kafka: check_options(kafka.params))


if __name__ == "__main__":
    main()
