# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the nodes of the simulated metadata quorum answer on their own listener."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin import DescribeConfigsResponse, DescribeQuorumResponse
from kafka.protocol.broker_version_data import BrokerVersionData
from kafka.protocol.consumer.fetch import FetchResponse
from kafka.protocol.metadata import ApiVersionsResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.metadata_log_fetch import FetchSnapshotResponse
from simulation.change_answers import altered_configs, denies, elected_leaders, refused_election
from simulation.kafka_errors import code
from simulation.logins import ALTER, METADATA_LOG, permitted
from simulation.metadata_answers import quorum

if TYPE_CHECKING:
    from simulation.cluster import SimulatedCluster

SNAPSHOT_PIECE = 100  # bytes

# Milliseconds of a controller's timeouts, and the source of a config with its default.
TIMEOUTS = {
    "controller.quorum.fetch.timeout.ms": "2000",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.request.timeout.ms": "2000",
}
DEFAULT_CONFIG = 5


@dataclass
class ControllerNode:
    """A controller. While the cluster has no active one, all of them follow."""

    node_id: int
    cluster: SimulatedCluster
    host: str
    port: int
    running: bool = True
    has_open_port: bool = True
    hangs: bool = False
    unreachable: bool = False
    incarnation: int = 0

    @property
    def versions(self) -> BrokerVersionData:
        """Return the versions of the requests that it takes."""
        return self.cluster.release.controllers

    def answer(self, request: Any) -> Any:
        """Return the answer to a request. Raises NotImplementedError for one that is not simulated."""
        if request.name == "ApiVersionsRequest":
            kind = ApiVersionsResponse
            keys = [
                kind.ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in self.versions.api_versions.items()
            ]
            return kind(
                error_code=0, api_keys=keys, throttle_time_ms=0, supported_features=[], finalized_features_epoch=-1, finalized_features=[],
                zk_migration_ready=False,
            )  # fmt: skip
        if request.name == "DescribeQuorumRequest":
            return permitted(self.cluster, request.name, request, quorum(self.cluster) if self._is_active() else self._refused_quorum())
        if request.name == "DescribeConfigsRequest":
            return permitted(self.cluster, request.name, request, self._configs(request))
        if request.name == "FetchRequest":
            return permitted(self.cluster, METADATA_LOG, request, self._fetch(request))
        if request.name == "FetchSnapshotRequest":
            return self._snapshot(request)
        if request.name == "ElectLeadersRequest":  # permissions come first
            is_answered = self._is_active() or denies(self.cluster, ALTER)
            return elected_leaders(self.cluster, request) if is_answered else refused_election("NOT_CONTROLLER")
        if request.name == "IncrementalAlterConfigsRequest":
            return altered_configs(self.cluster, request, lambda _row: None if self._is_active() else "NOT_CONTROLLER")
        raise NotImplementedError(f"a controller has got {request}")

    def _is_active(self) -> bool:
        return self.cluster.has_controller and self.cluster.controller_id == self.node_id

    def _refused_quorum(self) -> Any:
        topic = DescribeQuorumResponse.TopicData
        row = topic.PartitionData(
            partition_index=0, error_code=code("NOT_LEADER_OR_FOLLOWER"), error_message=None, leader_id=-1, leader_epoch=0, high_watermark=0,
            current_voters=[], observers=[],
        )  # fmt: skip
        return DescribeQuorumResponse(
            error_code=0, error_message=None, topics=[topic(topic_name="__cluster_metadata", partitions=[row])], nodes=[]
        )

    def _configs(self, request: Any) -> Any:
        """Return the timeouts of this controller, as they are by default. It describes itself alone."""
        kind = DescribeConfigsResponse.DescribeConfigsResult
        results = [
            kind(
                error_code=code(None if row.resource_name == str(self.node_id) else "INVALID_REQUEST"), error_message=None,
                resource_type=row.resource_type, resource_name=row.resource_name,
                configs=[
                    kind.DescribeConfigsResourceResult(
                        name=name, value=value, read_only=True, config_source=DEFAULT_CONFIG, is_sensitive=False, synonyms=[], config_type=3,
                        documentation=None,
                    )
                    for name, value in TIMEOUTS.items()
                    if row.resource_name == str(self.node_id) and name in (row.configuration_keys or TIMEOUTS)
                ],
            )
            for row in request.resources
        ]  # fmt: skip
        return DescribeConfigsResponse(throttle_time_ms=0, results=results)

    def _fetch(self, request: Any) -> Any:
        kind = FetchResponse.FetchableTopicResponse
        asked, log = request.topics[0].partitions[0], self.cluster.metadata_log
        error = None
        if not self._is_active():
            error = "NOT_LEADER_OR_FOLLOWER"
        elif asked.current_leader_epoch != log.epoch:
            error = "FENCED_LEADER_EPOCH"
        # What a snapshot has is deleted from the log.
        snapshot = None if error or log.snapshot is None or asked.fetch_offset >= log.snapshot[0] else log.snapshot
        row = kind.PartitionData(
            partition_index=0, error_code=code(error), high_watermark=log.end, last_stable_offset=log.end, log_start_offset=0,
            diverging_epoch=kind.PartitionData.EpochEndOffset(epoch=-1, end_offset=-1),
            current_leader=kind.PartitionData.LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1),
            snapshot_id=kind.PartitionData.SnapshotId(end_offset=snapshot[0] if snapshot else -1, epoch=log.epoch if snapshot else -1),
            aborted_transactions=None, preferred_read_replica=-1,
            records=b"" if error or snapshot else log.read(asked.fetch_offset, asked.partition_max_bytes),
        )  # fmt: skip
        topics = [kind(topic_id=request.topics[0].topic_id, partitions=[row])]
        return FetchResponse(throttle_time_ms=0, error_code=0, session_id=0, responses=topics, node_endpoints=[])

    def _snapshot(self, request: Any) -> Any:
        """Return a piece of the snapshot. Pieces end anywhere, also within a batch."""
        asked, snapshot = request.topics[0].partitions[0], self.cluster.metadata_log.snapshot
        kind = FetchSnapshotResponse.TopicSnapshot
        data = b"" if snapshot is None else snapshot[1]
        row = kind.PartitionSnapshot(
            index=0, error_code=code("SNAPSHOT_NOT_FOUND" if snapshot is None else None), size=len(data), position=asked.position,
            snapshot_id=kind.PartitionSnapshot.SnapshotId(end_offset=asked.snapshot_id.end_offset, epoch=asked.snapshot_id.epoch),
            unaligned_records=data[asked.position : asked.position + SNAPSHOT_PIECE],
        )  # fmt: skip
        return FetchSnapshotResponse(throttle_time_ms=0, error_code=0, topics=[kind(name=request.topics[0].name, partitions=[row])])
