# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated broker: what it answers to exactly those requests that the product sends. It refuses all others."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kafka import errors
from kafka.protocol.admin import (
    AlterPartitionReassignmentsResponse,
    DescribeClusterResponse,
    DescribeConfigsResponse,
    DescribeLogDirsResponse,
    DescribeQuorumResponse,
    DescribeTopicPartitionsResponse,
    ElectLeadersResponse,
    ListGroupsResponse,
    ListPartitionReassignmentsResponse,
)
from kafka.protocol.broker_version_data import BrokerVersionData
from kafka.protocol.consumer.fetch import FetchResponse
from kafka.protocol.consumer.offsets import ListOffsetsResponse
from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse

from simulation.kraft import NO_LEADER, Key, Partition
from simulation.logs import NO_EPOCH, Log

if TYPE_CHECKING:
    from simulation.cluster import SimulatedCluster

# Of a broker of Kafka 4.3: API key → lowest and highest version.
VERSIONS = {
    1: (4, 18), 2: (1, 11), 3: (0, 13), 9: (1, 10), 10: (0, 6), 15: (0, 6), 16: (0, 5), 18: (0, 5), 32: (1, 4), 35: (1, 5), 43: (0, 2),
    44: (0, 1), 45: (0, 1), 46: (0, 0), 55: (0, 2), 60: (0, 2), 75: (0, 0),
}  # fmt: skip
ELR_FEATURE = "eligible.leader.replicas.version"
TOTAL_BYTES, USABLE_BYTES = 100 << 30, 90 << 30


def code(name: str | None) -> int:
    """Return the number of one of Kafka's errors, 0 for None."""
    if name is None:
        return 0
    return next(int(kind.errno) for kind in vars(errors).values() if isinstance(kind, type) and getattr(kind, "message", None) == name)


@dataclass
class Broker:
    """A broker. `image`: the partitions as it knows them, of `image_version` of the controller's state. `cut_off`: it does not reach the controllers."""

    node_id: int
    cluster: SimulatedCluster
    host: str
    port: int
    running: bool = True
    hangs: bool = False
    cut_off: bool = False
    was_shut_down: bool = False
    down_since: float = 0.0
    incarnation: int = 0
    logs: dict[Key, Log] = field(default_factory=dict)
    image: dict[Key, Partition] = field(default_factory=dict)
    alive: frozenset[int] = frozenset()
    registered: frozenset[int] = frozenset()
    image_version: int = -1
    fetched_at: float = 0.0
    versions: BrokerVersionData = field(default_factory=lambda: BrokerVersionData(api_versions=VERSIONS))

    def answer(self, request: Any, version: int) -> Any:
        """Return the answer to a request; None if there will be none. Raises NotImplementedError for a request that is not simulated."""
        act: Callable[[Any, int], Any] | None = getattr(self, f"_{request.name.removesuffix('Request')}", None)
        if act is None:
            raise NotImplementedError(f"a broker has got {request}")
        return act(request, version)

    # --- the cluster -----------------------------------------------------------------------------------------------

    def _ApiVersions(self, _request: Any, _version: int) -> Any:
        kind = ApiVersionsResponse
        keys = [kind.ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in VERSIONS.items()]
        levels = {ELR_FEATURE: int(self.cluster.controller.elr), "metadata.version": 27}
        finalized = [kind.FinalizedFeatureKey(name=name, max_version_level=one, min_version_level=one) for name, one in levels.items() if one]
        return kind(
            error_code=0, api_keys=keys, throttle_time_ms=0, supported_features=[], finalized_features_epoch=self.image_version,
            finalized_features=finalized, zk_migration_ready=False,
        )  # fmt: skip

    def _Metadata(self, request: Any, _version: int) -> Any:
        kind, topic = MetadataResponse, MetadataResponse.MetadataResponseTopic
        nodes = [self.cluster.brokers[one] for one in sorted(self.alive)]
        brokers = [kind.MetadataResponseBroker(node_id=one.node_id, host=one.host, port=one.port, rack=None) for one in nodes]
        names = None if request.topics is None else [one.name for one in request.topics]
        topics = [
            topic(
                error_code=0, name=name, topic_id=topic_uuid(rows[0][1].topic_id), is_internal=False,
                partitions=[
                    topic.MetadataResponsePartition(
                        error_code=code(None if state.leader != NO_LEADER else "LEADER_NOT_AVAILABLE"), partition_index=key[1],
                        leader_id=state.leader, leader_epoch=state.epoch, replica_nodes=list(state.replicas), isr_nodes=list(state.isr),
                        offline_replicas=self._offline(state),
                    )
                    for key, state in rows
                ],
            )
            for name, rows in self._topics(names)
        ]  # fmt: skip
        return kind(throttle_time_ms=0, brokers=brokers, cluster_id=self.cluster.cluster_id, controller_id=min(self.alive, default=-1), topics=topics, error_code=0)

    def _DescribeCluster(self, _request: Any, _version: int) -> Any:
        kind = DescribeClusterResponse
        rows = [
            kind.DescribeClusterBroker(
                broker_id=one, host=self.cluster.brokers[one].host, port=self.cluster.brokers[one].port, rack=None, is_fenced=one not in self.alive
            )
            for one in sorted(self.registered)
        ]
        return kind(
            throttle_time_ms=0, error_code=0, error_message=None, endpoint_type=1, cluster_id=self.cluster.cluster_id,
            controller_id=min(self.alive, default=-1), brokers=rows,
        )  # fmt: skip

    def _DescribeQuorum(self, _request: Any, _version: int) -> Any:
        if self.cut_off or not self.cluster.has_controller:
            return None
        topic = DescribeQuorumResponse.TopicData
        now = self.cluster.world.now

        def replica(node: int, seconds: float) -> Any:
            stamp = int((self.cluster.wall_clock() - seconds) * 1000)
            return topic.PartitionData.ReplicaState(
                replica_id=node, replica_directory_id=uuid.UUID(int=node), log_end_offset=self.cluster.controller.version,
                last_fetch_timestamp=stamp, last_caught_up_timestamp=stamp,
            )  # fmt: skip

        seen = [one for one in self.cluster.brokers.values() if one.fetched_at and now - one.fetched_at < 300]
        partition = topic.PartitionData(
            partition_index=0, error_code=0, error_message=None, leader_id=self.cluster.controller_id, leader_epoch=self.cluster.quorum_epoch,
            high_watermark=self.cluster.controller.version, current_voters=[replica(one, 0.0) for one in self.cluster.voters],
            observers=[replica(one.node_id, now - one.fetched_at) for one in seen],
        )  # fmt: skip
        return DescribeQuorumResponse(
            error_code=0, error_message=None, topics=[topic(topic_name="__cluster_metadata", partitions=[partition])], nodes=[]
        )

    def _DescribeTopicPartitions(self, request: Any, _version: int) -> Any:
        topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
        names = [one.name for one in request.topics] or None
        start = (request.cursor.topic_name, request.cursor.partition_index) if request.cursor else ("", 0)
        left, topics, cursor = request.response_partition_limit, [], None
        for name, rows in self._topics(names):
            wanted = [(key, state) for key, state in rows if key >= start]
            if wanted and left == 0:
                cursor = DescribeTopicPartitionsResponse.Cursor(topic_name=name, partition_index=wanted[0][0][1])
                break
            shown, left = wanted[:left], left - len(wanted[:left])
            if shown:
                topics.append(
                    topic(
                        error_code=0, name=name, topic_id=topic_uuid(rows[0][1].topic_id), is_internal=False,
                        partitions=[self._described(topic, key, state) for key, state in shown], topic_authorized_operations=-(2**31),
                    )
                )  # fmt: skip
            if len(shown) < len(wanted):
                cursor = DescribeTopicPartitionsResponse.Cursor(topic_name=name, partition_index=wanted[len(shown)][0][1])
                break
        known = {name for name, _ in self._topics(None)}
        for name in names or ():
            if name not in known and name >= start[0]:
                topics.append(
                    topic(
                        error_code=code("UNKNOWN_TOPIC_OR_PARTITION"), name=name, topic_id=uuid.UUID(int=0), is_internal=False,
                        partitions=[], topic_authorized_operations=-(2**31),
                    )
                )  # fmt: skip
        return DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=topics, next_cursor=cursor)

    def _described(self, topic: Any, key: Key, state: Partition) -> Any:
        return topic.DescribeTopicPartitionsResponsePartition(
            error_code=code(None if state.leader != NO_LEADER else "LEADER_NOT_AVAILABLE"), partition_index=key[1], leader_id=state.leader,
            leader_epoch=state.epoch, replica_nodes=list(state.replicas), isr_nodes=list(state.isr), eligible_leader_replicas=list(state.elr),
            last_known_elr=list(state.last_known), offline_replicas=self._offline(state),
        )  # fmt: skip

    def _offline(self, state: Partition) -> list[int]:
        return [one for one in state.replicas if one not in self.alive]

    def _topics(self, names: Iterable[str] | None) -> Iterator[tuple[str, list[tuple[Key, Partition]]]]:
        wanted = None if names is None else {*names}
        for name, rows in groupby(sorted(self.image.items()), key=lambda row: row[0][0]):
            if wanted is None or name in wanted:
                yield name, list(rows)

    # --- configs, groups, disks --------------------------------------------------------------------------------------

    def _DescribeConfigs(self, request: Any, _version: int) -> Any:
        kind = DescribeConfigsResponse.DescribeConfigsResult
        results = []
        for row in request.resources:
            configs = self.cluster.configs(row.resource_name) if row.resource_type == 2 else {}
            keys = configs if row.configuration_keys is None else row.configuration_keys
            results.append(
                kind(
                    error_code=0, error_message=None, resource_type=row.resource_type, resource_name=row.resource_name,
                    configs=[
                        kind.DescribeConfigsResourceResult(
                            name=name, value=configs[name], read_only=False, config_source=1, is_sensitive=False, synonyms=[], config_type=2,
                            documentation=None,
                        )
                        for name in keys
                        if name in configs
                    ],
                )
            )  # fmt: skip
        return DescribeConfigsResponse(throttle_time_ms=0, results=results)

    def _ListGroups(self, _request: Any, _version: int) -> Any:
        return ListGroupsResponse(throttle_time_ms=0, error_code=0, groups=[])

    def _DescribeLogDirs(self, request: Any, _version: int) -> Any:
        kind = DescribeLogDirsResponse.DescribeLogDirsResult
        wanted = None if request.topics is None else {(one.topic, number) for one in request.topics for number in one.partitions}
        keys = sorted(key for key in self.logs if wanted is None or key in wanted)
        topics = [
            kind.DescribeLogDirsTopic(
                name=name,
                partitions=[
                    kind.DescribeLogDirsTopic.DescribeLogDirsPartition(
                        partition_index=key[1], partition_size=sum(len(one.data) for one in self.logs[key].batches), offset_lag=0, is_future_key=False
                    )
                    for key in own
                ],
            )
            for name, own in groupby(keys, key=lambda key: key[0])
        ]
        row = kind(error_code=0, log_dir="/data", topics=topics, total_bytes=TOTAL_BYTES, usable_bytes=USABLE_BYTES, is_cordoned=False)
        return DescribeLogDirsResponse(throttle_time_ms=0, error_code=0, results=[row])

    # --- logs --------------------------------------------------------------------------------------------------------

    def _ListOffsets(self, request: Any, _version: int) -> Any:
        kind = ListOffsetsResponse.ListOffsetsTopicResponse
        topics = [
            kind(name=one.name, partitions=[self._offset(kind, (one.name, row.partition_index), request.replica_id) for row in one.partitions])
            for one in request.topics
        ]
        return ListOffsetsResponse(throttle_time_ms=0, topics=topics)

    def _offset(self, kind: Any, key: Key, replica_id: int) -> Any:
        error, offset, epoch = self._log_error(key), -1, -1
        if error is None:
            state, log = self.image[key], self.logs[key]
            if replica_id == -1 and state.leader != self.node_id:
                error = "NOT_LEADER_OR_FOLLOWER"
            else:
                offset, epoch = (log.high_watermark if replica_id == -1 else log.end), state.epoch
        return kind.ListOffsetsPartitionResponse(partition_index=key[1], error_code=code(error), timestamp=-1, offset=offset, leader_epoch=epoch)

    def _log_error(self, key: Key) -> str | None:
        if key not in self.image:
            return "UNKNOWN_TOPIC_OR_PARTITION"
        return None if key in self.logs and self.node_id in self.image[key].replicas else "NOT_LEADER_OR_FOLLOWER"

    def _Fetch(self, request: Any, _version: int) -> Any:
        kind, left, first = FetchResponse.FetchableTopicResponse, request.max_bytes, True
        topics = []
        for one in request.topics:
            rows = []
            for row in one.partitions:
                answered, size = self._fetched(kind.PartitionData, (one.topic, row.partition), row, left, first)
                left, first = left - size, first and size == 0
                rows.append(answered)
            topics.append(kind(topic=one.topic, partitions=rows))
        return FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=topics)

    def _fetched(self, kind: Any, key: Key, row: Any, left: int, first: bool) -> tuple[Any, int]:
        """Return the answer about one partition, and the bytes of its records."""
        error, records, diverging = self._log_error(key), b"", (NO_EPOCH, -1)
        log = self.logs.get(key, Log()) if error is None else Log()
        if error is None and row.last_fetched_epoch >= 0:
            epoch, end = log.end_of_epoch(row.last_fetched_epoch)
            if epoch == NO_EPOCH:
                error = "OFFSET_OUT_OF_RANGE"
            elif epoch < row.last_fetched_epoch or end < row.fetch_offset:
                diverging = epoch, end
        if error is None and diverging[0] == NO_EPOCH:
            if not log.start <= row.fetch_offset <= log.end:
                error = "OFFSET_OUT_OF_RANGE"
            else:
                records = self._records(log, row.fetch_offset, min(row.partition_max_bytes, left), first)
        known = error is None
        return kind(
            partition_index=key[1], error_code=code(error), high_watermark=log.high_watermark if known else -1, last_stable_offset=-1,
            log_start_offset=log.start if known else -1, diverging_epoch=kind.EpochEndOffset(epoch=diverging[0], end_offset=diverging[1]),
            current_leader=kind.LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1), snapshot_id=kind.SnapshotId(end_offset=-1, epoch=-1),
            aborted_transactions=None, preferred_read_replica=-1, records=records,
        ), len(records)  # fmt: skip

    def _records(self, log: Log, offset: int, size: int, first: bool) -> bytes:
        found = b"".join(one.data for one in log.from_offset(offset))
        batches = log.from_offset(offset)
        if not batches or (len(batches[0].data) > size and not first):
            return b""
        return found[: max(size, len(batches[0].data))]

    # --- changes: forwarded to the active controller -----------------------------------------------------------------

    def _AlterPartitionReassignments(self, request: Any, _version: int) -> Any:
        if self.cut_off or not self.cluster.has_controller:
            return None
        kind = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
        found = {
            (one.name, row.partition_index): self.cluster.reassign(
                (one.name, row.partition_index), None if row.replicas is None else tuple(row.replicas)
            )
            for one in request.topics
            for row in one.partitions
        }
        topics = [
            kind(
                name=name,
                partitions=[kind.ReassignablePartitionResponse(partition_index=key[1], error_code=code(error), error_message=None) for key, error in rows],
            )
            for name, rows in _by_topic(found)
        ]
        return AlterPartitionReassignmentsResponse(
            throttle_time_ms=0, allow_replication_factor_change=False, error_code=0, error_message=None, responses=topics
        )

    def _ListPartitionReassignments(self, _request: Any, _version: int) -> Any:
        if self.cut_off or not self.cluster.has_controller:
            return None
        return ListPartitionReassignmentsResponse(throttle_time_ms=0, error_code=0, error_message=None, topics=[])

    def _ElectLeaders(self, request: Any, _version: int) -> Any:
        if self.cut_off or not self.cluster.has_controller:
            return None
        kind = ElectLeadersResponse.ReplicaElectionResult
        unclean = request.election_type == 1
        keys = [(one.topic, number) for one in request.topic_partitions for number in one.partitions]
        found = {key: self.cluster.elect(key, unclean) for key in keys}
        topics = [
            kind(
                topic=name,
                partition_result=[kind.PartitionResult(partition_id=key[1], error_code=code(error), error_message=error) for key, error in rows],
            )
            for name, rows in _by_topic(found)
        ]
        return ElectLeadersResponse(throttle_time_ms=0, error_code=0, replica_election_results=topics)


def topic_uuid(number: int) -> uuid.UUID:
    """Return the id of a topic."""
    return uuid.UUID(int=(1 << 64) + number)


def _by_topic(found: Mapping[Key, str | None]) -> Iterator[tuple[str, list[tuple[Key, str | None]]]]:
    for name, rows in groupby(sorted(found.items()), key=lambda row: row[0][0]):
        yield name, list(rows)
