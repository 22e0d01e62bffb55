# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What consumer groups have committed: the messages that ask each broker for the groups that it coordinates, and for their offsets.

Nothing here does I/O; `cluster.py` decides whom to ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

with suppress(ImportError):  # libraries.py says why
    from kafka.protocol.admin import ListGroupsRequest
    from kafka.protocol.consumer import OffsetFetchRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.bounded_requests import BoundedRequests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.core import error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import Group
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, keys_of

# (group, partition, offset, leader epoch of the last record read, -1 where the consumer did not say).
Committed = tuple[str, TopicPartition, int, int]

GROUP_TOPIC = "__consumer_offsets"
GROUPS_PER_REQUEST = 50
# From OffsetFetch v10 on topics go by id; v8 is the first one that asks for several groups.
OFFSET_FETCH_VERSION = 9


class CommittedOffsets(NamedTuple):
    """Committed offsets, sorted; all groups that one may describe, by id; `blind`: why there may be more of both."""

    offsets: list[Committed]
    groups: dict[str, Group]
    blind: list[str]


def list_groups() -> ListGroupsRequest:
    """The groups that a broker coordinates, of all kinds and in any state."""
    return ListGroupsRequest(states_filter=[], types_filter=[])


def read_groups(answer: Any) -> tuple[str | None, dict[str, Group]]:
    """Error (Kafka's name, or None) and groups by id. State is told from Kafka 2.6 on, the type from 3.8."""
    version = answer.API_VERSION
    found = {row.group_id: Group(row.group_state if version >= 4 else "", row.group_type if version >= 5 else "") for row in answer.groups}
    return error_name(answer.error_code), found


def read_refused_groups(answer: Any) -> dict[str, str]:
    """The groups whose offsets an OffsetFetch did not tell, all or some of them, with the first error (Kafka's name)."""
    refused = {}
    for group in answer.groups:
        codes = [group.error_code, *(row.error_code for topic in group.topics or () for row in topic.partitions)]
        error = error_name(next(filter(None, codes), 0))
        if error is not None:
            refused[group.group_id] = error
    return refused


def fetch_offsets(groups: Iterable[str]) -> OffsetFetchRequest:
    """All that these groups have committed."""
    wanted = [OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=None) for group in groups]
    return OffsetFetchRequest(groups=wanted, require_stable=False, max_version=OFFSET_FETCH_VERSION)


def fetch_all(node: int, groups: Sequence[str], seconds: float, missed: list[str]) -> BoundedRequests:
    """Requests for what the groups of a broker have committed."""
    return BoundedRequests(node, "groups", groups, GROUPS_PER_REQUEST, fetch_offsets, seconds, missed)


class Reader:
    """Reads what `groups` have committed on `keys`. Rows about other groups or partitions are dropped; of two about the same the last one counts."""

    def __init__(self, keys: Iterable[TopicPartition], groups: Iterable[str]) -> None:
        self._keys = keys_of([keys])
        self._topics = {topic for topic, _partition in self._keys}
        self._groups = {group: group for group in groups}

    def __call__(self, answer: Any) -> list[Committed]:
        """Read an answer. Groups whose coordinator refuses or has moved are left out."""
        found: dict[tuple[str, TopicPartition], Committed] = {}
        for group in answer.groups:
            name = self._groups.get(group.group_id)
            if name is None or group.error_code:
                continue
            for topic in group.topics:
                for row in topic.partitions if topic.name in self._topics else ():
                    key = self._keys.get((topic.name, row.partition_index))
                    if key is not None and not row.error_code and row.committed_offset >= 0:
                        found[name, key] = (name, key, row.committed_offset, row.committed_leader_epoch)
        return list(found.values())
