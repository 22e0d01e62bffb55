# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`__consumer_offsets` of a simulated cluster, if it is simulated as a log: one partition, whose leader coordinates all groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kafka.protocol.consumer import OffsetCommitResponse
from kafka.protocol.metadata import FindCoordinatorResponse
from unit.offset_record_bytes import offset_key, offset_value
from unit.record_batches import Content

from simulation.kafka_errors import code
from simulation.kraft import Key
from simulation.logs import TIMESTAMP, Batch, Log, batch_with

if TYPE_CHECKING:
    from simulation.broker import Broker
    from simulation.cluster import SimulatedCluster

GROUP_LOG: Key = ("__consumer_offsets", 0)


class Position(NamedTuple):
    """A committed offset. `read`: the batch with the last record that the group has read."""

    offset: int
    read: Batch


class Commit(NamedTuple):
    """What a record of the log says. `has_topic_id`: as Kafka 4.2 and newer write it. `is_own`: the group has committed it, and no replay."""

    group: str
    key: Key
    position: Position
    has_topic_id: bool
    is_own: bool


class GroupLog:
    """What groups have committed, as the log has it. `commits`: by the name of their batch."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self.commits: dict[str, Commit] = {}

    @property
    def exists(self) -> bool:
        """Return whether the partition is simulated as a log."""
        return GROUP_LOG in self._cluster.controller.partitions

    def coordinates(self, broker: Broker) -> bool:
        """Return whether a broker leads the partition, as far as it knows."""
        return self._cluster.leads(broker, GROUP_LOG)

    def write(self, commit: Commit, topic_id: bytes) -> bool:
        """Let the coordinator append a commit. Return whether there is one."""
        leader = self._cluster.leader_that_writes(GROUP_LOG)
        if leader is None:
            return False
        offset, read = commit.position
        name = f"commit {len(self.commits)} of {commit.group} on {commit.key[0]}-{commit.key[1]}: {offset}"
        value = (
            offset_value(offset, read.epoch, version=4, topic_id=topic_id)
            if commit.has_topic_id
            else offset_value(offset, read.epoch, version=3)
        )
        log = leader.logs[GROUP_LOG]
        content: list[Content] = [(TIMESTAMP + log.end, offset_key(commit.group, *commit.key), value, [])]
        self.commits[name] = commit
        self._cluster.append(leader, GROUP_LOG, batch_with(log.end, leader.image[GROUP_LOG].epoch, name, content))
        return True

    def positions(self, log: Log) -> dict[str, dict[Key, Position]]:
        """Return the committed offsets of each group, as a log has them."""
        found: dict[str, dict[Key, Position]] = {}
        for commit in (self.commits[one.name] for one in log.batches if one.name in self.commits):
            found.setdefault(commit.group, {})[commit.key] = commit.position
        return found


def find_coordinator(broker: Broker, _request: Any) -> Any:
    """Name the leader of the partition as the broker knows it, or else the coordinator of transactions."""
    cluster = broker.cluster
    node = broker.image[GROUP_LOG].leader if cluster.groups.log.exists else cluster.transactions.coordinator
    one = cluster.brokers.get(node or -1)
    error = None if one is not None else "COORDINATOR_NOT_AVAILABLE"
    host, port, node_id = ("", -1, -1) if one is None else (one.host, one.port, one.node_id)
    return FindCoordinatorResponse(throttle_time_ms=0, error_code=code(error), error_message=error, node_id=node_id, host=host, port=port)


def commit_offsets(broker: Broker, request: Any) -> Any:
    """Commit offsets for a group without members. What its last record was is what the leader of the partition has."""
    groups, kind = broker.cluster.groups, OffsetCommitResponse.OffsetCommitResponseTopic
    error = None if groups.log.coordinates(broker) else "NOT_COORDINATOR"
    if error is None and request.group_id in groups.with_members:
        error = "UNKNOWN_MEMBER_ID"
    for topic in request.topics if error is None else ():
        for row in topic.partitions:
            groups.commit_again(request.group_id, (topic.name, row.partition_index), row.committed_offset, row.committed_leader_epoch)
    topics = [
        kind(
            name=topic.name,
            partitions=[
                kind.OffsetCommitResponsePartition(partition_index=row.partition_index, error_code=code(error)) for row in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return OffsetCommitResponse(throttle_time_ms=0, topics=topics)
