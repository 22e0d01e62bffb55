# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the logs of replicas from the brokers that have them: where they end, their batches, where their leader epochs end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.kept_memory import size_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import (
    CLIENT_IMPORT_ERROR,
    REQUEST_LIMIT,
    NodeClient,
)
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, chunks, keys_of, only
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch

GREATEST, LONGEST_ERROR = 2**63 - 1, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import replica_log_fetch

    # The most that a row takes: numbers on the wire have at most 64 bits.
    LOG_END_BYTES = size_of(replica_log_fetch.LogEnd(LONGEST_ERROR, GREATEST, GREATEST, GREATEST))
    BATCH_BYTES = size_of(
        replica_log_fetch.FetchedBatch(LONGEST_ERROR, GREATEST, GREATEST, LastBatch(GREATEST, GREATEST, GREATEST, GREATEST, GREATEST))
    )

# Size per partition and partitions per request: a batch that does not fit comes back empty unless it is alone.
FETCH_ROUNDS = ((2_048, REQUEST_LIMIT), (65_536, 200), (1_048_576, 1))


class ReplicaLogClient(NodeClient):
    """A client that reads the logs of replicas."""

    def log_ends(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, replica_log_fetch.LogEnd]]:
        """Return log end offset and leader epoch of each broker's replicas. Brokers and partitions without an answer are absent."""
        return self._offsets(work, replica_log_fetch.DEBUGGING_REPLICA)

    def high_watermarks(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, dict[TopicPartition, replica_log_fetch.LogEnd]]:
        """Return the high watermarks of the partitions that each broker leads, in the form of `log_ends`."""
        return self._offsets(work, replica_log_fetch.CONSUMER)

    def _offsets(
        self, work: Mapping[int, Collection[TopicPartition]], replica_id: int
    ) -> dict[int, dict[TopicPartition, replica_log_fetch.LogEnd]]:
        requests = {
            node: [replica_log_fetch.list_offsets(chunk, replica_id) for chunk in chunks(keys, REQUEST_LIMIT)]
            for node, keys in work.items()
        }
        wanted = keys_of(work.values())
        answers = self._ask_each(requests, lambda answer: only(wanted, replica_log_fetch.read_log_ends(answer)), row_bytes=LOG_END_BYTES)
        found = {node: _merged(rows) for node, rows in answers.items()}
        return {node: {key: ends[key] for key in work[node] if key in ends} for node, ends in found.items()}

    def batches(
        self, work: Mapping[int, Mapping[TopicPartition, int]], retry_empty: bool = True
    ) -> dict[int, dict[TopicPartition, replica_log_fetch.FetchedBatch]]:
        """Return the batch that contains (or follows) an offset in the log of each broker's replica, with high watermark and log start.

        Brokers and partitions without an answer are absent. After an empty answer the request is repeated with more room. `retry_empty`
        false: not so, because the offset is the log end.
        """
        found: dict[int, dict[TopicPartition, replica_log_fetch.FetchedBatch]] = {node: {} for node in work}
        left = {node: dict(offsets) for node, offsets in work.items()}
        wanted = keys_of(work.values())
        for size, per_request in FETCH_ROUNDS if retry_empty else FETCH_ROUNDS[:1]:
            requests = {node: _fetches(offsets, size, per_request) for node, offsets in left.items() if offsets}
            answered = self._ask_each(requests, lambda answer: only(wanted, replica_log_fetch.read_batches(answer)), row_bytes=BATCH_BYTES)
            for node, answers in answered.items():
                found[node] |= {key: row for key, row in _merged(answers).items() if key in left[node]}
            left = {
                node: {key: offsets[key] for key, row in found[node].items() if row.batch is None and row.error is None and key in offsets}
                for node, offsets in left.items()
            }
        return found

    def epoch_ends(
        self, work: Mapping[int, Mapping[TopicPartition, int]]
    ) -> dict[int, dict[TopicPartition, replica_log_fetch.EpochEndAnswer]]:
        """Return where the requested leader epoch, or the greatest one below it, ends in the log of each broker's replica (KIP-320).

        Brokers and partitions without an answer are absent.
        """
        size = FETCH_ROUNDS[0][0]
        requests = {
            node: [replica_log_fetch.fetch_epoch_ends({key: epochs[key] for key in chunk}, size) for chunk in chunks(epochs, REQUEST_LIMIT)]
            for node, epochs in work.items()
        }
        wanted = keys_of(work.values())
        answers = self._ask_each(requests, lambda answer: only(wanted, replica_log_fetch.read_epoch_ends(answer)))
        return {node: {key: end for key, end in _merged(rows).items() if key in work[node]} for node, rows in answers.items()}

    def records(
        self, work: Mapping[int, Mapping[TopicPartition, int]], partition_bytes: int, answer_bytes: int
    ) -> dict[int, dict[TopicPartition, replica_log_fetch.FetchedRecords]]:
        """Return records of each broker's replicas, from an offset on. Each broker gets one request.

        Its answer has at least one batch of the first partition if the log of that has one there, and more as long as `answer_bytes` allow. Of one
        partition it has `partition_bytes` at most, or one larger batch. Brokers and partitions without an answer are absent.
        """
        wanted = keys_of(work.values())
        requests = {node: [replica_log_fetch.fetch(offsets, partition_bytes, max_bytes=answer_bytes)] for node, offsets in work.items()}
        answers = self._ask_each(requests, lambda answer: only(wanted, replica_log_fetch.read_records(answer)))
        return {node: rows[0] for node, rows in answers.items() if rows}

    def log_starts(self, work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, int]]:
        """Return the log start offset of each broker's replicas. `work`: for each replica an offset that its log has."""
        found = self.batches(work)
        return {node: {key: row.log_start_offset for key, row in rows.items() if row.error is None} for node, rows in found.items()}


def _fetches(offsets: Mapping[TopicPartition, int], size: int, per_request: int) -> Iterator[Any]:
    return (replica_log_fetch.fetch({key: offsets[key] for key in chunk}, size) for chunk in chunks(offsets, per_request))


def _merged(parts: Iterable[dict[Any, Any]]) -> dict[Any, Any]:
    merged: dict[Any, Any] = {}
    for part in parts:
        merged |= part
    return merged
