# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replicas whose disk has failed while their broker runs (KIP-858)."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any, Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common import deadline
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition

# Time for DescribeLogDirs, in addition to the time in which logs are read.
DESCRIBE_SECONDS = 3.0
Replica = tuple[TopicPartition, int]


class LogDirSource(Protocol):
    """The methods of `Cluster` that this file calls."""

    unreachable: dict[int, str]

    def unfenced(self) -> set[int]: ...
    def failed_log_dirs(self, work: Mapping[int, Collection[TopicPartition]]) -> Mapping[int, Any]: ...


class FailedDisks:
    """Failed log directories of brokers that return errors for some of their replicas. Each broker is queried once about each replica."""

    def __init__(self, cluster: LogDirSource) -> None:
        self._cluster = cluster
        self._queried: set[Replica] = set()
        self._paths: dict[int, tuple[str, ...]] = {}

    def paths(self, broker: int) -> tuple[str, ...]:
        """Return the known paths of the broker's failed directories."""
        return self._paths.get(broker, ())

    def lost(self, refused: Collection[Replica]) -> set[Replica]:
        """Return those of the replicas `refused` that are in no working directory of their broker, if one of its directories has failed.

        Unreachable brokers are not queried.
        """
        new = {replica for replica in refused if replica not in self._queried and replica[1] not in self._cluster.unreachable}
        if not new:
            return set()
        alive = self._cluster.unfenced()
        work: dict[int, list[TopicPartition]] = {}
        for key, broker in sorted(new):
            if broker in alive:
                work.setdefault(broker, []).append(key)
                self._queried.add((key, broker))
        if not work:
            return set()
        with deadline.until(time.monotonic() + DESCRIBE_SECONDS):
            described = self._cluster.failed_log_dirs(work)
        self._paths |= {broker: dirs.paths for broker, dirs in described.items()}
        return {
            (key, broker)
            for broker, dirs in described.items()
            if dirs.paths and dirs.complete
            for key in work[broker]
            if key not in dirs.hosted
        }
