# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the records of chosen replicas, also of followers that no leader serves (Fetch as replica -3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.cluster import Cluster
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, keys_of, only

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import core


class FetchedRecords(NamedTuple):
    """A Fetch answer about one replica. `records`: whole batches, and perhaps a part of one more; empty if the log ends or other partitions came first.

    `error`: Kafka's name, or None.
    """

    error: str | None
    records: bytes


class RecordClient(Cluster):
    """A cluster whose replicas' records can be read."""

    def records(
        self, work: Mapping[int, Mapping[TopicPartition, int]], partition_bytes: int, answer_bytes: int
    ) -> dict[int, dict[TopicPartition, FetchedRecords]]:
        """Return records of each broker's replicas, from an offset on. One request for each broker.

        A broker answers the first partition with at least one batch if its log has one there, and others as long as `answer_bytes` allow. Of one partition
        it sends `partition_bytes` at most, or one larger batch. Brokers and partitions without an answer are absent.
        """
        wanted = keys_of(work.values())
        requests = {node: [core.fetch(offsets, partition_bytes, max_bytes=answer_bytes)] for node, offsets in work.items()}
        answers = self._ask_each(requests, lambda answer: only(wanted, _read(answer)))
        return {node: rows[0] for node, rows in answers.items() if rows}

    def log_starts(self, work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, int]]:
        """Return the log start offset of each broker's replicas. `work`: for each replica an offset that its log has."""
        found = self.batches(work)
        return {node: {key: row.log_start_offset for key, row in rows.items() if row.error is None} for node, rows in found.items()}


def _read(answer: Any) -> Iterable[tuple[TopicPartition, FetchedRecords]]:
    for topic in answer.responses:
        for row in topic.partitions:
            yield (topic.topic, row.partition_index), FetchedRecords(core.error_name(row.error_code), bytes(row.records or b""))
