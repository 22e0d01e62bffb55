# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a simulated broker answers about the cluster: nodes, quorum, partitions, configs, groups."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin import (
    DescribeClusterResponse,
    DescribeConfigsResponse,
    DescribeQuorumResponse,
    DescribeTopicPartitionsResponse,
)
from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse

from simulation.dynamic_configs import BROKER, EVERY_BROKER, TOPIC
from simulation.kafka_errors import code
from simulation.kraft import NO_LEADER, Key, Partition
from simulation.logins import TOPIC as TOPIC_REFUSED
from simulation.logins import hidden_topics, topic_operations
from simulation.versions import ELR_FEATURE

if TYPE_CHECKING:
    from simulation.broker import Broker
    from simulation.cluster import SimulatedCluster

OF_TOPIC, OF_BROKER, OF_EVERY_BROKER = 1, 2, 3  # sources of configs
OBSERVED_SECONDS = 300.0  # after which a broker that does not fetch is no observer any more

NOT_AUTHORIZED_OPERATIONS = -(2**31)  # Kafka's word for: not requested
# What a client may do to a cluster without an authorizer: CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE.
CLUSTER_OPERATIONS = frozenset((5, 7, 8, 9, 10, 11, 12))


def api_versions(broker: Broker, _request: Any) -> Any:
    kind = ApiVersionsResponse
    keys = [kind.ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in broker.versions.api_versions.items()]
    levels = {ELR_FEATURE: int(broker.cluster.controller.elr), "metadata.version": broker.cluster.release.metadata_version}
    finalized = [kind.FinalizedFeatureKey(name=name, max_version_level=one, min_version_level=one) for name, one in levels.items() if one]
    return kind(
        error_code=0, api_keys=keys, throttle_time_ms=0, supported_features=[], finalized_features_epoch=broker.image_version,
        finalized_features=finalized, zk_migration_ready=False,
    )  # fmt: skip


def metadata(broker: Broker, request: Any) -> Any:
    kind, topic = MetadataResponse, MetadataResponse.MetadataResponseTopic
    nodes = [broker.cluster.brokers[one] for one in sorted(broker.alive)]
    brokers = [kind.MetadataResponseBroker(node_id=one.node_id, host=one.host, port=one.port, rack=None) for one in nodes]
    names = None if request.topics is None else [one.name for one in request.topics]
    topics = [
        topic(
            error_code=0, name=name, topic_id=topic_uuid(rows[0][1].topic_id), is_internal=False,
            authorized_operations=topic_operations(broker.cluster, name) if request.include_topic_authorized_operations else None,
            partitions=[
                topic.MetadataResponsePartition(
                    error_code=code(None if state.leader != NO_LEADER else "LEADER_NOT_AVAILABLE"), partition_index=key[1],
                    leader_id=state.leader, leader_epoch=state.epoch, replica_nodes=list(state.replicas), isr_nodes=list(state.isr),
                    offline_replicas=_offline(broker, key, state),
                )
                for key, state in rows
            ],
        )
        for name, rows in _topics(broker, names)
    ]  # fmt: skip
    topics += [
        topic(error_code=code(error), name=name, topic_id=uuid.UUID(int=0), is_internal=False, partitions=[])
        for name, error in _not_described(broker, names)
    ]
    return kind(
        throttle_time_ms=0,
        brokers=brokers,
        cluster_id=broker.cluster.cluster_id,
        controller_id=min(broker.alive, default=-1),
        topics=topics,
        error_code=0,
    )


def describe_cluster(broker: Broker, request: Any) -> Any:
    """Answer with the brokers that live, and with those that are fenced if they are asked for, which Kafka 3.9 does not know (KIP-1073)."""
    kind = DescribeClusterResponse
    authorized = {"authorized_operations": CLUSTER_OPERATIONS} if request.include_cluster_authorized_operations else {}
    rows = [
        kind.DescribeClusterBroker(
            broker_id=one,
            host=broker.cluster.brokers[one].host,
            port=broker.cluster.brokers[one].port,
            rack=None,
            is_fenced=one not in broker.alive,
        )
        for one in sorted(broker.registered if request.include_fenced_brokers else broker.alive)
    ]
    return kind(
        throttle_time_ms=0, error_code=0, error_message=None, endpoint_type=1, cluster_id=broker.cluster.cluster_id,
        controller_id=min(broker.alive, default=-1), brokers=rows, **authorized,
    )  # fmt: skip


def describe_quorum(broker: Broker, _request: Any) -> Any:
    """Forward the request to the active controller."""
    return None if broker.cut_off or not broker.cluster.has_controller else quorum(broker.cluster)


def quorum(cluster: SimulatedCluster) -> Any:
    """Return the active controller's description of the metadata quorum."""
    topic = DescribeQuorumResponse.TopicData
    now = cluster.quorum_read_at = cluster.world.now

    def replica(node: int, seconds: float) -> Any:
        stamp = int((cluster.controllers_clock() - seconds) * 1000)
        return topic.PartitionData.ReplicaState(
            replica_id=node, replica_directory_id=uuid.UUID(int=node), log_end_offset=cluster.metadata_log.end,
            last_fetch_timestamp=stamp, last_caught_up_timestamp=stamp,
        )  # fmt: skip

    seen = [one for one in cluster.brokers.values() if one.fetched_at and now - one.fetched_at < OBSERVED_SECONDS]
    partition = topic.PartitionData(
        partition_index=0, error_code=0, error_message=None, leader_id=cluster.controller_id, leader_epoch=cluster.metadata_log.epoch,
        high_watermark=cluster.metadata_log.end, current_voters=[replica(one, 0.0) for one in cluster.controllers],
        observers=[replica(one.node_id, now - one.fetched_at) for one in seen],
    )  # fmt: skip
    return DescribeQuorumResponse(
        error_code=0, error_message=None, topics=[topic(topic_name="__cluster_metadata", partitions=[partition])], nodes=[]
    )


def describe_topic_partitions(broker: Broker, request: Any) -> Any:
    topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
    names = [one.name for one in request.topics] or None
    start = (request.cursor.topic_name, request.cursor.partition_index) if request.cursor else ("", 0)
    left, topics, cursor = request.response_partition_limit, [], None
    for name, rows in _topics(broker, names):
        wanted = [(key, state) for key, state in rows if key >= start]
        if wanted and left == 0:
            cursor = DescribeTopicPartitionsResponse.Cursor(topic_name=name, partition_index=wanted[0][0][1])
            break
        shown, left = wanted[:left], left - len(wanted[:left])
        if shown:
            topics.append(
                topic(
                    error_code=0, name=name, topic_id=topic_uuid(rows[0][1].topic_id), is_internal=False,
                    partitions=[_described(broker, topic, key, state) for key, state in shown], topic_authorized_operations=NOT_AUTHORIZED_OPERATIONS,
                )
            )  # fmt: skip
        if len(shown) < len(wanted):
            cursor = DescribeTopicPartitionsResponse.Cursor(topic_name=name, partition_index=wanted[len(shown)][0][1])
            break
    topics += [
        topic(
            error_code=code(error), name=name, topic_id=uuid.UUID(int=0), is_internal=False, partitions=[],
            topic_authorized_operations=NOT_AUTHORIZED_OPERATIONS,
        )
        for name, error in _not_described(broker, names)
        if name >= start[0]
    ]  # fmt: skip
    return DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=topics, next_cursor=cursor)


def _described(broker: Broker, topic: Any, key: Key, state: Partition) -> Any:
    return topic.DescribeTopicPartitionsResponsePartition(
        error_code=code(None if state.leader != NO_LEADER else "LEADER_NOT_AVAILABLE"), partition_index=key[1], leader_id=state.leader,
        leader_epoch=state.epoch, replica_nodes=list(state.replicas), isr_nodes=list(state.isr), eligible_leader_replicas=list(state.elr),
        last_known_elr=list(state.last_known), offline_replicas=_offline(broker, key, state),
    )  # fmt: skip


def _offline(broker: Broker, key: Key, state: Partition) -> list[int]:
    return [one for one in state.replicas if one not in broker.alive or key in broker.lost.get(one, ())]


def _topics(broker: Broker, names: Iterable[str] | None) -> Iterator[tuple[str, list[tuple[Key, Partition]]]]:
    """Yield the topics with these names (None: all) but those that the login may not describe."""
    wanted, hidden = None if names is None else {*names}, hidden_topics(broker.cluster)
    for name, rows in groupby(sorted(broker.image.items()), key=lambda row: row[0][0]):
        if name not in hidden and (wanted is None or name in wanted):
            yield name, list(rows)


def _not_described(broker: Broker, names: Iterable[str] | None) -> Iterator[tuple[str, str]]:
    """Yield those of the names that a broker refuses to describe, each with Kafka's error. A list of all topics leaves them out."""
    hidden, known = hidden_topics(broker.cluster), {name for name, _ in _topics(broker, None)}
    for name in names or ():
        if name in hidden:
            yield name, TOPIC_REFUSED
        elif name not in known:
            yield name, "UNKNOWN_TOPIC_OR_PARTITION"


def describe_configs(broker: Broker, request: Any) -> Any:
    kind = DescribeConfigsResponse.DescribeConfigsResult
    results = []
    for row in request.resources:
        configs = _configs(broker, row.resource_type, row.resource_name)
        error = None if configs is not None else "INVALID_REQUEST"
        configs = configs or {}
        keys = configs if row.configuration_keys is None else row.configuration_keys
        results.append(
            kind(
                error_code=code(error), error_message=None, resource_type=row.resource_type, resource_name=row.resource_name,
                configs=[
                    kind.DescribeConfigsResourceResult(
                        name=name, value=configs[name][0], read_only=False, config_source=configs[name][1], is_sensitive=False, synonyms=[],
                        config_type=2, documentation=None,
                    )
                    for name in keys
                    if name in configs
                ],
            )
        )  # fmt: skip
    return DescribeConfigsResponse(throttle_time_ms=0, results=results)


def _configs(broker: Broker, kind: int, name: str) -> dict[str, tuple[str, int]] | None:
    """Return the value of each config that is set, with its source (KIP-226). None: of another broker."""
    if kind == TOPIC:
        values = {**broker.cluster.topic_configs(name, broker), **broker.configs.get((TOPIC, name), {})}
        return {config: (value, OF_TOPIC) for config, value in values.items()}
    if name not in (str(broker.node_id), EVERY_BROKER):
        return None
    every, own = (
        {**broker.configs.get((BROKER, one), {}), **broker.settings.get((BROKER, one), {})} if one is not None else {}
        for one in (EVERY_BROKER, name or None)
    )
    return {config: (value, OF_EVERY_BROKER) for config, value in every.items()} | {
        config: (value, OF_BROKER) for config, value in own.items()
    }


def topic_uuid(number: int) -> uuid.UUID:
    """Return the id of a topic."""
    return uuid.UUID(int=(1 << 64) + number)
