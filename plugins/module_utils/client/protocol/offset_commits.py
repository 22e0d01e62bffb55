# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read FindCoordinator and OffsetCommit: set the committed offsets of a group without members, as kafka-consumer-groups.sh does.

Pure: no I/O. `group_offset_admin.py` chooses the brokers.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.consumer import OffsetCommitRequest
    from kafka.protocol.metadata import FindCoordinatorRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.error_codes import error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.topic_rows import by_topic
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

# FindCoordinator v4 and newer have several groups, OffsetCommit v10 and newer name topics by id.
FIND_COORDINATOR_VERSION, OFFSET_COMMIT_VERSION = 3, 9
# The generation of a commit by no member: the coordinator accepts it only for a group without members.
NO_MEMBER = -1


class NewOffset(NamedTuple):
    """An offset to commit. `leader_epoch`: of the last record that was read, -1 if it is not known. `metadata`: a text of the consumer's own."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


def find_coordinator(group: str) -> FindCoordinatorRequest:
    """Build a request for the broker that coordinates a group."""
    return FindCoordinatorRequest(key=group, key_type=0, max_version=FIND_COORDINATOR_VERSION)


def read_coordinator(answer: Any) -> tuple[str | None, int]:
    """Return the error (Kafka's name, or None) and the id of the broker."""
    return error_name(answer.error_code), answer.node_id


def commit(group: str, offsets: Mapping[TopicPartition, NewOffset]) -> OffsetCommitRequest:
    """Build a request that commits these offsets for a group without members."""
    kind = OffsetCommitRequest.OffsetCommitRequestTopic
    topics = [
        kind(
            name=topic,
            partitions=[
                kind.OffsetCommitRequestPartition(
                    partition_index=number,
                    committed_offset=new.offset,
                    committed_leader_epoch=new.leader_epoch,
                    committed_metadata=new.metadata,
                )
                for number in numbers
                for new in (offsets[topic, number],)
            ],
        )
        for topic, numbers in by_topic(offsets).items()
    ]
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=NO_MEMBER,
        member_id="",
        group_instance_id=None,
        topics=topics,
        max_version=OFFSET_COMMIT_VERSION,
    )


def read_commit(answer: Any) -> dict[TopicPartition, str | None]:
    """Return Kafka's error by partition, None if the offset is committed."""
    return {(topic.name, row.partition_index): error_name(row.error_code) for topic in answer.topics for row in topic.partitions}
