# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes of logs, and how fast they grow."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import PartitionState, TopicPartition

States = Mapping[TopicPartition, PartitionState]


def written(before: Mapping[TopicPartition, int], after: Mapping[TopicPartition, int], seconds: float) -> dict[TopicPartition, float]:
    """Bytes per second that partitions are written at: sizes of their leaders' logs, `seconds` apart. A log that shrank was cleaned meanwhile: 0."""
    return {key: max(0, after[key] - size) / seconds for key, size in before.items() if key in after}


class HasSizes(Protocol):
    """What is needed of a broker's log directories."""

    @property
    def sizes(self) -> Mapping[TopicPartition, int]: ...


class HasLogDirs(Protocol):
    """A cluster whose brokers tell of their log directories."""

    def log_dirs(self, brokers: Collection[int], keys: Collection[TopicPartition] | None = None) -> Mapping[int, HasSizes]: ...


def sizes_on_leaders(cluster: HasLogDirs, keys: Collection[TopicPartition], states: States) -> dict[TopicPartition, int]:
    """Bytes of each partition as its leader has them. Partitions without a leader that tells are absent."""
    leaders = {key: states[key].leader for key in keys if key in states and states[key].leader >= 0}
    found = cluster.log_dirs(set(leaders.values()), sorted(leaders)) if leaders else {}
    return {key: found[leader].sizes[key] for key, leader in leaders.items() if leader in found and key in found[leader].sizes}


def inbound(cluster: HasLogDirs, keys: Collection[TopicPartition], states: States, seconds: float) -> dict[TopicPartition, float]:
    """Bytes per second that partitions are written at, seen for so many seconds. Absent where nobody tells."""
    before, began = sizes_on_leaders(cluster, keys, states), time.monotonic()
    time.sleep(seconds)
    return written(before, sizes_on_leaders(cluster, keys, states), time.monotonic() - began)
