# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a simulated broker answers to requests that change the cluster: it forwards them to the active controller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin import AlterPartitionReassignmentsResponse, ElectLeadersResponse, ListPartitionReassignmentsResponse

from simulation.kafka_errors import code
from simulation.kraft import Key

if TYPE_CHECKING:
    from simulation.broker import Broker


def alter_reassignments(broker: Broker, request: Any) -> Any:
    if broker.cut_off or not broker.cluster.has_controller:
        return None
    kind = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
    found = {
        (one.name, row.partition_index): broker.cluster.reassign(
            (one.name, row.partition_index), None if row.replicas is None else tuple(row.replicas)
        )
        for one in request.topics
        for row in one.partitions
    }
    topics = [
        kind(
            name=name,
            partitions=[
                kind.ReassignablePartitionResponse(partition_index=key[1], error_code=code(error), error_message=None)
                for key, error in rows
            ],
        )
        for name, rows in _by_topic(found)
    ]
    return AlterPartitionReassignmentsResponse(
        throttle_time_ms=0, allow_replication_factor_change=False, error_code=0, error_message=None, responses=topics
    )


def list_reassignments(broker: Broker, _request: Any) -> Any:
    if broker.cut_off or not broker.cluster.has_controller:
        return None
    return ListPartitionReassignmentsResponse(throttle_time_ms=0, error_code=0, error_message=None, topics=[])


def elect_leaders(broker: Broker, request: Any) -> Any:
    if broker.cut_off or not broker.cluster.has_controller:
        return None
    kind = ElectLeadersResponse.ReplicaElectionResult
    unclean = request.election_type == 1
    keys = [(one.topic, number) for one in request.topic_partitions for number in one.partitions]
    found = {key: broker.cluster.elect(key, unclean) for key in keys}
    topics = [
        kind(
            topic=name,
            partition_result=[
                kind.PartitionResult(partition_id=key[1], error_code=code(error), error_message=error) for key, error in rows
            ],
        )
        for name, rows in _by_topic(found)
    ]
    return ElectLeadersResponse(throttle_time_ms=0, error_code=0, replica_election_results=topics)


def _by_topic(found: Mapping[Key, str | None]) -> Iterator[tuple[str, list[tuple[Key, str | None]]]]:
    for name, rows in groupby(sorted(found.items()), key=lambda row: row[0][0]):
        yield name, list(rows)
