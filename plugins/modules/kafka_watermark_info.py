#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record the log end and the high watermark of every partition of a healthy cluster, as evidence for a later outage."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_watermark_info
short_description: Take a snapshot of all partitions of a cluster, while they have leaders
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Reads, for every partition of a cluster, its leader's log end offset and high watermark, ISR, eligible leader replicas and last known ELR (KIP-966),
    offline replicas, C(min.insync.replicas) and C(cleanup.policy), of every broker its state and rack, and the level of the feature
    C(eligible.leader.replicas.version).
  - Writes them to a sealed file, C(<workdir>/healthy/<cluster>/<run_id>.jsonl), and removes old ones. A second snapshot with the same run id replaces the
    first.
  - When partitions lose their leaders, M(streamops.kafka_recovery.kafka_replica_log_info) reads from these files what was committed before. The report
    computes the risks of a cluster from them.
  - Partitions without a leader are recorded without offsets, and those whose leader does not answer with the error. Neither is a failure.
  - Sends three requests per 1,000 partitions. Requires DESCRIBE on the topics and on the cluster, and DESCRIBE_CONFIGS on the topics for the configs
    (else it warns).
  - Changes nothing in the cluster.
options:
  followers:
    description:
      - Followers whose log ends are read. V(out_of_sync) reads those outside of the ISR, which shows how far behind they are and what
        would be lost with the ISR. V(all) reads every follower, V(none) reads only leaders.
    type: str
    choices: [none, out_of_sync, all]
    default: out_of_sync
  keep_hours:
    description:
      - Hours for which all snapshots of the cluster are kept. Of each earlier hour the first snapshot is kept, see O(keep_days). V(0) keeps all of them.
      - Only files whose run id is a time like V(2026-11-21T14-05-00Z) are ever removed, and never the newest.
    type: float
    default: 2.0
  keep_days:
    description: Days for which one snapshot of each hour is kept. V(0) keeps all of these.
    type: float
    default: 30.0
requirements:
  - orjson >= 3.10
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.partitions.workdir
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
attributes:
  check_mode:
    support: full
    details: Writes no snapshot, and removes none.
  idempotent:
    support: partial
    details: Changes nothing in the cluster. Every run writes its snapshot, also with the run id of an earlier one, and can remove old ones.
"""

EXAMPLES = r"""
- name: Take a snapshot, keep all snapshots of one day and one of each hour for 90 days
  streamops.kafka_recovery.kafka_watermark_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
    keep_hours: 24
    keep_days: 90
"""

RETURN = r"""
path:
  description: The snapshot. In check mode, the path that it would have.
  returned: success
  type: str
  sample: /var/lib/kafka-recovery/healthy/east/2026-11-21T14-05-00Z.jsonl
counts:
  description: Numbers of partitions, of those without a live leader, with an ISR smaller than C(min.insync.replicas), and with a leader that did not answer.
  returned: success
  type: dict
  sample: {partitions: 10000, without_leader: 0, under_min_isr: 2, unanswered: 0}
removed:
  description: Number of old snapshots that were removed.
  returned: success
  type: int
  sample: 1
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: [{broker_id: 3, reason: Request timed out after 10000 ms}]
"""

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.backend_selection import COMPAT
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import ELR_FEATURE
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import healthy_snapshot
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import KafkaModule, workdir_arguments
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import quorum_file


def watermark_info(module: KafkaModule, cluster: Cluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    path = healthy_snapshot.snapshot_file(module.workdir, params["cluster"], params["run_id"], make=not module.check_mode)
    began = utc_now()  # before the requests: a broker that does not answer delays the end, when other answers are older
    found = healthy_snapshot.collect_watermarks(cluster, params["followers"])
    if problem := found.configs.problem():
        module.ansible.warn(problem)
    header = {
        "cluster": params["cluster"],
        "cluster_id": cluster.cluster_id,
        "run_id": params["run_id"],
        "collected_at": began,
        "backend": COMPAT,
        "eligible_leader_replicas_version": cluster.feature_level(ELR_FEATURE),
        "options": {"followers": params["followers"]},
        "unreachable_brokers": sorted(cluster.unreachable),
    }
    if not module.check_mode:
        landing_format.write(path, header, found.rows())
        if cluster.last_quorum is not None:
            quorum_file.write(module.workdir, params["cluster"], quorum_file.summarize(cluster.last_quorum))
    return {
        "changed": False,
        "path": str(path),
        "counts": found.counts(),
        "removed": 0 if module.check_mode else healthy_snapshot.prune(path, params["keep_hours"], params["keep_days"]),
        "unreachable_brokers": cluster.unreachable_rows(),
    }


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **workdir_arguments(),
            "followers": {"type": "str", "default": healthy_snapshot.OUT_OF_SYNC, "choices": list(healthy_snapshot.FOLLOWERS)},
            "keep_hours": {"type": "float", "default": 2.0},
            "keep_days": {"type": "float", "default": 30.0},
        }
    )
    module.run(watermark_info)


if __name__ == "__main__":
    main()
