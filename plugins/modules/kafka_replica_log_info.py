#!/usr/bin/python
# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collect evidence: what each surviving replica of a partition without a leader holds."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kafka_replica_log_info
short_description: Read the log of every surviving replica of offline partitions
version_added: 1.0.0
author: StreamOps (@streamops)
description:
  - Reads from every unfenced broker with a replica of an offline partition its log start, log end offset, high watermark, partition leader
    epoch, and its last batch with the epoch in which it was written.
  - Reads from fenced brokers that answer, too, once. They cannot be elected, but their records count in the bounds of the loss, and the strategy C(balanced)
    holds a partition if one of them holds more than the best survivor. Brokers before Kafka 4.0 do not report the addresses of fenced brokers.
  - Compares each pair of survivors, whether one log is a prefix of the other, or at which offset they fork. So the evidence is valid for any winner.
    Logs are compared by leader epochs, also after compaction, which explains a missing record only if C(cleanup.policy) includes C(compact). A pair is
    V(corrupt) if the two logs have different bytes at one offset from one epoch.
  - If O(controller_bootstrap_servers) is set and a partition is offline, reads the metadata log of the active controller, too (its snapshot, if the
    beginning of the log is deleted), for each change of leader, ISR and C(min.insync.replicas), back to the last moment at which all survivors were in
    the ISR. It stops after 256 MiB or at the end of O(duration), and reports then that the history is not complete, which is not a failure.
    This requires CLUSTER_ACTION on a cluster with an authorizer.
  - Reads C(min.insync.replicas), C(unclean.leader.election.enable) and C(cleanup.policy) of the topics if DESCRIBE_CONFIGS on them is granted (else it
    warns), and the level of C(eligible.leader.replicas.version). The plan explains what they mean for its partitions.
  - Reads from the snapshots of M(streamops.kafka_recovery.kafka_watermark_info) in the same workdir the end of each offline partition when it
    last had a leader. If logs fork, the high watermark of that time may prove which branch was committed. Snapshots that cannot be used are skipped
    with a warning.
  - Writes everything to a sealed landing file, C(<workdir>/landing/<run_id>/<cluster>.jsonl), which M(streamops.kafka_recovery.kafka_recovery_plan) reads.
  - Skips requested partitions that the cluster does not have, with a warning, and fails if it has none of them. The plan holds them, so that they
    get a result (C(unknown_topic_or_partition)).
  - Changes nothing in the cluster. The landing file is written in check mode, too, because a dry run needs it.
options:
  duration:
    description:
      - Time limit in seconds to collect all evidence, from the first connection on (KIP-1275's recovery duration). Requests end with it, even if
        O(request_timeout) is longer. Raise it for very large clusters.
      - Connections and the state of brokers and partitions can take the first half of it. Two thirds of the rest are for the logs. Requests to brokers that
        do not answer, or answer with an error that Kafka's own clients retry, are repeated until then, or until the broker is fenced. The rest is for
        comparisons of logs, committed offsets (of at most 20,000 groups of each broker), topic configs and the metadata log.
      - Evidence that is missing at the end counts as not answered, not compared or not known. A warning lists it.
      - Requests that any broker can answer have at least 5 seconds at the beginning, and 5 seconds after the end. The task fails if no broker answers
        them. Half of O(duration) always remains for the rest.
      - The check for failed disks can take 5 seconds more. A token endpoint of OAuth has O(request_timeout) seconds in addition.
    type: float
    default: 30.0
  strategy:
    description: Strategy of the plan to make, as in M(streamops.kafka_recovery.kafka_recovery_plan). See O(first_answer_seconds).
    type: str
    choices: [none, balanced, kip966_balanced, aggressive]
    default: balanced
  topic_strategies:
    description: Strategies of single topics, by topic name. All other topics have O(strategy).
    type: dict
    default: {}
  preview:
    description: Number of partitions to show in RV(preview), RV(table) and RV(unknown).
    type: int
    default: 10
requirements:
  - orjson >= 3.10
  - prettytable >= 3.16
extends_documentation_fragment:
  - streamops.kafka_recovery.connection
  - streamops.kafka_recovery.partitions
  - streamops.kafka_recovery.partitions.workdir
  - streamops.kafka_recovery.backend
  - streamops.kafka_recovery.first_answer
  - streamops.kafka_recovery.evidence_size
  - streamops.kafka_recovery.attributes
  - streamops.kafka_recovery.attributes.info
  - streamops.kafka_recovery.attributes.kafka
"""

EXAMPLES = r"""
- name: Collect evidence from the survivors of all offline partitions
  streamops.kafka_recovery.kafka_replica_log_info:
    bootstrap_servers: "{{ kafka_bootstrap_servers }}"
    cluster: "{{ inventory_hostname }}"
    run_id: "{{ kafka_recovery_run_id }}"
    workdir: "{{ kafka_recovery_workdir }}"
  register: evidence

- name: Show the evidence as a table
  ansible.builtin.debug:
    msg: "{{ evidence.table.splitlines() }}"
"""

RETURN = r"""
backend:
  description: The backend that was used, V(compat) or V(native).
  returned: success
  type: str
  sample: compat
path:
  description: The landing file.
  returned: success
  type: str
  sample: /var/lib/kafka-recovery/landing/2026-11-21/east.jsonl
counts:
  description:
    - Numbers of partitions, of offline partitions, of replicas that answered or did not, and of pairs by relation.
    - C(replicas_fenced) is the number of logs on fenced brokers that answered.
  returned: success
  type: dict
  sample:
    {partitions: 120, offline: 118, replicas_answered: 236, replicas_silent: 0, replicas_fenced: 0, same: 100, prefix: 17, forked: 1, unknown: 0, corrupt: 0}
unknown_count:
  description: Number of requested partitions that the cluster does not have, or hides because DESCRIBE on their topics is not granted.
  returned: success
  type: int
  sample: 0
unknown:
  description: The first of these partitions.
  returned: success
  type: list
  elements: dict
  sample: []
history:
  description: Size and time of the read of the metadata log (C(history.bytes), C(history.seconds)), whether it began with a snapshot, and why it could not be
    read to its end (V(null) if it could).
  returned: when O(controller_bootstrap_servers) is set and a partition is offline
  type: dict
  sample: {bytes: 8544, seconds: 0.033, from_snapshot: false, doubt: null}
preview:
  description:
    - The replicas of the first partitions. An C(error) V(DISK_FAILED) means that the disk of the replica has failed. Its broker
      and the cluster report that, or the replica is in no working log directory. This includes a broker that was restarted without the disk.
      C(failed_log_dirs) has the paths of the broker's failed log directories, as far as they are known.
  returned: success
  type: list
  elements: dict
  sample:
    - topic: orders
      partition: 0
      broker_id: 2
      error: null
      log_start_offset: 0
      log_end_offset: 121
      high_watermark: 100
      partition_leader_epoch: 4
      last_written_epoch: 1
      last_batch_base_offset: 120
      last_batch_last_offset: 120
      last_batch_crc: 3735928559
      last_batch_max_timestamp: 1795000000000
      broker_epoch: null
      probe_error: null
      failed_log_dirs: []
      fenced: false
table:
  description: The same as a text table, like KIP-1275's C(--show-replica-info). It is empty if RV(preview) is.
  returned: success
  type: str
  sample: "+--------+-----------+--------+ ..."
unreachable_brokers:
  description: Brokers that did not answer, with the reason.
  returned: success
  type: list
  elements: dict
  sample: [{broker_id: 3, reason: Request timed out after 10000 ms}]
"""

from collections import Counter
from contextlib import suppress
from typing import Any

from ansible.module_utils.basic import missing_required_lib

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.optional_imports import import_error
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.document import RELATIONS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import documents
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import replica_row
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.strategy_options import (
    EVIDENCE_SIZE_ARGUMENTS,
    FIRST_ANSWER_ARGUMENTS,
    STRATEGY_ARGUMENTS,
    aggressive_ones,
    check_strategies,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.kafka_module import (
    KafkaModule,
    partition_arguments,
    workdir_arguments,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    TopicPartition,
    absence,
    known_of,
    requested,
    without_live_leader,
)

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.cluster_evidence import Sources

with suppress(ImportError):  # optional_imports.py says why
    from prettytable import PrettyTable

# The columns of KIP-1275's table, last_written_epoch, which distinguishes logs, and whether the broker is fenced, so that it cannot be elected.
COLUMNS = (
    "topic", "partition", "broker_id", "log_start_offset", "log_end_offset", "high_watermark", "partition_leader_epoch", "last_written_epoch", "fenced",
    "error",
)  # fmt: skip


def replica_log_info(module: KafkaModule, cluster: NativeCluster) -> dict[str, Any]:
    """Return what RETURN documents."""
    params = module.params
    check_strategies(params["topic_strategies"])
    path = work_file(module.workdir, "landing", params["cluster"], params["run_id"], suffix=".jsonl")
    wanted = requested(params["partitions"], params["partitions_file"])
    with module.budget.state():
        warning = cluster.negotiate_backend(params["backend"], backend_selection.Numbers.from_params(params))
        known = cluster.partitions(wanted)
        unfenced = cluster.unfenced() if wanted is None else set()
    if warning:
        module.ansible.warn(warning)
    absent: list[TopicPartition] = []
    if wanted is None:
        states = without_live_leader(known, unfenced)
    else:
        states, absent = known_of(wanted, known)
    if absent:
        module.ansible.warn(absence(absent))
    sources = Sources(cluster, module.connection, module.workdir, params["cluster"], module.budget, params["max_evidence_rows"])
    warnings: list[str] = []
    found = sources.collect(states, warnings, awaited=aggressive_ones((state.key for state in states), params))
    for warning in warnings:
        module.ansible.warn(warning)
    history = sources.add_history(found)
    header = {
        "cluster": params["cluster"],
        "cluster_id": cluster.cluster_id,
        "run_id": params["run_id"],
        "collected_at": utc_now(),
        "backend": cluster.backend,
        "options": {"duration": params["duration"], "named": wanted is not None},
        "eligible_leader_replicas_version": sources.elr(),
        "unreachable_brokers": sorted(cluster.unreachable),
        "brokers": found.brokers,
        "absent": [{"topic": topic, "partition": partition} for topic, partition in absent],
    }
    landing_format.write(path, header, found.documents(named=set(wanted or ()), reassigning=sources.reassigning()))
    first = {state.key for state in found.states[: params["preview"]]}
    preview = [
        {**replica_row(key, broker, log), "fenced": (key, broker) in found.fenced}
        for (key, broker), log in {**found.replicas, **found.fenced}.items()
        if key in first
    ]
    return {
        "changed": False,
        "backend": cluster.backend,
        "path": str(path),
        "counts": counts(found),
        "unknown_count": len(absent),
        "unknown": header["absent"][: params["preview"]],
        **({} if history is None else {"history": history}),
        "preview": preview,
        "table": table(preview),
        "unreachable_brokers": cluster.unreachable_rows(),
    }


def counts(found: documents.Evidence) -> dict[str, int]:
    """Count partitions, replicas that answered or did not, and pairs by relation."""
    silent = sum(1 for log in found.replicas.values() if log.error)
    relations = Counter(pair["relation"] for pair in found.pairs)
    return {
        "partitions": len(found.states),
        "offline": len(found.offline),
        "replicas_answered": len(found.replicas) - silent,
        "replicas_silent": silent,
        **{relation: relations[relation] for relation in RELATIONS},
        "replicas_fenced": len(found.fenced),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return replica rows as a text table, and no text if there are none."""
    if not rows:  # the first table costs the time in which PrettyTable loads how wide each letter is
        return ""
    drawn = PrettyTable(COLUMNS)
    drawn.add_rows([["-" if row[column] is None else printable(str(row[column])) for column in COLUMNS] for row in rows])
    return drawn.get_string()


def main() -> None:
    """Run the module."""
    module = KafkaModule(
        {
            **partition_arguments(),
            **workdir_arguments(),
            "duration": {"type": "float", "default": 30.0},
            **FIRST_ANSWER_ARGUMENTS,
            **EVIDENCE_SIZE_ARGUMENTS,
            **STRATEGY_ARGUMENTS,
            "preview": {"type": "int", "default": 10},
            **backend_selection.BACKEND_ARGUMENTS,
        },
        mutually_exclusive=[("partitions", "partitions_file")],
    )
    for library in ("prettytable", "orjson"):
        if trace := import_error(library):
            module.ansible.fail_json(msg=missing_required_lib(library), exception=trace)
    module.run(replica_log_info, opening=NativeCluster, within_duration=True)


if __name__ == "__main__":
    main()
