# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read WriteTxnMarkers, with which a coordinator writes the end of a transaction to a partition (KIP-98). Pure: no I/O."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.producer import WriteTxnMarkersRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.error_codes import error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import Marker


def write_commit(key: TopicPartition, marker: Marker) -> WriteTxnMarkersRequest:
    """Build a request for a COMMIT marker with the ids and epochs of a saved one. It needs CLUSTER_ACTION or ALTER on the cluster."""
    kind: Any = WriteTxnMarkersRequest.WritableTxnMarker
    return WriteTxnMarkersRequest(
        markers=[
            kind(
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                transaction_result=True,
                topics=[kind.WritableTxnMarkerTopic(name=key[0], partition_indexes=[key[1]])],
                coordinator_epoch=marker.coordinator_epoch,
            )
        ],
        max_version=1,
    )


def read_written(answer: Any) -> dict[TopicPartition, str | None]:
    """Return the error (Kafka's name, or None) by partition."""
    return {
        (topic.name, row.partition_index): error_name(row.error_code)
        for marker in answer.markers
        for topic in marker.topics
        for row in topic.partitions
    }
