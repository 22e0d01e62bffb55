#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what runs that were killed have left on a cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_leftovers_info
short_description: Find what killed runs have left on a cluster
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Finds replica orders, throttles, reassignments, revivals and transactions that runs of this collection have left on a cluster, and throttles
    that nothing uses. M(streamops.kafka_recovery.kafka_recovery_leftovers) removes them.
  - Reads the cluster, and the journals of the workdir. Sends no request that changes a cluster.
  - A throttle is left over if no move of its topic, or with its broker, is under way. Throttles that this workdir has not set are found, too.
  - Replica orders are known from the journal of the workdir. If there is none, RV(unknown) says so, and with O(controller_bootstrap_servers) the metadata log
    shows which orders were changed without a change of replicas. Whether a run or an operator has done that, it does not show.
  - Writes what remains to C(<workdir>/leftovers/<cluster>.json), for the metrics of the report, but not in check mode.
  - Needs DESCRIBE and DESCRIBE_CONFIGS on the cluster and on the topics, and DESCRIBE on transactional ids. For the metadata log it
    needs CLUSTER_ACTION on the cluster.
options:
  cluster:
    description: Name of the cluster, as in the inventory. Part of the names of its files in O(workdir).
    type: str
    required: true
  workdir:
    description: Directory on the host that runs the module, with the journals. Created if it is missing, private to its owner.
      Or the URL of a folder in an object store (C(s3://), C(gs://), C(az://)).
    type: path
    required: true
  window:
    description:
      - Seconds for which reassignments under way are watched. One of which no replica gets data within this time stands still.
      - A replica with a low throttle gets data every few seconds.
    type: float
    default: 10.0
  preview:
    description: Maximum of rows in RV(leftovers). RV(summary) counts all.
    type: int
    default: 20
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
seealso:
  - module: streamops.kafka_recovery.kafka_recovery_leftovers
  - module: streamops.kafka_recovery.kafka_replication_throttle
"""

EXAMPLES = r"""
- name: Find what killed runs have left
  streamops.kafka_recovery.kafka_recovery_leftovers_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    workdir: "{{ kafka_recovery_workdir }}"
"""

RETURN = r"""
summary:
  description:
    - Numbers of rows by outcome, and of reassignments under way that copy (C(moving)), which are not left over.
    - V(removable) is ours and can be removed, V(kept) is not, V(failed) could not be removed, V(removed) was.
  returned: success
  type: dict
  sample: {failed: 0, removable: 7, kept: 2, removed: 0, moving: 0}
remaining:
  description:
    - Numbers of rows that are not removed, by kind and owner.
    - Owners are V(killed_run) (a run of this workdir that was killed), V(expired) and V(standing) (throttles of
      M(streamops.kafka_recovery.kafka_replication_throttle)), and V(unknown) (the workdir does not know it).
  returned: success
  type: list
  elements: dict
  sample:
    - {kind: replica_order, owner: killed_run, count: 3}
leftovers:
  description:
    - Some of the rows, worst first. Kinds are V(reassignment) (one that stands still), V(replica_order), V(throttle), V(revival) and V(transaction).
    - C(present) is what is set, C(original) what is restored, V(null) for nothing. C(since) is when the run began, if that is known.
    - C(reason) says why it is not removed, and what to do.
  returned: success
  type: list
  elements: dict
  sample:
    - kind: replica_order
      owner: killed_run
      outcome: removable
      reason: null
      topic: orders
      partition: 3
      broker_id: null
      config: null
      present: "2,1,3"
      original: "1,2,3"
      run_id: 2026-11-21T02-45-00Z
      since: "2026-11-21T02:45:00Z"
      resource: topic orders
running:
  description: A sentence on each run of this workdir that is in progress. What belongs to it is left alone.
  returned: success
  type: list
  elements: str
  sample: []
unknown:
  description: What could not be looked at, so that more may be left, for example the rates of a broker that does not answer.
  returned: success
  type: list
  elements: str
  sample: ["broker 3 does not answer, and no other broker says which replication rates it has"]
problems:
  description: Why journals of the workdir, or configs of the cluster, could not be read.
  returned: success
  type: list
  elements: str
  sample: []
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: []
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.leftover_cluster import LeftoverCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.run import Leftovers


def leftovers_info(module: KafkaModule, cluster: LeftoverCluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    found = Leftovers(cluster, module.connection, module.workdir, params["cluster"], params["window"])
    found.find()
    for problem in found.problems:
        module.ansible.warn(problem)
    if not module.check_mode:
        found.write()
    return {"changed": False, **found.report(params["preview"])}


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            "cluster": {"type": "str", "required": True},
            "workdir": {"type": "path", "required": True},
            "window": {"type": "float", "default": 10.0},
            "preview": {"type": "int", "default": 20},
        }
    )
    module.run(leftovers_info, opening=LeftoverCluster)


if __name__ == "__main__":
    main()
