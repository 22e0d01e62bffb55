#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Throttle the traffic of replicas that catch up, and take exactly that throttle out again (KIP-73, KIP-179)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_replication_throttle
short_description: Throttle replicas that catch up, and remove exactly that throttle
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Limits the bytes per second that brokers send and fetch for replicas that are not in sync, those that come back after an outage and those that
    any tool adds. Replicas in sync are never held up.
  - Sets C(leader.replication.throttled.rate) and C(follower.replication.throttled.rate) on live brokers alone, and on the topics
    C(leader.replication.throttled.replicas) and C(follower.replication.throttled.replicas), partition by partition.
  - What it sets, and what stood there before, is noted in the workdir first. O(state=absent) takes out exactly that, also what a killed run left, and
    puts back the rates that somebody had set before. What others have set is reported in RV(others), and never touched.
  - M(streamops.kafka_recovery.kafka_partition_reassignment) throttles by itself. While it runs this module changes the rate that it has set.
options:
  state:
    description:
      - V(present) throttles at O(rate). A second time, with another rate, it changes the rate.
      - V(absent) takes out everything that this collection has set from the same O(workdir), also the throttle of a reassignment that still runs.
    type: str
    choices: [present, absent]
    default: present
  rate:
    description:
      - Bytes per second, at least 1024, that each broker may send as a leader, and fetch as a follower, for throttled replicas.
      - Required with O(state=present). A warning says so, with the numbers, where partitions are written at a higher rate than this, so that their
        replicas can never get in sync.
    type: int
  broker_rates:
    description: Other rates for some brokers.
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
        required: true
  partitions:
    description:
      - The partitions to throttle. Default is every partition that has a leader and a live replica that is out of sync.
      - Named partitions are throttled also where all replicas are in sync, for a reassignment that is about to begin.
      - Mutually exclusive with O(partitions_file).
    type: list
    elements: dict
    suboptions:
      topic:
        description: Name of the topic.
        type: str
        required: true
      partition:
        description: Number of the partition.
        type: int
        required: true
  partitions_file:
    description: JSON file that names the partitions, in the form of KIP-1275 or of KIP-460, as for the other modules.
    type: path
  measure_seconds:
    description: Seconds over which it is measured at what rate the throttled partitions are written to, for the warning. V(0) measures nothing.
    type: float
    default: 2.0
  cluster:
    description: Name of the cluster, as the inventory has it. Names its files in O(workdir).
    type: str
    required: true
  workdir:
    description: Directory on the host that runs the module, where the journal of throttles is. Made where it is missing, private to its owner.
    type: path
    required: true
  preview:
    description: Number of rows to return in each of RV(rates), RV(replicas) and RV(others). RV(summary) counts all.
    type: int
    default: 20
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.kafka
attributes:
  check_mode:
    support: full
    details: Says what would be set or taken out.
  diff_mode:
    support: full
    details: Shows rates before and after, and the entries of lists that are added or removed.
  idempotent:
    support: full
seealso:
  - module: streamops.kafka_recovery.kafka_partition_reassignment
"""

EXAMPLES = r"""
- name: Let brokers that came back catch up at 20 MB/s
  streamops.kafka_recovery.kafka_replication_throttle:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    workdir: "{{ kafka_recovery_workdir }}"
    rate: 20000000

- name: Faster, also for a reassignment that is running, but slower on the one broker with slow disks
  streamops.kafka_recovery.kafka_replication_throttle:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    workdir: "{{ kafka_recovery_workdir }}"
    rate: 80000000
    broker_rates:
      - {broker_id: 3, rate: 30000000}

- name: Remove what was set, and nothing else
  streamops.kafka_recovery.kafka_replication_throttle:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    workdir: "{{ kafka_recovery_workdir }}"
    state: absent
"""

RETURN = r"""
run_in_progress:
  description: Whether a reassignment of this collection is running with a throttle, whose rate is then what O(state=present) changes.
  returned: success
  type: bool
  sample: false
summary:
  description: Number of brokers with another rate than before, of topics with other lists, of entries in these, and of throttle configs that others have set.
  returned: success
  type: dict
  sample: {brokers: 3, topics: 12, replicas: 240, others: 0}
rates:
  description: Rates that were changed (in check mode, would be), in bytes per second. V(null) where none is set. Some of them.
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
others:
  description:
    - Throttles that others have set, on live brokers and on all topics, with Kafka's word for where they were set.
    - Of a list only the entries of others. A rate that gives way to ours is not among them for as long as ours stands; in check mode it still is.
  returned: success
  type: list
  elements: dict
  sample:
    - {resource: topic, name: audit, config: leader.replication.throttled.replicas, value: "*", source: DYNAMIC_TOPIC_CONFIG}
unreachable_brokers:
  description: Brokers that were asked and did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils import interruption
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module import KafkaModule, partition_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import requested
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.replication import Replication
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.replication_throttle import ReplicationThrottle
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.throttle_journal import ThrottleJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.throttles import Rates

PRESENT = "present"
ABSENT = "absent"


def replication_throttle(module: KafkaModule, cluster: Replication) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    keys = requested(params["partitions"], params["partitions_file"])
    journal = ThrottleJournal(module.workdir, params["cluster"], cluster.cluster_id)
    throttle = ReplicationThrottle(cluster, journal, module.check_mode, params["measure_seconds"])
    # From here on a signal does not break anything off: all of it takes seconds.
    interruption.only_note()
    if params["state"] == PRESENT:
        throttle.present(rates(module), keys)
    else:
        throttle.absent()
    for warning in throttle.warnings:
        module.ansible.warn(warning)
    return throttle.report(params["preview"], module.ansible._diff)


def rates(module: KafkaModule) -> Rates:
    """The options `rate` and `broker_rates`. ThrottleError for what cannot be meant."""
    return Rates(module.params["rate"], {row["broker_id"]: row["rate"] for row in module.params["broker_rates"]})


def check(module: KafkaModule) -> None:
    """Refuse rates that cannot be meant before any broker is asked."""
    if module.params["state"] == PRESENT:
        rates(module)


def main() -> None:
    """Run the module."""
    broker_rate = {"broker_id": {"type": "int", "required": True}, "rate": {"type": "int", "required": True}}
    module = KafkaModule(
        {
            **partition_arguments(),
            "state": {"type": "str", "choices": [PRESENT, ABSENT], "default": PRESENT},
            "rate": {"type": "int"},
            "broker_rates": {"type": "list", "elements": "dict", "options": broker_rate, "default": []},
            "measure_seconds": {"type": "float", "default": 2.0},
            "cluster": {"type": "str", "required": True},
            "workdir": {"type": "path", "required": True},
            "preview": {"type": "int", "default": 20},
        },
        mutually_exclusive=[("partitions", "partitions_file")],
        required_if=[("state", PRESENT, ["rate"])],
    )
    module.run(replication_throttle, opening=Replication, before=check)


if __name__ == "__main__":
    main()
