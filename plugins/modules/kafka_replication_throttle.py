#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Throttle the traffic of replicas that catch up, and remove exactly that throttle again (KIP-73, KIP-179)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_replication_throttle
short_description: Throttle replicas that catch up, and remove exactly that throttle
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Limits the bytes per second that brokers send and fetch for replicas that are not in sync, which are those that return after an outage and those that
    any tool adds. Replicas in sync are throttled only if their partitions are named.
  - Sets C(leader.replication.throttled.rate) and C(follower.replication.throttled.rate) on live brokers only, and on the topics
    C(leader.replication.throttled.replicas) and C(follower.replication.throttled.replicas), partition by partition.
  - Writes the new and the previous values to a journal in the workdir first. O(state=absent) removes exactly the new values, also those of a killed run,
    and restores the previous rates. Values that others have set are reported in RV(others), and never changed.
  - Throttles every partition that has a leader and a live replica that is out of sync, unless partitions are named. Named partitions are throttled even if
    all replicas are in sync, for a reassignment that is about to start.
  - The throttle stays until O(state=absent), or until it expires (O(expires_after)). Reassignments do not change it.
  - M(streamops.kafka_recovery.kafka_partition_reassignment) has its own throttle. While it runs, and while moves that it has left are in progress, this
    module changes the rate of that throttle, and removes it only with O(state=absent).
options:
  state:
    description:
      - V(present) throttles at O(rate). A second task with another rate changes the rate. While a reassignment runs with a throttle, the rate of that
        throttle is changed instead.
      - V(absent) removes everything that this collection has set from the same O(workdir). It fails while a reassignment runs with a throttle, which
        the reassignment removes when it ends. Moves that a reassignment has left in progress continue without a throttle.
      - V(cleaned) removes only the throttle of a run that has ended, and a throttle that has expired. Moves that the run has left in progress keep their
        throttle.
    type: str
    choices: [present, absent, cleaned]
    default: present
  rate:
    description:
      - Bytes per second, at least 1024, that each broker may send as a leader, and fetch as a follower, for throttled replicas.
      - With O(state=present) it is required, unless O(leader_rate) and O(follower_rate) are both set.
      - If producers write to partitions at a higher rate, their replicas can never get in sync. A warning then shows the numbers.
    type: int
  leader_rate:
    description: Bytes per second that each broker may send as a leader. Default is O(rate).
    type: int
  follower_rate:
    description: Bytes per second that each broker may fetch as a follower. Default is O(rate).
    type: int
  broker_rates:
    description:
      - Other rates for single brokers.
      - A broker that is named twice, or that is not registered in the cluster, is refused.
    type: list
    elements: dict
    default: []
    suboptions:
      broker_id:
        description: Id of the broker.
        type: int
        required: true
      rate:
        description: Its bytes per second, at least 1024.
        type: int
      leader_rate:
        description: Its bytes per second as a leader. Default is O(broker_rates[].rate), then O(leader_rate).
        type: int
      follower_rate:
        description: Its bytes per second as a follower. Default is O(broker_rates[].rate), then O(follower_rate).
        type: int
  throttled_replicas:
    description:
      - Replicas to throttle, whether they are in sync or not, as C(partition:broker), like in Kafka's configs.
      - They are added to the replicas that the throttle has already. Mutually exclusive with O(partitions) and O(partitions_file).
    type: list
    elements: dict
    suboptions:
      topic:
        description: Name of the topic.
        type: str
        required: true
      leader_replicas:
        description: Replicas that are throttled as leaders. Default is all replicas of the topic (C(*)). An empty list throttles none.
        type: list
        elements: str
      follower_replicas:
        description: Replicas that are throttled as followers. Default is all replicas of the topic (C(*)). An empty list throttles none.
        type: list
        elements: str
  approved_moves:
    description:
      - File of merged moves, as M(streamops.kafka_recovery.kafka_recovery_commit_info) has copied it. It approves O(state=cleaned).
      - Without O(require_commit) it has no effect.
    type: path
  expires_after:
    description:
      - Seconds from this task after which the throttle expires. Default is never. At most a year.
      - The next task that changes throttles of this cluster from this O(workdir) removes an expired throttle. Brokers do not
        remove it.
      - The expiry is in the journal of the O(workdir), so it outlives the task. Each task with O(state=present) sets or removes it again.
    type: float
  measure_seconds:
    description: Seconds for which the write rate of the throttled partitions is measured, for the warning. V(0) does not measure.
    type: float
    default: 2.0
  cluster:
    description: Name of the cluster, as in the inventory. Part of the names of its files in O(workdir).
    type: str
    required: true
  workdir:
    description: Directory on the host that runs the module, with the journal of throttles. Created if it is missing, private to its owner.
    type: path
    required: true
  preview:
    description: Number of rows to return in each of RV(rates), RV(replicas) and RV(others). RV(summary) counts all.
    type: int
    default: 20
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.kafka
attributes:
  check_mode:
    support: full
    details: Brokers validate every change without making it (C(validateOnly) of KIP-179), so a missing permission is an error in check mode, too.
  diff_mode:
    support: full
    details: Shows rates before and after, and the entries of lists that are added or removed.
  idempotent:
    support: full
seealso:
  - module: streamops.kafka_recovery.kafka_partition_reassignment
"""

EXAMPLES = r"""
- name: Throttle brokers that catch up after an outage to 20 MB/s
  streamops.kafka_recovery.kafka_replication_throttle:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    workdir: "{{ kafka_recovery_workdir }}"
    rate: 20000000

- name: Raise the rate, also of a running reassignment, except for a broker with slow disks
  streamops.kafka_recovery.kafka_replication_throttle:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    workdir: "{{ kafka_recovery_workdir }}"
    rate: 80000000
    broker_rates:
      - {broker_id: 3, rate: 30000000}

- name: Throttle one topic for at most four hours, with a lower rate for leaders than for followers
  streamops.kafka_recovery.kafka_replication_throttle:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    workdir: "{{ kafka_recovery_workdir }}"
    leader_rate: 20000000
    follower_rate: 40000000
    throttled_replicas:
      - topic: orders
        leader_replicas: ["0:2", "1:2"]
        follower_replicas: ["0:3", "1:3"]
    expires_after: 14400

- name: Remove the throttle
  streamops.kafka_recovery.kafka_replication_throttle:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    workdir: "{{ kafka_recovery_workdir }}"
    state: absent
"""

RETURN = r"""
run_in_progress:
  description: Whether a reassignment of this collection is running with a throttle. O(state=present) then changes the rate of that throttle.
  returned: success
  type: bool
  sample: false
summary:
  description: Numbers of changed brokers, of changed topics, of changed entries in their lists, and of throttle configs that others have set.
  returned: success
  type: dict
  sample: {brokers: 3, topics: 12, replicas: 240, others: 0}
rates:
  description: Rates that were changed (in check mode, would be), in bytes per second. V(null) if none is set. Some of them.
  returned: success
  type: list
  elements: dict
  sample:
    - {broker_id: 1, config: leader.replication.throttled.rate, before: null, after: 20000000}
    - {broker_id: 1, config: follower.replication.throttled.rate, before: null, after: 20000000}
replicas:
  description: Entries, as C(partition:broker), that were V(added) to lists or V(removed) from them (in check mode, would be). Some of the lists.
  returned: success
  type: list
  elements: dict
  sample:
    - {topic: orders, config: follower.replication.throttled.replicas, change: added, entries: ["0:3", "4:3"]}
expires_at:
  description: When the throttle expires, in UTC. V(null) if it does not expire, or if there is none.
  returned: success
  type: str
  sample: "2026-11-21T18:05:00Z"
others:
  description:
    - Throttles that others have set, on live brokers and on all topics, with Kafka's name of the config source.
    - Lists have only the entries of others. A rate that our throttle replaces for a time is not listed during that time.
  returned: success
  type: list
  elements: dict
  sample:
    - {resource: topic, name: audit, config: leader.replication.throttled.replicas, value: "*", source: DYNAMIC_TOPIC_CONFIG}
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.reassignment_admin import ReassignmentAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule, partition_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import requested
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.config_preview import ConfigPreview, Configurable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.replicas import read_rates, read_replicas
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle.run import ReplicationThrottle

# One by one: ansible-doc warns of an assignment to several names.
PRESENT = "present"
ABSENT = "absent"
CLEANED = "cleaned"
LONGEST_EXPIRY = 366 * 24 * 3600.0  # seconds


def replication_throttle(module: KafkaModule, cluster: ReassignmentAdmin) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    keys = requested(params["partitions"], params["partitions_file"])
    journal = ThrottleJournal(module.workdir, params["cluster"], cluster.cluster_id, read_only=module.check_mode)
    there: Configurable = ConfigPreview(cluster) if module.check_mode else cluster
    throttle = ReplicationThrottle(there, journal, params["measure_seconds"])
    # From here on signals are deferred: the work takes only seconds.
    signals.defer_signals()
    if params["state"] == PRESENT:
        throttle.present(read_rates(params), keys, read_replicas(params["throttled_replicas"]), params["expires_after"])
    elif params["state"] == ABSENT:
        throttle.absent()
    else:
        throttle.clean()
    for warning in throttle.warnings:
        module.ansible.warn(warning)
    return throttle.report(params["preview"])


def check(module: KafkaModule) -> None:
    """Check options before a broker is contacted. RecoveryError for invalid rates or replicas, or for an expiry of more than a year."""
    params = module.params
    if params["state"] == PRESENT:
        read_rates(params)
        read_replicas(params["throttled_replicas"])
        if params["expires_after"] is not None and params["expires_after"] > LONGEST_EXPIRY:
            raise RecoveryError(f"expires_after is {params['expires_after']:g}: it is in seconds, at most {LONGEST_EXPIRY:g} (a year)")


def main() -> None:
    """Run the module."""
    rates = {name: {"type": "int"} for name in ("rate", "leader_rate", "follower_rate")}
    names = {"type": "list", "elements": "str"}
    replicas = {"topic": {"type": "str", "required": True}, "leader_replicas": names, "follower_replicas": names}
    module = KafkaModule(
        {
            **partition_arguments(),
            **rates,
            "state": {"type": "str", "choices": [PRESENT, ABSENT, CLEANED], "default": PRESENT},
            "broker_rates": {
                "type": "list",
                "elements": "dict",
                "options": {"broker_id": {"type": "int", "required": True}, **rates},
                "default": [],
            },
            "throttled_replicas": {"type": "list", "elements": "dict", "options": replicas},
            "expires_after": {"type": "float"},
            "approved_moves": {"type": "path"},
            "measure_seconds": {"type": "float", "default": 2.0},
            "cluster": {"type": "str", "required": True},
            "workdir": {"type": "path", "required": True},
            "preview": {"type": "int", "default": 20},
        },
        changes=lambda _params: True,
        approved=lambda params: params["state"] == CLEANED and params["approved_moves"] is not None,
        mutually_exclusive=[("partitions", "partitions_file", "throttled_replicas")],
    )
    module.run(replication_throttle, opening=ReassignmentAdmin, before=check)


if __name__ == "__main__":
    main()
