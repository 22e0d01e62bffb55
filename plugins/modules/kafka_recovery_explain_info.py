#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw the replicas of one partition from the files of a run, and show why the plan elects or holds it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_explain_info
short_description: Draw the replicas of a partition, and explain its plan
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Draws the logs of one partition as lines of text on one axis of offsets. A fork, the log ends, high watermarks, committed offsets, and what an election
    truncates can be seen at once. Below are the facts of each replica, a legend, and the explanation of the plan with the bounds of the loss.
  - Reads the landing file of the run in O(workdir). If they exist, it also reads the plan, the results and the index of saved records. Without a plan no
    replica is marked as leader.
  - Only what the evidence has is drawn. Leader epochs are known at the end of each log, at confirmed committed offsets, and where they follow from these.
    Where they are not known, the log is drawn as dots.
  - A stretch of the axis that is much longer than the rest, such as the common beginning of forked logs, is broken, and the rest is drawn large.
  - Contacts no Kafka cluster, and writes nothing.
options:
  workdir:
    description: Directory of all files of the recovery.
    type: path
    required: true
  run_id:
    description: The run whose evidence is drawn.
    type: str
    required: true
  cluster:
    description: Name of the cluster, as in the inventory.
    type: str
    required: true
  topic:
    description: Topic of the partition.
    type: str
    required: true
  partition:
    description: Number of the partition.
    type: int
    required: true
  plan:
    description: A plan file of this run, for example one that was merged. Default is the plan of the run in O(workdir), if there is one.
    type: path
  width:
    description: The most columns of a line, from 60 to 1000.
    type: int
    default: 100
  ascii:
    description: Whether to draw with ASCII characters only, for terminals and tickets that show no others.
    type: bool
    default: false
extends_documentation_fragment:
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
"""

EXAMPLES = r"""
# On the command line: ansible localhost -m streamops.kafka_recovery.kafka_recovery_explain_info \
#   -a 'workdir=/var/lib/kafka-recovery run_id=2026-11-21 cluster=east topic=orders partition=0'
- name: Draw the replicas of a partition
  streamops.kafka_recovery.kafka_recovery_explain_info:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
    cluster: "{{ inventory_hostname }}"
    topic: orders
    partition: 0
  register: explained

- name: Show the drawing
  ansible.builtin.debug:
    var: explained.lines
"""

RETURN = r"""
lines:
  description:
    - What the plan and the results say, the axis, one line for each replica, the facts of each replica, the legend, and the explanation. No line is longer
      than O(width).
    - Control characters and other characters that could change how a terminal shows the line are escaped.
  returned: success
  type: list
  elements: str
  sample:
    - "orders partition 0 of cluster east, run 1, evidence of 2026-11-21T04:00:00Z"
    - "plan: held (forked), evidence forked, candidate broker 2"
    - ""
    - "                0                         90     100   121               180"
    - "                ┬─────────────────────────┬──────┬─────┬─────────────────┬"
    - "  broker 1 lost ?"
    - "☆ broker 2      ├─────────────0───────────▲──────╬──1──┤"
    - "  broker 3      ├─────────────0───────────▲──────╬▒▒▒▒▒▒▒▒▒▒▒0▒▒▒▒▒▒▒▒▒▒▒┤"
text:
  description: RV(lines) as one text.
  returned: success
  type: str
  sample: "orders partition 0 of cluster east, run 1, evidence of 2026-11-21T04:00:00Z\n…"
leader:
  description: The broker that is marked as leader, designated leader or candidate, V(null) if none is.
  returned: success
  type: int
  sample: 2
explanation:
  description: The explanation of the plan, V(null) if no plan has the partition.
  returned: success
  type: str
  sample: "broker 2 holds the best log: it ends at offset 121, last written in leader epoch 1; …"
replicas:
  description:
    - What is drawn, as numbers. Offsets that are not known are V(null).
    - C(replicas[].state) is V(alive), V(fenced) (and it answers), V(lost), V(coming_back), V(silent), V(disk_failed), V(error) or V(not_read).
    - C(replicas[].role) is V(leader), V(designated_leader), V(candidate) or V(null).
    - C(replicas[].epochs) are the leader epochs along the log, V(null) for offsets whose epoch is not known. An C(end) is the offset after the last one.
    - C(replicas[].fork_offsets) are the offsets where the log forks from that of RV(leader). For that log, and without a leader, from any other log.
    - C(replicas[].truncates) says whether the log loses records with that leader, from C(replicas[].truncated_from) on if that is known.
  returned: success
  type: list
  elements: dict
  sample:
    - broker_id: 3
      state: alive
      role: null
      error: null
      silent_seconds: null
      in_isr: false
      in_elr: false
      in_last_known_elr: false
      log_start_offset: 0
      log_end_offset: 180
      high_watermark: 90
      last_written_epoch: 0
      epochs: [{start: 0, end: 180, leader_epoch: 0}]
      fork_offsets: [100]
      committed_offsets: [{offset: 15, source: consumer_group, name: readers}]
      truncates: true
      truncated_from: 100
      saved: [{start: 100, end: 180}]
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule, run_and_exit
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report.partition_explanation import RunFiles, explain


def recovery_explain_info(module: AnsibleModule) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    plan = Path(params["plan"]).absolute() if params["plan"] else None
    files = RunFiles(Path(params["workdir"]).absolute(), params["run_id"], params["cluster"], plan)
    result = explain(files, (params["topic"], params["partition"]), params["width"], params["ascii"])
    for warning in result.pop("warnings"):
        module.warn(warning)
    return {"changed": False, **result}


def main() -> None:
    """Run the module."""
    module = PrintableModule(
        argument_spec={
            "workdir": {"type": "path", "required": True},
            "run_id": {"type": "str", "required": True},
            "cluster": {"type": "str", "required": True},
            "topic": {"type": "str", "required": True},
            "partition": {"type": "int", "required": True},
            "plan": {"type": "path"},
            "width": {"type": "int", "default": 100},
            "ascii": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    run_and_exit(module, lambda: recovery_explain_info(module))


if __name__ == "__main__":
    main()
