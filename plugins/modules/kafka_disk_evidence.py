#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the logs on the disk of a lost broker evidence for plans and elections."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_disk_evidence
short_description: Make the logs on the disk of a lost broker evidence for plans and elections
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - M(streamops.kafka_recovery.kafka_log_dir_info) reads the logs of a lost broker from its disk. This module keeps its result in the workdir, where every
    collection of evidence finds it, those of plans and of elections.
  - Such a replica cannot be elected, but its log is known. It is compared with the logs of survivors, bounds the loss, and plans say what only this disk has.
    If survivors fork, the log of a member of the ISR or ELR can decide which branch is elected.
  - The disk must be the broker's own, as it was when the broker was lost. An older backup or snapshot can make a plan elect the wrong branch.
  - Keeps the logs of partitions that have no leader now. A log counts until its partition gets a leader, or its broker is started.
  - A log is left out if its end is torn, doubtful or not checked, if it is empty, or if its topic was created again. RV(not_used) has the reasons.
  - Changes nothing in the cluster.
options:
  cluster:
    description: Name of the cluster, as in the inventory. Part of the path of the file in O(workdir).
    type: str
    required: true
  workdir:
    description: Directory of this collection on the control node, as for the module that collects evidence.
    type: path
    required: true
  disk:
    description:
      - The registered result of M(streamops.kafka_recovery.kafka_log_dir_info), read with O(streamops.kafka_recovery.kafka_log_dir_info#module:whole_logs=true)
        and with O(streamops.kafka_recovery.kafka_log_dir_info#module:crc_bytes) as large as the largest log.
      - The broker must not have been started since the disk was read.
    type: dict
  broker_id:
    description: Id of the broker. Required to remove its file. Otherwise the result of another broker is refused.
    type: int
  state:
    description:
      - V(present) keeps the logs of O(disk). They replace those of an earlier result for the same broker.
      - V(absent) removes them, for example because the disk is lost, too.
    type: str
    choices: [present, absent]
    default: present
requirements:
  - orjson >= 3.10
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.kafka
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Make the logs evidence that kafka_log_dir_info has read from the disk of broker 1
  streamops.kafka_recovery.kafka_disk_evidence:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    workdir: "{{ kafka_recovery_workdir }}"
    disk: "{{ disk }}"

- name: Forget the disk of broker 1
  streamops.kafka_recovery.kafka_disk_evidence:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    workdir: "{{ kafka_recovery_workdir }}"
    broker_id: 1
    state: absent
"""

RETURN = r"""
broker_id:
  description: Id of the broker whose disk it is.
  returned: success
  type: int
  sample: 1
path:
  description: The file in the workdir.
  returned: success
  type: str
  sample: /var/lib/kafka-recovery/disks/east/1.jsonl
counts:
  description: Numbers of logs of partitions without a leader, those that are evidence (C(used)), and the others (C(not_used)).
  returned: success
  type: dict
  sample: {used: 12, not_used: 1}
not_used:
  description: Logs of partitions without a leader that are no evidence, each with the C(reason).
  returned: success
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 3
      reason: the end of the log is torn, so it may have had more
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.disk_run import keep_disk
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule


def disk_evidence(module: KafkaModule, cluster: Cluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    return keep_disk(module, cluster)


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            "cluster": {"type": "str", "required": True},
            "workdir": {"type": "path", "required": True},
            "disk": {"type": "dict"},
            "broker_id": {"type": "int"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        required_if=[("state", "present", ["disk"]), ("state", "absent", ["broker_id"])],
    )
    module.require("orjson")
    module.run(disk_evidence, Cluster)


if __name__ == "__main__":
    main()
