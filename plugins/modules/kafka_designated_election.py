#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Elect exactly the replica that a plan or an operator designates, and verify it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_designated_election
short_description: Elect designated leaders for partitions that have none
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Elects, for partitions without a live leader, the broker that a plan of M(streamops.kafka_recovery.kafka_recovery_plan) or O(partitions) designates.
  - Reads every guard of the plan again, live, in the batch that elects. Partitions that have changed since are V(stale) and not elected. The others
    continue.
  - Works on every Kafka with KIP-460. The designated replica is first in the replica order during the election, and the order is restored
    afterwards. A write-ahead journal lets the next run restore the orders that a killed run has changed.
  - If every broker offers KIP-1275's messages (see O(backend)), the request names the replica to elect and no order is changed. A plan is applied with the
    backend with which its evidence was collected, because its guards compare that evidence with answers to the same messages.
  - The evidence of what the plan elects is collected again before the election, and the decision is made again. A partition is V(stale)
    if the plan designates another leader than this decision, so an old or forged plan elects no other broker.
  - Internal topics are elected first. Once C(__consumer_offsets) has a leader, the evidence of the other partitions is collected again with the offsets
    that groups have committed, see O(decide_again).
  - A leader that O(partitions) or a bare KIP-1275 file names is elected unless it is not a replica, not alive or does not answer. Then the partition is
    V(failed), and the others continue. Doubts about the evidence are warnings.
  - The task fails if O(allow_data_loss=true) and a partition is left without a leader (V(held), V(stale) or V(failed)). The results are returned also then.
    With connection V(local) and without C(no_log), all these partitions are listed on stderr, with ranges (C(orders-0..17,19)).
  - Never touches a partition that has a live leader. If a broker returns meanwhile and the controller elects it (KIP-966), the partition is reported as
    V(clean_leader). The reason says what that leader may lack. A leader from the ELR lacks nothing.
    After an unclean shutdown the end of its log may be missing. If brokers do not report which case it was, the metadata log does, if
    O(controller_bootstrap_servers) is set.
options:
  plan:
    description:
      - Plan file. A bare KIP-1275 file, C({"partitions":[{"topic":"foo","partition":1,"designatedLeader":0}]}), is accepted too; evidence is then
        collected live before anything is elected.
      - Exactly one of O(plan) and O(partitions) is required.
    type: path
  plan_sha256:
    description:
      - The sha256 that the file O(plan) must have, as C(sha256sum) prints it and M(streamops.kafka_recovery.kafka_recovery_plan) returns it. The task fails
        before it elects if the file has another one, because it was replaced since it was made.
    type: str
  partitions:
    description:
      - Partitions with the leader that each gets. Evidence is collected live before anything is elected, from the same sources as that of a plan.
      - Warnings name the committed records that are given up as far as they are proven, fenced brokers that answer and hold more than the
        designated leader, and designations that differ from what a plan would decide. They do not stop the election.
      - With O(save_records=true) a partition is V(held) while the log of a replica was not read whose broker is alive or coming back.
      - The other replicas are ordered by their logs, the best first. If the designated broker fails before its election, the controller elects
        the next one that is alive.
    type: list
    elements: dict
    suboptions:
      topic:
        description: Name of the topic.
        type: str
        required: true
      partition:
        description: Number of the partition.
        type: int
        required: true
      designated_leader:
        description: Id of the broker to elect.
        type: int
        required: true
  allow_data_loss:
    description:
      - An unclean election gives up every record that the designated replica does not hold. Without V(true) nothing is written to the cluster and
        every partition of the plan is reported as V(held) with the reason code V(data_loss_not_allowed).
    type: bool
    default: false
  allowed_strategies:
    description:
      - Strategies that a plan may have. A plan with another strategy, for all topics or for one, is refused before anything is elected.
      - The decision before an election takes its strategy from the plan. So this limits what a plan file that was forged or approved by mistake can elect.
      - By default a plan in the directory C(plans) of O(workdir), where only the user of the run can write, may have every strategy. Other plans may have
        V(none), V(balanced) or V(kip966_balanced), which elect only on evidence that proves the leader.
      - A bare KIP-1275 file has no strategy and is elected unchanged, so it is refused unless V(aggressive) is allowed. O(partitions) is not limited.
      - A plan that elects C(__transaction_state) because its request named it is refused, too, unless V(aggressive) is allowed.
      - A plan with V(aggressive), or a bare file, is also refused if another user could have written it. C(chmod go-w) is the remedy.
    type: list
    elements: str
    choices: [none, balanced, kip966_balanced, aggressive]
  approved_plan:
    description:
      - Plan file that is known to be merged, as M(streamops.kafka_recovery.kafka_recovery_commit_info) returns it.
      - With O(require_commit=true) and O(allow_data_loss=true) the task fails before it contacts a broker unless O(plan) is this file. It also fails with
        O(decide_again=true) or O(remove_expired_throttle=true), which change what no merge has approved. In check mode it does not fail.
    type: path
  allowed_rankings:
    description:
      - Rankings that a plan may have. A plan with another ranking is refused before anything is elected.
      - The decision before an election takes its ranking from the plan, as its strategy (O(allowed_strategies)). With V(aggressive) the ranking decides
        which branch of forked logs is elected.
      - By default a plan in the directory C(plans) of O(workdir) may have both, and other plans V(last_written_epoch).
    type: list
    elements: str
    choices: [last_written_epoch, kip1275]
  save_records:
    description:
      - Whether records that an election would destroy are saved before it, as M(streamops.kafka_recovery.kafka_replica_records) saves them. A survivor
        destroys them when it truncates its log to that of the new leader.
      - A partition whose records cannot be saved is V(held) with the reason code V(tail_not_saved). With V(false) the records are given up.
      - Records that this run id has saved before are not read again.
    type: bool
    default: true
  max_saved_bytes:
    description: Most bytes that are saved. Partitions beyond it are V(held) with the reason code V(tail_not_saved). Default is no limit.
    type: int
  max_saved_partition_bytes:
    description: Most bytes that are saved of one replica. A partition with more is V(held) with the reason code V(tail_not_saved). Default is no limit.
    type: int
  max_saved_run_bytes:
    description:
      - Most bytes that the folder C(<workdir>/saved/<run_id>) has, of all clusters together. Partitions beyond it are V(held) with the reason code
        V(tail_not_saved).
      - It also holds if other tasks save records of other clusters at the same time. What is saved already counts. Default is no limit.
    type: int
  saved_bytes_per_second:
    description: Most bytes that are read from all brokers per second to save them. Default is no limit.
    type: int
  save_timeout:
    description:
      - Seconds for saving, for internal topics and for the other topics each. Partitions that are not saved by then are V(held) with the reason code
        V(tail_not_saved). Another run with this run id goes on.
    type: float
    default: 600.0
  confirm:
    description:
      - What you have read in the plan or in a dry run, as a second consent beside O(allow_data_loss), for example V(elect 8, lose at most 240).
      - The task fails, and elects nothing, if it would elect another number of partitions, or if more committed records may be lost with lost brokers, also if
        no upper bound of that is known. Leave the second part out to confirm the number of partitions alone.
      - Checked before the first election, in check mode, too.
      - Partitions that a second decision would add or change (O(decide_again)) are not what was confirmed, so nothing is decided again.
    type: str
    default: ""
  decide_again:
    description:
      - If the plan elects C(__consumer_offsets), whether the other partitions are decided again by the same strategy once it has a leader. Committed offsets
        can be read then, and can prove another branch of a fork.
      - With V(true) a partition whose decision has changed gets the new leader, or is V(held). A partition that the plan holds (V(forked),
        V(forked_proven), V(contradicted) or V(incomplete)) is elected if the strategy elects it now. Partitions beyond a limit are V(held) with the reason
        code V(limit_reached).
      - With V(false) a partition with another decision is V(stale). Use V(true) only for a plan that the same run has made and that no person has reviewed.
    type: bool
    default: false
  remove_expired_throttle:
    description:
      - After the elections, whether to remove a replication throttle of this O(workdir) that has expired. It keeps replicas from catching up. A warning says
        what was removed, or why it could not be removed, which does not fail the task.
      - Nothing is removed in check mode, without O(allow_data_loss=true), or while a throttle of a killed run is set, too, because its moves may still be in
        progress.
    type: bool
    default: false
  duration:
    description:
      - Time limit in seconds to retry failed elections, and for new leaders to be visible. Each election is tried once, however long
        earlier elections took.
      - Each live collection of evidence has the same time limit, from its first request on. It is divided as for
        M(streamops.kafka_recovery.kafka_replica_log_info).
      - So this is no limit of the whole task. The evidence is collected before the election and, if C(__consumer_offsets) gets a leader, a second time
        between the elections of internal topics and those of other partitions. The time of the second collection does not count for the elections.
        Together they take at most about three times O(duration), and twice O(first_answer_seconds). Beyond that, a broker that hangs delays each batch of
        1000 partitions by up to 60 seconds, because it is read again before its election.
    type: float
    default: 30.0
  election_attempts:
    description:
      - Number of retries, within O(duration), of an election that failed with a transient error (KIP-1275's recovery election attempts). V(0) does not
        retry.
      - Transient is an election without an answer, or with an error that Kafka's own clients retry. A missing permission is not transient.
    type: int
    default: 3
  preview:
    description:
      - Number of partitions to return in RV(results), one of each outcome and reason code first, then those that were not elected.
      - All are in the file RV(results_path).
    type: int
    default: 20
  list_offline:
    description: Whether the partitions that have no leader after the elections are listed on standard error. Not in check mode.
    type: bool
    default: true
requirements:
  - crc32c >= 2.7, with O(save_records=true)
  - orjson >= 3.10, with O(save_records=true)
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.limits
  - streamops.kafka_recovery.partitions.workdir
  - streamops.kafka_recovery.backend
  - streamops.kafka_recovery.first_answer
  - streamops.kafka_recovery.evidence_size
  - streamops.kafka_recovery.quorum_watch
  - streamops.kafka_recovery.commands
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.kafka
attributes:
  check_mode:
    support: full
    details:
      - Runs all guards, and writes no results file and no journal.
      - Warns about partitions whose decision may change, or that may become stale, once C(__consumer_offsets) has a leader.
      - Commands in RV(next_steps) can need files, which are written to C(<workdir>/commands).
  diff_mode:
    support: full
    details: Shows leader, replica order and expected truncation of each partition, before and after.
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Elect what the plan designates
  streamops.kafka_recovery.kafka_designated_election:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    plan: "{{ kafka_recovery_workdir }}/plans/{{ kafka_recovery_run_id }}/{{ inventory_hostname }}.json"
    allow_data_loss: true
  register: election

- name: Make broker 2 the leader of one partition
  streamops.kafka_recovery.kafka_designated_election:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    partitions:
      - {topic: orders, partition: 0, designated_leader: 2}
    allow_data_loss: true
"""

RETURN = r"""
summary:
  description: Number of partitions per outcome.
  returned: always
  type: dict
  sample: {elected: 118, already_online: 0, clean_leader: 1, held: 1, stale: 0, failed: 0}
results:
  description:
    - Some partitions, one of each outcome and reason code first, then those that were not elected. C(results[].leader) may be V(null).
    - C(results[].reason_code) is for machines, and C(results[].reason) is a sentence for people. Both are V(null) if the designated replica was
      elected. The guide to reason codes lists all of them.
    - C(results[].evidence) is the evidence of the plan, or V(named) if the leader was designated by hand.
    - C(results[].error) is Kafka's name of the error of an election that failed, or V(null). C(results[].reason) has it too, with Kafka's own message.
    - C(results[].decided_again) is V(null) unless O(decide_again) changed the decision. Then it has the leader (C(planned_leader)) or the reason to hold
      (C(planned_reason_code)) of the plan, and the C(explanation) of the new decision.
  returned: always
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 0
      outcome: elected
      leader: 2
      designated_leader: 2
      evidence: prefix
      reason_code: null
      reason: null
      error: null
      truncated: [{broker_id: 3, offset: 100, records: 80}]
      loss: {lower_bound: 0, lower_bound_from: high_watermark, upper_bound: null, upper_bound_from: unknown, estimate: null, estimate_from: none, gaps: []}
      decided_again: null
without_leader:
  description:
    - All partitions of the run that have no leader, grouped by outcome and reason code. C(count) is of all of them.
    - C(partitions) names the first five of a group, C(ranges) all of them or as many as fit into 60 letters, and C(reason) is the reason of the first.
  returned: always
  type: list
  elements: dict
  sample:
    - outcome: held
      reason_code: forked
      count: 24
      ranges: orders-7..30
      partitions: [{topic: orders, partition: 7}]
      reason: >-
        held: nothing proves which branch is committed: start or repair broker 1, with its disk. Strategy aggressive gives up broker 3's offsets 100 to 179;
        broker 2 holds the best log: it ends at offset 121, last written in leader epoch 1; broker 3's log parts from it at offset 100, so electing it
        truncates broker 3's offsets 100 to 179
given_up:
  description:
    - Records that the elections give up. C(truncated_records) is the number that survivors truncate, C(truncations) lists where.
    - C(lower_bound) and C(upper_bound) are totals of all elections. C(upper_bound) is V(null) if that of any partition is not known.
    - C(doubtful_leaders) are leaders that the plan did not choose and that may lack records. C(count) is of all of them, C(partitions) names some.
    - C(text) has the same as sentences. In check mode all of it is what the elections would give up.
  returned: always
  type: dict
  sample:
    partitions: 1
    truncated_partitions: 1
    truncated_records: 80
    truncated_unknown: 0
    lower_bound: 0
    upper_bound: null
    truncations: [{topic: orders, partition: 0, broker_id: 3, offset: 100, records: 80}]
    doubtful_leaders: {count: 0, partitions: []}
    text:
      - "80 records of 1 partition are truncated from survivors: orders-0 on broker 3, 80 from offset 100 on"
      - "Committed records lost with lost brokers by 1 election: at least 0, as far as they are proven, no upper bound is known"
other_offline_partitions:
  description:
    - Number of partitions of the cluster that have no live leader and were not requested.
    - V(null) if the cluster did not answer.
  returned: always
  type: int
  sample: 9
backend:
  description: The backend that was used, V(compat) or V(native).
  returned: always
  type: str
  sample: compat
saved_records:
  description:
    - The folder of the saved records (V(null) if no survivor of these partitions truncates its log), how many survivors truncate theirs, of how many the
      records are saved or not saved, the offsets that they truncate, and the bytes that this run has saved.
    - In check mode nothing is saved, so C(saved), C(not_saved) and C(bytes) are 0.
  returned: success
  type: dict
  sample: {path: /var/lib/kafka-recovery/saved/2026-11-21/east, replicas: 12, saved: 12, not_saved: 0, offsets: 960, bytes: 88320, bytes_at_most: null}
save_disks_of:
  description:
    - Ids of brokers that are replicas of elected partitions and are not alive. They may have records that the new leaders lack, and delete them when they
      start. M(streamops.kafka_recovery.kafka_lost_disk_records) saves them before.
    - Empty if the cluster did not answer.
  returned: success
  type: list
  elements: int
  sample: [1]
next_steps:
  description:
    - What to do about the partitions that were not elected, the cheapest step first. Empty if O(partitions) designates leaders.
    - C(next_steps[].code) is their reason code, or their outcome (V(stale), V(failed)) if the step is the same for all reason codes of that outcome.
    - C(next_steps[].command) is one line for a shell, for exactly these C(next_steps[].partitions), V(null) if no run helps.
  returned: always
  type: list
  elements: dict
  sample:
    - code: forked_proven
      partitions: 1
      step: >-
        read in /var/lib/kafka-recovery/plans/2026-11-21/east.json which branch is proven, then force its election, which truncates the other one
        (saved before, by default). Look at the dry run first (--check --diff), then run the same without --check --diff
      command: >-
        ansible-playbook -i /etc/kafka-recovery/inventory.yml --limit east
        -e '{kafka_recovery_partitions: [{topic: orders, partition: 0}]}' -e kafka_recovery_strategy=aggressive -e kafka_recovery_allow_data_loss=true
        --check --diff streamops.kafka_recovery.recover
results_path:
  description: File with all results, empty in check mode.
  returned: always
  type: str
  sample: /var/lib/kafka-recovery/results/2026-11-21/east.json
repaired:
  description:
    - Partitions whose replica order an earlier, killed run had changed, and this run restored.
    - A warning names those that O(plan) or O(partitions) does not have.
    - Only runs with the same O(workdir) and O(cluster), on the same cluster by Kafka's cluster id, count as earlier runs.
  returned: always
  type: list
  elements: str
  sample: []
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: always
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import COMMAND_ARGUMENTS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.comparison import Ranking
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.strategy import Strategy
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.election.run import designated_election
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.strategy_options import (
    EVIDENCE_SIZE_ARGUMENTS,
    FIRST_ANSWER_ARGUMENTS,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule, workdir_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.quorum_watch_options import QUORUM_ARGUMENTS


def is_approved(params: dict[str, Any]) -> bool:
    """Return whether a merge has approved all that a task with these options changes: it elects what the merged plan designates, and nothing else."""
    elects_plan = params["plan"] is not None and params["plan"] == params["approved_plan"] and not params["decide_again"]
    return elects_plan and not params["remove_expired_throttle"]


def main() -> None:
    """Run the module."""
    strategies = [strategy.value for strategy in Strategy]
    designation = {
        "topic": {"type": "str", "required": True},
        "partition": {"type": "int", "required": True},
        "designated_leader": {"type": "int", "required": True},
    }
    module = KafkaModule(
        {
            **workdir_arguments(),
            "plan": {"type": "path"},
            "plan_sha256": {"type": "str"},
            "partitions": {"type": "list", "elements": "dict", "options": designation},
            "allow_data_loss": {"type": "bool", "default": False},
            "allowed_strategies": {"type": "list", "elements": "str", "choices": strategies},
            "approved_plan": {"type": "path"},
            "allowed_rankings": {"type": "list", "elements": "str", "choices": [ranking.value for ranking in Ranking]},
            "confirm": {"type": "str", "default": ""},
            "decide_again": {"type": "bool", "default": False},
            "save_records": {"type": "bool", "default": True},
            "max_saved_bytes": {"type": "int"},
            "max_saved_run_bytes": {"type": "int"},
            "max_saved_partition_bytes": {"type": "int"},
            "saved_bytes_per_second": {"type": "int"},
            "save_timeout": {"type": "float", "default": 600.0},
            "remove_expired_throttle": {"type": "bool", "default": False},
            "duration": {"type": "float", "default": 30.0},
            **FIRST_ANSWER_ARGUMENTS,
            **EVIDENCE_SIZE_ARGUMENTS,
            "election_attempts": {"type": "int", "default": 3},
            **blast_radius.argument_spec(),
            **backend_selection.BACKEND_ARGUMENTS,
            **QUORUM_ARGUMENTS,
            "preview": {"type": "int", "default": 20},
            "list_offline": {"type": "bool", "default": True},  # for the action plugin
            **COMMAND_ARGUMENTS,
        },
        changes=lambda params: bool(params["allow_data_loss"]),
        approved=is_approved,
        mutually_exclusive=[("plan", "partitions")],
        required_one_of=[("plan", "partitions")],
    )
    if module.params["save_records"]:
        module.require("crc32c", "orjson")
    module.run(designated_election, opening=NativeCluster)


if __name__ == "__main__":
    main()
