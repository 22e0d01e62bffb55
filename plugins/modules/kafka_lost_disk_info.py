#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check whether lost brokers come back, and whether they were safe to start."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_lost_disk_info
short_description: Check whether lost brokers are back before their disks were saved
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Returns for each broker whether it is alive, and the last verdict of M(streamops.kafka_recovery.kafka_lost_disk_records) on its disk.
  - Warns about each broker that is alive although its disk was not safe to start. It has truncated its logs, or does so now.
options:
  broker_ids:
    description: Ids of the brokers.
    type: list
    elements: int
    required: true
  cluster:
    description: Name of the cluster, as the verdicts have it.
    type: str
    required: true
  workdir:
    description: Directory of the verdicts.
    type: path
    required: true
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
"""

EXAMPLES = r"""
- name: Check whether brokers 1 and 4 are back
  streamops.kafka_recovery.kafka_lost_disk_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    workdir: "{{ kafka_recovery_workdir }}"
    broker_ids: [1, 4]
"""

RETURN = r"""
cluster_id:
  description: Kafka's id of the cluster.
  returned: success
  type: str
  sample: 5L6g3nShT-eMCtK--X86sw
brokers:
  description: The brokers of O(broker_ids).
  returned: success
  type: list
  elements: dict
  contains:
    broker_id:
      description: Id of the broker.
      type: int
    alive:
      description: Whether the broker is alive (unfenced).
      type: bool
    safe_to_start:
      description: >-
        The last verdict on its disk, V(null) if there is none. V(false) if RV(brokers[].elected_since) or RV(brokers[].returned_since) has partitions, and if
        its disk was never read and partitions that it has were elected without it.
      type: bool
    elected_since:
      description:
        - Partitions of a broker that was safe to start, and is not alive, which have another leader epoch since, whatever tool elected their leaders. Read its
          disk again, because the new leaders may lack records that it has.
      type: list
      elements: dict
    returned_since:
      description:
        - Partitions that a broker that was safe to start leads again, and of which another replica is back since. Read its disk again, because that replica may
          have records that it lacks.
      type: list
      elements: dict
    warning:
      description: Why it should not be alive, V(null) if nothing is known against it.
      type: str
  sample:
    - broker_id: 1
      alive: false
      safe_to_start: true
      elected_since: []
      returned_since: []
      warning: null
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from collections.abc import Collection
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.returned_brokers import returned_text, unsafe_brokers


def lost_disk_info(module: KafkaModule, cluster: Cluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    ids = module.params["broker_ids"]
    if len(set(ids)) != len(ids):
        raise RecoveryError(f"broker_ids is {ids}: name each broker once, and give each host in the inventory its own kafka_broker_id")
    unfenced = cluster.unfenced()
    brokers = [_broker(module, cluster, broker_id, unfenced) for broker_id in ids]
    for row in brokers:
        if row["warning"]:
            module.ansible.warn(row["warning"])
    return {"changed": False, "cluster_id": cluster.cluster_id, "brokers": brokers, "unreachable_brokers": cluster.unreachable_rows()}


def _broker(module: KafkaModule, cluster: Cluster, broker_id: int, unfenced: Collection[int]) -> dict[str, Any]:
    alive = broker_id in unfenced
    path = disk_verdict.path_of(module.workdir, module.params["cluster"], broker_id)
    verdict = disk_verdict.read_own(module.workdir, module.params["cluster"], cluster.cluster_id, broker_id)
    if verdict and not verdict["safe_to_start"] and not unsafe_brokers(cluster, {broker_id: verdict}):
        verdict = None
    elected, returned = list[TopicPartition](), list[TopicPartition]()
    if verdict and verdict["safe_to_start"] and not alive and verdict.get("leader_epochs"):
        states = cluster.partitions(disk_verdict.epoch_keys(verdict))
        elected, returned = disk_verdict.elected_since(verdict, states), disk_verdict.returned_since(verdict, states, unfenced)
    return {
        "broker_id": broker_id,
        "alive": alive,
        "safe_to_start": verdict["safe_to_start"] and not elected and not returned if verdict else None,
        "elected_since": [{"topic": topic, "partition": partition} for topic, partition in elected],
        "returned_since": [{"topic": topic, "partition": partition} for topic, partition in returned],
        "warning": returned_text(broker_id, verdict, path) if alive else None,
    }


def main() -> None:
    """Run the module."""
    arguments = {
        "broker_ids": {"type": "list", "elements": "int", "required": True},
        "cluster": {"type": "str", "required": True},
        "workdir": {"type": "path", "required": True},
    }
    KafkaModule(arguments).run(lost_disk_info)


if __name__ == "__main__":
    main()
