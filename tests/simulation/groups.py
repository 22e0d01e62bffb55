# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Consumer groups of a simulated cluster: what they have committed, and what their coordinator answers. `__consumer_offsets` has no records."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka.protocol.admin import DescribeGroupsResponse, ListGroupsResponse
from kafka.protocol.consumer import OffsetFetchResponse

from simulation.kafka_errors import code
from simulation.kraft import NO_LEADER, Key
from simulation.logs import Batch, Log

if TYPE_CHECKING:
    from simulation.broker import Broker

NAMES = ("billing", "search")
OFFSETS: Key = ("__consumer_offsets", 0)


class Position(NamedTuple):
    """A committed offset. `read`: the batch with the last record that the group has read."""

    offset: int
    read: Batch


class Groups:
    """Groups with committed offsets, without members."""

    def __init__(self) -> None:
        self.positions: dict[str, dict[Key, Position]] = {}

    def commit(self, group: str, key: Key, log: Log) -> None:
        """Commit that a group has read all that is committed in a log. It goes forward alone."""
        read = [one for one in log.batches if one.last < log.high_watermark and one.ends is None]
        own = self.positions.setdefault(group, {})
        if read and (key not in own or own[key].offset <= read[-1].last):
            own[key] = Position(read[-1].last + 1, read[-1])


def list_groups(broker: Broker, _request: Any) -> Any:
    kind = ListGroupsResponse.ListedGroup
    rows = [kind(group_id=one, protocol_type="consumer", group_state="Empty", group_type="classic") for one in _coordinated(broker)]
    return ListGroupsResponse(throttle_time_ms=0, error_code=0, groups=rows)


def describe_groups(broker: Broker, request: Any) -> Any:
    """Answer as Kafka 4 does: a group that is not known is an error."""
    kind, own = DescribeGroupsResponse.DescribedGroup, _coordinated(broker)
    rows = [
        kind(
            error_code=0 if name in own else code("GROUP_ID_NOT_FOUND"),
            error_message=None if name in own else f"Group {name} not found.",
            group_id=name,
            group_state="Empty" if name in own else "Dead",
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
    """Return the groups that a broker coordinates: the one that coordinates transactions. While __consumer_offsets has no leader, none does."""
    cluster = broker.cluster
    offsets = cluster.controller.partitions.get(OFFSETS)
    if offsets is not None and offsets.leader == NO_LEADER:
        return {}
    return cluster.groups.positions if cluster.transactions.coordinator == broker.node_id else {}
