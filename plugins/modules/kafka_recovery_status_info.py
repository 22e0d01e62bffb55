#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Return which partitions have no live leader, why a plan would hold them, and the cheapest next step."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_status_info
short_description: Return which partitions are offline, and the cheapest next step
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Collects evidence as M(streamops.kafka_recovery.kafka_replica_log_info) does, and decides as M(streamops.kafka_recovery.kafka_recovery_plan) would, without
    Spark, and without files of evidence and plans. So it takes seconds, and shows what a plan would say now.
  - Changes nothing in the cluster. Commands for more than three partitions name a file C(<workdir>/commands/partitions-*.json), which is written.
  - The playbook status uses it.
options:
  cluster:
    description: Name of the cluster, as in the inventory.
    type: str
    required: true
  workdir:
    description: Directory of earlier runs. Healthy snapshots and logs of lost disks there are evidence.
    type: path
    required: true
  duration:
    description: Time limit in seconds for collecting evidence, as O(streamops.kafka_recovery.kafka_replica_log_info#module:duration).
    type: float
    default: 30.0
  strategy:
    description: The strategy, as O(streamops.kafka_recovery.kafka_recovery_plan#module:strategy).
    type: str
    choices: [none, balanced, kip966_balanced, aggressive]
    default: balanced
  topic_strategies:
    description: Strategies of single topics, in place of O(strategy).
    type: dict
    default: {}
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.backend
  - streamops.kafka_recovery.first_answer
  - streamops.kafka_recovery.evidence_size
  - streamops.kafka_recovery.commands
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
"""

EXAMPLES = r"""
- name: See which partitions are offline, and what to do
  streamops.kafka_recovery.kafka_recovery_status_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    workdir: "{{ kafka_recovery_workdir }}"
  register: status

- name: Show it
  ansible.builtin.debug:
    msg: "{{ status.lines }}"
"""

RETURN = r"""
lines:
  description: The status for people, at most 22 lines.
  returned: success
  type: list
  elements: str
  sample:
    - 2 partitions have no live leader
    - "Brokers fenced: 1; unfenced: 2, 3"
    - "held (no_survivor), 2: gone-0,1"
    - "  no live broker that answers has a log: read a lost broker's disk (rescue), start it, plan again"
    - ansible-playbook -i hosts.yml --limit east streamops.kafka_recovery.plan
summary:
  description:
    - The same as data. C(line) is the status in one line, for a chat. C(offline) is the number of partitions without a live leader.
    - C(groups) has them by reason code, the cheapest next step first. Those that a plan would elect have the outcome C(planned) and no reason code.
    - C(ranges) names the partitions of a group, as many as fit into 60 letters. C(command) is one line for a shell, V(null) if no playbook helps.
    - C(in_sync_on_return) has the lost brokers that are in the ISR or ELR of partitions that a plan would elect, those of most partitions first. Started with
      its log whole, such a broker is elected by the controller itself, and no committed record is lost. C(save_first) says whether its disk must be rescued
      before, because other partitions were elected without it, or may have been. It is also V(true) if the broker was safe to start, and
      M(streamops.kafka_recovery.kafka_lost_disk_info) does not call it so any more.
    - C(unknown) names requested partitions that the cluster does not have.
  returned: success
  type: dict
  sample:
    line: "east: 2 partitions have no live leader (no_survivor 2)"
    cluster: east
    offline: 2
    groups:
      - outcome: held
        reason_code: no_survivor
        count: 2
        ranges: gone-0,1
        why: no live broker that answers has a log
        remedy: read a lost broker's disk (rescue), start it, plan again
        command: ansible-playbook -i hosts.yml --limit east streamops.kafka_recovery.plan
    in_sync_on_return: []
    unknown: []
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import COMMAND_ARGUMENTS, Playbooks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.decide import Policy, decide
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.live_evidence import collect_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.next_steps import with_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.cluster_evidence import Sources
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.landing_file import states_to_read
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.strategy_options import (
    EVIDENCE_SIZE_ARGUMENTS,
    FIRST_ANSWER_ARGUMENTS,
    STRATEGY_ARGUMENTS,
    aggressive_ones,
    check_strategies,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule, partition_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import requested
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.current_status import (
    in_sync_on_return,
    status_groups,
    status_lines,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.role_messages.partition_groups import one_line
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.returned_brokers import with_safety


def status_info(module: KafkaModule, cluster: NativeCluster) -> dict[str, Any]:
    """Return what RETURN documents. Raises RecoveryError if the cluster has none of the requested partitions, or if no broker answers."""
    params, name = module.params, module.params["cluster"]
    check_strategies(params["topic_strategies"])
    wanted = requested(params["partitions"], params["partitions_file"])
    states, absent = states_to_read(module, cluster, wanted)
    sources = Sources(cluster, module.connection, module.workdir, name, module.budget, params["max_evidence_rows"])
    live = collect_now(sources, states, {*(wanted or ())}, awaited=aggressive_ones((state.key for state in states), params))
    for warning in live.warnings:
        module.ansible.warn(warning)
    topics = {topic: Strategy(strategy) for topic, strategy in params["topic_strategies"].items()}
    policy = Policy(Strategy(params["strategy"]), topic_strategies=topics)
    decisions = {key: decide(document, policy, live.cluster.elr, live.cluster.reorders) for key, document in live.documents.items()}
    commands = Commands(module.workdir)
    groups = with_files(status_groups(decisions, name, Playbooks.from_params(params, commands)), commands, module.ansible.warn)
    returns = with_safety(in_sync_on_return(decisions, live.cluster.elr), module.workdir, name, cluster.cluster_id, cluster)
    lines = status_lines(groups, live.collected.brokers, len(absent), returns)
    return {
        "changed": False,
        "lines": lines,
        "summary": {
            "line": one_line(name, lines[0], groups),
            "cluster": name,
            "offline": sum(row["count"] for row in groups),
            "groups": groups,
            "in_sync_on_return": returns,
            "unknown": [{"topic": topic, "partition": partition} for topic, partition in absent],
        },
        "unreachable_brokers": cluster.unreachable_rows(),
    }


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **partition_arguments(),
            "cluster": {"type": "str", "required": True},
            "workdir": {"type": "path", "required": True},
            "duration": {"type": "float", "default": 30.0},
            **FIRST_ANSWER_ARGUMENTS,
            **EVIDENCE_SIZE_ARGUMENTS,
            **STRATEGY_ARGUMENTS,
            **backend_selection.BACKEND_ARGUMENTS,
            **COMMAND_ARGUMENTS,
        },
        mutually_exclusive=[("partitions", "partitions_file")],
    )
    module.require("orjson")
    module.run(status_info, opening=NativeCluster, within_duration=True)


if __name__ == "__main__":
    main()
