#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Assess the impact of a recovery on consumers and transactional producers, with a repair command for each."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_consumer_impact_info
short_description: Find the consumer groups and transactions that a recovery affects
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Checks the partitions that a run of M(streamops.kafka_recovery.kafka_designated_election) gave a leader, as consumers and producers see them.
  - Finds consumer groups whose committed offset lies beyond the end of the new log, or after the offset at which that log forks from the log that they
    have read. Returns for each partition the offset to reset to, and the complete command of C(kafka-consumer-groups.sh).
  - Finds share groups (KIP-932) that have acknowledged records which are lost, with the complete command of C(kafka-share-groups.sh). Which records above its
    start offset a share group has acknowledged is not known.
  - Finds transactions that hang on these partitions because their end marker was lost, with the complete command of C(kafka-transactions.sh).
    Finds transactions that are still open, and transactions that may have lost records.
  - Checks whether each of these partitions is readable (committed records can be fetched) and writable (live replicas and ISR against C(min.insync.replicas)).
  - Says what became of the records that the elections cost, in four numbers (RV(records)), and which records that a group has read and lost were replayed.
  - Reads the results, the plan and the landing file of the run, its saved records, the last verdicts on disks
    (M(streamops.kafka_recovery.kafka_lost_disk_records)), and which records were replayed (M(streamops.kafka_recovery.kafka_record_replay)).
    Resets and aborts nothing itself.
  - Every command is one line that can be copied from a terminal into a shell. A group or transactional id that cannot be printed unchanged is written to a
    script C(<workdir>/commands/*.sh) that only its owner can read, and the command is C(bash) with its path. If an id cannot be passed to any program, the
    command is V(null). Results show control characters as escapes. The file has the unchanged ids.
  - Writes the complete impact to C(<workdir>/impact/<run_id>/<cluster>.json), and for each group a file of offsets for Kafka's tool.
  - Adds the time, the path of that file and its summary to the results of the run, under C(impact). Another assessment replaces all of it.
    The report (M(streamops.kafka_recovery.kafka_recovery_report)) shows it.
  - Requires DESCRIBE on topics, groups and transactional ids, READ on the topics, DESCRIBE_CONFIGS on the topics for C(min.insync.replicas).
options:
  plan:
    description: Plan file that was applied. Default is the plan of the run.
    type: path
  canary_topic:
    description:
      - Topic to which records are written, one to each partition that has a leader, with C(acks=all). Each is fetched back.
      - Without it nothing is written. Consumers of the topic see these records, so use a dedicated topic with a partition on each broker.
      - The key of the records is C(streamops.kafka_recovery.canary).
    type: str
  preview:
    description: Number of rows to return of each kind, first one of each kind of problem. All are in the file RV(path).
    type: int
    default: 20
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.partitions.workdir
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.kafka
attributes:
  check_mode:
    support: full
    details: Writes no canary and no file, and does not change the results of the run.
  diff_mode:
    support: none
  idempotent:
    support: partial
    details: Changes nothing, unless O(canary_topic) is given, which writes new records each time.
seealso:
  - module: streamops.kafka_recovery.kafka_designated_election
  - module: streamops.kafka_recovery.kafka_recovery_report
"""

EXAMPLES = r"""
- name: Assess consumer and producer impact
  streamops.kafka_recovery.kafka_consumer_impact_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
  register: impact

- name: Show the commands that reset groups
  ansible.builtin.debug:
    msg: "{{ impact.groups | map(attribute='command') | select | list }}"
"""

RETURN = r"""
path:
  description: File with everything that was found. Empty in check mode.
  returned: success
  type: str
  sample: /var/lib/kafka-recovery/impact/2026-11-21/east.json
summary:
  description:
    - How many partitions the run gave a leader, how many of them cannot be read or written, how many groups need a reset, and on how many partitions.
    - How many transactions hang on one of these partitions, are open, have lost records, or may be hanging.
  returned: success
  type: dict
  sample:
    partitions: 118
    not_readable: 0
    not_writable: 2
    groups: 1
    offsets_to_reset: 3
    offsets_in_doubt: 0
    transactions_hanging: 1
    transactions_open: 0
    transactions_records_lost: 0
    transactions_in_doubt: 0
partitions:
  description:
    - Some of the partitions with a finding.
    - C(partitions[].writable) is about C(acks=all), and V(null) where C(min.insync.replicas) is not known. C(partitions[].end_at_election) is where the
      log ended when the new leader was elected, V(null) if that is unknown.
  returned: success
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 0
      outcome: elected
      leader: 2
      log_start_offset: 0
      high_watermark: 121
      last_stable_offset: 121
      log_end_offset: 121
      end_at_election: 121
      readable: true
      writable: false
      explanation: >-
        acks=all is refused: the ISR [2] is smaller than min.insync.replicas 2; brokers [2, 3] are alive, so it is over as soon as they have caught up
records:
  description:
    - Some of the partitions whose election cost records, or may have cost some. An election costs what logs of replicas have, and the log of the elected
      leader does not. Records are counted as offsets, each once, however many replicas had it. Markers of transactions and gaps of compaction count, too.
    - The four numbers add up to C(total). All are V(null) if they are not known, and C(reason) says why.
  returned: success
  type: list
  elements: dict
  contains:
    replayed:
      description: Records that a replay has written to the partition again.
      type: int
    saved:
      description: Records that are saved and were not replayed, such as those of aborted transactions.
      type: int
    on_disk:
      description: Records that only the disk of a lost broker has, when it was read last. A start of that broker destroys them.
      type: int
    gone:
      description: Records that survivors have truncated, and that were not saved.
      type: int
    total:
      description: The sum of the four.
      type: int
    unread_brokers:
      description: Lost brokers whose disks may have more records, because they were not read since the election. V(null) if it is not known who was lost.
      type: list
      elements: int
    reason:
      description: Why the numbers are not known, else V(null).
      type: str
  sample:
    - {topic: orders, partition: 0, replayed: 20, saved: 5, on_disk: 0, gone: 0, total: 25, unread_brokers: [], reason: null}
record_counts:
  description:
    - Sums over all partitions of RV(records). C(not_known) is the number of partitions without numbers, C(unread) that of partitions of which a disk that
      was not read may have more.
  returned: success
  type: dict
  sample: {partitions: 1, replayed: 20, saved: 5, on_disk: 0, gone: 0, total: 25, not_known: 0, unread: 0}
groups:
  description:
    - The affected groups, most partitions first. C(groups[].command) sets all offsets of the group that are proven to need it.
    - Offsets can only be set while a group has no members, see C(groups[].must_stop). C(groups[].in_doubt) is not in the command.
    - The command of a share group sets its start offsets to those of a time. It skips nothing, and repeats some records.
  returned: success
  type: list
  elements: dict
  sample:
    - group: billing
      group_state: Stable
      group_type: classic
      partitions: 1
      in_doubt: 0
      offsets_read_and_lost: 29
      must_stop: true
      command: >-
        kafka-consumer-groups.sh --bootstrap-server broker1:9092 --group billing --reset-offsets
        --from-file /var/lib/kafka-recovery/impact/2026-11-21/east.reset-1.csv --execute
offsets:
  description:
    - Some of the committed offsets that do not match the new logs. C(offsets[].reason) is V(beyond_log_end), V(after_fork) or V(in_doubt).
    - C(offsets[].offsets_skipped) is how many offsets of the new log the group would skip without a reset.
      C(offsets[].offsets_read_and_lost) is how many offsets it has read that are lost, and were not replayed.
    - C(offsets[].offsets_replayed) is how many offsets it has read and lost that were replayed, to offsets from C(offsets[].replayed_from) to
      C(offsets[].replayed_to) (exclusive). They come again, behind the newest records.
    - C(offsets[].committed_offset) of a share group (C(offsets[].group_type) is V(share)) is its start offset plus the number of offsets that it has
      acknowledged from there on, and C(offsets[].committed_leader_epoch) the epoch of the leader that wrote this state, V(null) if that is the new leader.
    - C(offsets[].reset_to) of one in doubt skips nothing and may repeat records. It is V(null) if it is unknown.
  returned: success
  type: list
  elements: dict
  sample:
    - group: billing
      group_state: Stable
      group_type: classic
      topic: orders
      partition: 0
      committed_offset: 150
      committed_leader_epoch: 3
      log_end_offset: 140
      reason: beyond_log_end
      certain: true
      reset_to: 121
      offsets_read_and_lost: 29
      offsets_replayed: 0
      replayed_from: null
      replayed_to: null
      offsets_skipped: 19
      explanation: >-
        it has read up to offset 150 and the log ends at 140: its consumers continue as auto.offset.reset says, with latest they skip everything
        that is written until then
      command: kafka-consumer-groups.sh --bootstrap-server broker1:9092 --group billing --reset-offsets --topic orders:0 --to-offset 121 --execute
transactions:
  description:
    - Some of the transactions that have not ended on recovered partitions. C(transactions[].state) is V(hanging), V(open), V(records_lost) or V(in_doubt).
    - The command for one that is open ends it on all of its partitions. Its producer or its timeout would end it, too.
    - One that hangs has no command while saved records have its COMMIT marker, or the disk of a lost broker, which is not saved, may have it.
  returned: success
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 0
      state: hanging
      transactional_id: payments-1
      coordinator_state: CompleteCommit
      producer_id: 4000
      producer_epoch: 2
      start_offset: 97
      ends_in_seconds: null
      explanation: >-
        the coordinator has payments-1 as CompleteCommit, so no coordinator will end it here: consumers with read_committed do not get past it; abort it
      command: kafka-transactions.sh --bootstrap-server broker1:9092 abort --topic orders --partition 0 --start-offset 97
canaries:
  description: Some of the records that were written for O(canary_topic), including those with errors. C(canaries[].error) is Kafka's error name, or V(null).
  returned: success
  type: list
  elements: dict
  sample: [{topic: canary, partition: 0, offset: 12, error: null, read_back: true}]
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.consumer_admin import ConsumerAdmin
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.impact import run
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule, workdir_arguments


def consumer_impact_info(module: KafkaModule, cluster: ConsumerAdmin) -> dict[str, Any]:
    """Return what RETURN documents."""
    found, warnings = run.assess(cluster, module.params, module.workdir, module.connection, module.check_mode)
    for warning in warnings:
        module.ansible.warn(warning)
    return found


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **workdir_arguments(),
            "plan": {"type": "path"},
            "canary_topic": {"type": "str"},
            "preview": {"type": "int", "default": 20},
        }
    )
    module.run(consumer_impact_info, opening=ConsumerAdmin)


if __name__ == "__main__":
    main()
