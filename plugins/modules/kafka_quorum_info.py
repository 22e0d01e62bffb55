#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe the metadata quorum: leader, voters, observers, and whether it is stable enough for elections."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_quorum_info
short_description: Describe the metadata quorum and whether it is stable
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Describes the KRaft quorum as its leader sees it, through the brokers (DescribeQuorum), voters and observers with their lag.
  - Reads it repeatedly for O(window) seconds and returns a verdict. A single read cannot detect a leader epoch that changes.
  - With O(controller_bootstrap_servers) the controllers are queried, too, for the versions of Vote that they support, and for their
    C(controller.quorum.*.timeout.ms). KIP-996 (pre-vote) came with Vote version 2. Without it a voter that was cut off forces elections when it returns.
  - Risks to a quorum that is stable now are returned in RV(risks) and shown as warnings. They do not change RV(verdict).
  - A quorum without a leader is a verdict, not an error. Brokers do not answer then, so the module takes O(request_timeout).
options:
  window:
    description:
      - Seconds for which the quorum is watched. Only elections within this time are detected.
      - A quorum with one voter holds no elections and is read once.
    type: float
    default: 3.0
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
"""

EXAMPLES = r"""
- name: Check whether the metadata quorum is stable
  streamops.kafka_recovery.kafka_quorum_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
  register: quorum

- name: Watch the quorum for a minute, and check whether controllers support pre-vote
  streamops.kafka_recovery.kafka_quorum_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    controller_bootstrap_servers: "{{ kafka_controller_bootstrap_servers }}"
    window: 60
"""

RETURN = r"""
verdict:
  description:
    - V(stable) means one leader in one epoch all the time, and more than half of the voters (the leader is one of them) follow closely.
    - V(churning) means that within O(window) the leader or its epoch changed, a voter joined or left, a voter had another directory, or the log of a voter
      became shorter, which means that its disk was lost.
    - V(majority_behind) means that half of the voters or more are behind. A voter is behind when it has not fetched for 3 seconds, or lacks records
      and was last caught up more than 3 seconds ago, or has not fetched since the leader took over.
    - V(no_leader) means that no leader answered at the end.
  returned: success
  type: str
  sample: stable
reasons:
  description: Reasons for the verdict. With V(stable), voters that are behind, if any.
  returned: success
  type: list
  elements: str
  sample: ["voter 103 last fetched the metadata log 93.4 s ago, 187 records behind"]
leader_id:
  description: Id of the active controller, V(null) if none answered at the end. The following values are then V(null) or empty, too.
  returned: success
  type: int
  sample: 101
leader_epoch:
  description: Its epoch. Every election increments it, even one without a winner.
  returned: success
  type: int
  sample: 4
high_watermark:
  description: Offset up to which the metadata log is committed.
  returned: success
  type: int
  sample: 4711
voters:
  description: >-
    The controllers. C(voters[].lag) in records behind the leader's log end offset. Values that the leader does not know are V(null).
    C(voters[].directory_id) is V(null) if the voters are listed in the configuration.
  returned: success
  type: list
  elements: dict
  sample:
    - {replica_id: 101, directory_id: null, log_end_offset: 4711, lag: 0, seconds_since_fetch: 0.0, seconds_since_caught_up: 0.0}
    - {replica_id: 102, directory_id: null, log_end_offset: 4711, lag: 0, seconds_since_fetch: 0.3, seconds_since_caught_up: 0.3}
    - {replica_id: 103, directory_id: null, log_end_offset: 4524, lag: 187, seconds_since_fetch: 93.4, seconds_since_caught_up: 93.4}
observers:
  description: The brokers that have fetched the metadata log since the leader took over, with the same fields.
  returned: success
  type: list
  elements: dict
  sample:
    - {replica_id: 1, directory_id: Y34dLfzJRM21_52f2dnY30, log_end_offset: 4711, lag: 0, seconds_since_fetch: 0.3, seconds_since_caught_up: 0.3}
history:
  description: The first state of the quorum and each change of it. Leader and epoch are V(null) if none answered.
  returned: success
  type: list
  elements: dict
  sample:
    - {seconds: 0.0, leader_id: 101, leader_epoch: 4}
looks:
  description: How often the quorum was read.
  returned: success
  type: int
  sample: 13
looked_at:
  description:
    - Time of the last read, in seconds of the monotonic clock of the host that runs the module.
    - M(streamops.kafka_recovery.kafka_designated_election) takes it to end a watch that this module started.
  returned: success
  type: float
  sample: 18213.7
controllers:
  description: >-
    Answers of O(controller_bootstrap_servers). C(controllers[].node_id) is its voter id, from its own configuration or from the addresses
    of the quorum. C(controllers[].active) is whether it leads the quorum. C(controllers[].timeouts) are in milliseconds. Unknown values are
    V(null) or empty, and C(controllers[].error) or C(controllers[].timeouts_error) has the reason.
  returned: success
  type: list
  elements: dict
  sample:
    - address: controller-1.example.com:9093
      node_id: 101
      active: true
      vote_min_version: 0
      vote_max_version: 2
      pre_vote: true
      timeouts:
        controller.quorum.election.timeout.ms: 1000
        controller.quorum.fetch.timeout.ms: 2000
        controller.quorum.request.timeout.ms: 2000
      timeouts_error: null
      error: null
pre_vote_supported:
  description:
    - Whether every voter supports pre-vote (KIP-996).
    - V(null) unless every voter answered and was matched to the set of voters. V(false) if a controller that may be a voter lacks it.
  returned: success
  type: bool
  sample: true
pre_vote_reason:
  description: Explanation of RV(pre_vote_supported).
  returned: success
  type: str
  sample: "yes: all voters offer Vote version 2"
kraft_version:
  description:
    - Level of the feature C(kraft.version). From V(1) on a voter is an id and a directory (KIP-853), so that a voter with a new disk has no vote.
    - V(null) if it is not known, or if the quorum has one voter.
  returned: success
  type: int
  sample: 1
timeouts:
  description: >-
    C(controller.quorum.*.timeout.ms) in seconds, of the controllers that answered, of voters that are brokers too, and of one other broker. Reading them
    requires DESCRIBE_CONFIGS on the cluster.
  returned: success
  type: list
  elements: dict
  sample:
    - {node_id: 101, election_timeout: 1.0, fetch_timeout: 2.0, request_timeout: 2.0}
risks:
  description: >-
    What can disturb the quorum later: no pre-vote, timeouts below Kafka's defaults, a voter that lost its disk, controllers that follow
    without a vote. Each is a warning, too. Empty for a quorum of one voter.
  returned: success
  type: list
  elements: str
  sample:
    - "controller.quorum.request.timeout.ms is 300 on 101, below Kafka's default of 2000: requests between controllers end before a slow one has answered"
unknown:
  description: Which of these could not be read, and why. Empty for a quorum of one voter.
  returned: success
  type: list
  elements: str
  sample: ["pre-vote (KIP-996): not known: only controllers answer it, and controller_bootstrap_servers is not set"]
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import readiness


def quorum_info(module: KafkaModule, cluster: Cluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    found = readiness.watched(cluster, module.connection, module.params["window"])
    for risk in found["risks"]:
        module.ansible.warn(f"metadata quorum: {risk}")
    return {"changed": False, **found, "unreachable_brokers": cluster.unreachable_rows()}


def main() -> None:
    """Run the module."""
    KafkaModule({"window": {"type": "float", "default": 3.0}}).run(quorum_info)


if __name__ == "__main__":
    main()
