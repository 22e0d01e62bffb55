# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What consumers and transactional producers leave in a cluster. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovered_partition import Recovered

# States in which a coordinator still has to end a transaction (KIP-98; PrepareEpochFence before a timed out one is aborted).
UNENDED = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")


class EpochEnd(NamedTuple):
    """The greatest leader epoch in a log that is no later than the one asked for, and the offset at which the next later one begins (KIP-101)."""

    leader_epoch: int
    end_offset: int


@dataclass(frozen=True)
class Log:
    """The log of a partition's leader. `error` (Kafka's name): why it cannot be read; offsets are None where they are not known.

    `read_back`: offsets at which a consumer's fetch got records. `epoch_ends`: by the leader epoch that was asked for.
    """

    error: str | None = None
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    high_watermark: int | None = None
    last_stable_offset: int | None = None
    read_back: tuple[int, ...] = ()
    epoch_ends: Mapping[int, EpochEnd] = field(default_factory=dict)

    def end_at_election(self, before: Recovered) -> int | None:
        """Where the log ended when the new leader took over, None where that is not known."""
        at = None if before.leader_epoch is None else self.epoch_ends.get(before.leader_epoch)
        return None if at is None else at.end_offset


class Producer(NamedTuple):
    """A producer in the eyes of a partition's leader. `start_offset` of its open transaction is -1 where there is none; `last_timestamp` in ms."""

    producer_id: int
    producer_epoch: int
    last_timestamp: int
    start_offset: int


class Transaction(NamedTuple):
    """A transaction in the eyes of its coordinator; times in milliseconds, `started_at` since 1970 (-1: it is not under way)."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout: int
    started_at: int
    partitions: frozenset[TopicPartition]
