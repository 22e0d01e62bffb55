# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The messages that fetch the metadata log: what goes over the wire, and answers as plain data."""

from __future__ import annotations

import uuid

from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import metadata_log_fetch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.metadata_log_fetch import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    Piece,
    Snapshot,
)

PARTITION_DATA = FetchResponse.FetchableTopicResponse.PartitionData


def test_fetch_names_the_metadata_topic_by_id_and_no_field_is_unset() -> None:
    request = metadata_log_fetch.fetch(7, 2, 5, 1000)
    for version in range(13, 18):
        again = FetchRequest.decode(bytes(metadata_log_fetch.fetch(7, 2, 5, 1000).encode(version=version)), version=version)
        (topic,) = again.topics
        (row,) = topic.partitions
        assert topic.topic_id == uuid.UUID("00000000-0000-0000-0000-000000000001")
        assert (row.partition, row.fetch_offset, row.last_fetched_epoch, row.current_leader_epoch, row.log_start_offset) == (0, 7, 2, 5, 0)
        assert (again.session_id, again.session_epoch, again.max_wait_ms) == (0, -1, 0)
    assert (request._min_version, request._max_version) == (13, 17)


def test_what_was_fetched_comes_back_with_the_high_watermark() -> None:
    def read(**fields: object) -> Piece:
        rows = [PARTITION_DATA(**{"error_code": 0, "high_watermark": 9, "records": b"abc", **fields})]
        return metadata_log_fetch.read_fetched(
            FetchResponse(error_code=0, responses=[FetchResponse.FetchableTopicResponse(partitions=rows)])
        )

    assert read() == Piece(None, 9, b"abc", None)
    assert read(records=None, error_code=1) == Piece("OFFSET_OUT_OF_RANGE", 9, b"", None)
    assert read(diverging_epoch=PARTITION_DATA.EpochEndOffset(epoch=1, end_offset=4)).error == "DIVERGING_EPOCH"
    assert read(snapshot_id=PARTITION_DATA.SnapshotId(end_offset=8, epoch=3)).snapshot == Snapshot(8, 3)
    assert metadata_log_fetch.read_fetched(FetchResponse(error_code=31, responses=[])).error == "CLUSTER_AUTHORIZATION_FAILED"


def test_fetch_snapshot_is_laid_out_as_in_kafkas_schema() -> None:
    for version in (0, 1):
        wire = bytes(metadata_log_fetch.fetch_snapshot(Snapshot(85, 3), 3000, 5, 1000).encode(version=version))
        topics = b"\x02" + b"\x13__cluster_metadata"
        row = (
            b"\x02"
            + bytes(4)
            + (5).to_bytes(4, "big")
            + (85).to_bytes(8, "big")
            + (3).to_bytes(4, "big")
            + b"\x00"
            + (3000).to_bytes(8, "big")
        )
        assert wire == b"\xff\xff\xff\xff" + (1000).to_bytes(4, "big") + topics + row + b"\x00\x00\x00"
        again = FetchSnapshotRequest.decode(wire, version=version)
        assert again.topics[0].partitions[0].snapshot_id.end_offset == 85


def test_a_piece_of_a_snapshot_comes_back_with_the_size_of_the_whole() -> None:
    kind = FetchSnapshotResponse.TopicSnapshot
    row = kind.PartitionSnapshot(
        index=0,
        error_code=0,
        snapshot_id=kind.PartitionSnapshot.SnapshotId(end_offset=85, epoch=3),
        size=8,
        position=0,
        unaligned_records=b"abc",
    )
    sent = FetchSnapshotResponse(throttle_time_ms=0, error_code=0, topics=[kind(name="__cluster_metadata", partitions=[row])])
    again = FetchSnapshotResponse.decode(bytes(sent.encode(version=1)), version=1)
    assert metadata_log_fetch.read_snapshot(again) == Piece(None, 8, b"abc")
    row.error_code = 98
    assert metadata_log_fetch.read_snapshot(sent).error == "SNAPSHOT_NOT_FOUND"
    assert metadata_log_fetch.read_snapshot(FetchSnapshotResponse(error_code=31, topics=[])).error == "CLUSTER_AUTHORIZATION_FAILED"
