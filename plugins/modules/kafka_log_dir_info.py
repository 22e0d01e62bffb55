#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the logs of a lost broker from its disk."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_log_dir_info
short_description: Read the logs of a lost broker from its disk
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - A lost broker does not answer, but its disk may be readable. Mount the disk on any host, read-only, and run this module there.
  - Returns for each replica in the log dirs where its log starts and ends, its leader epochs, the high watermark that the broker checkpointed, the last
    batches, what is damaged, and what Kafka's own recovery of the log would keep if the broker started.
  - Changes nothing. It writes no file, takes no lock, and opens all files to read them only. It connects to no broker.
  - By default it reads the end of each log, not the whole log. It walks over the headers of the last segment, from the last entry of its offset index
    that is usable, and checks the CRCs of the last O(crc_bytes).
    RV(partitions[].headers_checked_from) and RV(partitions[].crc_checked_from) say what was checked.
  - A damaged file or folder affects only its partition, which then has an RV(partitions[].error).
options:
  log_dirs:
    description:
      - Log dirs of the broker (its C(log.dirs)) as they are mounted on this host. Name all that are readable, of one broker.
      - A symbolic link is refused, in the log dirs as well. So is a log dir that a running broker has locked.
    type: list
    elements: path
    required: true
  cluster_id:
    description: Id of the cluster. A log dir whose C(meta.properties) has another C(cluster.id) is refused.
    type: str
    required: true
  broker_id:
    description:
      - Id of the broker. A log dir whose C(meta.properties) has another C(node.id) is refused.
      - Without it, all log dirs must have the same C(node.id).
    type: int
  partitions:
    description:
      - Partitions to read. Default is all in the log dirs. Of each log dir at most 30,000 are read, and at most 500,000 leader epochs of them. A header in
        RV(partitions[].last_batches) counts as four.
      - Mutually exclusive with O(partitions_file).
  whole_logs:
    description:
      - Walk over all batches of all segments. Otherwise only the end of the last segment is read, and damage before it is not seen.
      - Without a clean shutdown, Kafka checks each segment from the recovery point on. So RV(partitions[].kept_end_offset) is certain only with
        O(whole_logs=true), and O(crc_bytes) as large as the log or O(check_partitions).
    type: bool
    default: false
  crc_bytes:
    description:
      - Bytes at the end of each log whose CRCs are checked. V(0) checks none.
      - One core checks about 200 MB per second, and several GB per second if the Python library C(crc32c) is installed on the host.
    type: int
    default: 65536
  check_partitions:
    description:
      - Partitions of which all CRCs are checked that Kafka checks when the broker starts, which may be more than O(crc_bytes). After a clean shutdown these are
        those of the last segment, otherwise those from the segment of the recovery point on. Needs O(whole_logs=true).
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
  last_batches:
    description: How many headers of batches at the end of each log are returned, at most 1000.
    type: int
    default: 0
extends_documentation_fragment:
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
notes:
  - The lock of a broker that runs in another container with a kernel of its own, or on another host, cannot be seen. Make sure that the broker is stopped.
  - Mount the file system so that it is not changed, for example with the options V(ro,noload) for ext4 and V(ro,norecovery) for XFS.
  - The module needs Linux, Python 3.11 or newer, and permission to read the files.
"""

EXAMPLES = r"""
- name: Read where the logs of broker 1 end
  streamops.kafka_recovery.kafka_log_dir_info:
    log_dirs:
      - /mnt/broker-1/data-1
      - /mnt/broker-1/data-2
    cluster_id: MkU3OEVBNTcwNTJENDM2Qk
    broker_id: 1
  register: disk

- name: Show the logs that are damaged or doubtful
  ansible.builtin.debug:
    msg: "{{ disk.partitions | rejectattr('error', 'none') + disk.partitions | selectattr('doubts') }}"

- name: Check every batch of one partition
  streamops.kafka_recovery.kafka_log_dir_info:
    log_dirs: [/mnt/broker-1/data-1]
    cluster_id: MkU3OEVBNTcwNTJENDM2Qk
    partitions:
      - {topic: orders, partition: 0}
    whole_logs: true
    crc_bytes: 1000000000000
"""

RETURN = r"""
broker_id:
  description: Id of the broker whose log dirs they are.
  returned: success
  type: int
  sample: 1
log_dirs:
  description:
    - The log dirs. C(log_dirs[].clean_shutdown) is whether the broker marked that it was shut down cleanly. C(log_dirs[].logs) counts logs by kind.
    - C(log_dirs[].directory_id) is V(null) before KIP-858. C(log_dirs[].foreign_files) has the first names that Kafka does not write.
    - C(log_dirs[].doubts) says which checkpoint files are damaged. Their offsets are V(null), and Kafka checks logs from their start.
  returned: success
  type: list
  elements: dict
  sample:
    - path: /mnt/broker-1/data-1
      cluster_id: MkU3OEVBNTcwNTJENDM2Qk
      node_id: 1
      directory_id: 6Rh3OSrbQwqEYwCYxKHSZw
      clean_shutdown: false
      logs: {replica: 120, future: 0, delete: 1, stray: 0}
      foreign_files: [lost+found]
      doubts: []
partitions:
  description: The broker's replicas. A partition with an RV(partitions[].error) has no values that depend on its files.
  returned: success
  type: list
  elements: dict
  contains:
    topic:
      description: Name of the topic.
      type: str
    partition:
      description: Number of the partition.
      type: int
    log_dir:
      description: Path of the log dir that has the log.
      type: str
    segments:
      description: Number of segments.
      type: int
    bytes:
      description: Bytes of all segments.
      type: int
    foreign_files:
      description: Files and links in the folder that Kafka does not write.
      type: list
      elements: str
    topic_id:
      description: Topic id of the replica. A topic that was created again has another one, and its log has other records. V(null) if no file has it.
      type: str
    kind:
      description: V(replica). In RV(other_logs) V(future), V(delete) or V(stray).
      type: str
    log_start_offset:
      description: Where the log starts on this disk. What tiered storage holds is not counted.
      type: int
    log_end_offset:
      description: The offset after the last batch that is whole and valid, as far as it was checked.
      type: int
    kept_end_offset:
      description:
        - Where the log would end after a start of the broker. After a clean shutdown Kafka repairs nothing. Otherwise it checks each segment from the
          recovery point on, truncates the log at the first invalid batch, and deletes later segments.
        - V(null) if that is not known. RV(partitions[].doubts) has the reason.
      type: int
    kept_end_checked:
      description: Whether all that Kafka would check was checked. If not, Kafka may keep less than RV(partitions[].kept_end_offset).
      type: bool
    last_written_epoch:
      description: Leader epoch of the last valid batch, V(-1) if the log has none.
      type: int
    last_batch_base_offset:
      description: First offset of the last valid batch, V(null) if the log has none.
      type: int
    last_batch_transactional:
      description: Whether the last valid batch is part of a transaction. V(null) if the log has none.
      type: bool
    epochs:
      description: Leader epochs with their start offsets, from C(leader-epoch-checkpoint).
      type: list
      elements: dict
    high_watermark:
      description: >-
        The checkpointed high watermark. It lags: all records below it are committed, and others may be. V(null) if there is none, which proves nothing.
      type: int
    recovery_point:
      description: The checkpointed recovery point, V(null) if there is none.
      type: int
    clean_shutdown:
      description: Whether the log dir has the mark of a clean shutdown.
      type: bool
    headers_checked_from:
      description: Offset from which all headers of batches were checked. V(null) if there is no batch.
      type: int
    crc_checked_from:
      description: Offset from which all CRCs were checked. V(null) if none was.
      type: int
    last_batches:
      description:
        - Headers of the last valid batches, oldest first.
        - C(base_timestamp) is V(-1) if the cleaner has written another time in its place, from which on it deletes tombstones and markers.
      returned: if O(last_batches) is not V(0)
      type: list
      elements: dict
    torn:
      description:
        - What follows the last valid batch, V(null) if nothing does. C(bytes) counts to the end of the log, later segments included.
        - C(why) is V(cut) (the end of a batch is missing), V(zeroed) (blocks that were never written), V(format), V(length) or V(header) (impossible values),
          V(order) (offsets or leader epochs go backwards) or V(crc). C(reason) is the same as a sentence.
        - C(goes_on) is whether records may follow behind it. Zeros, and what seems to be the first part of one batch and has no valid batch behind it, do not
          count.
      type: dict
    gaps:
      description:
        - Offsets between two segments that neither has, the first 100 such ranges.
        - Compaction removes records, so a topic with C(cleanup.policy=compact) may have gaps. In any other topic a segment is missing.
      returned: with O(whole_logs=true)
      type: list
      elements: dict
    doubts:
      description: Why the values may not be what the replica had, or what Kafka would not accept.
      type: list
      elements: str
    error:
      description: C(path) of the damaged file and the C(reason), V(null) if the log was read.
      type: dict
  sample:
    - topic: orders
      partition: 0
      kind: replica
      log_dir: /mnt/broker-1/data-1
      error: null
      topic_id: 0wsEX7CPSmyXTcW-hn4sMw
      log_start_offset: 0
      log_end_offset: 150
      kept_end_offset: 150
      kept_end_checked: false
      last_written_epoch: 4
      last_batch_base_offset: 140
      last_batch_transactional: false
      epochs: [{epoch: 0, start_offset: 0}, {epoch: 4, start_offset: 100}]
      high_watermark: 100
      recovery_point: 100
      clean_shutdown: false
      headers_checked_from: 90
      crc_checked_from: 90
      last_batches:
        - base_offset: 140
          last_offset: 149
          epoch: 4
          records: 10
          base_timestamp: 1795000000000
          max_timestamp: 1795000000009
          producer_id: -1
          producer_epoch: -1
          base_sequence: -1
          compression: lz4
          transactional: false
          control: false
          size: 210
      torn:
        segment: 00000000000000000000.log
        position: 4096
        bytes: 4096
        why: zeroed
        reason: there are zeros instead of a header
        goes_on: false
      segments: 1
      bytes: 8192
      gaps: []
      foreign_files: []
      doubts: []
other_logs:
  description: >-
    Logs in the log dirs that are not the broker's replicas, with the same fields: unfinished copies of a move between log dirs (V(future)), logs that Kafka was
    deleting (V(delete)), and logs without an assignment (V(stray)).
  returned: success
  type: list
  elements: dict
  sample: []
absent:
  description: Requested partitions of which the log dirs have no replica.
  returned: success
  type: list
  elements: dict
  sample: [{topic: orders, partition: 7}]
counts:
  description: Numbers of replicas, of those with an error (C(damaged)), with something torn, with doubts, and the bytes of their segments.
  returned: success
  type: dict
  sample: {partitions: 120, damaged: 0, torn: 3, doubtful: 1, bytes: 73400320}
"""

import gc

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numeric_options import check_numbers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.broker_disk import read_broker
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule, run_and_exit


def main() -> None:
    """Run the module."""
    # Not of kafka_module.py, which imports the clients of brokers.
    partition = {"topic": {"type": "str", "required": True}, "partition": {"type": "int", "required": True}}
    module = PrintableModule(
        argument_spec={
            "log_dirs": {"type": "list", "elements": "path", "required": True},
            "cluster_id": {"type": "str", "required": True},
            "broker_id": {"type": "int"},
            "partitions": {"type": "list", "elements": "dict", "options": partition},
            "partitions_file": {"type": "path"},
            "whole_logs": {"type": "bool", "default": False},
            "crc_bytes": {"type": "int", "default": 65536},
            "check_partitions": {"type": "list", "elements": "dict", "options": partition},
            "last_batches": {"type": "int", "default": 0},
        },
        mutually_exclusive=[("partitions", "partitions_file")],
        supports_check_mode=True,
    )

    # The process ends with this task: garbage collection among thousands of rows would only take time.
    gc.disable()

    def read() -> dict[str, object]:
        check_numbers(module.params)
        return read_broker(module.params)

    run_and_exit(module, read)


if __name__ == "__main__":
    main()
