# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of module kafka_replica_records: the tails of a plan, saved or only counted, and the result of the module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.backend_selection import COMPAT
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save import Saved, TailSaver
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.save_limits import Limits
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.saved_folder import folder_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tail_sizes import bytes_at_most
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail, tails_of_plan


class SaveTask(Protocol):
    """The parts of a module that saves records (`KafkaModule`). Its params have the options of `kafka_replica_records`."""

    @property
    def params(self) -> dict[str, Any]: ...
    @property
    def workdir(self) -> Path: ...
    @property
    def check_mode(self) -> bool: ...
    @property
    def ansible(self) -> AnsibleModule: ...


def save_records(module: SaveTask, cluster: Cluster, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Save the tails of a plan, and return the result of `kafka_replica_records` without `changed`.

    Raises RecoveryError for a bare plan or one of another cluster, SavedRecordsError for damaged files of an earlier run, FileError if nothing more can be
    written, ClusterError if the cluster does not answer.
    """
    params = module.params
    tails = list(tails_of_plan(plan))
    if plan["cluster_id"] != cluster.cluster_id:
        raise RecoveryError(
            f"{params['plan']} is of the cluster {plan['cluster_id']}, and {cluster.cluster_id} answers: correct plan or bootstrap_servers"
        )
    folder = folder_of(module.workdir, params["run_id"], params["cluster"])
    saved = Saved()
    if not module.check_mode:
        configs = cluster.topic_configs({tail.topic for tail in tails})
        if problem := configs.problem():
            module.ansible.warn(problem)
        header = {"cluster": params["cluster"], "cluster_id": cluster.cluster_id, "run_id": params["run_id"], "backend": COMPAT}
        limits = Limits.from_params(params)
        saved = TailSaver(cluster, folder, header, limits, {*configs.compacted, *configs.refused}, states=cluster).save(tails)
    not_saved = saved.changed | saved.refused
    counts = {
        "replicas": len(tails),
        "saved": len(saved.complete),
        "saved_before": len(saved.before),
        "not_saved": len(not_saved),
        "offsets": sum(tail.end - (tail.start or 0) for tail in tails),
        "bytes": saved.size,
        "batches": saved.batches,
        "bytes_at_most": bytes_at_most(cluster, tails),
    }
    return {
        "path": str(folder),
        "counts": counts,
        "not_saved": list(_rows(not_saved)),
        "unreachable_brokers": cluster.unreachable_rows(),
    }


def _rows(refused: Mapping[Tail, str]) -> Iterable[dict[str, Any]]:
    for tail, reason in refused.items():
        yield {
            "topic": tail.topic,
            "partition": tail.partition,
            "broker_id": tail.broker_id,
            "start_offset": tail.start,
            "end_offset": tail.end,
            "reason": reason,
        }
