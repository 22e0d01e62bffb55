# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read the messages that read the active controller's metadata log: Fetch, and FetchSnapshot (KIP-630) if the log's beginning is gone.

Pure: no I/O. kafka-python has no FetchSnapshot, and modules ship no JSON files, so its schema stands here (Apache Kafka's FetchSnapshotRequest.json
and FetchSnapshotResponse.json).
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import Any, NamedTuple

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.consumer.fetch import FetchRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.error_codes import error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.message_schema import ApiMessage, Schema, field
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.topic_rows import only_row

TOPIC, TOPIC_ID, PARTITION = "__cluster_metadata", uuid.UUID(int=1), 0
# Controllers refuse v12, which names topics; v18 is of no use here.
FETCH_VERSIONS = (13, 17)
CONSUMER = -1


def _message(kind: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    name = f"FetchSnapshot{kind.title()}"
    return {"apiKey": 59, "type": kind, "name": name, "validVersions": "0-1", "flexibleVersions": "0+", "fields": fields}


def _topics(partition_fields: list[dict[str, Any]]) -> dict[str, Any]:
    partitions = field("Partitions", "[]PartitionSnapshot", fields=partition_fields)
    return field("Topics", "[]TopicSnapshot", fields=[field("Name", "string"), partitions])


_SNAPSHOT_ID = field("SnapshotId", "SnapshotId", fields=[field("EndOffset", "int64"), field("Epoch", "int32")])


# FetchSnapshot, without the fields that only members of the quorum set.
FetchSnapshotRequest: Any = Schema(
    "FetchSnapshotRequest",
    (ApiMessage,),
    {},
    schema=_message(
        "request",
        [
            field("ReplicaId", "int32", default="-1"),
            field("MaxBytes", "int32", default="0x7fffffff"),
            _topics([field("Partition", "int32"), field("CurrentLeaderEpoch", "int32"), _SNAPSHOT_ID, field("Position", "int64")]),
        ],
    ),
)
# The response; tagged fields that are not listed are skipped.
FetchSnapshotResponse: Any = Schema(
    "FetchSnapshotResponse",
    (ApiMessage,),
    {},
    schema=_message(
        "response",
        [
            field("ThrottleTimeMs", "int32"),
            field("ErrorCode", "int16"),
            _topics(
                [
                    field("Index", "int32"),
                    field("ErrorCode", "int16"),
                    _SNAPSHOT_ID,
                    field("Size", "int64"),
                    field("Position", "int64"),
                    field("UnalignedRecords", "records"),
                ]
            ),
        ],
    ),
)


class Snapshot(NamedTuple):
    """A snapshot that replaces the log below `end_offset`. `epoch`: leader epoch of the last record that it replaces."""

    end_offset: int
    epoch: int


class Piece(NamedTuple):
    """Bytes of the log or of a snapshot. `error`: Kafka's name. `end`: the log's high watermark, or the snapshot's size in bytes.

    `snapshot`: replaces the beginning that the log no longer has.
    """

    error: str | None
    end: int
    records: bytes
    snapshot: Snapshot | None = None


def fetch(offset: int, last_epoch: int, leader_epoch: int, max_bytes: int) -> FetchRequest:
    """Build a request for the log from `offset` on. `last_epoch`: of the record before it; `leader_epoch`: the quorum's. Kafka refuses -1 in each."""
    kind = FetchRequest.FetchTopic
    partition = kind.FetchPartition(
        partition=PARTITION,
        current_leader_epoch=leader_epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        log_start_offset=0,
        partition_max_bytes=max_bytes,
    )
    lowest, highest = FETCH_VERSIONS
    return FetchRequest(
        replica_id=CONSUMER,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=max_bytes,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[kind(topic_id=TOPIC_ID, partitions=[partition])],
        forgotten_topics_data=[],
        rack_id="",
        min_version=lowest,
        max_version=highest,
    )


def read_fetched(answer: Any) -> Piece:
    """Read the answer to `fetch`. The error is DIVERGING_EPOCH if the log lacks the requested offset with the requested epoch."""
    if answer.error_code or not answer.responses:
        return Piece(error_name(answer.error_code) or "NO_ANSWER", -1, b"")
    row = only_row(answer, answer.responses)
    diverging, snapshot = row.diverging_epoch, row.snapshot_id
    known = None if snapshot is None or snapshot.end_offset < 0 else Snapshot(snapshot.end_offset, snapshot.epoch)
    error = error_name(row.error_code)
    if error is None and known is None and diverging is not None and diverging.epoch >= 0:
        error = "DIVERGING_EPOCH"
    return Piece(error, row.high_watermark, bytes(row.records or b""), known)


def fetch_snapshot(snapshot: Snapshot, position: int, leader_epoch: int, max_bytes: int) -> Any:
    """Build a request for the snapshot's bytes from `position` on (KIP-630)."""
    kind = FetchSnapshotRequest.TopicSnapshot
    partition = kind.PartitionSnapshot(
        partition=PARTITION,
        current_leader_epoch=leader_epoch,
        snapshot_id=kind.PartitionSnapshot.SnapshotId(end_offset=snapshot.end_offset, epoch=snapshot.epoch),
        position=position,
    )
    return FetchSnapshotRequest(replica_id=CONSUMER, max_bytes=max_bytes, topics=[kind(name=TOPIC, partitions=[partition])])


def read_snapshot(answer: Any) -> Piece:
    """Read the answer to `fetch_snapshot`. AnswerError if it has other partitions than the requested one."""
    if answer.error_code or not answer.topics:
        return Piece(error_name(answer.error_code) or "NO_ANSWER", -1, b"")
    row = only_row(answer, answer.topics)
    return Piece(error_name(row.error_code), row.size, bytes(row.unaligned_records or b""))
