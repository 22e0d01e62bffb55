#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide on Spark, for all clusters of a run at once, which brokers take over the replicas that lost brokers had."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_redundancy_plan
short_description: Plan replica placement for lost brokers
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Reads the layout files of a run, which M(streamops.kafka_recovery.kafka_partition_reassignment_info) writes with the replicas of each cluster,
    and writes one reassignment file per cluster, C(<workdir>/reassignments/<run_id>/<cluster>.json), in the format of C(kafka-reassign-partitions),
    version 1. M(streamops.kafka_recovery.kafka_partition_reassignment) applies it.
  - Replaces only the replicas on lost brokers, so that only missing bytes are copied. A replica that is not on a lost broker
    is given up only if O(replication_factor) is smaller.
  - A new replica goes to the rack with the fewest replicas of its partition, and there to the broker whose disk is then least full. Racks count if every
    unfenced broker has one. If the first replica was lost, the broker that is first in the fewest lists becomes the first. Otherwise the order is kept.
  - A partition is held, with the reason, if it has no live leader to copy from, is being reassigned already, needs more replicas than there are
    brokers, would have fewer than its C(min.insync.replicas), or if no broker has space for it.
  - A layout file that is missing, truncated, changed or of another cluster is quarantined with its reason and the other clusters are
    planned. The task fails if no file can be used.
  - Contacts no Kafka cluster. The same layout files give the same lists, independent of the order of their lines.
options:
  workdir:
    description: Directory of all files of the recovery. If Spark runs on other hosts, they must have it under the same path.
    type: path
    required: true
  run_id:
    description: The run whose layout files are planned.
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
  lost_brokers:
    description:
      - Ids of the brokers that are given up. A list applies to each cluster that has these brokers. A mapping has a list for each cluster by its name.
      - Default, also for clusters that a mapping does not name, is every fenced broker that is not coming back.
      - A broker that is coming back is given up only if it is named. A cluster in which one of its named brokers is unfenced is quarantined.
      - An empty list gives up no broker. Use it with O(replication_factor).
      - A mapping that names a cluster that is neither in O(clusters) nor in O(other_clusters) is an error, and so is a cluster without a layout file if these
        options are not set.
    type: raw
  replication_factor:
    description:
      - Number of replicas of each partition, including partitions that have lost none. Use it with O(topics).
      - Default is the current number, lost replicas included.
    type: int
  topics:
    description: Topics to plan. Default is all topics, including internal ones. A topic that no planned cluster has gives a warning.
    type: list
    elements: str
  max_disk_percent:
    description: No broker gets a replica that would fill its log dirs, taken together, to more than this percentage. Brokers that report no size have no limit.
    type: int
    default: 90
  without_survivor:
    description:
      - V(true) plans the partitions all of whose replicas are on lost brokers, and no others. They have no records to copy.
        M(streamops.kafka_recovery.kafka_partition_revival) gives them an empty leader. Name the O(topics).
    type: bool
    default: false
extends_documentation_fragment:
  - streamops.kafka_recovery.spark
  - streamops.kafka_recovery.attributes
attributes:
  check_mode:
    support: full
    details: Writes the reassignment files in check mode, too, because a dry run needs them. No cluster is contacted in either mode.
  diff_mode:
    support: none
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Plan replica placement for all clusters of the run
  streamops.kafka_recovery.kafka_redundancy_plan:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
  register: plan

- name: Plan on a running Spark Connect server, and leave a fifth of every disk free
  streamops.kafka_recovery.kafka_redundancy_plan:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
    max_disk_percent: 80
    spark_remote: "{{ kafka_recovery_spark_remote }}"

- name: Plan two replicas, because one broker is lost and the others are too few for three
  streamops.kafka_recovery.kafka_redundancy_plan:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
    clusters: ["{{ inventory_hostname }}"]
    lost_brokers: [1]
    replication_factor: 2
    topics: [orders]

- name: Name the lost brokers of each cluster
  streamops.kafka_recovery.kafka_redundancy_plan:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
    clusters: [east, west]
    lost_brokers:
      east: [1]
      west: [2, 3]
"""

RETURN = r"""
plans:
  description:
    - The reassignment files, sorted by cluster, each with its totals.
    - C(plans[].bytes) is the number of bytes to copy. Each of the C(plans[].unknown_sizes) partitions whose size no broker reported counts as V(0).
    - C(plans[].rack_violations) are planned partitions with two replicas in one rack although another rack has none. Survivors are not moved for it.
    - C(plans[].file_sha256) is the sha256 of the file, as C(sha256sum) prints it, for the option
      O(streamops.kafka_recovery.kafka_partition_reassignment#module:reassignment_file_sha256) of the task that uses it.
    - The skews are how far the broker with the most is above the mean of the unfenced brokers afterwards, in percent, V(null) if the mean is zero.
  returned: success
  type: list
  elements: dict
  sample:
    - cluster: east
      path: /var/lib/kafka-recovery/reassignments/2026-11-21/east.json
      file_sha256: 7c1f9a0c1dfd5b5c6e0a6d2a5cfb0b2b9f5f0a8a3dd0c1cf6a9d5e3f2b1a4c7d
      planned: 620
      held: 2
      held_by_reason: {no_leader: 2}
      adding_replicas: 620
      bytes: 214748364800
      unknown_sizes: 0
      rack_violations: 0
      leader_skew_percent: 1
      replica_skew_percent: 2
      byte_skew_percent: 1
quarantine:
  description: Layout files that were not used, with the reason.
  returned: always
  type: list
  elements: dict
  sample:
    - path: /var/lib/kafka-recovery/layout/2026-11-21/west.jsonl
      reason: "no seal at its end: the file was cut off while it was written or copied"
summary:
  description: Counts over all clusters.
  returned: success
  type: dict
  sample:
    clusters: 1
    quarantined: 1
    planned: 620
    held: 2
    held_by_reason: {no_leader: 2}
    adding_replicas: 620
    bytes: 214748364800
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.optional_imports import import_error
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule, run_and_exit
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.pipeline.redundancy import reassignment_files
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.lost_brokers import parse
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import options as spark_options
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark.session import session


def redundancy_plan(module: AnsibleModule) -> dict[str, Any]:
    """Return what RETURN documents."""
    params, where = module.params, spark_options.session_arguments(module)
    options = reassignment_files.Options(
        **{name: params[name] for name in ("replication_factor", "topics", "max_disk_percent", "without_survivor")}
    )
    options.check()
    workdir = Path(params["workdir"]).absolute()
    found = reassignment_files.find_layout_files(workdir, params["run_id"], params["clusters"], params["other_clusters"])
    if params["lost_brokers"] is not None:
        landed = [*found.files, *(Path(row["path"]).stem for row in found.quarantine)]
        known = {*(params["clusters"] or landed), *params["other_clusters"]}
        options = replace(options, lost_brokers=parse(params["lost_brokers"], sorted(known), "lost_brokers"))
    spark_options.fail_if_no_input(module, found.files, found.quarantine, "layout file")
    where["conf"] = {**found.settings(), **where["conf"]}
    with session(**where, input_bytes=found.bytes) as spark:
        result = reassignment_files.write(spark, found, workdir, options)
    for warning in (*(f"not planned: {row['path']}: {row['reason']}" for row in result["quarantine"]), *result.pop("warnings")):
        module.warn(warning)
    return {"changed": False, **result}


def main() -> None:
    """Run the module."""
    module = PrintableModule(
        argument_spec={
            "workdir": {"type": "path", "required": True},
            "run_id": {"type": "str", "required": True},
            "clusters": {"type": "list", "elements": "str"},
            "other_clusters": {"type": "list", "elements": "str", "default": []},
            "lost_brokers": {"type": "raw"},
            "replication_factor": {"type": "int"},
            "topics": {"type": "list", "elements": "str"},
            "max_disk_percent": {"type": "int", "default": 90},
            "without_survivor": {"type": "bool", "default": False},
            **spark_options.SPARK_ARGUMENTS,
        },
        supports_check_mode=True,
    )
    trace = import_error("pyspark.sql", "pyarrow")
    if trace is not None:
        module.fail_json(msg=missing_required_lib("pyspark[connect]"), exception=trace)
    run_and_exit(module, lambda: redundancy_plan(module), "files that were not finished are unchanged")


if __name__ == "__main__":
    main()
