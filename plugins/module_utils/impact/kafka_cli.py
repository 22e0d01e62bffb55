# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of Kafka's own tools that mend what was found. Pure: `commands` keeps the scripts that some of them need."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands, option
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, can_be_partition

STREAMS = "streams"  # type of the groups of KIP-1071, which have a tool of their own


@dataclass(frozen=True)
class Tools:
    """How Kafka's tools reach the cluster. `secured`: they need a client configuration of the operator's own.

    Every method returns one line for a shell, or None if a name cannot be handed to a program or Kafka can have no such topic.
    """

    servers: str  # all of them: some may be among those that were lost
    commands: Commands
    secured: bool = False

    def _line(self, tool: str, *words: str, more: tuple[str, ...] = ()) -> str | None:
        login = ["--command-config", "ADMIN.properties"] if self.secured else []
        return self.commands.line([tool, *option("--bootstrap-server", self.servers), *login, *words], more)

    def reset(self, group: str, kind: str, key: TopicPartition, offset: int) -> str | None:
        """Set a group's offset on one partition."""
        if not can_be_partition(*key):
            return None  # the tools read several partitions from some names
        tool, topic = _reset_tool(kind)
        more = (*option(topic, f"{key[0]}:{key[1]}"), "--to-offset", str(offset), "--execute")
        return self._line(tool, *option("--group", group), "--reset-offsets", more=more)

    def reset_from(self, group: str, kind: str, path: object) -> str | None:
        """Set a group's offsets to those of a file with rows of topic, partition, offset."""
        return self._line(_reset_tool(kind)[0], *option("--group", group), "--reset-offsets", "--from-file", str(path), "--execute")

    def abort(self, key: TopicPartition, start_offset: int) -> str | None:
        """End a hanging transaction on one partition (KIP-664)."""
        topic, partition = key
        if not can_be_partition(topic, partition):
            return None
        return self._line(
            "kafka-transactions.sh", "abort", *option("--topic", topic), "--partition", str(partition), "--start-offset", str(start_offset)
        )

    def terminate(self, transactional_id: str) -> str | None:
        """End a transaction on all of its partitions, through its coordinator. The tool of Kafka 4.1 or later has it."""
        return self._line("kafka-transactions.sh", "forceTerminateTransaction", *option("--transactionalId", transactional_id))


def _reset_tool(kind: str) -> tuple[str, str]:
    return ("kafka-streams-groups.sh", "--input-topic") if kind.lower() == STREAMS else ("kafka-consumer-groups.sh", "--topic")
