# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs, producers and transactions, as leaders and coordinators describe them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.recovered_partition import RecoveredPartition

# States in which a coordinator must still end a transaction (KIP-98; PrepareEpochFence comes before the abort after a timeout).
UNENDED = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
# How the transactional ids begin with which records are replayed.
REPLAY_TRANSACTIONAL_IDS = "kafka-recovery-replay."


class EpochEnd(NamedTuple):
    """The greatest leader epoch in a log up to the requested one, and the offset at which the next epoch begins (KIP-101)."""

    leader_epoch: int
    end_offset: int


@dataclass(frozen=True)
class LeaderLog:
    """The log of a partition's leader. `error` (Kafka's name): why it cannot be read; unknown offsets are None.

    `read_back`: offsets at which a consumer's fetch got records. `epoch_ends`: by requested leader epoch.
    """

    error: str | None = None
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    high_watermark: int | None = None
    last_stable_offset: int | None = None
    read_back: tuple[int, ...] = ()
    epoch_ends: Mapping[int, EpochEnd] = field(default_factory=dict)

    def end_at_election(self, before: RecoveredPartition) -> int | None:
        """Return the log end offset when the new leader took over, None if it is not known. `before`: the partition with its former epoch."""
        at = None if before.leader_epoch is None else self.epoch_ends.get(before.leader_epoch)
        return None if at is None else at.end_offset


class Producer(NamedTuple):
    """A producer as a partition's leader describes it (KIP-664). `start_offset`: of its open transaction, -1: none. `last_timestamp`: ms since 1970."""

    producer_id: int
    producer_epoch: int
    last_timestamp: int
    start_offset: int


class Transaction(NamedTuple):
    """A transaction as its coordinator describes it (KIP-664). `timeout` in ms, `started_at` in ms since 1970 (-1: it is not under way)."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout: int
    started_at: int
    partitions: frozenset[TopicPartition]
