# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Made-up brokers whose records are saved, and what was saved of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.replica_log_fetch import FetchedRecords
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import ClusterError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import stored_batches
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records import store
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.tails import Tail

HEADER = {"cluster": "east", "cluster_id": "id", "run_id": "1", "backend": "compat"}
KEY = ("t", 0)


@dataclass
class Brokers:
    """Brokers that answer with what `logs` has, a few batches at a time. `killed_after`: number of rounds after which the run is killed."""

    logs: dict[tuple[TopicPartition, int], bytes]
    leader: int = -1
    leader_epoch: int = 5
    errors: dict[int, str] = field(default_factory=dict)
    silent: Collection[int] = ()
    killed_after: int | None = None
    starts: dict[int, dict[TopicPartition, int]] = field(default_factory=dict)
    rounds: int = 0
    throttled: int = 0
    too_large_together: bool = False
    unreachable: dict[Any, str] = field(default_factory=dict)

    def partitions(self, keys: Collection[TopicPartition] | None = None) -> dict[TopicPartition, PartitionState]:
        assert keys is not None
        return {
            key: PartitionState(*key, "id-of-t", self.leader, self.leader_epoch, (1, 2, 3), (), (), (), ())
            for key in keys
            if key[0] != "deleted"
        }

    def unfenced(self) -> set[int]:
        return {2, 3}

    def log_starts(self, _work: Mapping[int, Mapping[TopicPartition, int]]) -> dict[int, dict[TopicPartition, int]]:
        return self.starts

    def records(
        self, work: Mapping[int, Mapping[TopicPartition, int]], partition_bytes: int, answer_bytes: int
    ) -> dict[int, dict[TopicPartition, FetchedRecords]]:
        self.rounds += 1
        if self.killed_after is not None and self.rounds > self.killed_after:
            raise KeyboardInterrupt
        self.unreachable |= dict.fromkeys(self.silent, "it hangs")
        if self.rounds <= self.throttled:
            return {node: {} for node in work}
        if self.too_large_together and len(work) > 1:
            raise ClusterError("answers of 2 nodes take more than 96 MiB")
        return {
            node: {key: self._answer(node, key, offset, number == 0) for number, (key, offset) in enumerate(offsets.items())}
            for node, offsets in work.items()
            if node not in self.silent
        }

    def _answer(self, node: int, key: TopicPartition, offset: int, is_first: bool) -> FetchedRecords:
        if node in self.errors:
            return FetchedRecords(self.errors[node], b"")
        content = self.logs[key, node]
        at = sum(one.size for one in stored_batches(content) if one.last_offset < offset)
        sizes = [one.size for one in stored_batches(content[at:])]
        # One batch and a part of the next one. Others than the first one get nothing every second time.
        return FetchedRecords(None, content[at : at + sum(sizes[:1]) + 20] if is_first or self.rounds % 2 else b"")


@dataclass
class SlowBrokers(Brokers):
    """Broker 3 gives no answer within a limit of time. `asked`: the brokers of each round."""

    asked: list[list[int]] = field(default_factory=list)

    def records(self, work: Mapping[int, Mapping[TopicPartition, int]], *sizes: int) -> dict[int, dict[TopicPartition, FetchedRecords]]:
        self.asked.append(sorted(work))
        answers = super().records(work, *sizes)
        if deadline.end() is not None:
            answers.pop(3, None)
        return answers


def tail(start: int | None, end: int, broker: int = 2, key: TopicPartition = KEY) -> Tail:
    return Tail(*key, "id-of-t", 5, broker, start, end)


def saved_bytes(folder: Path, one: Tail) -> bytes:
    pieces = store.read_pieces(folder / "saved" / "1" / "east", "id", whole=True)
    own = sorted((piece.start, piece) for piece in pieces if (piece.broker_id, piece.topic, piece.partition) == (one.broker_id, *one.key))
    return b"".join(piece.part.read_bytes()[piece.position : piece.position + piece.size] for _start, piece in own)
