#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Save the records that the elections of a plan would destroy."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_replica_records
short_description: Save the records that the elections of a plan would destroy
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - After an unclean election each surviving replica truncates its log to the new leader's log. What it alone held is destroyed then. Until then it can be
    read from that replica, which this module does.
  - Reads, for each partition that O(plan) elects, from each survivor whose log is truncated, all batches from the offset at which the logs part to its log end.
    Fenced brokers that answered when the evidence was collected are read in the same way. They truncate their logs once they are back.
    If the plan does not know that offset, the whole log is read.
  - Checks each batch (format, CRC, order of offsets and leader epochs) and that no offset is missing, unless the topic is compacted.
  - Writes the batches as Kafka stores them to C(<workdir>/saved/<run_id>/<cluster>/<number>.batches), and for each such file a sealed index
    C(<number>.jsonl) with the offsets, epochs, producers, transactions, times and codecs of the batches. Both are on the disk when the task ends.
  - A second run of the task reads only what is not saved yet. A run that was killed loses the file that it was writing, at most 64 MB.
  - Replicas that cannot be read, and records that are not as the plan says, are returned as RV(not_saved) and do not fail the task.
  - Replicas on lost brokers are not read, nor those on fenced brokers that do not answer.
  - Changes nothing in the cluster. In check mode it reads no records and writes no file.
options:
  plan:
    description: Plan file of M(streamops.kafka_recovery.kafka_recovery_plan). A bare KIP-1275 file is refused, because it does not say what survivors hold.
    type: path
    required: true
  max_saved_partition_bytes:
    description: Most bytes that are saved of one replica. A replica with more is not saved. Default is no limit.
    type: int
  max_saved_bytes:
    description:
      - Most bytes that are saved in this run. Replicas beyond it are not saved. Default is no limit.
      - In any case 1 GiB of the file system of O(workdir) stays free, or 5 percent of a smaller one. What has no room is not saved.
    type: int
  max_saved_run_bytes:
    description:
      - Most bytes that the folder C(<workdir>/saved/<run_id>) has, of all clusters together. Replicas beyond it are not saved.
      - It also holds if other tasks save records of other clusters at the same time. What is saved already counts. Default is no limit.
    type: int
  saved_bytes_per_second:
    description: Most bytes that are read from all brokers per second. Default is no limit.
    type: int
requirements:
  - crc32c >= 2.7
  - orjson >= 3.10
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.partitions.workdir
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
"""

EXAMPLES = r"""
- name: Save what the elections of this plan would destroy
  streamops.kafka_recovery.kafka_replica_records:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    plan: "{{ kafka_recovery_workdir }}/plans/{{ kafka_recovery_run_id }}/{{ inventory_hostname }}.json"
  register: saved
  failed_when: saved is failed or saved.not_saved | length > 0
"""

RETURN = r"""
path:
  description: The folder of the saved records. In check mode, the path that it would have.
  returned: success
  type: str
  sample: /var/lib/kafka-recovery/saved/2026-11-21/east
counts:
  description:
    - Numbers of replicas that lose records, of those that are saved, and of these the ones that an earlier run had saved, of those that are not saved, and of
      the offsets that all of them lose.
    - C(bytes) and C(batches) are what this run has saved. C(bytes_at_most) is the size of the replicas' logs on disk, which is never less than what they
      lose. It is V(null) if a broker does not report it.
  returned: success
  type: dict
  sample: {replicas: 12, saved: 12, saved_before: 0, not_saved: 0, offsets: 960, bytes: 88320, batches: 48, bytes_at_most: 1203400}
not_saved:
  description: The replicas whose records are not saved, with the reason.
  returned: success
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 0
      broker_id: 3
      start_offset: 101
      end_offset: 181
      reason: "broker 3 does not answer: Request timed out after 10000 ms"
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: [{broker_id: 3, reason: Request timed out after 10000 ms}]
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import plan_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule, workdir_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.run import save_records


def replica_records(module: KafkaModule, cluster: Cluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    plan = plan_file.load(module.params["plan"])
    return {"changed": False, **save_records(module, cluster, plan)}


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **workdir_arguments(),
            "plan": {"type": "path", "required": True},
            "max_saved_partition_bytes": {"type": "int"},
            "max_saved_bytes": {"type": "int"},
            "max_saved_run_bytes": {"type": "int"},
            "saved_bytes_per_second": {"type": "int"},
        }
    )
    module.require("crc32c", "orjson")
    module.run(replica_records)


if __name__ == "__main__":
    main()
