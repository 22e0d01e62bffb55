# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a recovery of a cluster may start: workdir, throttles, lost brokers that are back, permissions, metadata quorum, what has no live leader."""

from __future__ import annotations

from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kafka_task import KafkaTask
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.private_files import check_writable, private_directory
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import requested
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import quorum_file, quorum_stability, readiness
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.reassignment.throttle import run
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import returned_brokers


def make_workdir(module: KafkaTask) -> None:
    """Create the workdir and check that it is writable. In check mode only check. FileError if it cannot be created or written."""
    if module.params["workdir"]:
        prove = check_writable if module.check_mode else private_directory
        prove(module.workdir)


def check_readiness(module: KafkaTask, cluster: NativeCluster, limit: int) -> dict[str, Any]:
    """Return `permissions`, `quorum`, `partitions` and `throttles` as `kafka_readiness_info` does.

    module  has the options of `kafka_readiness_info`, except `limit`
    limit   how many partitions without a live leader are returned at most, 0 for all
    Raises ClusterError if no broker answers, RecoveryError if the cluster has none of the requested partitions.
    """
    params = module.params
    wanted = requested(params["partitions"], params["partitions_file"])
    throttles = None
    if params["workdir"] and params["cluster"]:
        throttles = run.readable_rows(module.workdir, params["cluster"], cluster.cluster_id)
        elects = params["elect"] and not module.check_mode
        if warning := run.left_over_warning(throttles or (), params["cluster"], elects):
            module.ansible.warn(warning)
    commands = Commands(module.workdir) if params["workdir"] and not module.check_mode else None
    permissions = readiness.permissions(cluster, params, wanted, commands)
    if commands:
        commands.write()
    watched = partitions = None
    if not any(row["required"] for row in permissions["missing"]):
        watched = readiness.watched(cluster, module.connection, params["window"])
        if params["workdir"] and params["cluster"] and not module.check_mode:
            quorum_file.write(module.workdir, params["cluster"], watched)
        for risk in watched["risks"]:
            module.ansible.warn(f"metadata quorum: {risk}")
    if watched is not None and watched["verdict"] == quorum_stability.STABLE:
        partitions = readiness.partitions(cluster, wanted, limit=limit, unknown=readiness.SOME)
        if partitions.warning:
            module.ansible.warn(partitions.warning)
        if params["workdir"] and params["cluster"]:
            for warning in returned_brokers.warnings(cluster, module.workdir, params["cluster"]):
                module.ansible.warn(warning)
    return {
        "permissions": permissions,
        "quorum": watched,
        "partitions": partitions.rows if partitions else None,
        "throttles": throttles,
    }
