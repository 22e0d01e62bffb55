#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write saved records to their partitions again."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_record_replay
short_description: Write saved records to their partitions again
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Reads the folder C(<workdir>/saved/<run_id>/<cluster>), which M(streamops.kafka_recovery.kafka_replica_records),
    M(streamops.kafka_recovery.kafka_designated_election) and M(streamops.kafka_recovery.kafka_lost_disk_records) write, and writes its records to the
    partitions of which they were saved, or to O(target_topic) for inspection.
  - Consumers get the records after the newest ones. Read the guide C(docs/record-replay.md) first, which says what that means and when not to do it.
  - Key, value, headers and timestamp are kept. Headers are added that say where a record was before, C(kafka_recovery_cluster_id),
    C(kafka_recovery_topic_id), C(kafka_recovery_partition), C(kafka_recovery_offset), C(kafka_recovery_leader_epoch), C(kafka_recovery_broker_id) and, for
    idempotent producers, C(kafka_recovery_producer). Headers of these names that a record has already are replaced.
  - No record is written twice. The module reads these headers from the log first, so a run that was killed at any moment, or whose workdir was lost, is
    run again. Records are written in transactions, and the module reads them back.
  - Records are not replayed if the new leader has them, if their producer has sent them again, or if their transaction was aborted or is not decided.
  - A transaction that is open in the new leader's log, and whose COMMIT marker only saved records have, is committed with that marker.
  - Records of internal topics are never written again. With O(include_group_offsets), the offsets that saved records of C(__consumer_offsets) have are
    committed for their groups, forward only.
  - Writes which records are replayed, and to which offsets, to C(<workdir>/replayed/<run_id>/<cluster>.json), from what it reads in the logs.
    M(streamops.kafka_recovery.kafka_consumer_impact_info) and M(streamops.kafka_recovery.kafka_recovery_report) count with it.
  - In check mode it reads and counts, and changes nothing.
options:
  allow_replay:
    description: Must be V(true) to write records. Check mode does not need it.
    type: bool
    default: false
  approved_replays:
    description:
      - File of merged replays, as M(streamops.kafka_recovery.kafka_recovery_commit_info) has copied it.
      - Only the saved records of its partitions are written, with the options that were reviewed. All other options that select records have no effect, and
        O(run_id) names this run, not the one that has saved the records. The task fails if the file was made for another cluster.
      - A partition is left out, with the reason, if other records are saved of it, if its topic was created again, or if more records would be
        written than were reviewed.
    type: path
  propose:
    description:
      - Whether to write what would be replayed to C(<workdir>/proposed_replays/<run_id>/<cluster>.json), for review, and change nothing in the cluster.
        M(streamops.kafka_recovery.kafka_recovery_commit) proposes this file.
      - Check mode writes no file.
    type: bool
    default: false
  saved_run_id:
    description: The run that has saved the records, if O(run_id) names another one. With O(propose), O(run_id) is the name of the proposal.
    type: str
  target_topic:
    description:
      - Topic to write to instead, with the same partition numbers, for inspection. It must exist, and nothing must have been deleted from it.
      - Saved records are not compared with the cluster then, so it gets those that the new leader has, too, and no marker is written.
    type: str
  partitions:
    description: Partitions to select. Default is all partitions of which records are saved. Mutually exclusive with O(partitions_file).
  include_aborted:
    description: Whether records of aborted transactions are replayed, too. Consumers with C(isolation.level=read_committed) never saw them.
    type: bool
    default: false
  include_undecided:
    description:
      - Whether records of transactions are replayed of which neither the saved records nor the cluster say how they ended, and records that have
        the producer id, epoch and sequence of other records.
    type: bool
    default: false
  include_compacted:
    description:
      - Whether records are replayed to compacted topics. A replayed record replaces newer values of its key. A key whose tombstone has expired
        looks like a key without a newer value, and the replay brings it back.
    type: bool
    default: false
  include_group_offsets:
    description:
      - Whether the offsets in saved records of C(__consumer_offsets) are committed for their groups. Only for groups without members, only forward,
        and only if the leader of the partition has the last record that the group has read.
    type: bool
    default: false
  groups:
    description: Groups whose saved offsets are committed. Default is all.
    type: list
    elements: str
  replayed_bytes_per_second:
    description: Most bytes of records that are written per second. Default is no limit.
    type: int
  max_batch_bytes:
    description: Most bytes that the records of one batch may take once they are decompressed. A batch with more is not replayed.
    type: int
    default: 134217728
notes:
  - Writing needs WRITE on the topics and on transactional ids that begin with C(kafka-recovery-replay.). Writing a marker needs CLUSTER_ACTION on the cluster.
    Offsets of groups need READ on the groups.
  - Records are written with librdkafka, which logs in at every address that brokers name. So a login that sends a secret unencrypted is refused without
    O(allow_plaintext_secrets).
requirements:
  - confluent-kafka >= 2.10
  - crc32c >= 2.7
  - orjson >= 3.10
  - pyarrow >= 18, which PySpark needs
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.record_selection
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.partitions.workdir
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.kafka
attributes:
  check_mode:
    support: full
    details: Counts what would be replayed, and changes nothing.
  diff_mode:
    support: full
    details: Shows the number of records for each partition.
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Write the saved records of one topic to its partitions again
  streamops.kafka_recovery.kafka_record_replay:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    topics: [orders]
    allow_replay: true
  register: replay
  failed_when: >-
    replay is failed or (replay.counts.left > 0 and not ansible_check_mode) or replay.counts.unreadable > 0 or replay.counts.skipped.undecided | default(0) > 0

- name: Write what would be replayed for review
  streamops.kafka_recovery.kafka_record_replay:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}-replay"
    saved_run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    propose: true
"""

RETURN = r"""
path:
  description: The folder of the saved records.
  returned: success
  type: str
  sample: /var/lib/kafka-recovery/saved/2026-11-21/east
cluster_id:
  description: Kafka's id of the cluster.
  returned: success
  type: str
  sample: 5L6g3nShT-eMCtK--X86sw
counts:
  description:
    - Sums over all selected partitions. C(markers) is the number of COMMIT markers that were written.
    - C(records) counts each selected record once, whichever replicas it was saved from. It is the sum of C(replayed), C(already_there), C(left) and of
      all numbers in C(skipped).
  returned: success
  type: dict
  sample: {partitions: 1, records: 79, replayed: 57, already_there: 0, left: 0, unreadable: 0, skipped: {aborted: 2, in_cluster: 20}, markers: 0}
partitions:
  description: The selected partitions of which records are saved. At most 10,000.
  returned: success
  type: list
  elements: dict
  contains:
    target_topic:
      description: The topic to which the records are written.
      type: str
    records:
      description: Number of selected records.
      type: int
    replayed:
      description: Number of records that this run has written and read back.
      type: int
    already_there:
      description: Number of records that an earlier replay has written.
      type: int
    skipped:
      description:
        - Number of records that are not replayed, by reason. V(in_cluster) if the new leader has the record, or had it and has deleted it. V(sent_again) if
          its idempotent producer has written it to the new leader. V(saved_twice) if its producer had written it to two leaders, which were both saved,
          or if a copy of it that an earlier replay had written is saved, too.
        - V(aborted) and V(undecided) for the transaction of the record. V(undecided) also if another record has the producer id, epoch and sequence of
          this one, or if another record has the headers that a replay of this one writes. V(header_name) if the name of a header is not UTF-8.
        - For records of C(__consumer_offsets), V(superseded) if a later saved record has another offset of the same group and partition. V(deleted) if
          the last saved record deletes the offset. V(other_group) if O(groups) does not name its group. V(no_offset) if the record is about
          something else, such as the members of a group. V(unreadable) if its key or value is not what Kafka writes.
      type: dict
    left:
      description: Number of records that are not replayed yet. In check mode those that would be replayed. RV(partitions[].reason) says why.
      type: int
    unreadable:
      description: Number of batches that cannot be decoded. Their records are not in RV(partitions[].records).
      type: int
    timestamps_kept:
      description: Whether the target keeps timestamps. It does not with C(message.timestamp.type=LogAppendTime).
      type: bool
    markers:
      description:
        - Transactions that a saved marker commits, and that are open in the new leader's log. C(reason) says why the marker is not written.
        - Also those that the cluster has aborted since the records were lost. C(abort_offset) is the offset of that ABORT, V(null) for an open transaction.
          Consumers with C(isolation.level=read_committed) do not get the records of the producer between C(start_offset) (V(null) if it is not known) and
          there. The module warns of them, and changes nothing.
      type: list
      elements: dict
    group_offsets:
      description:
        - The saved offsets of groups that the group does not have yet, for C(__consumer_offsets) alone. At most 1,000, those that are held first.
          C(committed_offset) is the one of before, V(null) for none. C(reason) says why an offset is not committed.
      type: list
      elements: dict
    reason:
      description:
        - Why the partition is not replayed, or not to its end. Also that batches cannot be decoded, that a marker is not written, that offsets are
          not committed, that records have the producer numbers of others, that a transaction before replayed records is open, or that one was aborted of
          which a COMMIT is saved.
          V(null) if there is nothing to say.
      type: str
  sample:
    - topic: orders
      partition: 0
      topic_id: Zx0Lu9Y3QcSPxm1fJ8sU3w
      target_topic: orders
      records: 79
      replayed: 57
      already_there: 0
      skipped: {aborted: 2, in_cluster: 20}
      left: 0
      unreadable: 0
      timestamps_kept: true
      markers: []
      group_offsets: []
      reason: null
proposal_path:
  description: File for review, with O(propose). V(null) without it, and in check mode.
  returned: success
  type: str
  sample: null
proposal_sha256:
  description: The sha256 of that file, for O(streamops.kafka_recovery.kafka_recovery_commit#module:file_sha256). V(null) if there is no file.
  returned: success
  type: str
  sample: null
proposed:
  description: Number of partitions in RV(proposal_path).
  returned: success
  type: int
  sample: 0
results_path:
  description: File with the results of O(approved_replays), for all partitions. V(null) without O(approved_replays), and in check mode.
  returned: success
  type: str
  sample: null
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.group_offset_admin import GroupOffsetAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import RECORDS_BYTES
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import replays_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.approved_file import no_proposal, write_proposal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import (
    KafkaModule,
    partition_arguments,
    record_selection_arguments,
    review_arguments,
    workdir_arguments,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.approved_replays import ApprovedReplays, proposal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_run import replay
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replay_source import Outcome


def record_replay(module: KafkaModule, admin: GroupOffsetAdmin) -> dict[str, Any]:
    """Return what RETURN documents."""
    params, approved = module.params, None
    if params["approved_replays"] is not None:
        approved = ApprovedReplays(Path(params["approved_replays"]), params["cluster"], params["run_id"])
        approved.check_cluster(admin.cluster_id)
        module.params = approved.options(params)
    elif params["saved_run_id"] is not None:
        module.params = {**params, "run_id": params["saved_run_id"]}

    def then(outcomes: Sequence[Outcome]) -> dict[str, Any]:
        if approved is not None and not module.check_mode:
            return approved.write(module.workdir, outcomes)
        if not params["propose"] or module.ansible.check_mode:
            return {}
        return write_proposal(replays_file.FORMAT, module.workdir, params, admin.cluster_id, proposal(module.params, outcomes))

    return {"results_path": None, **no_proposal(), **replay(module, admin, approved, then)}


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **workdir_arguments(),
            **partition_arguments(),
            **review_arguments("approved_replays"),
            "saved_run_id": {"type": "str"},
            "allow_replay": {"type": "bool", "default": False},
            "target_topic": {"type": "str"},
            **record_selection_arguments(),
            "include_aborted": {"type": "bool", "default": False},
            "include_undecided": {"type": "bool", "default": False},
            "include_compacted": {"type": "bool", "default": False},
            "include_group_offsets": {"type": "bool", "default": False},
            "groups": {"type": "list", "elements": "str"},
            "replayed_bytes_per_second": {"type": "int"},
            "max_batch_bytes": {"type": "int", "default": RECORDS_BYTES},
        },
        changes=lambda params: bool(params["allow_replay"]),
        approved=lambda params: params["approved_replays"] is not None,
        mutually_exclusive=[
            ("topics", "partitions", "partitions_file"),
            ("propose", "approved_replays"),
            ("saved_run_id", "approved_replays"),
        ],
    )
    module.require("confluent_kafka", "crc32c", "orjson", "pyarrow")
    module.run(record_replay, GroupOffsetAdmin)


if __name__ == "__main__":
    main()
