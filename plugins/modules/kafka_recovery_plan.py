#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide on Spark, for all clusters of a run at once, which replica of each offline partition to elect."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_plan
short_description: Decide which replica of each offline partition to elect, and on which evidence
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Reads the landing files that M(streamops.kafka_recovery.kafka_replica_log_info) wrote for a run, applies the rules of decision on Spark, and
    writes one plan file per cluster, C(<workdir>/plans/<run_id>/<cluster>.json), a superset of KIP-1275's file.
  - The best survivor is the one with most of the records that are proven committed, then the latest last-written leader epoch, then the longest log.
    Among identical logs leadership is spread evenly over the brokers.
  - Each partition gets one word of evidence. A replica on a failed disk of a live broker is lost, like one on a lost broker.
  - V(prefix) means that every other survivor's log is a prefix of the best.
  - V(forked) means that some survivor holds records that the best lacks, V(forked_proven) that a high watermark or a committed offset proves
    one branch, V(forked_resolved) that the ISR history proves it (see M(streamops.kafka_recovery.kafka_replica_log_info)), alone or with the log of a
    lost member of the ISR (see M(streamops.kafka_recovery.kafka_disk_evidence)), so that C(balanced) elects,
    and V(contradicted) that these two prove different branches.
  - V(incomplete) means that a live broker did not answer, that logs could not be compared, or that the evidence of the partition contradicts itself;
    V(weak) that a last-written epoch could not be read.
  - V(corrupt) means that two survivors have different bytes at one offset from one leader epoch, so a log is damaged or an epoch was issued twice.
  - V(below_high_watermark) means that committed records would certainly be lost, V(no_survivor) that no replica can be elected.
  - A landing file that is missing, truncated, changed or of another cluster is quarantined with its reason and the other clusters are
    planned. The task fails if no file can be used.
  - Contacts no Kafka cluster. The same landing files give the same plans, except plan id and time.
options:
  workdir:
    description: Directory of all files of the recovery. If Spark runs on other hosts, they must have it under the same path.
    type: path
    required: true
  run_id:
    description: The run whose landing files are planned.
    type: str
    required: true
  clusters:
    description:
      - Names of the clusters whose files are expected. A cluster without a file is reported in RV(quarantine), and so is a file of another cluster.
      - Default is all files of the run.
    type: list
    elements: str
  other_clusters:
    description: Names of clusters of the same run that are planned by another task, for example in another batch of a play. Their files are ignored.
    type: list
    elements: str
    default: []
  strategy:
    description:
      - When a partition is elected, with KIP-966's names.
      - V(none) elects nothing, but shows candidates and evidence.
      - V(balanced) elects on the evidence C(prefix) and C(forked_resolved), and waits for a clean leader that is coming back.
      - V(aggressive) does not wait and elects on all evidence except a document that is damaged or contradicts itself. With C(below_high_watermark),
        C(contradicted), C(corrupt), or a log epoch that is greater than the controller's, it elects only partitions that were named. An election that
        saves records does wait until the log of each broker that is alive or coming back is read.
      - All except V(aggressive) hold a partition if a fenced broker that answers holds more than the best survivor.
      - C(__transaction_state) is elected only if it was named, with any strategy. C(__cluster_metadata) is never elected.
      - V(kip966_balanced) elects on the same evidence as V(balanced), and waits as KIP-966's strategy Balanced does, until every member of ISR, ELR and
        last known ELR has answered, without a time limit. V(balanced) waits only for brokers that are coming back.
    type: str
    choices: [none, balanced, kip966_balanced, aggressive]
    default: balanced
  topic_strategies:
    description:
      - Strategies of single topics, by topic name. The values are those of O(strategy), which applies to all other topics.
      - A topic that no cluster has is ignored without a warning.
    type: dict
    default: {}
  ranking:
    description:
      - How survivors are ranked.
      - V(kip1275) is the rule of that KIP, partition leader epoch and then log end offset. It is for comparison. Evidence is computed
        for its winner in the same way.
    type: str
    choices: [last_written_epoch, kip1275]
    default: last_written_epoch
  manual_output_dir:
    description:
      - Also write C(<manual_output_dir>/<cluster>.json), with only C(topic), C(partition) and C(designatedLeader) of each partition to elect, to review and
        edit by hand (KIP-1275's manual recovery output file). A cluster without partitions to elect gets none.
      - Also write C(<manual_output_dir>/<cluster>.held.json) in the same format, with the best candidate of each held partition as C(designatedLeader), and the
        C(reason_code). No playbook reads this file. To elect one of its partitions, move it to the other file.
      - Existing files are not overwritten. The task fails if one exists with other content.
    type: path
  collected_file:
    description:
      - Start Spark, and wait for this file in O(workdir) before anything is planned. A task with C(async) sets it by itself.
      - It is JSON with the lists C(clusters) and C(other_clusters), which replace O(clusters) and O(other_clusters). The module removes it.
      - Requires O(playbook_process).
    type: path
  playbook_process:
    description:
      - The process of C(ansible-playbook), with its start time, because process ids are reused. The module and its Spark end within seconds of the end of that
        process. A task with C(async) sets it by itself.
    type: dict
    suboptions:
      pid:
        description: Process id.
        type: int
        required: true
      started_at:
        description: Start time, in seconds since the epoch.
        type: float
        required: true
  background_task:
    description:
      - The registered result of an earlier task of this module with C(async) and C(poll=0), which starts Spark and waits. This task confirms that
        the evidence of O(clusters) is complete, waits until the other has planned, and returns its result. Its other options count, not those of this task.
      - A value that is not such a result has no effect, and this task plans by itself, for example in check mode, which has no tasks with C(async).
    type: dict
extends_documentation_fragment:
  - streamops.kafka_recovery.spark
  - streamops.kafka_recovery.attributes
attributes:
  check_mode:
    support: full
    details: Writes the plan files in check mode, too, because a dry run needs them. No cluster is contacted in either mode.
  diff_mode:
    support: none
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Plan all clusters of the run
  streamops.kafka_recovery.kafka_recovery_plan:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
  register: plan

- name: Plan all clusters, and write files of designated leaders to edit by hand
  streamops.kafka_recovery.kafka_recovery_plan:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
    manual_output_dir: "{{ kafka_recovery_workdir }}/for_review"

- name: Plan what an emergency would allow, on a running Spark Connect server
  streamops.kafka_recovery.kafka_recovery_plan:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
    clusters: "{{ groups['kafka_clusters'] }}"
    strategy: aggressive
    spark_remote: "{{ kafka_recovery_spark_remote }}"

- name: Start Spark while evidence is collected
  streamops.kafka_recovery.kafka_recovery_plan:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
  async: 86400
  poll: 0
  register: plan
  run_once: true

# Here tasks with kafka_replica_log_info collect the evidence of each cluster.

- name: Plan all clusters with the Spark that was started before
  streamops.kafka_recovery.kafka_recovery_plan:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
    clusters: "{{ ansible_play_batch }}"
    background_task: "{{ plan }}"
  register: plan
  run_once: true
"""

RETURN = r"""
plans:
  description:
    - The plan files, sorted by cluster, with the number of partitions to elect, held partitions, and partitions that are online already.
    - C(truncated_replicas) is the number of replicas that would lose records by the elections, and C(truncated_offsets) the number of offsets that they would
      lose at most. The elections save these records first (O(streamops.kafka_recovery.kafka_designated_election#module:save_records)).
    - C(file_sha256) is the sha256 of the file, as C(sha256sum) prints it, for the option
      O(streamops.kafka_recovery.kafka_designated_election#module:plan_sha256) of the task that uses it.
    - C(elections) has the partitions to elect by leader and evidence, those first that may lose most. C(ranges) names them in short. C(loss) has their
      number, and sums of the bounds of committed records that they lose, with the number of partitions for which each bound is known.
    - C(in_sync_on_return) has the lost brokers that are in the ISR or ELR of partitions to elect, those of most partitions first. Started with its log whole,
      such a broker is elected by the controller itself, and no committed record is lost. C(save_first) says whether its disk must be rescued before, as
      other partitions were elected without it, or may have been. What has changed since its disk was read is not known here. The playbook status reads it.
    - C(held_reasons) has the held partitions by reason code, in short and the first three of each.
  returned: success
  type: list
  elements: dict
  sample:
    - cluster: east
      path: /var/lib/kafka-recovery/plans/2026-11-21/east.json
      file_sha256: 7c1f9a0c1dfd5b5c6e0a6d2a5cfb0b2b9f5f0a8a3dd0c1cf6a9d5e3f2b1a4c7d
      elect: 118
      held: 2
      online: 0
      truncated_replicas: 12
      truncated_offsets: 960
      elections:
        - leader: 2
          evidence: prefix
          count: 118
          ranges: orders-0..117
          loss: {partitions: 118, lower_bound: 0, lower_bound_known: 118, upper_bound: 240, upper_bound_known: 118}
      in_sync_on_return:
        - broker_id: 3
          count: 118
          ranges: orders-0..117
          save_first: false
      held_reasons:
        - reason_code: forked
          count: 2
          ranges: orders-3,7
          partitions: [{topic: orders, partition: 3}, {topic: orders, partition: 7}]
manual_outputs:
  description: The files that were written for O(manual_output_dir).
  returned: when O(manual_output_dir) is given
  type: list
  elements: str
  sample: [/var/lib/kafka-recovery/for_review/east.json]
manual_candidates:
  description: The files with candidates of held partitions that were written for O(manual_output_dir).
  returned: when O(manual_output_dir) is given
  type: list
  elements: str
  sample: [/var/lib/kafka-recovery/for_review/east.held.json]
quarantine:
  description: Landing files that were not used, with the reason.
  returned: always
  type: list
  elements: dict
  sample:
    - path: /var/lib/kafka-recovery/landing/2026-11-21/west.jsonl
      reason: "no seal at its end: the file was cut off while it was written or copied"
summary:
  description: Counts over all clusters.
  returned: success
  type: dict
  sample:
    clusters: 1
    quarantined: 1
    elect: 118
    elect_by_evidence: {prefix: 118}
    held: 2
    held_by_reason: {forked: 1, wait_for_clean_leader: 1}
    online: 0
"""

from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible.module_utils.common.validation import check_type_path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import mounts, owner_process, signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.optional_imports import import_error
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import check_inside
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.strategy_options import STRATEGY_ARGUMENTS, check_strategies
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import kip1275_output
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule, run_and_exit
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery import background_plan, plan_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery.evidence_confirmation import (
    Collected,
    confirm,
    wait_until_collected,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.recovery.warmup import write_warmup_plan
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import options
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.cluster_batches import SETTINGS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import PARTITIONS, is_embedded, session

with suppress(ImportError):  # common.optional_imports names what is missing
    from pyspark.sql import SparkSession

RETURNED = ("plans", "manual_outputs", "manual_candidates", "quarantine", "summary")
# What the action plugin returns when it has started the module in the background.
BACKGROUND_TASK = {"ansible_job_id", "results_file", "collected_file"}


def plan_of_background(module: AnsibleModule) -> dict[str, Any]:
    """Confirm the evidence to the task in the background, and return its result."""
    params, task = module.params, module.params["background_task"]
    workdir = Path(params["workdir"]).absolute()
    check_inside(workdir, Path(task["results_file"]))
    confirm(mounts.shared(workdir), _collected_file(task), Collected(params["clusters"], params["other_clusters"]))
    result = background_plan.wait_for_result(background_plan.BackgroundTask(task["ansible_job_id"], task["results_file"]))
    for warning in result.get("warnings", ()):
        module.warn(str(warning))
    found = {name: result[name] for name in RETURNED if name in result}
    if (msg := background_plan.failure_message(result)) is not None:
        return {"failed": True, "msg": msg, **found}
    return {"changed": False, **found}


def _collected_file(task: Mapping[str, Any]) -> Path:
    """Return the file for which a task waits. Its name is as that task got it: `~` and variables are of this user, as in an option of type path."""
    return Path(check_type_path(str(task["collected_file"]))).absolute()


def _waits_for_background(params: Mapping[str, Any]) -> bool:
    """Return whether a task in the background waits to plan this run. A play before may have left the start of a plan of another run."""
    task, landing = params["background_task"] or {}, Path(params["workdir"], "landing", params["run_id"])
    return task.keys() >= BACKGROUND_TASK and _collected_file(task).parent == mounts.shared(landing.absolute())


def recovery_plan(module: AnsibleModule) -> dict[str, Any]:
    """Return the plans of all clusters, the landing files that were not used, and counts."""
    if _waits_for_background(module.params):
        return plan_of_background(module)
    params, where = module.params, options.session_arguments(module)
    check_strategies(params["topic_strategies"])
    workdir = Path(params["workdir"]).absolute()
    clusters = Collected(params["clusters"], params["other_clusters"])
    spark: SparkSession | None = None
    with ExitStack() as stack:
        if params["collected_file"]:
            stack.enter_context(owner_process.end_with(owner_process.find_owner(**params["playbook_process"])))
            spark = stack.enter_context(session(**where | {"conf": {**SETTINGS, **where["conf"]}}, input_bytes=None))
            if is_embedded(where["master"], where["remote"]):
                write_warmup_plan(spark)
            clusters = wait_until_collected(mounts.shared(workdir), Path(params["collected_file"]).absolute())
        found = plan_files.find_landing_files(workdir, params["run_id"], *clusters)
        options.fail_if_no_input(module, found.files, found.quarantine, "landing file")
        if spark is None:
            spark = stack.enter_context(
                session(**where | {"conf": {**found.settings(), **where["conf"]}}, input_bytes=found.bytes, passes_rows=True)
            )
        elif PARTITIONS not in where["conf"]:
            spark.conf.set(PARTITIONS, found.settings()[PARTITIONS])
        result = plan_files.write_plans(
            spark, found, workdir, params["strategy"], params["ranking"], module.check_mode, params["topic_strategies"]
        )
    signals.defer_signals()
    for row in result["quarantine"]:
        module.warn(f"not planned: {row['path']}: {row['reason']}")
    if params["manual_output_dir"]:
        folder = Path(params["manual_output_dir"]).absolute()
        outputs = [kip1275_output.write(Path(plan["path"]), folder) for plan in result["plans"]]
        result["manual_outputs"] = [str(written.leaders) for written in outputs if written.leaders]
        result["manual_candidates"] = [str(written.candidates) for written in outputs if written.candidates]
    return {"changed": False, **result}


def main() -> None:
    """Run the module."""
    module = PrintableModule(
        argument_spec={
            "workdir": {"type": "path", "required": True},
            "run_id": {"type": "str", "required": True},
            "clusters": {"type": "list", "elements": "str"},
            "other_clusters": {"type": "list", "elements": "str", "default": []},
            **STRATEGY_ARGUMENTS,
            "ranking": {"type": "str", "choices": ["last_written_epoch", "kip1275"], "default": "last_written_epoch"},
            "manual_output_dir": {"type": "path"},
            "collected_file": {"type": "path"},
            "playbook_process": {
                "type": "dict",
                "options": {"pid": {"type": "int", "required": True}, "started_at": {"type": "float", "required": True}},
            },
            "background_task": {"type": "dict"},
            **options.SPARK_ARGUMENTS,
        },
        required_by={"collected_file": "playbook_process"},
        supports_check_mode=True,
    )
    trace = import_error(
        "pyspark.sql", "pyarrow", *(["psutil"] if module.params["collected_file"] or module.params["background_task"] else [])
    )
    if trace is not None:
        module.fail_json(msg=missing_required_lib("pyspark[connect] and psutil"), exception=trace)
    run_and_exit(module, lambda: recovery_plan(module), "plans that were not finished are unchanged")


if __name__ == "__main__":
    main()
