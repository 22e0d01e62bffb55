#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report what happened to the fleet, what was lost, what to do next and what is at risk: a page, a JSON file, metrics."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_report
short_description: Report recoveries and risks of the fleet as a page, as JSON and as Prometheus metrics
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Imports the files of a workdir into the history tables (C(<workdir>/history)), and reports only from these tables.
  - Writes C(<workdir>/reports/<run_id>/report.html), one page that needs no network, and C(report.json) beside it with the same content for programs.
  - Shows for each partition its outcome and evidence, the bounds of the number of lost records, and the next command.
    Unknown values are shown as unknown, and are not part of sums.
  - Healthy snapshots add which partitions are one failure from offline, and how that has changed.
  - Contacts no Kafka cluster.
options:
  workdir:
    description: Directory of all files of the recovery. If Spark runs on other hosts, they must have it under the same path.
    type: path
    required: true
  run_id:
    description: Name of the report. A report of the same name is replaced.
    type: str
    required: true
  run_ids:
    description: Recoveries to report. If a partition is in several of them, the last one counts. Default is the newest recovery.
    type: list
    elements: str
  clusters:
    description: Clusters to report. Default is every cluster of the history.
    type: list
    elements: str
  what_if_brokers:
    description:
      - Also show the effect on the fleet if all of these brokers were lost, computed from the newest healthy snapshots.
      - An id applies to every cluster in O(clusters) that has such a broker.
    type: list
    elements: int
  textfile:
    description:
      - Also write the metrics to this file, replaced atomically, for the textfile collector of the Prometheus node exporter. Its name ends with C(.prom).
      - No link in its directory is followed. A directory in which every user can replace files is refused.
      - The file is readable by all users, because the collector is another user.
    type: path
  ingest:
    description: Whether to import new files into the history tables first. V(false) reports from the tables without changing them.
    type: bool
    default: true
  retention_days:
    description: Remove rows that are older than this many days from all history tables except the audit. Default is to keep everything.
    type: int
  page_files:
    description:
      - Template, style sheets and script of the page, by the names of their files. The action plugin of the collection sets this option. Leave it out.
      - They are not secret, but too long for a log.
    type: dict
extends_documentation_fragment:
  - streamops.kafka_recovery.spark
  - streamops.kafka_recovery.commands
  - streamops.kafka_recovery.attributes
requirements:
  - itables >= 2.9
  - jinja2
  - prometheus-client >= 0.22
  - pygal >= 3.1
attributes:
  check_mode:
    support: full
    details: >-
      Writes neither its files nor the history tables, only the files that its commands name. It reports from the tables, so files that are
      new since the last report are missing. No cluster is contacted in either mode.
  diff_mode:
    support: none
  idempotent:
    support: full
    details: The tables have each run exactly once. Only ages and the time of the report differ from one report to the next.
"""

EXAMPLES = r"""
- name: Report the newest recovery, and the fleet's risks
  streamops.kafka_recovery.kafka_recovery_report:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
  register: report

- name: Report to Prometheus, too, and show the effect of losing two brokers
  streamops.kafka_recovery.kafka_recovery_report:
    workdir: "{{ kafka_recovery_workdir }}"
    run_id: "{{ kafka_recovery_run_id }}"
    what_if_brokers: [2, 3]
    textfile: /var/lib/prometheus/node-exporter/kafka_recovery.prom
    spark_remote: "{{ kafka_recovery_spark_remote }}"
"""

RETURN = r"""
headline:
  description: One sentence about what happened (C(text)), the next step (C(next)), and one word for the state (C(state)).
  returned: success
  type: dict
  sample:
    state: offline
    text: 2 of 120 partitions still have no leader; 118 were elected.
    next: "Next, in cluster east: start a broker that holds a replica, then run again."
next_steps:
  description:
    - What to do about partitions without a leader, the cheapest step first, as on the page. At most 12 of them.
    - C(next_steps[].code) is their reason code, else their outcome. V(other_offline) are partitions that the last run did not select.
    - C(next_steps[].command) is one line for a shell, for exactly these C(next_steps[].partitions), V(null) if no run helps.
  returned: success
  type: list
  elements: dict
  sample:
    - cluster: east
      code: no_survivor
      partitions: 2
      step: start a broker that holds a replica, with its disk, bring back the failed disk of one that runs, or repair the connection of one that runs cut
        off from the controllers, then plan again
      command: >-
        ansible-playbook -i /etc/kafka-recovery/inventory.yml --limit east
        -e '{kafka_recovery_partitions: [{topic: orders, partition: 0}, {topic: orders, partition: 1}]}' streamops.kafka_recovery.plan
steps_left_out:
  description: Number of further steps. The report has all of them.
  returned: success
  type: int
  sample: 0
html_path:
  description: The page. In check mode, the path that it would have.
  returned: success
  type: str
  sample: /var/lib/kafka-recovery/reports/2026-11-21/report.html
json_path:
  description: The same content for programs.
  returned: success
  type: str
  sample: /var/lib/kafka-recovery/reports/2026-11-21/report.json
textfile:
  description: The file with the metrics.
  returned: when O(textfile) is given
  type: str
  sample: /var/lib/prometheus/node-exporter/kafka_recovery.prom
run_ids:
  description: The recoveries that are reported.
  returned: success
  type: list
  elements: str
  sample: [2026-11-21T02-47-10Z]
summary:
  description: Counts over all clusters; C(summary.ingested) counts runs that were new in the tables, or had changed.
  returned: success
  type: dict
  sample:
    partitions: 120
    without_leader: 2
    outcomes: {failed: 0, stale: 0, held: 2, planned: 0, clean_leader: 0, elected: 118, already_online: 0}
    offline: 0
    one_failure: 6
    quarantined: 0
    ingested: 1
record_counts:
  description:
    - What became of the records that the reported elections cost, over all their partitions. C(replayed), C(saved), C(on_disk) and C(gone) add up to C(total).
    - C(not_known) is the number of partitions without numbers, C(unread) that of partitions of which a disk that was not read may have more.
  returned: success
  type: dict
  sample: {partitions: 1, replayed: 20, saved: 5, on_disk: 0, gone: 0, total: 25, not_known: 0, unread: 0}
quarantine:
  description: Files that this report refused, with the reason.
  returned: success
  type: list
  elements: dict
  sample:
    - path: /var/lib/kafka-recovery/landing/2026-11-21/west.jsonl
      reason: "no seal at its end: the file was cut off while it was written or copied"
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import numeric_options
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.optional_imports import import_error
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.playbook_command import COMMAND_ARGUMENTS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.module_exit import PrintableModule, run_and_exit
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.report import page_files, run
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.spark import options as spark_options


def recovery_report(module: AnsibleModule) -> dict[str, Any]:
    """Return what RETURN documents."""
    numeric_options.check_numbers(module.params)
    result = run.report(module.params, spark_options.session_arguments(module), module.check_mode)
    for row in result["quarantine"]:
        module.warn(f"refused: {row['path']}: {row['reason']}")
    return {"changed": False, **result}


def main() -> None:
    """Run the module."""
    module = PrintableModule(
        argument_spec={
            "workdir": {"type": "path", "required": True},
            "run_id": {"type": "str", "required": True},
            "run_ids": {"type": "list", "elements": "str"},
            "clusters": {"type": "list", "elements": "str"},
            "what_if_brokers": {"type": "list", "elements": "int"},
            "textfile": {"type": "path"},
            "ingest": {"type": "bool", "default": True},
            "retention_days": {"type": "int"},
            page_files.OPTION: {"type": "dict", "no_log": True},
            **COMMAND_ARGUMENTS,
            **spark_options.SPARK_ARGUMENTS,
        },
        supports_check_mode=True,
    )
    trace = import_error("pyspark.sql", "pyarrow", "pygal", "itables", "prometheus_client", "jinja2")
    if trace is not None:
        module.fail_json(msg=missing_required_lib("pyspark[connect], pygal, itables, prometheus-client or jinja2"), exception=trace)
    run_and_exit(module, lambda: recovery_report(module), "the report stands as before")


if __name__ == "__main__":
    main()
