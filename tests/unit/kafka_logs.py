# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replicas' logs as Kafka keeps them: batches, and where each leader epoch begins (LeaderEpochFileCache). Followers truncate as Kafka's do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import EpochEndAnswer, FetchedBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.record_batch import LastBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.replica_log import ReplicaLog

OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"


@dataclass
class KafkaLog:
    """One replica. `written`: all batches that it has taken in; `batches`: what compaction and deletion have left of them."""

    written: list[LastBatch] = field(default_factory=list)
    batches: list[LastBatch] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    start: int = 0
    end: int = 0

    def append(self, size: int, epoch: int, crc: int = 0) -> KafkaLog:
        self.take(LastBatch(self.end, self.end + size - 1, epoch, crc, 0))
        return self

    def take(self, batch: LastBatch) -> None:
        assert batch.base_offset == self.end
        if not self.epochs or self.epochs[-1][0] != batch.epoch:
            self.begin(batch.epoch)
        self.written.append(batch)
        self.batches.append(batch)
        self.end = batch.last_offset + 1

    def begin(self, epoch: int) -> None:
        """The epoch begins here. A new leader notes that before it has written anything."""
        self.epochs = [row for row in self.epochs if row[0] < epoch and row[1] < self.end]
        self.epochs.append((epoch, self.end))

    def end_of(self, epoch: int) -> tuple[int, int] | None:
        """As LeaderEpochFileCache.endOffsetFor: None is its undefined answer."""
        if self.epochs and self.epochs[-1][0] == epoch:
            return epoch, self.end
        later = [start for known, start in self.epochs if known > epoch]
        if not later:
            return None
        return max((known for known, _start in self.epochs if known <= epoch), default=epoch), later[0]

    def fetch(self, offset: int, epoch: int = -1) -> FetchedBatch | EpochEndAnswer:
        """What a broker answers for a fetch at an offset, after a record of this epoch (-1: it does not say which)."""
        if epoch >= 0:
            end = self.end_of(epoch)
            if end is None or offset < self.start:
                return EpochEndAnswer(OUT_OF_RANGE, None, None)
            if end[0] < epoch or end[1] < offset:
                return EpochEndAnswer(None, *end)
        if not self.start <= offset <= self.end:
            return FetchedBatch(OUT_OF_RANGE, -1, -1, None)
        return FetchedBatch(None, 0, self.start, next((batch for batch in self.batches if batch.last_offset >= offset), None))

    def truncate(self, end: int) -> None:
        self.written = [batch for batch in self.written if batch.last_offset < end]
        self.batches = [batch for batch in self.batches if batch.last_offset < end]
        self.epochs = [row for row in self.epochs if row[1] < end]
        self.end = end

    def follow(self, leader: KafkaLog, batches: int) -> None:
        """Truncate the log as a follower does that fetches from this leader (AbstractFetcherThread), then copy so many batches."""
        while self.end and self.epochs and isinstance(answer := leader.fetch(self.end, self.epochs[-1][0]), EpochEndAnswer):
            assert answer.epoch is not None and answer.end_offset is not None, "no leader has an older epoch than its followers"
            own = self.end_of(answer.epoch)
            self.truncate(answer.end_offset if own is None else own[1] if own[0] != answer.epoch else min(own[1], answer.end_offset))
        for batch in [batch for batch in leader.written if batch.base_offset >= self.end][:batches]:
            self.take(batch)

    def compact(self, fate: Callable[[int], str]) -> None:
        """Remove or rewrite batches before the last one, as `fate` says of each place: remove, rewrite or keep. Epochs stay."""
        found = []
        for place, batch in enumerate(self.batches):
            done = "keep" if place == len(self.batches) - 1 else fate(place)
            if done != "remove":
                found.append(batch._replace(crc=batch.crc + 1, cleaned=True) if done == "rewrite" else batch)
        self.batches = found

    def delete_before(self, offset: int) -> KafkaLog:
        self.batches = [batch for batch in self.batches if batch.last_offset >= offset]
        kept = [row for row in self.epochs if row[1] > offset]
        covering = [epoch for epoch, start in self.epochs if start <= offset]
        self.epochs = [*((epoch, offset) for epoch in covering[-1:]), *kept]
        self.start = offset
        return self

    @property
    def measured(self) -> ReplicaLog:
        """What is read of it."""
        return ReplicaLog(None, self.start, self.end, 0, 0, self.batches[-1] if self.batches else None)


class Brokers:
    """Answers as Cluster does, from these logs of one partition. `requests`: how many requests each broker got."""

    def __init__(self, logs: Mapping[int, KafkaLog]) -> None:
        self.logs = logs
        self.requests: dict[int, int] = dict.fromkeys(logs, 0)

    def batches(self, work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, FetchedBatch]]:
        return {broker: {key: self.batch(broker, offset) for key, offset in asked.items()} for broker, asked in work.items()}

    def epoch_ends(self, work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, EpochEndAnswer]]:
        return {broker: {key: self.epoch_end(broker, epoch) for key, epoch in asked.items()} for broker, asked in work.items()}

    def batch(self, broker: int, offset: int) -> FetchedBatch:
        self.requests[broker] += 1
        answer = self.logs[broker].fetch(offset)
        assert isinstance(answer, FetchedBatch)
        return answer

    def epoch_end(self, broker: int, epoch: int) -> EpochEndAnswer:
        self.requests[broker] += 1
        answer = self.logs[broker].fetch(2**63 - 1, epoch)
        assert isinstance(answer, EpochEndAnswer)
        return answer
