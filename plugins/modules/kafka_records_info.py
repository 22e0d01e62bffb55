#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show and export saved records."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_records_info
short_description: Show and export saved records
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Reads the folder C(<workdir>/saved/<run_id>/<cluster>), which M(streamops.kafka_recovery.kafka_replica_records),
    M(streamops.kafka_recovery.kafka_designated_election) and M(streamops.kafka_recovery.kafka_lost_disk_records) write, and returns what it has of each
    replica.
  - With O(export) it writes the selected records to a file, decompressed, one record per line or row.
  - Connects to no cluster. All files are checked first, with their digests. The task fails if one is missing, or was changed or cut off.
  - If nothing was saved, the task warns, and O(export) has no records.
  - Markers at the end of transactions are counted as such. They are not records, and are not exported.
  - A batch whose CRC is right and whose content cannot be decoded is in RV(unreadable) with the reason, and does not fail the task. Its records before the
    place of the error are exported, and so are all other batches.
options:
  cluster_id:
    description: Kafka's id of the cluster. The task fails if the records are of another cluster. Default is not to check it.
    type: str
  partitions:
    description: Partitions to select. Default is all partitions of which records are saved. Mutually exclusive with O(partitions_file).
  export:
    description:
      - File to which the selected records are written. It has the content of your topics, so it is private to the user of the task (mode 0600), and others
        must not be able to write in its directory, which must exist.
      - A file that has the same content already is unchanged. The file is written whole or not at all.
    type: path
  format:
    description:
      - Format of O(export). Fields are C(topic), C(partition), C(topic_id), C(broker_id), C(offset), C(leader_epoch), C(timestamp), C(timestamp_type)
        (C(create) or C(append)), C(producer_id), C(producer_epoch), C(transaction), C(key), C(value), C(headers) (a list of C(key) and C(value)).
      - C(transaction) is C(committed), C(aborted) or C(open), as the saved log of this replica says. It is null for records outside of transactions.
      - V(jsonl) is one JSON object per line. C(timestamp) is in ms since 1970. Bytes that are valid UTF-8 are text, others are base64. C(key_encoding) and
        C(value_encoding) say which, C(utf-8) or C(base64), and are null if there is no key or no value. Characters beyond ASCII are JSON
        escapes, so that a terminal can show the file.
      - V(parquet) is Apache Parquet, with keys, values and headers as binary columns.
    type: str
    choices: [jsonl, parquet]
    default: jsonl
  overwrite:
    description: Whether a file O(export) with other content is replaced. If not, the task fails.
    type: bool
    default: false
  max_batch_bytes:
    description: Most bytes that the records of one batch may take once they are decompressed. A batch with more is in RV(unreadable).
    type: int
    default: 134217728
attributes:
  check_mode:
    support: full
    details: Reads everything, and writes no file.
  diff_mode:
    support: full
    details: Shows size and digest of O(export), before and after.
  idempotent:
    support: full
requirements:
  - crc32c >= 2.7
  - orjson >= 3.10
  - pyarrow >= 18, which PySpark needs
extends_documentation_fragment:
  - streamops.kafka_recovery.record_selection
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.partitions.workdir
  - streamops.kafka_recovery.attributes
"""

EXAMPLES = r"""
- name: Show what this run has saved
  streamops.kafka_recovery.kafka_records_info:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
    cluster: "{{ inventory_hostname }}"

- name: Export the saved records of one topic and customer as JSON lines
  streamops.kafka_recovery.kafka_records_info:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
    cluster: "{{ inventory_hostname }}"
    topics: [orders]
    keys: [customer-17]
    start_time: "2026-11-21T18:00:00Z"
    export: "{{ kafka_recovery_workdir }}/orders.jsonl"
  register: exported
  failed_when: exported is failed or exported.unreadable | length > 0

- name: Export all saved records as Parquet
  streamops.kafka_recovery.kafka_records_info:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
    cluster: "{{ inventory_hostname }}"
    export: "{{ kafka_recovery_workdir }}/records.parquet"
    format: parquet
    overwrite: true
"""

RETURN = r"""
path:
  description: The folder of the saved records.
  returned: success
  type: str
  sample: /var/lib/kafka-recovery/saved/2026-11-21/east
cluster_id:
  description: Kafka's id of the cluster whose records they are. V(null) if nothing was saved and O(cluster_id) is not set.
  returned: success
  type: str
  sample: 5L6g3nShT-eMCtK--X86sw
counts:
  description:
    - Totals of the selected replicas. C(records) counts records without markers, C(selected) those of them that the options select.
    - C(bytes) is the size of the batches as they are stored, C(unreadable) the number of batches that cannot be decoded. Without O(export), and without an
      option that selects single records, only markers are decoded.
  returned: success
  type: dict
  sample:
    {partitions: 12, replicas: 12, batches: 48, records: 958, selected: 958, markers: 2, open_transactions: 1, bytes: 88320, unreadable: 0}
replicas:
  description:
    - What is saved of each selected replica, from C(start_offset) to C(end_offset) (exclusive), sorted by topic, partition and broker. At most 10,000.
    - C(leader_epoch) is that of the partition when the records were saved. A replica that was saved in two leader epochs has two rows, and its records are
      exported for each. C(leader_epochs) are those in which its batches were written.
    - C(gaps) are ranges of offsets that were not saved, C(first_markers) the first markers, and C(open_transactions) the first transactions whose end is not
      among the saved records, 10 of each at most. Kafka stores no transactional ids with records, only producer ids.
    - C(compression) has the number of batches of each codec, C(producers) the number of producer ids. Times are those of the batches' headers.
  returned: success
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 0
      topic_id: Zx0Lu9Y3QcSPxm1fJ8sU3w
      broker_id: 3
      leader_epoch: 5
      start_offset: 101
      end_offset: 181
      gaps: []
      batches: 4
      records: 79
      selected: 79
      bytes: 7360
      leader_epochs: [3, 5]
      first_timestamp: "2026-11-21T18:01:00.250Z"
      last_timestamp: "2026-11-21T18:04:10.017Z"
      compression: {lz4: 3}
      producers: 1
      markers: {commit: 1, abort: 0}
      first_markers:
        - {offset: 180, timestamp: "2026-11-21T18:04:10.020Z", kind: commit, coordinator_epoch: 2, producer_id: 4001, producer_epoch: 0}
      open_transactions: []
unreadable:
  description: Batches that cannot be decoded, with the offset of the batch and the reason. At most 100.
  returned: success
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 1
      topic_id: Zx0Lu9Y3QcSPxm1fJ8sU3w
      broker_id: 3
      leader_epoch: 5
      offset: 40
      reason: "the batch at offset 40 cannot be decoded: its records take more than 134217728 bytes once they are decompressed: raise max_batch_bytes"
unfinished_parts:
  description: Files of batches without an index. A run saves now, or was killed, or the index was removed. What they have is not counted.
  returned: success
  type: list
  elements: str
  sample: []
export:
  description: The file that has the selected records now, or would have them in check mode. V(null) without O(export).
  returned: success
  type: dict
  sample:
    path: /var/lib/kafka-recovery/orders.jsonl
    format: jsonl
    records: 79
    bytes: 20540
    sha256: 3a7bd3e2360a3d29eea436fcfb7e44c735d117c43a7bd3e2360a3d29eea436fc
"""

from ansible.module_utils.basic import missing_required_lib

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import RECORDS_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.optional_imports import import_error
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import (
    partition_arguments,
    record_selection_arguments,
    workdir_arguments,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule, run_and_exit
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.info import records_info


def main() -> None:
    """Run the module."""
    module = PrintableModule(
        argument_spec={
            **workdir_arguments(),
            **partition_arguments(),
            "cluster_id": {"type": "str"},
            **record_selection_arguments(),
            "export": {"type": "path"},
            "format": {"type": "str", "choices": ["jsonl", "parquet"], "default": "jsonl"},
            "overwrite": {"type": "bool", "default": False},
            "max_batch_bytes": {"type": "int", "default": RECORDS_BYTES},
        },
        mutually_exclusive=[("topics", "partitions", "partitions_file")],
        supports_check_mode=True,
    )
    for library in ("crc32c", "orjson", "pyarrow"):
        if trace := import_error(library):
            module.fail_json(msg=missing_required_lib(library), exception=trace)
    run_and_exit(module, lambda: records_info(module), "a file that was not finished is unchanged")


if __name__ == "__main__":
    main()
