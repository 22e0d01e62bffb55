# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the log directories of brokers (KIP-113): their content, and which have failed (KIP-858)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR, NodeClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, keys_of

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import log_dirs as log_dir_protocol


class LogDirSource(Protocol):
    """A cluster whose brokers describe their log directories (`LogDirClient`)."""

    def log_dirs(self, brokers: Collection[int], keys: Collection[TopicPartition] | None = None) -> dict[int, log_dir_protocol.LogDirs]: ...


class LogDirClient(NodeClient):
    """A client that reads log directories. `undescribed`: node id → the error (Kafka's name) with which a node refused that last."""

    def __init__(self, connection: Connection, servers: Sequence[str]) -> None:
        super().__init__(connection, servers)
        self.undescribed: dict[int, str] = {}

    def log_dirs(self, brokers: Collection[int], keys: Collection[TopicPartition] | None = None) -> dict[int, log_dir_protocol.LogDirs]:
        """Return the log directories of these brokers, with the sizes in bytes of their replicas of `keys` (None: of all).

        Brokers that do not answer are absent, and in `unreachable`.
        """
        wanted = None if keys is None else keys_of([keys])
        requests = {broker: [log_dir_protocol.describe_log_dirs(keys)] for broker in brokers}
        answers = self._ask_each(requests, lambda answer: log_dir_protocol.read_log_dirs(answer, wanted))
        return {broker: found[0] for broker, found in answers.items() if found}

    def failed_log_dirs(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, log_dir_protocol.FailedLogDirs]:
        """Return the failed log directories of these brokers, and which of their partitions are in working ones. Best effort.

        Brokers that do not answer are absent, but do not count as unreachable, because they answered other requests. Brokers that refuse are
        absent, too, and in `undescribed`.
        """
        wanted = keys_of(work.values())
        requests = {broker: [log_dir_protocol.describe_log_dirs(keys)] for broker, keys in work.items()}
        answers = self._ask_each(requests, lambda answer: log_dir_protocol.read_failed_log_dirs(answer, wanted))
        found = {broker: rows[0] for broker, rows in answers.items() if rows}
        for broker in work.keys() - found.keys():
            self.unreachable.pop(broker, None)
            self.failures.pop(broker, None)
        self.undescribed |= {broker: dirs.error for broker, dirs in found.items() if dirs.error}
        return {broker: dirs for broker, dirs in found.items() if not dirs.error}
