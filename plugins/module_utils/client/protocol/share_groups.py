# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read DescribeShareGroupOffsets (KIP-932, KIP-1226): how far share groups have read.

Pure: no I/O. kafka-python has no such message, and modules ship no JSON files, so its schema stands here (Apache Kafka's
DescribeShareGroupOffsetsRequest.json and DescribeShareGroupOffsetsResponse.json).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.error_codes import error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.message_schema import ApiMessage, Schema, field
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.consumer_groups import ShareOffset
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, keys_of


def _message(kind: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    name = f"DescribeShareGroupOffsets{kind.title()}"
    return {"apiKey": 90, "type": kind, "name": name, "validVersions": "0-1", "flexibleVersions": "0+", "fields": fields}


_ERROR = (field("ErrorCode", "int16"), field("ErrorMessage", "string", nullableVersions="0+", default=None))

DescribeShareGroupOffsetsRequest: Any = Schema(
    "DescribeShareGroupOffsetsRequest",
    (ApiMessage,),
    {},
    schema=_message(
        "request",
        [
            field(
                "Groups",
                "[]RequestGroup",
                fields=[
                    field("GroupId", "string"),
                    field(
                        "Topics",
                        "[]RequestTopic",
                        nullableVersions="0+",
                        fields=[field("TopicName", "string"), field("Partitions", "[]int32")],
                    ),
                ],
            )
        ],
    ),
)
DescribeShareGroupOffsetsResponse: Any = Schema(
    "DescribeShareGroupOffsetsResponse",
    (ApiMessage,),
    {},
    schema=_message(
        "response",
        [
            field("ThrottleTimeMs", "int32"),
            field(
                "Groups",
                "[]ResponseGroup",
                fields=[
                    field("GroupId", "string"),
                    field(
                        "Topics",
                        "[]ResponseTopic",
                        fields=[
                            field("TopicName", "string"),
                            field("TopicId", "uuid"),
                            field(
                                "Partitions",
                                "[]ResponsePartition",
                                fields=[
                                    field("PartitionIndex", "int32"),
                                    field("StartOffset", "int64"),
                                    field("LeaderEpoch", "int32"),
                                    field("Lag", "int64", "1+", default=-1),
                                    *_ERROR,
                                ],
                            ),
                        ],
                    ),
                    *_ERROR,
                ],
            ),
        ],
    ),
)


def describe(groups: Iterable[str]) -> Any:
    """Build a request for all partitions of these groups. It needs DESCRIBE on the groups and on the topics."""
    kind = DescribeShareGroupOffsetsRequest.RequestGroup
    return DescribeShareGroupOffsetsRequest(groups=[kind(group_id=group, topics=None) for group in groups])


class Reader:
    """Reads what brokers answer about `groups` on `keys`. Other rows are dropped; of two equal rows the last one counts.

    Returns rows, and the first error (Kafka's name) by group. A group has no start offset, and no row, before it is given a record.
    """

    def __init__(self, keys: Iterable[TopicPartition], groups: Iterable[str]) -> None:
        self._keys = keys_of([keys])
        self._groups = {group: group for group in groups}

    def __call__(self, answer: Any) -> tuple[list[ShareOffset], dict[str, str]]:
        """Read an answer."""
        found: dict[tuple[str, TopicPartition], ShareOffset] = {}
        refused: dict[str, str] = {}
        for group in answer.groups:
            name = self._groups.get(group.group_id)
            if name is None:
                continue
            if error := error_name(group.error_code):
                refused.setdefault(name, error)
                continue
            for topic in group.topics:
                for row in topic.partitions:
                    key = self._keys.get((topic.topic_name, row.partition_index))
                    if key is None:
                        continue
                    if error := error_name(row.error_code):
                        refused.setdefault(name, error)  # its numbers are made up
                    elif row.start_offset >= 0:
                        lag = row.lag if answer.API_VERSION >= 1 else None
                        found[name, key] = ShareOffset(name, key, row.start_offset, row.leader_epoch, lag)
        return list(found.values()), refused
