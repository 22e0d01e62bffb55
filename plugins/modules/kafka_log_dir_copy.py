#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copy records from the disk of a lost broker to the control node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_log_dir_copy
short_description: Copy records from the disk of a lost broker to the control node
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Run this on the host where the disk of a lost broker is mounted. The host needs Python's standard library alone, and no way to the cluster.
  - Copies the batches with the requested offsets, and nothing else of the disk, into a private folder on the control node. It copies in pieces of at most
    8 MiB. The SHA-256 of each piece is checked.
  - A second run compares each piece with the disk, and copies only those that are missing or different. So a copy that was killed can be continued.
  - Changes nothing on the host.
  - M(streamops.kafka_recovery.kafka_lost_disk_records) says which offsets are needed, and saves them from the copy. The playbook C(rescue) runs both.
options:
  log_dirs:
    description: Log dirs of the broker, as for M(streamops.kafka_recovery.kafka_log_dir_info). Log dirs that a running broker has locked are refused.
    type: list
    elements: path
    required: true
  cluster_id:
    description: Id of the cluster. A log dir of another cluster is refused.
    type: str
    required: true
  broker_id:
    description: Id of the broker. A log dir of another broker is refused.
    type: int
    required: true
  logs:
    description: The offsets to copy.
    type: list
    elements: dict
    default: []
    suboptions:
      topic:
        description: Name of the topic.
        type: str
        required: true
      partition:
        description: Number of the partition.
        type: int
        required: true
      start_offset:
        description: First offset.
        type: int
        required: true
      end_offset:
        description: The offset after the last one.
        type: int
        required: true
  dest:
    description:
      - Folder on the control node, which no one else may write in, and no URL. Required unless O(pieces) are set.
      - It must be a folder of its own. Segments that an earlier task has copied there and that are not needed any more are removed. A folder that has other
        files is refused.
    type: path
  max_saved_partition_bytes:
    description: Most bytes that are copied of one partition. One with more is not copied. Default is no limit.
    type: int
  max_saved_bytes:
    description: Most bytes that are copied. Partitions beyond it are not copied. Default is no limit.
    type: int
  pieces:
    description: Pieces whose content is returned. The part of this module that runs on the control node sets this option.
    type: list
    elements: dict
    default: []
    suboptions:
      topic:
        description: Name of the topic.
        type: str
        required: true
      partition:
        description: Number of the partition.
        type: int
        required: true
      segment:
        description: Base offset of the segment.
        type: int
        required: true
      position:
        description: Where the piece begins in the segment.
        type: int
        required: true
      bytes:
        description: Its length.
        type: int
        required: true
      sha256:
        description: SHA-256 of what was copied before. The content is returned only if the piece has another one.
        type: str
        default: ""
extends_documentation_fragment:
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
notes:
  - The copy needs as much room on the control node as the records. They are then saved there once more.
  - In check mode nothing is copied.
  - The records of the copy are not encrypted. Remove the folder when they are saved.
"""

EXAMPLES = r"""
- name: Copy what only the disk has
  streamops.kafka_recovery.kafka_log_dir_copy:
    log_dirs:
      - /mnt/broker-1/data-1
      - /mnt/broker-1/data-2
    cluster_id: MkU3OEVBNTcwNTJENDM2Qk
    broker_id: 1
    logs:
      - {topic: orders, partition: 0, start_offset: 0, end_offset: 1}
    dest: "{{ kafka_recovery_workdir | streamops.kafka_recovery.machine_path }}/rescue/{{ inventory_hostname }}/copy-1"
"""

RETURN = r"""
bytes:
  description: Bytes of the records, of all that O(logs) names and the limits allow.
  returned: success
  type: int
  sample: 5230
copied_bytes:
  description: Bytes that were copied by this task. The others were there, and have the SHA-256 that they have on the disk.
  returned: success
  type: int
  sample: 5230
skipped:
  description: Partitions that were not copied because of a limit.
  returned: success
  type: list
  elements: dict
  sample: [{topic: orders, partition: 7}]
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_pieces import read_pieces
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule, run_and_exit

PARTITION: dict[str, Any] = {"topic": {"type": "str", "required": True}, "partition": {"type": "int", "required": True}}
NUMBER = {"type": "int", "required": True}
ARGUMENTS: dict[str, Any] = {
    "log_dirs": {"type": "list", "elements": "path", "required": True},
    "cluster_id": {"type": "str", "required": True},
    "broker_id": NUMBER,
    "logs": {"type": "list", "elements": "dict", "default": [], "options": {**PARTITION, "start_offset": NUMBER, "end_offset": NUMBER}},
    "dest": {"type": "path"},
    "max_saved_partition_bytes": {"type": "int"},
    "max_saved_bytes": {"type": "int"},
    "pieces": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {**PARTITION, "segment": NUMBER, "position": NUMBER, "bytes": NUMBER, "sha256": {"type": "str", "default": ""}},
    },
}


def main() -> None:
    """Run the part on the host. The action plugin of the same name calls it."""
    module = PrintableModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    run_and_exit(module, lambda: read_pieces(module.params))


if __name__ == "__main__":
    main()
