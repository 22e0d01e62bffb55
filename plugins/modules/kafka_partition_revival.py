#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Give an empty leader to partitions none of whose replicas is left."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_partition_revival
short_description: Give an empty leader to partitions that have no survivor
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - For partitions all of whose replicas are on brokers that are lost for good. Moves the replicas to live brokers, elects the first of them, and verifies that
    the new log begins at offset 0. B(Every record of these partitions is given up,) except what a disk of a lost broker still has.
  - Read the disks of the lost brokers first, see M(streamops.kafka_recovery.kafka_log_dir_info). A broker with an intact disk that is started again
    brings the partition back without loss.
  - A partition is held, with the reason, if any broker that has or may have its log is not named in O(lost_brokers), if it is being reassigned by
    others, if its topic has tiered storage, if two brokers do not state the same replicas, or if its new replicas are not usable.
  - The lost brokers are watched again before the election. If one of them starts, even while it is fenced, the partition is held and its reassignment is
    cancelled. If the partition has had a leader meanwhile, or another tool has changed its reassignment, it is held. If a new broker was lost, the
    reassignment is cancelled, so that the next run can choose other brokers.
  - The work on each partition is recorded in a journal before it begins. If the task is killed, run it again with the same replicas to continue.
  - The last verdict of M(streamops.kafka_recovery.kafka_lost_disk_records) on the disks of these brokers becomes not safe to start.
  - A broker whose replica was given up deletes its log of the partition when it starts again. RV(save_disks_of) names these brokers.
  - An empty log gives offsets out again. A group with committed offsets on the partition skips as many new records, in silence. RV(groups) lists
    such groups, and O(reset_groups) resets those without members.
  - Needs ALTER and DESCRIBE on the cluster, DESCRIBE and DESCRIBE_CONFIGS on the topics, DESCRIBE on the groups, and for O(reset_groups) READ on groups and
    topics.
options:
  allow_data_loss:
    description:
      - Whether partitions may get an empty leader. Without V(true) nothing is written to the cluster, and every such partition is held with the reason
        code V(data_loss_not_allowed). The result and the diff show what would change, as in check mode.
    type: bool
    default: false
  approved_revivals:
    description:
      - File of merged revivals, as M(streamops.kafka_recovery.kafka_recovery_commit_info) has copied it. Mutually exclusive with O(partitions) and
        O(reassignment_file).
      - Only these partitions are revived, on these brokers, and with the values of O(lost_brokers), O(reset_groups), O(allow_internal_topics) and
        O(allow_replication_factor_change) that were reviewed. The task fails if the file was made for another cluster.
      - A partition is held if its topic was created again, or if its leader epoch or the brokers of its logs have changed since the file was made.
    type: path
  propose:
    description:
      - Whether to write what would be revived to C(<workdir>/proposed_revivals/<run_id>/<cluster>.json), for review, and change nothing in the cluster.
        M(streamops.kafka_recovery.kafka_recovery_commit) proposes this file.
      - Check mode writes no file.
    type: bool
    default: false
  allow_internal_topics:
    description:
      - Whether partitions of C(__consumer_offsets) and C(__transaction_state) may be revived too. Groups whose offsets are in an empty partition lose them.
        Transactions whose state is in it stay open. RV(hanging_transactions) lists those that no coordinator knows.
    type: bool
    default: false
  allow_replication_factor_change:
    description: Whether a partition may get fewer replicas than it had.
    type: bool
    default: false
  only:
    description:
      - Partitions of O(reassignment_file) to revive. An entry without C(partition) names the whole topic. Default is every partition of the file.
      - A revival that a killed run has begun is continued with the brokers of that run, if it is named here. An entry that is neither in the file nor in the
        journal is held. A file without partitions is not an error.
    type: list
    elements: dict
    suboptions:
      topic:
        description: Name of the topic.
        type: str
        required: true
      partition:
        description: Number of the partition. Default is all partitions of the topic.
        type: int
  reset_groups:
    description:
      - Whether to commit offset 0 for groups without members, before the partition gets a leader. Groups with members are not changed,
        and a warning names them.
      - The old offsets are in the journal, and are put back if the partition is held after the reset.
      - If not all groups can be read, or Kafka refuses a commit, the partition is held.
    type: bool
    default: false
  duration:
    description: Time limit in seconds to wait for each change to be visible, and for the new replicas to be in sync.
    type: float
    default: 30.0
  preview:
    description: Number of rows to return in each list of the result. RV(summary) counts all.
    type: int
    default: 20
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.limits
  - streamops.kafka_recovery.reassignments
  - streamops.kafka_recovery.partitions.workdir
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.kafka
attributes:
  check_mode:
    support: full
    details: Checks everything that the real run checks before its first change.
  diff_mode:
    support: full
    details: Shows the replicas of each partition that is revived, before and after.
  idempotent:
    support: full
seealso:
  - module: streamops.kafka_recovery.kafka_log_dir_info
  - module: streamops.kafka_recovery.kafka_lost_disk_records
  - module: streamops.kafka_recovery.kafka_redundancy_plan
"""

EXAMPLES = r"""
- name: See what would be revived, and which groups it concerns
  streamops.kafka_recovery.kafka_partition_revival:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    lost_brokers: [1]
    allow_data_loss: true
    partitions:
      - {topic: orders, partition: 0, replicas: [2]}
  check_mode: true
  diff: true

- name: Revive the partitions of a planned file
  streamops.kafka_recovery.kafka_partition_revival:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    reassignment_file: "{{ kafka_recovery_workdir }}/reassignments/{{ kafka_recovery_run_id }}/{{ inventory_hostname }}.json"
    lost_brokers: [1]
    allow_data_loss: true
    reset_groups: true

- name: Write what would be revived for review
  streamops.kafka_recovery.kafka_partition_revival:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    reassignment_file: "{{ kafka_recovery_workdir }}/reassignments/{{ kafka_recovery_run_id }}/{{ inventory_hostname }}.json"
    lost_brokers: [1]
    propose: true
"""

RETURN = r"""
summary:
  description:
    - Number of partitions per outcome. V(revived) have an empty leader and all new replicas in sync (in check mode, would have), V(already_online) had a
      live leader before.
  returned: when partitions were checked
  type: dict
  sample: {failed: 0, held: 1, revived: 11, already_online: 0}
results:
  description:
    - Some partitions, one of each outcome and reason code first, then the worst.
    - C(results[].lost_replicas) are the brokers that may have the records. C(results[].log_end_offset) is above 0 if producers have written already.
    - C(results[].message) has the reason and the remedy, C(results[].reason_code) the same for machines. The guide to reason codes lists all of them.
  returned: when partitions were checked
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 0
      outcome: revived
      leader: 2
      replicas: [2, 3]
      isr: [2, 3]
      target_replicas: [2, 3]
      lost_replicas: [1]
      log_start_offset: 0
      log_end_offset: 0
      reason_code: null
      message: null
groups:
  description: Committed offsets that the new logs do not reach, with the state of the group, and whether the offset was reset to 0.
  returned: when partitions were checked
  type: list
  elements: dict
  sample: [{group: billing, topic: orders, partition: 0, committed_offset: 4711, state: Empty, reset: true}]
hanging_transactions:
  description:
    - Open transactions that no coordinator knows, if partitions of C(__transaction_state) are revived.
    - C(hanging_transactions[].explanation) says whether C(kafka-transactions.sh abort) may end it, or why not. If saved records have its COMMIT marker,
      M(streamops.kafka_recovery.kafka_record_replay) commits it.
  returned: when partitions were checked
  type: list
  elements: dict
  sample: []
save_disks_of:
  description: Ids of brokers that delete their logs of revived partitions when they start. Save their disks first.
  returned: when partitions were checked
  type: list
  elements: int
  sample: [1]
proposal_path:
  description: File for review, with O(propose). V(null) without it, and in check mode.
  returned: when partitions were checked
  type: str
  sample: null
proposal_sha256:
  description: The sha256 of that file, for O(streamops.kafka_recovery.kafka_recovery_commit#module:file_sha256). V(null) if there is no file.
  returned: when partitions were checked
  type: str
  sample: null
proposed:
  description: Number of partitions in RV(proposal_path).
  returned: when partitions were checked
  type: int
  sample: 0
results_path:
  description: File with the results of O(approved_revivals), for all partitions. V(null) without O(approved_revivals), and if nothing may be written.
  returned: when partitions were checked
  type: str
  sample: null
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: when partitions were checked
  type: list
  elements: dict
  sample: []
"""

from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.revival_cluster import RevivalCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.cluster_files import journal_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import revivals_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats.approved_file import no_proposal, write_proposal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule, review_arguments, workdir_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment import validate
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival import targets
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.approved_revivals import ApprovedRevivals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.journal import FOLDER, RevivalJournal
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.revival.run import Revival


def partition_revival(module: KafkaModule, cluster: RevivalCluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    params, check_mode, approved = module.params, module.check_mode, None
    if params["approved_revivals"] is not None:
        approved = ApprovedRevivals(Path(params["approved_revivals"]), params["cluster"], params["run_id"])
        approved.check_cluster(cluster.cluster_id)
        params = approved.options(params)
    elif params["propose"]:
        params = {**params, "allow_data_loss": False}  # what is held is in the file, and no failure
    path = journal_file(module.workdir, FOLDER, cluster.cluster_id, make=not check_mode)
    with RevivalJournal(path, cluster.cluster_id, read_only=check_mode) as journal:
        wanted = targets.chosen(params, journal.open) if approved is None else approved.targets
        revival = Revival(cluster, wanted, params, journal, module.workdir, approved)
        revival.judge()
        if not check_mode:
            revival.revive()
        result = {**revival.report(params["preview"], check_mode), **no_proposal()}
        if params["propose"] and not module.ansible.check_mode:
            result |= write_proposal(revivals_file.FORMAT, module.workdir, params, cluster.cluster_id, revival.proposal())
    for warning in revival.warnings:
        module.ansible.warn(warning)
    return result


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **workdir_arguments(),
            **validate.arguments(),
            **blast_radius.argument_spec(),
            "only": targets.ARGUMENT,
            **review_arguments("approved_revivals"),
            "allow_data_loss": {"type": "bool", "default": False},
            "allow_internal_topics": {"type": "bool", "default": False},
            "allow_replication_factor_change": {"type": "bool", "default": False},
            "reset_groups": {"type": "bool", "default": False},
            "duration": {"type": "float", "default": 30.0},
            "preview": {"type": "int", "default": 20},
        },
        changes=lambda params: bool(params["allow_data_loss"]),
        approved=lambda params: params["approved_revivals"] is not None,
        mutually_exclusive=[("partitions", "reassignment_file", "approved_revivals"), ("propose", "approved_revivals")],
        required_one_of=[("partitions", "reassignment_file", "approved_revivals")],
        required_by={"only": ("reassignment_file",)},
    )
    module.run(partition_revival, opening=RevivalCluster)


if __name__ == "__main__":
    main()
