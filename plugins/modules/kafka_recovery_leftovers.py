#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove what runs that were killed have left on a cluster."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_recovery_leftovers
short_description: Remove what killed runs have left on a cluster
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Restores replica orders that an election of a killed run has changed, and removes throttles of a killed run and throttles that have expired.
  - What M(streamops.kafka_recovery.kafka_recovery_leftovers_info) finds beyond that is kept, unless the operator names it, as O(foreign_throttles)
    or O(cancel_moves).
  - No record is lost by it. The replicas of a partition stay the same, and a reassignment that is cancelled keeps the replicas that have the records.
    A revival is not touched, since it gives records up.
  - The rules are those of the runs themselves. An order is restored only if it is still the one that the killed run has set, and if a second broker
    states the same replicas. A throttle stays while moves that it slows down are under way.
  - What belongs to a run in progress is left alone, and RV(running) names that run.
  - Needs the permissions of M(streamops.kafka_recovery.kafka_recovery_leftovers_info), ALTER on the cluster to restore orders and to cancel reassignments,
    and ALTER_CONFIGS on the cluster and the topics to remove throttles.
options:
  cluster:
    description: Name of the cluster, as in the inventory. Part of the names of its files in O(workdir).
    type: str
    required: true
  run_id:
    description: Name of this run. The journal of replica orders names it to runs that find it in use.
    type: str
    required: true
  workdir:
    description: Directory on the host that runs the module, with the journals. Created if it is missing, private to its owner.
      Or the URL of a folder in an object store (C(s3://), C(gs://), C(az://)).
    type: path
    required: true
  foreign_throttles:
    description:
      - Throttles to remove although this workdir has not set them, as C(resource) in RV(leftovers) names them, for example V(topic orders), V(broker 1) or
        V(all brokers). V(all) names all that are found.
      - They are removed only while nothing uses them, as M(streamops.kafka_recovery.kafka_recovery_leftovers_info) describes.
    type: list
    elements: str
    default: []
  cancel_moves:
    description:
      - Topics, or partitions of them, whose reassignments are cancelled (KIP-455), also those of another tool.
      - The order of replicas is restored if the workdir knows it. A reassignment of a run in progress that has a throttle, or of a revival, is not cancelled.
    type: list
    elements: dict
    default: []
    suboptions:
      topic:
        description: Name of the topic.
        type: str
        required: true
      partition:
        description: Number of the partition. Default is all partitions of the topic that are moving.
        type: int
  allow_unmerged:
    description:
      - With O(require_commit=true), whether what killed runs of this workdir have left may be removed although no merge says so. O(foreign_throttles) and
        O(cancel_moves) are refused then.
    type: bool
    default: false
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
  - streamops.kafka_recovery.attributes.kafka
attributes:
  check_mode:
    support: full
    details: Brokers validate changes of configs without making them.
  diff_mode:
    support: full
    details: Shows what is removed, and what is restored in its place.
  idempotent:
    support: full
seealso:
  - module: streamops.kafka_recovery.kafka_recovery_leftovers_info
  - module: streamops.kafka_recovery.kafka_partition_reassignment
"""

EXAMPLES = r"""
- name: Remove what killed runs have left
  streamops.kafka_recovery.kafka_recovery_leftovers:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"

- name: Remove throttles of another tool, and cancel the moves of a topic
  streamops.kafka_recovery.kafka_recovery_leftovers:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    foreign_throttles: [topic orders, broker 1]
    cancel_moves:
      - topic: orders
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
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import signals
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule, workdir_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers import model
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.cleanup import Cleanup
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.leftovers.run import Leftovers


def leftovers(module: KafkaModule, cluster: LeftoverCluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    found = Leftovers(cluster, module.connection, module.workdir, params["cluster"], params["window"])
    found.find()
    # From here on signals are deferred: the work takes only seconds.
    signals.defer_signals()
    cleanup = Cleanup(found, params["run_id"], module.check_mode)
    cleanup.remove(params["foreign_throttles"], params["cancel_moves"])
    for warning in cleanup.warnings:
        module.ansible.warn(warning)
    if not module.check_mode:
        found.write()
    result = {"changed": cleanup.changed, **found.report(params["preview"]), "diff": model.diff(found.rows)}
    failure = cleanup.failure()
    return result if failure is None else {**result, "failed": True, "msg": failure}


def main() -> None:
    """Run the module."""
    move = {"topic": {"type": "str", "required": True}, "partition": {"type": "int"}}
    module = KafkaModule(
        {
            **workdir_arguments(),
            "foreign_throttles": {"type": "list", "elements": "str", "default": []},
            "cancel_moves": {"type": "list", "elements": "dict", "options": move, "default": []},
            "window": {"type": "float", "default": 10.0},
            "allow_unmerged": {"type": "bool", "default": False},
            "preview": {"type": "int", "default": 20},
        },
        changes=lambda _params: True,
        # What runs of this workdir have left is the end of changes that were merged. Anything else is a new change.
        approved=lambda params: params["allow_unmerged"] and not params["foreign_throttles"] and not params["cancel_moves"],
    )
    module.run(leftovers, opening=LeftoverCluster)


if __name__ == "__main__":
    main()
