#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Save the records that only the disk of a lost broker has."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_lost_disk_records
short_description: Save the records that only the disk of a lost broker has
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - A broker that was lost before an unclean election may have records that the new leader does not have. When the broker starts, it truncates its logs to
    those of the new leaders, and these records are destroyed. Until then its disk has them.
  - Run this module before the broker is started again, on a host that has the disk mounted and reaches the cluster. Nothing on the disk is changed.
  - Reads each log on the disk as M(streamops.kafka_recovery.kafka_log_dir_info) does, and asks the present leader of its partition where the leader epochs of
    that log end. What follows the end of the last common leader epoch is only on this disk.
  - Saves these batches to C(<workdir>/saved/<run_id>/<cluster>), as M(streamops.kafka_recovery.kafka_replica_records) does, and returns whether the broker is
    safe to start.
  - Writes whether the broker is safe to start to C(<workdir>/rescue/<cluster>/broker-<id>.json), too.
    M(streamops.kafka_recovery.kafka_lost_disk_info) warns if a broker comes back that was not.
  - A second run with the same O(run_id) reads only what is not saved yet.
  - In check mode it only compares.
options:
  log_dirs:
    description:
      - Log dirs of the broker (its C(log.dirs)) as they are mounted on this host. Name all of them, of one broker.
      - Log dirs of another cluster than the one that answers at O(bootstrap_servers), and log dirs that a running broker has locked, are refused.
      - Either O(log_dirs) or O(disk) is required.
    type: list
    elements: path
  disk:
    description:
      - What M(streamops.kafka_recovery.kafka_log_dir_info) with O(streamops.kafka_recovery.kafka_log_dir_info#module:whole_logs=true) has returned on another
        host, for a disk that this host does not have. All partitions on the disk are judged.
      - Records are saved from O(copy_dir). Without it nothing new is saved, and RV(partitions) says what is missing.
    type: dict
  copy_dir:
    description: Folder to which M(streamops.kafka_recovery.kafka_log_dir_copy) has copied the records. Only with O(disk).
    type: path
  broker_id:
    description: Id of the broker. A log dir of another broker is refused. Without it, all log dirs must be of the same broker.
    type: int
  max_saved_partition_bytes:
    description: Most bytes that are saved of one partition. A partition with more is not saved. Default is no limit.
    type: int
  max_saved_bytes:
    description: Most bytes that are saved in this run. Partitions beyond it are not saved. Default is no limit.
    type: int
  saved_bytes_per_second:
    description: Most bytes that are read from the disk per second. Default is no limit.
    type: int
requirements:
  - crc32c >= 2.7
  - orjson >= 3.10
notes:
  - RV(safe_to_start) is about records that the disk has now. It does not judge the disk or the configuration of the broker.
  - Only the partitions that are selected are judged. Without O(partitions) and O(partitions_file) these are all partitions on the disk.
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.partitions.workdir
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
"""

EXAMPLES = r"""
- name: Save what only the disk of broker 1 has, and stop if it is not safe to start after that
  streamops.kafka_recovery.kafka_lost_disk_records:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    log_dirs:
      - /mnt/broker-1/data-1
      - /mnt/broker-1/data-2
    broker_id: 1
  register: disk
  failed_when: disk is failed or not disk.safe_to_start
"""

RETURN = r"""
broker_id:
  description: Id of the broker whose disk it is.
  returned: success
  type: int
  sample: 1
safe_to_start:
  description: Whether a start of the broker destroys no record that is only on this disk and not saved. In check mode nothing is saved.
  returned: success
  type: bool
  sample: true
reasons:
  description: Why the broker must not be started yet.
  returned: success
  type: list
  elements: str
  sample: ["3 partitions: records that only this disk has are not saved"]
path:
  description: The folder of the saved records, V(null) if the disk has nothing that the cluster lacks. In check mode, the path that it would have.
  returned: success
  type: str
  sample: /var/lib/kafka-recovery/saved/2026-11-21/east
counts:
  description:
    - Numbers of partitions on the disk, by their RV(partitions[].relation), of those that are saved, of these the ones that an earlier run had saved, and of
      those that are to be saved and are not.
    - C(offsets) is the number of offsets that only the disk has, or may have, C(bytes) what this run has saved.
  returned: success
  type: dict
  sample:
    partitions: 120
    only_on_disk: 3
    unknown: 0
    no_leader: 0
    other_topic: 1
    in_cluster: 116
    saved: 3
    saved_before: 0
    not_saved: 0
    offsets: 57
    bytes: 5230
partitions:
  description: The partitions on the disk, those with V(only_on_disk) first.
  returned: success
  type: list
  elements: dict
  contains:
    relation:
      description:
        - V(only_on_disk) if the disk has records that the partition's leader does not have, from RV(partitions[].start_offset) to RV(partitions[].end_offset)
          (exclusive).
        - V(in_cluster) if the leader has all of them, or had them and has deleted them. V(no_leader) if there is no leader to compare with.
        - V(other_topic) if the topic was deleted or created anew, or if this login may not describe it. V(unknown) otherwise. In both cases the whole log is
          saved.
      type: str
    start_offset:
      description: First offset that only the disk has, or may have. V(null) if there is none.
      type: int
    end_offset:
      description: The offset after the last one. V(null) if there is none.
      type: int
    saved:
      description: Whether these records are saved, V(null) if there are none.
      type: bool
    damage:
      description: Why the log may have records that were not read. V(null) if it has none. Such a broker is not safe to start.
      type: str
    reason:
      description: Why it is not saved, or why the relation is what it is. V(null) if there is nothing to say.
      type: str
  sample:
    - topic: orders
      partition: 0
      topic_id: 0wsEX7CPSmyXTcW-hn4sMw
      relation: only_on_disk
      start_offset: 100
      end_offset: 150
      saved: true
      damage: null
      reason: null
unsaved:
  description: What is to be saved and is not, as O(streamops.kafka_recovery.kafka_log_dir_copy#module:logs) takes it.
  returned: success
  type: list
  elements: dict
  sample: [{topic: payments, partition: 3, start_offset: 400, end_offset: 410}]
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import (
    KafkaModule,
    partition_arguments,
    workdir_arguments,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import disk_verdict
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.disk_run import save_disk

UNSAVED = ("topic", "partition", "start_offset", "end_offset")


def lost_disk_records(module: KafkaModule, admin: ConsumerAdmin) -> dict[str, Any]:
    """Return what RETURN documents."""
    result = save_disk(module, admin)
    if not module.check_mode:
        path = disk_verdict.path_of(module.workdir, module.params["cluster"], result["broker_id"])
        disk_verdict.write(path, admin.cluster_id, module.params["run_id"], result)
    unsaved = [{name: row[name] for name in UNSAVED} for row in result["partitions"] if row["saved"] is False]
    return {"changed": False, **result, "unsaved": unsaved}


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **workdir_arguments(),
            **partition_arguments(),
            "log_dirs": {"type": "list", "elements": "path"},
            "disk": {"type": "dict"},
            "copy_dir": {"type": "path"},
            "broker_id": {"type": "int"},
            "max_saved_partition_bytes": {"type": "int"},
            "max_saved_bytes": {"type": "int"},
            "saved_bytes_per_second": {"type": "int"},
        },
        mutually_exclusive=[("partitions", "partitions_file"), ("log_dirs", "disk"), ("disk", "partitions"), ("disk", "partitions_file")],
        required_one_of=[("log_dirs", "disk")],
        required_by={"copy_dir": "disk"},
    )
    module.require("crc32c", "orjson")
    module.run(lost_disk_records, ConsumerAdmin)


if __name__ == "__main__":
    main()
