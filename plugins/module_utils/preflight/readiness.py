# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what a recovery must first know about a cluster: permissions, the metadata quorum, partitions and brokers. Changes nothing.

Each has the form that a module of its own returns (`kafka_permission_info`, `kafka_quorum_info`, `kafka_partition_info`).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client import backend_selection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.controllers import Controllers
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.kip1275_cluster import NativeCluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.sasl import MECHANISMS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.limits import RETURNED_PARTITIONS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.controller import ELR_FEATURE, elr_is_on
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import acls, quorum_risks
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.brokers import UNFENCED
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import (
    TopicPartition,
    absence,
    in_recovery_order,
    known_of,
    not_in_cluster,
    only_known,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.topic_configs import TopicConfigs
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight import blast_radius, quorum_stability
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.preflight.leader_eligibility import (
    NEEDS_MIN_ISR,
    partition_row,
    select,
)

KRAFT_FEATURE = "kraft.version"
# What to do about requested partitions that the cluster does not have: fail, fail only if it has none of them, or leave them out.
FAIL, SOME, SKIP = "fail", "some", "skip"


class Found(NamedTuple):
    """`rows`: the result of `kafka_partition_info`. `warning`: a sentence for the operator, None if there is none."""

    rows: dict[str, Any]
    warning: str | None


def stage_arguments() -> dict[str, Any]:
    """Return the argument spec of the option `stages`: the stages of `acls.NEEDS` that an operator names."""
    stages = [acls.COLLECT, acls.REASSIGN, acls.THROTTLE]
    return {"stages": {"type": "list", "elements": "str", "choices": stages, "default": [acls.COLLECT]}}


def permissions(
    cluster: NativeCluster, params: Mapping[str, Any], wanted: Collection[TopicPartition] | None, commands: Commands | None = None
) -> dict[str, Any]:
    """Return the ACLs that are missing for a recovery of `wanted` (None: all offline partitions), as `kafka_permission_info` does.

    params    options of `kafka_permission_info`. Redundancy is planned for all topics, so the stages that move and throttle need
              permissions on topics outside of `wanted`, too
    commands  keeps the scripts of remedies whose names cannot be shown
    Raises ClusterError if no broker answers, BackendError if the cluster does not offer the backend that `params` name.
    """
    stages = list(params["stages"])
    if acls.COLLECT in stages and params["controller_bootstrap_servers"]:
        stages.append(acls.ISR_HISTORY)
    if acls.COLLECT in stages or params["elect"]:
        cluster.negotiate_backend(params["backend"], backend_selection.Numbers.from_params(params))
        if cluster.backend == backend_selection.NATIVE:
            # KIP-1275 requires these ACLs also for its election. It reorders no replicas, so ALTER is not needed.
            stages.append(acls.NATIVE)
        elif params["elect"]:
            stages.append(acls.ELECT)
    moves = not acls.OF_MOVES.isdisjoint(stages)
    held = cluster.permissions(None if wanted is None else {topic for topic, _partition in wanted}, moves)
    return {
        "missing": [_row(row, params, commands) for row in sorted(acls.missing(held, stages), key=lambda row: not row.need.required)],
        "unknown": [need._asdict() for need in acls.unknown(held, stages)],
    }


def _row(row: acls.MissingAcl, params: Mapping[str, Any], commands: Commands | None) -> dict[str, Any]:
    secured = params["security_protocol"] != "PLAINTEXT"
    # The brokers' own rules map a certificate or a token to a principal.
    mechanism = MECHANISMS.get(params["sasl_mechanism"])
    principal = params["sasl_username"] if mechanism and mechanism.names_principal else None
    servers = ",".join(params["bootstrap_servers"])
    return {**row.need._asdict(), "name": row.name, "remedy": acls.remedy(row, principal, servers, secured, commands)}


def watched(cluster: Cluster, connection: Connection, window: float) -> dict[str, Any]:
    """Watch the metadata quorum for `window` seconds. Returns the result of `kafka_quorum_info`, with controllers if they are named.

    Raises QuorumAccessError if this client may not describe the quorum.
    """
    observations = quorum_stability.watch(cluster, window)
    looked_at = time.monotonic()
    found = next((observation.quorum for observation in reversed(observations) if observation.quorum is not None), None)
    rows = []
    if connection.controller_bootstrap_servers:
        with Controllers(connection) as controllers:
            rows = controllers.rows(found)
    around = quorum_risks.QuorumNodes(rows, {}, None, None)
    if observations[-1].quorum is not None and len(observations[-1].quorum.voters) > 1:
        around = quorum_risks.QuorumNodes(
            rows, cluster.quorum_timeouts(observations[-1].quorum), cluster.registered_ids(), cluster.feature_level(KRAFT_FEATURE)
        )
    return {**quorum_stability.report(observations, rows, looked_at), **quorum_risks.assess(found, around)}


def partitions(
    cluster: Cluster, wanted: Collection[TopicPartition] | None, state: str = "offline", limit: int = 0, unknown: str = FAIL
) -> Found:
    """Return the partitions in `state` (of `wanted`, None: of all) and the brokers, as `kafka_partition_info` does.

    state    a state of `kafka_partition_info`; for those in NEEDS_MIN_ISR, RecoveryError is raised if topic configs cannot be read
    limit    how many partitions are returned at most, 0 for RETURNED_PARTITIONS
    unknown  partitions of `wanted` that the cluster does not have: FAIL raises RecoveryError for any, SOME if all are unknown,
             SKIP never
    """
    known = cluster.partitions(wanted)
    requested = sorted(known, key=in_recovery_order) if wanted is None else list(wanted)
    absent = [] if unknown == FAIL else not_in_cluster(requested, known)
    if unknown == SKIP and len(absent) == len(requested):
        states = []
    else:
        states = known_of(requested, known)[0] if absent else only_known(requested, known)
    mentioned = {broker for found in states for broker in found.replicas}
    brokers = cluster.broker_states(mentioned) if wanted is None else blast_radius.broker_states(cluster, mentioned)[0]
    unfenced = {row["broker_id"] for row in brokers if row["broker_state"] == UNFENCED}
    decided_by_min_isr = state in NEEDS_MIN_ISR
    configs = cluster.topic_configs({found.topic for found in states}).require_complete() if decided_by_min_isr else TopicConfigs()
    level = cluster.feature_level(ELR_FEATURE)
    elr = elr_is_on(level)
    chosen = select(state, states, unfenced, configs, elr)
    most = min(limit or RETURNED_PARTITIONS, RETURNED_PARTITIONS)
    shown = chosen[:most]
    if not decided_by_min_isr:
        # Configs of thousands of topics take time, so those of partitions that are not returned are not read.
        configs = cluster.topic_configs({found.topic for found in shown})
    rows = {
        "count": len(chosen),
        "partitions": [partition_row(found, unfenced, configs.of(found.topic), elr) for found in shown],
        "unknown_count": len(absent),
        "unknown": [{"topic": topic, "partition": partition} for topic, partition in absent[:most]],
        "brokers": brokers,
        "eligible_leader_replicas_version": level,
        "cluster_id": cluster.cluster_id,
    }
    warnings = [problem] if (problem := configs.problem()) else []
    if absent and unknown == SOME:
        warnings.append(absence(absent))
    if len(chosen) > len(shown) and limit not in range(1, RETURNED_PARTITIONS + 1):
        warnings.append(
            f"{len(shown)} of {len(chosen)} partitions are returned; name some with partitions or partitions_file to see others (count is of all)"
        )
    return Found(rows, "; ".join(warnings) or None)
