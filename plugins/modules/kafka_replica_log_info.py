#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collect evidence: what each surviving replica of a partition without a leader holds."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_replica_log_info
short_description: Read the log of every surviving replica of offline partitions
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Reads from every unfenced broker with a replica of an offline partition its log start, log end offset, high watermark, partition leader
    epoch, and its last batch with the epoch in which it was written.
  - Reads from fenced brokers that answer, too, once. They cannot be elected, but their records count in the bounds of the loss, and the strategy C(balanced)
    holds a partition if one of them holds more than the best survivor. Brokers before Kafka 4.0 do not report the addresses of fenced brokers.
  - Compares each pair of survivors, whether one log is a prefix of the other, or at which offset they fork. So the evidence is valid for any winner.
    Logs are compared by leader epochs, also after compaction, which explains a missing record only if C(cleanup.policy) includes C(compact). A pair is
    V(corrupt) if the two logs have different bytes at one offset from one epoch.
  - If O(controller_bootstrap_servers) is set and a partition is offline, reads the metadata log of the active controller, too (its snapshot, if the
    beginning of the log is deleted), for each change of leader, ISR and C(min.insync.replicas), back to the last moment at which all survivors were in
    the ISR. It stops after 256 MiB or at the end of O(duration), and reports then that the history is not complete, which is not a failure.
    This requires CLUSTER_ACTION on a cluster with an authorizer.
  - Reads C(min.insync.replicas), C(unclean.leader.election.enable) and C(cleanup.policy) of the topics if DESCRIBE_CONFIGS on them is granted (else it
    warns), and the level of C(eligible.leader.replicas.version). The plan explains what they mean for its partitions.
  - Reads from the snapshots of M(streamops.kafka_recovery.kafka_watermark_info) in the same workdir the end of each offline partition when it
    last had a leader. If logs fork, the high watermark of that time may prove which branch was committed. Snapshots that cannot be used are skipped
    with a warning.
  - Writes everything to a sealed landing file, C(<workdir>/landing/<run_id>/<cluster>.jsonl), which M(streamops.kafka_recovery.kafka_recovery_plan) reads.
  - Skips requested partitions that the cluster does not have, with a warning, and fails if it has none of them. The plan holds them, so that they
    get a result (C(unknown_topic_or_partition)).
  - Changes nothing in the cluster. The landing file is written in check mode, too, because a dry run needs it.
requirements:
  - orjson >= 3.10
  - prettytable >= 3.16
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.partitions.workdir
  - streamops.kafka_recovery.backend
  - streamops.kafka_recovery.first_answer
  - streamops.kafka_recovery.evidence_size
  - streamops.kafka_recovery.landing_file
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
"""

EXAMPLES = r"""
- name: Collect evidence from the survivors of all offline partitions
  streamops.kafka_recovery.kafka_replica_log_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
  register: evidence

- name: Show the evidence as a table
  ansible.builtin.debug:
    msg: "{{ evidence.table.splitlines() }}"
"""

RETURN = r"""
backend:
  description: The backend that was used, V(compat) or V(native).
  returned: success
  type: str
  sample: compat
path:
  description: The landing file.
  returned: success
  type: str
  sample: /var/lib/kafka-recovery/landing/2026-11-21/east.jsonl
counts:
  description:
    - Numbers of partitions, of offline partitions, of replicas that answered or did not, and of pairs by relation.
    - C(replicas_fenced) is the number of logs on fenced brokers that answered, or whose disks were read.
  returned: success
  type: dict
  sample:
    {partitions: 120, offline: 118, replicas_answered: 236, replicas_silent: 0, replicas_fenced: 0, same: 100, prefix: 17, forked: 1, unknown: 0, corrupt: 0}
unknown_count:
  description: Number of requested partitions that the cluster does not have, or hides because DESCRIBE on their topics is not granted.
  returned: success
  type: int
  sample: 0
unknown:
  description: The first of these partitions.
  returned: success
  type: list
  elements: dict
  sample: []
history:
  description: Size and time of the read of the metadata log (C(history.bytes), C(history.seconds)), whether it began with a snapshot, and why it could not be
    read to its end (V(null) if it could).
  returned: when O(controller_bootstrap_servers) is set and a partition is offline
  type: dict
  sample: {bytes: 8544, seconds: 0.033, from_snapshot: false, doubt: null}
preview:
  description:
    - The replicas of the first partitions. An C(error) V(DISK_FAILED) means that the disk of the replica has failed. Its broker
      and the cluster report that, or the replica is in no working log directory. This includes a broker that was restarted without the disk.
      C(failed_log_dirs) has the paths of the broker's failed log directories, as far as they are known.
  returned: success
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 0
      broker_id: 2
      error: null
      log_start_offset: 0
      log_end_offset: 121
      high_watermark: 100
      partition_leader_epoch: 4
      last_written_epoch: 1
      last_batch_base_offset: 120
      last_batch_last_offset: 120
      last_batch_crc: 3735928559
      last_batch_max_timestamp: 1795000000000
      broker_epoch: null
      probe_error: null
      failed_log_dirs: []
      fenced: false
table:
  description: The same as a text table, like KIP-1275's C(--show-replica-info). It is empty if RV(preview) is.
  returned: success
  type: str
  sample: "+--------+-----------+--------+ ..."
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: [{broker_id: 3, reason: Request timed out after 10000 ms}]
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.landing_file import collect_landing_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.strategy_options import EVIDENCE_ARGUMENTS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import (
    KafkaModule,
    partition_arguments,
    workdir_arguments,
)


def replica_log_info(module: KafkaModule, cluster: NativeCluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    return {"changed": False, **collect_landing_file(module, cluster)}


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **partition_arguments(),
            **workdir_arguments(),
            **EVIDENCE_ARGUMENTS,
            **backend_selection.BACKEND_ARGUMENTS,
        },
        mutually_exclusive=[("partitions", "partitions_file")],
    )
    module.require("prettytable", "orjson")
    module.run(replica_log_info, opening=NativeCluster, within_duration=True)


if __name__ == "__main__":
    main()
