# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read ListGroups and OffsetFetch: the groups that each broker coordinates, and their committed offsets.

Pure: no I/O. `coordinators.py` chooses the brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.admin import ListGroupsRequest
    from kafka.protocol.consumer import OffsetFetchRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.bounded_requests import BoundedRequests
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.error_codes import error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import Group
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, keys_of

# (group, partition, offset, leader epoch of the last record read, -1 if the consumer committed none).
Committed = tuple[str, TopicPartition, int, int]

GROUP_TOPIC = "__consumer_offsets"
GROUPS_PER_REQUEST = 50
# OffsetFetch v10 and newer name topics by id; v8 is the first version for several groups.
OFFSET_FETCH_VERSION = 9


class CommittedOffsets(NamedTuple):
    """Committed offsets, sorted; all groups that this principal may describe, by id; `blind`: reasons why there may be more of both.

    `share_groups`: share groups by the only broker that coordinates them.
    """

    offsets: list[Committed]
    groups: dict[str, Group]
    blind: list[str]
    share_groups: Mapping[int, list[str]] = MappingProxyType({})


def list_groups() -> ListGroupsRequest:
    """Build a request for the groups that a broker coordinates, of every type and in any state."""
    return ListGroupsRequest(states_filter=[], types_filter=[])


def read_groups(answer: Any) -> tuple[str | None, dict[str, Group]]:
    """Return the error (Kafka's name, or None) and the groups by id. Kafka 2.6 and newer answer the state, Kafka 3.8 and newer the type."""
    version = answer.API_VERSION
    groups = {row.group_id: Group(row.group_state if version >= 4 else "", row.group_type if version >= 5 else "") for row in answer.groups}
    return error_name(answer.error_code), groups


@cache
def one_group_each(partitions: int) -> tuple[str, ...]:
    """Return a group name for each of so many partitions of `__consumer_offsets`, whose leader coordinates it: abs(String.hashCode) % partitions."""
    names: dict[int, str] = {}
    numbers = count()
    while len(names) < partitions:
        name, code = f"kafka-recovery-{next(numbers)}", 0
        for letter in name.encode():
            code = (31 * code + letter) & 0xFFFF_FFFF
        names.setdefault(abs(code - (code >> 31 << 32)) % partitions, name)
    return tuple(names[partition] for partition in range(partitions))


def read_refused_groups(answer: Any) -> dict[str, str]:
    """Return the groups whose offsets an OffsetFetch left out, wholly or in part, each with its first error (Kafka's name)."""
    refused = {}
    for group in answer.groups:
        codes = [group.error_code, *(row.error_code for topic in group.topics or () for row in topic.partitions)]
        error = error_name(next(filter(None, codes), 0))
        if error is not None:
            refused[group.group_id] = error
    return refused


def fetch_offsets(groups: Iterable[str], stable: bool = False) -> OffsetFetchRequest:
    """Build a request for all committed offsets of these groups. `stable`: those that a transaction may change are refused."""
    rows = [OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=None) for group in groups]
    return OffsetFetchRequest(groups=rows, require_stable=stable, max_version=OFFSET_FETCH_VERSION)


def fetch_all(node: int, groups: Sequence[str], seconds: float, missed: list[str], stable: bool) -> BoundedRequests:
    """Build the requests for the committed offsets of a broker's groups, in pages. `seconds` and `missed` as in BoundedRequests."""
    return BoundedRequests(node, "groups", groups, GROUPS_PER_REQUEST, partial(fetch_offsets, stable=stable), seconds, missed)


class Reader:
    """Reads the committed offsets of `groups` on `keys`. Rows of other groups or partitions are dropped; of two equal rows the last one counts."""

    def __init__(self, keys: Iterable[TopicPartition], groups: Iterable[str]) -> None:
        self._keys = keys_of([keys])
        self._topics = {topic for topic, _partition in self._keys}
        self._groups = {group: group for group in groups}

    def __call__(self, answer: Any) -> list[Committed]:
        """Read an answer. Groups whose coordinator refuses or has moved are left out."""
        committed: dict[tuple[str, TopicPartition], Committed] = {}
        for group in answer.groups:
            name = self._groups.get(group.group_id)
            if name is None or group.error_code:
                continue
            for topic in group.topics:
                for row in topic.partitions if topic.name in self._topics else ():
                    key = self._keys.get((topic.name, row.partition_index))
                    if key is not None and not row.error_code and row.committed_offset >= 0:
                        committed[name, key] = (name, key, row.committed_offset, row.committed_leader_epoch)
        return list(committed.values())
