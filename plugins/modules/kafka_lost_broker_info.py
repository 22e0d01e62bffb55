#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check whether the brokers that an operator names as lost show signs of life."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_lost_broker_info
short_description: Check brokers that are named as lost for signs of life
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Checks brokers three ways. Each must be a broker of the cluster, registered or in a replica set. It must be fenced, and it must be silent,
    which means that nothing accepts connections on its port and that it has not fetched the metadata log (DescribeQuorum) for more than 9 seconds,
    C(broker.session.timeout.ms) by default. If the active controller took over more recently, a broker that fetches nothing during the watch counts as silent.
  - A restarted broker fetches the metadata log long before its port opens and it is unfenced. A broker that hangs fetches nothing, but its port
    still accepts connections.
  - Watches for 3 seconds. Signs of life do not fail the task; they are returned.
options:
  lost_brokers:
    description: Complete list of the permanently lost broker ids.
    type: list
    elements: int
    required: true
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
notes:
  - Kafka before 4.0 does not report the addresses of fenced brokers, so their ports are not probed.
"""

EXAMPLES = r"""
- name: Check that brokers 1 and 4 are lost
  streamops.kafka_recovery.kafka_lost_broker_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    lost_brokers: [1, 4]
  register: lost

- name: Show the objections
  ansible.builtin.debug:
    var: lost.objections
"""

RETURN = r"""
objections:
  description:
    - Reasons why O(lost_brokers) is wrong. Empty if all of them are lost and no other broker is.
    - A broker that is offline, silent and not listed is an objection, too, because it may return with its records.
  returned: success
  type: list
  elements: str
  sample: ["broker 4 is named in lost_brokers, but its port broker-4.example.com:9092 accepts connections"]
brokers:
  description: >-
    State of each of O(lost_brokers). C(brokers[].silent_seconds) is the time since the last fetch of the metadata log, V(null) if there was none
    since the active controller took over. C(brokers[].address) is V(null) if the cluster does not report it.
  returned: success
  type: list
  elements: dict
  sample:
    - {broker_id: 1, address: "broker-1.example.com:9092", silent_seconds: 93.4, signs_of_life: []}
    - broker_id: 4
      address: broker-4.example.com:9092
      silent_seconds: 41.7
      signs_of_life: ["its port broker-4.example.com:9092 accepts connections"]
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius


def lost_broker_info(module: KafkaModule, cluster: Cluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    lost = module.params["lost_brokers"]
    brokers = blast_radius.watch_all_brokers(cluster, lost)
    return {
        "changed": False,
        "objections": blast_radius.lost_broker_mismatches(brokers, lost),
        "brokers": blast_radius.rows(brokers, lost),
        "unreachable_brokers": cluster.unreachable_rows(),
    }


def main() -> None:
    """Run the module."""
    KafkaModule({"lost_brokers": {"type": "list", "elements": "int", "required": True}}).run(lost_broker_info)


if __name__ == "__main__":
    main()
