#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Elect preferred leaders, or unclean ones, as kafka-leader-election.sh does (KIP-460)."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_leader_election
short_description: Elect preferred or unclean leaders (KIP-460)
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Does what C(kafka-leader-election.sh) does, for all partitions or for named ones, and returns the outcome of each, with Kafka's error names.
  - V(preferred) elections make the first replica of each partition its leader again, after brokers have returned. They lose no record.
  - V(unclean) elections give partitions without a live leader the first replica that is alive, whatever it holds. To elect the replica that
    holds the most, use M(streamops.kafka_recovery.kafka_recovery_plan) and M(streamops.kafka_recovery.kafka_designated_election).
    A partition of which another replica would truncate records, or whose topic has tiered storage, is V(held), see O(hold_unsaved).
  - V(ELECTION_NOT_NEEDED) for a partition is not a failure. Every other error fails the task, after all elections were tried.
  - As in Kafka's tool, an unknown partition does not stop the others.
  - With O(controller_bootstrap_servers), an election that no broker forwards is sent to the active controller itself, V(unclean) ones only if
    no broker may still forward them. If no broker answers at all, so are preferred elections of named partitions. Controllers do not report
    leaders, partitions or lost brokers. So the leader is not verified then, check mode holds every partition, and other elections are refused.
options:
  election_type:
    description:
      - V(preferred) is for partitions without a leader, or with another one than the first of their replica list. By default all of them are elected.
      - V(unclean) is only for partitions without a leader, by default for all of them. O(max_partitions), O(max_offline_brokers) and O(lost_brokers)
        limit these elections alone.
    type: str
    choices: [preferred, unclean]
    required: true
  allow_data_loss:
    description:
      - Only for O(election_type=unclean), which gives up every record that the elected replica does not hold.
      - Without V(true) nothing is written to the cluster, and every partition that would be elected is reported as V(held) with the reason
        code V(data_loss_not_allowed).
      - Even with V(true) the partitions of C(__transaction_state) are elected only if they are named.
    type: bool
    default: false
  partitions_file_sha256:
    description:
      - The sha256 that the file O(partitions_file) must have, as C(sha256sum) prints it. The task fails before it elects if the file has another one, because
        it was replaced since it was made.
    type: str
  approved_moves:
    description:
      - File of merged moves, as M(streamops.kafka_recovery.kafka_recovery_commit_info) has copied it. It approves the preferred leaders of its partitions.
      - With O(require_commit=true) the task fails before it contacts a broker if it may elect leaders of other partitions.
      - Without O(require_commit) it has no effect.
    type: path
  hold_unsaved:
    description:
      - Only for O(election_type=unclean). After it the other replicas truncate their logs to that of the new leader, and this module saves nothing.
      - With V(true) a partition of which another replica that answers or is coming back holds more than the expected leader, or may hold more, is V(held)
        with the reason code V(tail_not_saved), and the task fails. M(streamops.kafka_recovery.kafka_designated_election) saves these records before it
        elects.
      - With V(true) a partition of a topic with tiered storage (KIP-405) is V(held), too, with the reason code V(tiered_storage). The expected leader may lack
        records that remote storage has, and consumers do not find these then.
      - With V(false) these records are given up.
    type: bool
    default: true
  duration:
    description: Time limit in seconds to retry elections that failed with a transient error, and for new leaders to be visible.
    type: float
    default: 30.0
  election_attempts:
    description:
      - Number of retries, within O(duration), of an election that failed with a transient error. V(0) does not retry.
      - Transient is an election without an answer, or with an error that Kafka's own clients retry, except C(ELECTION_NOT_NEEDED),
        C(UNKNOWN_TOPIC_OR_PARTITION), C(PREFERRED_LEADER_NOT_AVAILABLE) and C(ELIGIBLE_LEADERS_NOT_AVAILABLE), which describe the partition.
      - Before each retry of an unclean election its partitions are read again, and with O(hold_unsaved) their logs are compared again.
      - If the first request of an unclean election had to wait for more than two seconds, its partitions are read again before it, too, and with
        O(hold_unsaved) the logs of those that have changed are compared again.
      - Those that have a leader, or whose leader epoch or replicas have changed, are not requested. O(max_partitions), O(max_offline_brokers) and
        O(lost_brokers) are not checked again.
    type: int
    default: 3
  preview:
    description: Number of partitions to return in RV(results), one of each outcome and error first, then those that failed. RV(summary) counts all.
    type: int
    default: 20
  workdir:
    description:
      - Directory of the verdicts on the disks of lost brokers. An unclean election of a partition makes those of its lost replicas out of date. They become
        "not safe to start", until M(streamops.kafka_recovery.kafka_lost_disk_records) has read the disks again.
      - Without this option the verdicts stay as they are. Read the disks again before you start these brokers.
    type: path
  cluster:
    description: Name of the cluster, as the verdicts have it.
    type: str
  run_id:
    description: Id of the run, for the verdicts.
    type: str
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.limits
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.kafka
attributes:
  check_mode:
    support: full
    details: Predicts which leaders Kafka would elect, from the state of the partitions and the permissions of this client.
  diff_mode:
    support: full
    details: Shows the leader of each partition that is elected, before and after.
  idempotent:
    support: full
seealso:
  - module: streamops.kafka_recovery.kafka_designated_election
"""

EXAMPLES = r"""
- name: Elect the preferred leaders
  streamops.kafka_recovery.kafka_leader_election:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    election_type: preferred

- name: The same for two partitions
  streamops.kafka_recovery.kafka_leader_election:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    election_type: preferred
    partitions:
      - {topic: orders, partition: 0}
      - {topic: orders, partition: 1}

- name: See what an unclean election would do, without electing
  streamops.kafka_recovery.kafka_leader_election:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    election_type: unclean
    allow_data_loss: true
  check_mode: true
  diff: true
"""

RETURN = r"""
summary:
  description:
    - Number of partitions per outcome. V(already_online) are those for which Kafka answers V(ELECTION_NOT_NEEDED). They are not counted if no
      partitions are named.
  returned: when elections were tried
  type: dict
  sample: {failed: 1, held: 0, elected: 118, already_online: 1}
errors:
  description: Number of partitions per error, with Kafka's error names.
  returned: when elections were tried
  type: dict
  sample: {ELECTION_NOT_NEEDED: 1, PREFERRED_LEADER_NOT_AVAILABLE: 1}
results:
  description:
    - Some partitions, one of each outcome and reason code first, then those that failed.
    - C(results[].leader) is the leader after the election (in check mode, the predicted one), V(null) if there is none. C(results[].error) is Kafka's name, or
      V(null). C(results[].error_message) is Kafka's message, on one line of at most 300 characters, or V(null).
      C(results[].message) has the reason and the remedy.
    - C(results[].reason_code) is the same for machines, V(null) if the partition was elected. The guide to reason codes lists all of them.
  returned: when elections were tried
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 3
      outcome: failed
      leader: 2
      preferred_leader: 1
      error: PREFERRED_LEADER_NOT_AVAILABLE
      reason_code: preferred_leader_offline
      error_message: The preferred leader was not available.
      message: its preferred leader, broker 1, is not alive; start it, or give the partition other replicas
    - {topic: orders, partition: 0, outcome: elected, leader: 3, preferred_leader: 3, error: null, reason_code: null, error_message: null, message: null}
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: when elections were tried
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.controller_listener import DirectElection, ElectingCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.preferred_and_unclean_elections import LeaderElection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.preferred_and_unclean_outcomes import PREFERRED, UNCLEAN
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.unsaved_truncation import reasons_to_hold
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import moves_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import (
    KafkaModule,
    partition_arguments,
    workdir_arguments,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.outcomes import Outcome
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import requested
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius


def leader_election(module: KafkaModule, cluster: ElectingCluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    kind = LeaderElection if cluster.silence is None else DirectElection
    election = kind(
        cluster, params["election_type"], requested(params["partitions"], params["partitions_file"], params["partitions_file_sha256"])
    )
    if cluster.silence is not None:
        module.ansible.warn(f"elections are sent to the active controller itself, and the new leaders are not verified: {cluster.silence}")
    if params["election_type"] == UNCLEAN and params["allow_data_loss"]:
        if params["hold_unsaved"]:
            election.hold_unsaved(lambda leaders: reasons_to_hold(cluster, leaders, params["duration"]))
        election.keep_within(blast_radius.BlastRadiusLimits.from_params(params))
    # From here on signals are deferred: the batch in progress is finished, and the results show how far it got.
    signals.defer_signals()
    if params["election_type"] == UNCLEAN and not params["allow_data_loss"]:
        election.hold_all()
    elif module.check_mode:
        election.predict()
    else:
        keeps_verdicts = params["election_type"] == UNCLEAN and params["workdir"] is not None
        verdicts = election.verdicts_withdrawn(module.workdir, params["cluster"], params["run_id"]) if keeps_verdicts else None
        election.elect(params["duration"], params["election_attempts"], signals.pending_signal)
        if verdicts is not None:
            verdicts.settle([key for key, result in election.results.items() if result.outcome == Outcome.ELECTED])
            for warning in verdicts.warnings:
                module.ansible.warn(warning)
    return election.report(params["preview"], signals.pending_signal())


def is_approved(params: dict[str, Any]) -> bool:
    """Return whether merged moves have approved the preferred leaders of all partitions that a task with these options names.

    Keeps the partitions of a file in `params`, so that it cannot change between this check and the election. Raises RecoveryError for files that cannot be
    used.
    """
    if params["election_type"] != PREFERRED or params["approved_moves"] is None:
        return False
    keys = requested(params["partitions"], params["partitions_file"], params["partitions_file_sha256"])
    if keys is None:
        return False
    params |= {"partitions": [{"topic": topic, "partition": partition} for topic, partition in keys], "partitions_file": None}
    moved = moves_file.FORMAT.load(params["approved_moves"])["partitions"]
    return {*keys} <= {(row["topic"], row["partition"]) for row in moved}


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **partition_arguments(),
            "partitions_file_sha256": {"type": "str"},
            "election_type": {"type": "str", "choices": [PREFERRED, UNCLEAN], "required": True},
            "allow_data_loss": {"type": "bool", "default": False},
            "approved_moves": {"type": "path"},
            "hold_unsaved": {"type": "bool", "default": True},
            "duration": {"type": "float", "default": 30.0},
            "election_attempts": {"type": "int", "default": 3},
            **blast_radius.argument_spec(),
            "preview": {"type": "int", "default": 20},
            **{name: {**option, "required": False} for name, option in workdir_arguments().items()},
        },
        changes=lambda params: params["election_type"] == PREFERRED or params["allow_data_loss"],
        approved=is_approved,
        mutually_exclusive=[("partitions", "partitions_file")],
        required_together=[("cluster", "run_id", "workdir")],
    )
    module.run(leader_election, opening=ElectingCluster)


if __name__ == "__main__":
    main()
