# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The landing file of a cluster: its evidence is collected from all sources, written, and shown as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kafka_task import KafkaTask
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import work_file
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.time_budget import Budget
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.timestamps import utc_now
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.evidence_document import RELATIONS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence import documents
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.replica_logs import replica_row
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.evidence.strategy_options import aggressive_ones, check_strategies
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.formats import landing_format
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    PartitionState,
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


class EvidenceTask(KafkaTask, Protocol):
    """The parts of a module that collects evidence. Its params have the options of `kafka_replica_log_info`."""

    @property
    def budget(self) -> Budget: ...


def collect_landing_file(module: EvidenceTask, cluster: NativeCluster) -> dict[str, Any]:
    """Collect the evidence of one cluster and write its landing file. Return the result of `kafka_replica_log_info`.

    Raises RecoveryError if the cluster has none of the requested partitions, or if no broker answers, FileError if the file cannot be written.
    """
    params = module.params
    check_strategies(params["topic_strategies"])
    path = work_file(module.workdir, "landing", params["cluster"], params["run_id"], suffix=".jsonl")
    wanted = requested(params["partitions"], params["partitions_file"])
    states, absent = states_to_read(module, cluster, wanted)
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


def states_to_read(
    module: EvidenceTask, cluster: NativeCluster, wanted: Collection[TopicPartition] | None
) -> tuple[list[PartitionState], list[TopicPartition]]:
    """Choose the backend, and return the partitions whose evidence is to be collected, and those of `wanted` that the cluster does not have.

    `wanted`: the requested partitions, None for all without a live leader. What is left out is a warning. Errors are those of `collect_landing_file`.
    """
    params = module.params
    with module.budget.state():
        warning = cluster.negotiate_backend(params["backend"], backend_selection.Numbers.from_params(params))
        known = cluster.partitions(wanted)
        unfenced = cluster.unfenced() if wanted is None else set()
    if warning:
        module.ansible.warn(warning)
    if wanted is None:
        return without_live_leader(known, unfenced), []
    states, absent = known_of(wanted, known)
    if absent:
        module.ansible.warn(absence(absent))
    return states, absent


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
