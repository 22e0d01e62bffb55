# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Consumer groups of a simulated cluster: what they have committed, and what their coordinator answers. Some histories have their log (group_log.py)."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from kafka.protocol.admin import DescribeGroupsResponse, ListGroupsResponse
from kafka.protocol.consumer import OffsetFetchResponse

from simulation.group_log import GROUP_LOG, Commit, GroupLog, Position
from simulation.kafka_errors import code
from simulation.kraft import Key
from simulation.logs import Log

if TYPE_CHECKING:
    from simulation.broker import Broker
    from simulation.cluster import SimulatedCluster

NAMES = ("billing", "search")


class Groups:
    """Groups with committed offsets.

    positions     what groups have committed last
    with_members  groups with members
    log           the log of `__consumer_offsets`, if it is simulated: then coordinators answer what it has
    """

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.positions: dict[str, dict[Key, Position]] = {}
        self.with_members: set[str] = set()
        self.log = GroupLog(cluster)

    def commit(self, group: str, key: Key, log: Log, topic_id: bytes = b"") -> None:
        """Commit that a group has read all that is committed in a log. It goes forward alone. `topic_id`: of the partition."""
        read = [one for one in log.batches if one.last < log.high_watermark and one.ends is None]
        own = self.positions.setdefault(group, {})
        if not read or (key in own and own[key].offset > read[-1].last):
            return
        position = Position(read[-1].last + 1, read[-1])
        if not self.log.exists or self.log.write(Commit(group, key, position, len(self.log.commits) % 4 > 0, True), topic_id):
            own[key] = position

    def commit_again(self, group: str, key: Key, offset: int, epoch: int) -> None:
        """Take the commit of a replay: of a position that the group has committed before."""
        known = [one.position for one in self.log.commits.values() if (one.group, one.key) == (group, key)]
        position = next(one for one in known if (one.offset, one.read.epoch) == (offset, epoch))
        if self.log.write(Commit(group, key, position, True, False), b""):
            self.positions[group][key] = position


def _state(broker: Broker, group: str) -> str:
    return "Stable" if group in broker.cluster.groups.with_members else "Empty"


def list_groups(broker: Broker, _request: Any) -> Any:
    kind = ListGroupsResponse.ListedGroup
    rows = [
        kind(group_id=one, protocol_type="consumer", group_state=_state(broker, one), group_type="classic") for one in _coordinated(broker)
    ]
    return ListGroupsResponse(throttle_time_ms=0, error_code=0, groups=rows)


def describe_groups(broker: Broker, request: Any) -> Any:
    """Answer as Kafka 4 does: a group that is not known is an error. For Kafka 3.9 it is dead (KIP-1043)."""
    kind, own = DescribeGroupsResponse.DescribedGroup, _coordinated(broker)
    is_error = not broker.cluster.release.is_oldest
    rows = [
        kind(
            error_code=code("GROUP_ID_NOT_FOUND" if is_error and name not in own else None),
            error_message=f"Group {name} not found." if is_error and name not in own else None,
            group_id=name,
            group_state=_state(broker, name) if name in own else "Dead",
            protocol_type="consumer" if name in own else "",
            protocol_data="",
            members=[],
        )
        for name in request.groups
    ]
    return DescribeGroupsResponse(throttle_time_ms=0, groups=rows)


def fetch_offsets(broker: Broker, request: Any) -> Any:
    kind = OffsetFetchResponse.OffsetFetchResponseGroup
    own = _coordinated(broker)
    rows = [
        kind(group_id=one.group_id, topics=_topics(kind.OffsetFetchResponseTopics, own.get(one.group_id, {})), error_code=0)
        for one in request.groups
    ]
    return OffsetFetchResponse(throttle_time_ms=0, groups=rows)


def _topics(kind: Any, positions: dict[Key, Position]) -> list[Any]:
    row = kind.OffsetFetchResponsePartitions
    return [
        kind(
            name=topic,
            partitions=[
                row(
                    partition_index=key[1], committed_offset=at.offset, committed_leader_epoch=at.read.epoch, metadata="", error_code=0
                )
                for key, at in rows
            ],
        )
        for topic, rows in groupby(sorted(positions.items(), key=lambda item: item[0]), key=lambda item: item[0][0])
    ]  # fmt: skip


def _coordinated(broker: Broker) -> dict[str, dict[Key, Position]]:
    """Return the groups that a broker coordinates: all, if it leads `__consumer_offsets`, or without that log coordinates transactions."""
    groups = broker.cluster.groups
    if groups.log.exists:
        return groups.log.positions(broker.logs[GROUP_LOG]) if groups.log.coordinates(broker) else {}
    return groups.positions if broker.cluster.transactions.coordinator == broker.node_id else {}
