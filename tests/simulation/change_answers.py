# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a simulated broker answers to requests that change the cluster: it forwards them to the active controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from kafka.protocol.admin import (
    AlterPartitionReassignmentsResponse,
    ElectLeadersResponse,
    IncrementalAlterConfigsResponse,
    ListPartitionReassignmentsResponse,
)

from simulation.dynamic_configs import BROKER, EVERY_BROKER, Operation
from simulation.kafka_errors import code
from simulation.kraft import Key
from simulation.logins import ALTER, ALTER_CONFIGS

if TYPE_CHECKING:
    from simulation.broker import Broker
    from simulation.cluster import SimulatedCluster

V = TypeVar("V")
# For which a broker keeps what it forwards, and after which it tries once more.
FORWARD_SECONDS, AGAIN_SECONDS = 60.0, 0.1
DENIED, DENIED_TOPIC = "CLUSTER_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"


def forwarded(broker: Broker, change: Callable[[], Any]) -> Any:
    """Return the answer of the active controller to a change. None if the broker does not reach it: then it sends the change once it does (KIP-590)."""
    cluster, incarnation = broker.cluster, broker.incarnation
    requested_at = cluster.world.now
    until = requested_at + FORWARD_SECONDS

    def send_again() -> None:
        if not broker.running or broker.incarnation != incarnation or cluster.world.now > until:
            return
        if broker.cut_off or broker.hangs or not cluster.has_controller:
            cluster.world.after(AGAIN_SECONDS, send_again)
            return
        with cluster.world.happening_late(requested_at):
            change()

    if not broker.cut_off and cluster.has_controller:
        return change()
    cluster.world.after(AGAIN_SECONDS, send_again)
    return None


def alter_reassignments(broker: Broker, request: Any) -> Any:
    return forwarded(broker, lambda: _altered_reassignments(broker, request))


def _altered_reassignments(broker: Broker, request: Any) -> Any:
    kind = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
    asked = {
        (one.name, row.partition_index): None if row.replicas is None else tuple(row.replicas)
        for one in request.topics
        for row in one.partitions
    }
    refusal = DENIED if denies(broker.cluster, ALTER) else None
    found = {
        key: refusal or broker.cluster.reassign(key, replicas, request.allow_replication_factor_change) for key, replicas in asked.items()
    }
    topics = [
        kind(
            name=name,
            partitions=[
                kind.ReassignablePartitionResponse(partition_index=key[1], error_code=code(error), error_message=error)
                for key, error in rows
            ],
        )
        for name, rows in _by_topic(found)
    ]
    return AlterPartitionReassignmentsResponse(
        throttle_time_ms=0, allow_replication_factor_change=False, error_code=code(refusal), error_message=refusal, responses=topics
    )


def list_reassignments(broker: Broker, _request: Any) -> Any:
    if broker.cut_off or not broker.cluster.has_controller:
        return None
    kind = ListPartitionReassignmentsResponse.OngoingTopicReassignment
    moving = {key: state for key, state in broker.cluster.controller.partitions.items() if state.assignment.is_moving}
    topics = [
        kind(
            name=name,
            partitions=[
                kind.OngoingPartitionReassignment(
                    partition_index=key[1],
                    replicas=list(state.replicas),
                    adding_replicas=list(state.adding),
                    removing_replicas=list(state.removing),
                )
                for key, state in rows
            ],
        )
        for name, rows in _by_topic(moving)
    ]
    return ListPartitionReassignmentsResponse(throttle_time_ms=0, error_code=0, error_message=None, topics=topics)


def alter_configs(broker: Broker, request: Any) -> Any:
    """Change configs of topics, and of this broker, or of all brokers at once: a broker does not forward changes of another one's."""
    own = (str(broker.node_id), EVERY_BROKER)

    def refusal(row: Any) -> str | None:
        return None if row.resource_type != BROKER or row.resource_name in own else "INVALID_REQUEST"

    return forwarded(broker, lambda: altered_configs(broker.cluster, request, refusal))


def altered_configs(cluster: SimulatedCluster, request: Any, refusal: Callable[[Any], str | None]) -> Any:
    """Change configs as the active controller. `refusal`: returns Kafka's error for what is not changed. Return the answer."""
    kind = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    rows = []
    for row in request.resources:
        error = (DENIED if row.resource_type == BROKER else DENIED_TOPIC) if denies(cluster, ALTER_CONFIGS) else refusal(row)
        if error is None and not request.validate_only:
            operations = [Operation(one.name, one.config_operation, one.value) for one in row.configs]
            cluster.alter_configs((row.resource_type, row.resource_name), operations)
        rows.append(kind(error_code=code(error), error_message=error, resource_type=row.resource_type, resource_name=row.resource_name))
    return IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=rows)


def elect_leaders(broker: Broker, request: Any) -> Any:
    return forwarded(broker, lambda: elected_leaders(broker.cluster, request))


def refused_election(error: str) -> Any:
    """Return the answer of a node that elects nothing."""
    return ElectLeadersResponse(throttle_time_ms=0, error_code=code(error), replica_election_results=[])


def elected_leaders(cluster: SimulatedCluster, request: Any) -> Any:
    """Elect leaders as the active controller. Return the answer."""
    kind = ElectLeadersResponse.ReplicaElectionResult
    unclean = request.election_type == 1
    keys = [(one.topic, number) for one in request.topic_partitions for number in one.partitions]
    is_denied = denies(cluster, ALTER)
    found = {key: DENIED if is_denied else cluster.elect(key, unclean) for key in keys}
    topics = [
        kind(
            topic=name,
            partition_result=[
                kind.PartitionResult(partition_id=key[1], error_code=code(error), error_message=error) for key, error in rows
            ],
        )
        for name, rows in _by_topic(found)
    ]
    return ElectLeadersResponse(throttle_time_ms=0, error_code=code(DENIED if is_denied else None), replica_election_results=topics)


def denies(cluster: SimulatedCluster, operation: str) -> bool:
    return cluster.is_denied or operation in cluster.lacking


def _by_topic(found: Mapping[Key, V]) -> Iterator[tuple[str, list[tuple[Key, V]]]]:
    for name, rows in groupby(sorted(found.items(), key=lambda row: row[0]), key=lambda row: row[0][0]):
        yield name, list(rows)
