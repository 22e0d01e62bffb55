#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Give partitions other replicas, throttled while they are copied, and wait until they are in sync (KIP-179, KIP-455)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_partition_reassignment
short_description: Move the replicas of partitions to other brokers, or cancel moves that are in progress
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Does what C(kafka-reassign-partitions.sh --execute), C(--verify) and C(--cancel) do, in one task. Replicas are moved, added and removed, with brokers
    down as well.
  - Everything is checked before anything is submitted. One partition that is refused stops all of them. Errors have Kafka's names, as KIP-179
    proposed.
  - With O(throttle) the throttle is set before the first move and removed after the last. Settings of operators are kept. Moves that outlive the task keep
    their throttle. When they have ended, the next task removes it, or M(streamops.kafka_recovery.kafka_replication_throttle) does.
  - While it waits, a line per cluster shows every few seconds how many partitions are in sync, the bytes that remain, the rate, and the estimated end.
  - If the task is interrupted, or O(duration) has passed, Kafka continues the moves in progress, or the task cancels them (O(on_interrupt)). Run it
    again to continue.
  - Needs ALTER and DESCRIBE on the cluster, DESCRIBE on the topics, and for O(throttle) DESCRIBE_CONFIGS and ALTER_CONFIGS on both.
options:
  state:
    description:
      - V(present) gives each partition the replicas that are named for it. It waits for a partition that is already moving to them.
      - V(cancelled) ends moves in progress, of the named partitions or of all. Replicas that are named with them are ignored. The order of replicas is
        restored if RV(previous_assignment) of this O(run_id), or of the last run, has it. Else it stays as the cancelled move has set it.
      - One run at a time moves replicas of a cluster from a O(workdir), or cancels moves. Another one fails, and names its process.
    type: str
    choices: [present, cancelled]
    default: present
  approved_moves:
    description:
      - File of moves that were merged, as M(streamops.kafka_recovery.kafka_recovery_commit_info) has copied it, in place of O(partitions) and
        O(reassignment_file). It must be of this O(cluster), by name and by Kafka's cluster id.
      - A partition whose topic was created again, or that has other replicas than when the moves were planned, is V(stale) and not moved. The others are.
      - The run is never faster than the throttle in the file. A lower O(throttle) counts, a higher one gives a warning.
      - The results are written to RV(results_path), for M(streamops.kafka_recovery.kafka_recovery_commit).
    type: path
  allow_replication_factor_change:
    description: Whether a partition may be given more replicas, or fewer, than it has (KIP-860).
    type: bool
    default: true
  concurrent_moves:
    description: Maximum number of partitions that are copied at the same time. Partitions without anything to copy do not count.
    type: int
    default: 1000
  throttle:
    description:
      - Bytes per second at which each broker sends, and receives, the replicas that are moved. Default is no throttle.
      - A warning shows the calculation if the rate is lower than that of the producers, so that the partitions could never get in sync.
    type: int
  wait:
    description:
      - Whether to wait until the moves have ended. V(false) submits all of them at once, ignores O(concurrent_moves), and verifies that they are in progress.
      - With O(throttle) it needs O(on_interrupt=leave).
    type: bool
    default: true
  on_interrupt:
    description:
      - What becomes of the moves in progress if the task ends early, because it is interrupted, O(duration) has passed, nothing was copied for O(stalled_after)
        seconds, or no broker answers.
      - V(cancel) cancels them and restores the order of their replicas.
      - V(leave) leaves them to Kafka. With O(throttle) they keep the throttle. The next task that moves replicas takes both over. When the moves have
        ended, that task removes the throttle, or M(streamops.kafka_recovery.kafka_replication_throttle) with O(state) V(cleaned).
      - V(auto) is V(cancel) with O(throttle), because a throttle that no task removes slows replicas down for ever, and V(leave) without.
    type: str
    choices: [auto, cancel, leave]
    default: auto
  max_disk_percent:
    description:
      - No broker is filled by the moves to more than this percentage of its log dirs, taken together. Replicas that it gives up are not counted as room,
        because Kafka deletes them only when a move has ended. Moves to a broker without room are refused (V(KAFKA_STORAGE_ERROR)).
      - Brokers report the space on their disks since Kafka 3.3. A broker that does not report it has no limit, and a warning names it. Moves to or from a
        broker that does not answer at all are refused (V(REQUEST_TIMED_OUT)).
    type: int
    default: 100
  duration:
    description: Time limit in seconds for the whole task. Default is no limit while there is progress.
    type: float
  stalled_after:
    description:
      - Seconds without progress after which the moves in progress have failed. The other moves continue.
      - Usually a broker that sends or receives replicas has failed. Use more than eleven seconds, because a throttled broker may pause that long.
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
      - Like C(validateOnly) of KIP-179. Checks everything that can be checked without submitting it. That includes this client's permissions, another
        run that moves replicas of the cluster, and the files of O(workdir).
      - With O(throttle) the brokers validate each config change without making it.
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

- name: Show what a planned file would move, and its obstacles
  streamops.kafka_recovery.kafka_partition_reassignment:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    reassignment_file: "{{ kafka_recovery_workdir }}/reassignments/{{ kafka_recovery_run_id }}/{{ inventory_hostname }}.json"
  check_mode: true
  diff: true

- name: Cancel every move that is in progress
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
    - Number of partitions per outcome. V(reassigned) have their new replicas, all of the added ones in sync, V(unchanged) had them before, V(moving) are in
      progress, V(cancelled) have their old ones, V(held) were not started or were cancelled because the task ended, V(stale) have changed meanwhile.
  returned: when partitions were checked
  type: dict
  sample: {failed: 0, stale: 0, held: 0, moving: 0, cancelled: 0, reassigned: 118, unchanged: 2}
errors:
  description:
    - Number of partitions per error, with Kafka's error names. V(UNKNOWN_TOPIC_OR_PARTITION) also stands for a topic that this client may not describe,
      V(INVALID_REPLICA_ASSIGNMENT) for an empty list, a broker that is named twice or one that is not registered, V(BROKER_NOT_AVAILABLE) for a broker that
      is not alive, V(KAFKA_STORAGE_ERROR) for a broker without room on its disks,
      V(LEADER_NOT_AVAILABLE) for a partition without a leader to copy from, V(INVALID_REPLICATION_FACTOR),
      V(REASSIGNMENT_IN_PROGRESS) for one that is moving elsewhere, V(CLUSTER_AUTHORIZATION_FAILED), V(REQUEST_TIMED_OUT) for a move without progress.
  returned: when partitions were checked
  type: dict
  sample: {REASSIGNMENT_IN_PROGRESS: 1}
results:
  description:
    - Some partitions, one of each outcome and error first, then those that failed.
    - C(results[].replicas) are the replicas of the partition, during a move those before it. C(results[].message) has the reason and the remedy.
  returned: when partitions were checked
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
    - The last measurement while the task waited, see M(streamops.kafka_recovery.kafka_partition_reassignment_info), or V(null) if it did not wait.
    - C(progress.brokers) has the brokers that still had something to copy.
  returned: when partitions were checked
  type: dict
  sample:
    partitions: 120
    in_sync: 120
    replicas: {in_sync: 0, behind: 0, unknown_topic: 0, unknown_partition: 0, unknown_broker: 0, broker_does_not_host_partition: 0}
    bytes_behind: 0
    messages_behind: 0
    bytes_per_second: 19876543
    estimated_seconds: 0.0
    brokers: []
left_over_throttle:
  description:
    - What was removed (in check mode, would be) of a throttle that an earlier run had left, or that has expired. The numbers of changed brokers,
      of changed topics, and of entries removed from their lists.
    - If any is not zero, the task is changed.
  returned: when partitions were checked
  type: dict
  sample: {brokers: 0, topics: 0, replicas: 0}
previous_assignment:
  description:
    - File with the replicas that the partitions had, in the form of O(reassignment_file). Apply it to undo the task. V(null) if nothing was moved.
      A second run with the same O(run_id) adds to it.
  returned: when partitions were checked
  type: str
  sample: /var/lib/kafka-recovery/reassignments/2026-11-21T14-05-00Z/east.before.json
results_path:
  description: File with the results of O(approved_moves), for all partitions. V(null) without O(approved_moves), and if nothing was submitted.
  returned: when partitions were checked
  type: str
  sample: /var/lib/kafka-recovery/move_results/2026-11-21T14-05-00Z/east.json
arrived_path:
  description: File with the partitions of O(approved_moves) that have their new replicas, in the form of O(reassignment_file). V(null) if there are none.
  returned: when partitions were checked
  type: str
  sample: /var/lib/kafka-recovery/move_results/2026-11-21T14-05-00Z/east.arrived.json
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: when partitions were checked
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.reassignment_admin import ReassignmentAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule, workdir_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import validate
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.run import ReassignmentTask, check_options


def partition_reassignment(module: KafkaModule, cluster: ReassignmentAdmin) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    work = ReassignmentTask(cluster, module.workdir, params, validate.wanted_by(params))
    work.judge()
    if module.check_mode:
        work.predict()
    elif not work.refused:
        # From here on signals are deferred, until the moves in progress are in a consistent state.
        signals.defer_signals()
        if params["state"] == "present":
            work.move(signals.pending_signal)
        else:
            work.cancel()
    for warning in work.warnings:
        module.ansible.warn(warning)
    return work.report()


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **workdir_arguments(),
            **validate.arguments(),
            "state": {"type": "str", "choices": ["present", "cancelled"], "default": "present"},
            "approved_moves": {"type": "path"},
            "allow_replication_factor_change": {"type": "bool", "default": True},
            "concurrent_moves": {"type": "int", "default": 1000},
            "throttle": {"type": "int"},
            "wait": {"type": "bool", "default": True},
            "on_interrupt": {"type": "str", "choices": ["auto", "cancel", "leave"], "default": "auto"},
            "max_disk_percent": {"type": "int", "default": 100},
            "duration": {"type": "float"},
            "stalled_after": {"type": "float", "default": 300.0},
            "preview": {"type": "int", "default": 20},
        },
        changes=lambda _params: True,
        approved=lambda params: params["approved_moves"] is not None,
        mutually_exclusive=[("partitions", "reassignment_file", "approved_moves")],
        required_if=[("state", "present", ("partitions", "reassignment_file", "approved_moves"), True)],
    )
    module.run(partition_reassignment, opening=ReassignmentAdmin, before=lambda kafka: check_options(kafka.params))


if __name__ == "__main__":
    main()
