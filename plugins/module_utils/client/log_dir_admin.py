# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log directories of brokers (KIP-113), asked for on top of `NodeClient`: what is in them, and which have failed (KIP-858)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.connection import Connection
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.transport.node_client import CLIENT_IMPORT_ERROR, NodeClient
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, keys_of

if CLIENT_IMPORT_ERROR is None:
    from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol import log_dirs as log_dir_protocol


class LogDirClient(NodeClient):
    """Nodes that are asked for their log directories. `undescribed`: node id → Kafka's name of the error with which one refused that last."""

    def __init__(self, connection: Connection, servers: Sequence[str]) -> None:
        super().__init__(connection, servers)
        self.undescribed: dict[int, str] = {}

    def log_dirs(self, brokers: Collection[int], keys: Collection[TopicPartition] | None = None) -> dict[int, log_dir_protocol.LogDirs]:
        """Log directories of these brokers, asked side by side, with the sizes of their replicas of `keys` (None: of all).

        Brokers that do not answer are absent, and in `unreachable`.
        """
        wanted = None if keys is None else keys_of([keys])
        requests = {broker: [log_dir_protocol.describe_log_dirs(keys)] for broker in brokers}
        answers = self._ask_each(requests, lambda answer: log_dir_protocol.read_log_dirs(answer, wanted))
        return {broker: found[0] for broker, found in answers.items() if found}

    def failed_log_dirs(self, work: Mapping[int, Collection[TopicPartition]]) -> dict[int, log_dir_protocol.FailedLogDirs]:
        """Which log directories of these brokers have failed, and which of their partitions are in others. Best effort.

        Brokers that do not answer are absent, and do not count as unreachable for it: they have answered something else. So are those that refuse it,
        which are in `undescribed`.
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
