# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines of Kafka's own tools, ready for a shell: what an operator runs to mend what was found. Pure."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.partitions import TopicPartition

STREAMS = "streams"  # type of the groups of KIP-1071, which have a tool of their own


@dataclass(frozen=True)
class Tools:
    """How Kafka's tools reach the cluster. `secured`: whoever runs them needs a client configuration of their own."""

    servers: str  # all of them: some may be among those that were lost
    secured: bool = False

    def command(self, tool: str, *arguments: object) -> str:
        """A command line for a shell."""
        login = ["--command-config", "ADMIN.properties"] if self.secured else []
        return shlex.join([tool, "--bootstrap-server", self.servers, *login, *map(str, arguments)])

    def reset(self, group: str, kind: str, key: TopicPartition, offset: int) -> str:
        """Set a group's offset on one partition."""
        tool, topic = _reset_tool(kind)
        return self.command(tool, "--group", group, "--reset-offsets", topic, f"{key[0]}:{key[1]}", "--to-offset", offset, "--execute")

    def reset_from(self, group: str, kind: str, path: object) -> str:
        """Set a group's offsets to those of a file with rows of topic, partition, offset."""
        return self.command(_reset_tool(kind)[0], "--group", group, "--reset-offsets", "--from-file", path, "--execute")

    def abort(self, key: TopicPartition, start_offset: int) -> str:
        """End a hanging transaction on one partition (KIP-664)."""
        return self.command("kafka-transactions.sh", "abort", "--topic", key[0], "--partition", key[1], "--start-offset", start_offset)

    def terminate(self, transactional_id: str) -> str:
        """End a transaction on all of its partitions, through its coordinator. The tool of Kafka 4.1 or later has it."""
        return self.command("kafka-transactions.sh", "forceTerminateTransaction", "--transactionalId", transactional_id)


def _reset_tool(kind: str) -> tuple[str, str]:
    return ("kafka-streams-groups.sh", "--input-topic") if kind.lower() == STREAMS else ("kafka-consumer-groups.sh", "--topic")
