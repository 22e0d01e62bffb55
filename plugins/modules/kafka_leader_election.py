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
  - Does what C(kafka-leader-election.sh) does, for all partitions or for named ones, and says of each what became of it, by Kafka's names of errors.
  - V(preferred) elections make the first replica of each partition its leader again, after brokers have come back. They lose nothing.
  - V(unclean) elections give partitions without a live leader the first replica that is alive, whatever it holds. To elect the replica that
    holds the most, use M(streamops.kafka_recovery.kafka_recovery_plan) and M(streamops.kafka_recovery.kafka_designated_election).
  - A partition that Kafka answers V(ELECTION_NOT_NEEDED) for is no failure. Every other error fails the task, after everything was tried.
  - An unknown partition does not stop the others, as in Kafka's tool.
  - With O(controller_bootstrap_servers) an election that no broker passes on is asked of the active controller itself. If no broker answers at all,
    so are preferred elections of named partitions. Controllers do not say who leads, which partitions there are or which brokers are lost. So the
    leader is not looked at then, check mode holds every partition, and other elections are refused.
options:
  election_type:
    description:
      - V(preferred) is for partitions without a leader, or with another one than the first of their replica list.
      - V(unclean) is for partitions without a leader, and touches no other.
    type: str
    choices: [preferred, unclean]
    required: true
  allow_data_loss:
    description:
      - Means something for O(election_type=unclean) alone, which gives up every record that the elected replica does not hold.
      - Without V(true) nothing is written to the cluster, and every partition that would be elected is reported as V(held) with the reason
        code V(data_loss_not_allowed).
      - Also with V(true) the partitions of C(__transaction_state) are elected only where they are named.
    type: bool
    default: false
  duration:
    description: Seconds within which elections that failed for a moment are tried again, and within which new leaders must be visible.
    type: float
    default: 30.0
  election_attempts:
    description:
      - How often an election that failed for a moment is tried again, within O(duration). V(0) tries each once.
      - That is an election without an answer, and one with an error after which Kafka's own clients try again, but for C(ELECTION_NOT_NEEDED),
        C(UNKNOWN_TOPIC_OR_PARTITION), C(PREFERRED_LEADER_NOT_AVAILABLE) and C(ELIGIBLE_LEADERS_NOT_AVAILABLE), which say how things are.
    type: int
    default: 3
  max_partitions:
    description: For O(election_type=unclean). Nothing is elected, and the task fails, when more partitions of the cluster than this would be elected.
    type: int
    default: 10000
  max_offline_brokers:
    description:
      - For O(election_type=unclean). Nothing is elected, and the task fails, while more brokers of the cluster than this are fenced, or in replica
        sets without being registered. So many at once are rather cut off than lost, and bring their records with them when they return.
    type: int
    default: 2
  lost_brokers:
    description:
      - For O(election_type=unclean). Ids of the brokers that are lost for good. Optional. They are checked before anything is elected, and one
        that shows life fails the task, as does a broker that is offline and silent and not on the list.
    type: list
    elements: int
    default: []
  preview:
    description: Number of partitions to return in RV(results), one of each outcome and error first, then those that failed. RV(summary) counts all.
    type: int
    default: 20
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.kafka
attributes:
  check_mode:
    support: full
    details: Predicts from the state of the partitions, and from what this client may do, whom Kafka would elect.
  diff_mode:
    support: full
    details: Shows the leader of each partition that is elected, before and after.
  idempotent:
    support: full
seealso:
  - module: streamops.kafka_recovery.kafka_designated_election
"""

EXAMPLES = r"""
- name: Make the preferred leaders lead again
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
    - Number of partitions per outcome. V(already_online) are those that Kafka answers V(ELECTION_NOT_NEEDED) for; where no partitions are named
      they are not looked for.
  returned: when elections were tried
  type: dict
  sample: {failed: 1, held: 0, elected: 118, already_online: 1}
errors:
  description: Number of partitions per error, by Kafka's names.
  returned: when elections were tried
  type: dict
  sample: {ELECTION_NOT_NEEDED: 1, PREFERRED_LEADER_NOT_AVAILABLE: 1}
results:
  description:
    - Some partitions, one of each outcome and reason code first, then those that failed.
    - C(results[].leader) leads after the election (in check mode, would lead), V(null) if no broker does. C(results[].error) is Kafka's name, or
      V(null). C(results[].error_message) is what Kafka says beside it, on one line of at most 300 letters, or V(null).
      C(results[].message) says why, and what to do.
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
  description: Brokers that were asked and did not answer, with the reason.
  returned: when elections were tried
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.controller_listener import DirectElection, ElectingCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.kip460_election import LeaderElection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.kip460_outcomes import PREFERRED, UNCLEAN
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule, partition_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import requested
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius


def leader_election(module: KafkaModule, cluster: ElectingCluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    kind = LeaderElection if cluster.silence is None else DirectElection
    election = kind(cluster, params["election_type"], requested(params["partitions"], params["partitions_file"]))
    if cluster.silence is not None:
        module.ansible.warn(f"the active controller is asked itself, and who leads afterwards is not looked at: {cluster.silence}")
    if params["election_type"] == UNCLEAN and params["allow_data_loss"]:
        election.keep_within(blast_radius.Limits.from_params(params))
    # From here on a signal does not break anything off: the batch under way is finished, and the results tell how far it went.
    signals.only_note()
    if params["election_type"] == UNCLEAN and not params["allow_data_loss"]:
        election.hold_all()
    elif module.check_mode:
        election.predict()
    else:
        election.elect(params["duration"], params["election_attempts"], signals.noted)
    return election.report(params["preview"], module.ansible._diff, signals.noted())


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **partition_arguments(),
            "election_type": {"type": "str", "choices": [PREFERRED, UNCLEAN], "required": True},
            "allow_data_loss": {"type": "bool", "default": False},
            "duration": {"type": "float", "default": 30.0},
            "election_attempts": {"type": "int", "default": 3},
            **blast_radius.argument_spec(),
            "preview": {"type": "int", "default": 20},
        },
        mutually_exclusive=[("partitions", "partitions_file")],
    )
    module.run(leader_election, opening=ElectingCluster)


if __name__ == "__main__":
    main()
