#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""List partitions without a live leader, with what the cluster knows about their replicas."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_partition_info
short_description: Find partitions without a live leader, or in another state
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Lists the partitions in a O(state), with ISR, eligible leader replicas (KIP-966) and offline replicas, and explains whether they can be
    written and which broker the controller would elect.
  - Returns for every broker whether it is unfenced, fenced and silent (and for how long), or coming back. A fenced broker that is coming back
    fetches the metadata log again long before it is unfenced.
  - Pages through DescribeTopicPartitions. Brokers before Kafka 3.8 get Metadata requests instead, which have no eligible leader replicas.
options:
  state:
    description:
      - V(offline) are partitions without a live leader.
      - V(under_replicated) have an ISR smaller than their replica list, V(under_min_isr) one smaller than C(min.insync.replicas).
      - V(not_writable) are online, but with an ISR smaller than C(min.insync.replicas), so that C(acks=all) is refused.
      - V(under_min_isr) and V(not_writable) need DESCRIBE_CONFIGS on the topics.
      - V(elr_recoverable) are offline, but the controller may elect a broker if it returns. This is a member of ISR or ELR, or the last
        known leader. C(elected_on_return) has these brokers, C(explanation) has what such a leader may lack.
    type: str
    choices: [offline, all, under_replicated, under_min_isr, not_writable, elr_recoverable]
    default: offline
  limit:
    description: Return at most this many partitions; RV(count) counts all. V(0) returns all, but never more than 10,000.
    type: int
    default: 0
  unknown:
    description:
      - What to do about a requested partition that the cluster does not have, or whose topic it hides because DESCRIBE is not granted.
      - V(fail) refuses all requested partitions. V(skip) reads the others, and returns these as RV(unknown).
    type: str
    choices: [fail, skip]
    default: fail
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
"""

EXAMPLES = r"""
- name: Find every partition without a live leader
  streamops.kafka_recovery.kafka_partition_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
  register: offline

- name: Read two partitions in any state
  streamops.kafka_recovery.kafka_partition_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    state: all
    partitions:
      - {topic: orders, partition: 0}
      - {topic: orders, partition: 1}
"""

RETURN = r"""
partitions:
  description:
    - The partitions in the requested state, internal topics first.
    - C(partitions[].min_insync_replicas) is never more than the number of replicas (KIP-966). It and C(partitions[].unclean_leader_election_enable)
      are V(null), with a warning, if DESCRIBE_CONFIGS on the topic is not granted.
  returned: success
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 0
      topic_id: 3rCxnsJbS1mYcVG5OAoIqQ
      leader: -1
      leader_epoch: 4
      replicas: [1, 2, 3]
      isr: []
      eligible_leader_replicas: [1]
      last_known_elr: []
      offline_replicas: [1]
      min_insync_replicas: 2
      unclean_leader_election_enable: false
      elected_on_return: [1]
      explanation: "no live leader: the controller may elect broker 1 once it is unfenced (ELR, whether it was shut down cleanly is not known)"
count:
  description: Number of partitions in the requested state.
  returned: success
  type: int
  sample: 1
unknown_count:
  description: Number of requested partitions that the cluster does not have, or hides. More than V(0) only with O(unknown=skip).
  returned: success
  type: int
  sample: 0
unknown:
  description: These partitions, at most O(limit).
  returned: success
  type: list
  elements: dict
  sample: []
brokers:
  description:
    - State of every broker that is registered or in a replica list. C(brokers[].silent_seconds) is the time since its last fetch of the metadata log, V(null)
      if the active controller does not know it. The controller forgets brokers that are silent for five minutes.
  returned: success
  type: list
  elements: dict
  sample:
    - {broker_id: 1, broker_state: fenced, silent_seconds: 93.4, rack: null}
    - {broker_id: 2, broker_state: unfenced, silent_seconds: 0.2, rack: null}
eligible_leader_replicas_version:
  description: Finalized level of the feature C(eligible.leader.replicas.version), V(0) if it is off, V(null) if the brokers do not report it.
  returned: success
  type: int
  sample: 1
cluster_id:
  description: Kafka's id of the cluster.
  returned: success
  type: str
  sample: 5L6g3nShT-eMCtK--X86sw
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule, partition_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import requested
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import readiness


def partition_info(module: KafkaModule, cluster: Cluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    wanted = requested(module.params["partitions"], module.params["partitions_file"])
    found = readiness.partitions(cluster, wanted, module.params["state"], module.params["limit"], module.params["unknown"])
    if found.warning:
        module.ansible.warn(found.warning)
    return {"changed": False, **found.rows, "unreachable_brokers": cluster.unreachable_rows()}


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **partition_arguments(),
            "state": {
                "type": "str",
                "default": "offline",
                "choices": ["offline", "all", "under_replicated", "under_min_isr", "not_writable", "elr_recoverable"],
            },
            "limit": {"type": "int", "default": 0},
            "unknown": {"type": "str", "default": readiness.FAIL, "choices": [readiness.FAIL, readiness.SKIP]},
        },
        mutually_exclusive=[("partitions", "partitions_file")],
    )
    module.run(partition_info)


if __name__ == "__main__":
    main()
