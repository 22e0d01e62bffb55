# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands of Kafka's own tools that reset offsets and end transactions. Pure: `commands` keeps the scripts that some of them need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.shown_command import Commands, copied, option
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, can_be_partition

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
STREAMS = "streams"  # group type of KIP-1071, which has its own tool


@dataclass(frozen=True)
class Tools:
    """Builds commands of Kafka's tools for one cluster. `secured`: they need a client configuration of the operator.

    Every method returns one line for a shell, or None if a name cannot be an argument of a program or of a Kafka topic.
    """

    servers: str  # all bootstrap servers, because some may be lost
    commands: Commands
    secured: bool = False

    def _line(self, tool: str, *arguments: str, more: tuple[str, ...] = ()) -> str | None:
        login = ["--command-config", "ADMIN.properties"] if self.secured else []
        return self.commands.line([tool, *option("--bootstrap-server", self.servers), *login, *arguments], more)

    def reset(self, group: str, kind: str, key: TopicPartition, offset: int) -> str | None:
        """Return the command that sets a group's offset on one partition."""
        if not can_be_partition(*key):
            return None  # the tools take some invalid names for several partitions
        tool, topic = _reset_tool(kind)
        more = (*option(topic, f"{key[0]}:{key[1]}"), "--to-offset", str(offset), "--execute")
        return self._line(tool, *option("--group", group), "--reset-offsets", more=more)

    def reset_from(self, group: str, kind: str, path: Path, content: bytes) -> str | None:
        """Return the command that sets a group's offsets to those of a file with rows of topic, partition, offset. `content`: of the file."""
        before, name = copied(path, content)
        line = self._line(_reset_tool(kind)[0], *option("--group", group), "--reset-offsets", "--from-file", name, "--execute")
        return None if line is None else before + line

    def reset_share(self, group: str, keys: Iterable[TopicPartition], time_ms: int | None) -> str | None:
        """Return the command that sets a share group's offsets on these partitions to the first record that is not older than `time_ms` (ms since 1970).

        None: to the first record of each log. The tool takes no offsets.
        """
        partitions: dict[str, list[int]] = {}
        for topic, partition in keys:
            if not can_be_partition(topic, partition):
                return None
            partitions.setdefault(topic, []).append(partition)
        rows = (f"{topic}:{','.join(map(str, sorted(numbers)))}" for topic, numbers in sorted(partitions.items()))
        topics = [word for row in rows for word in option("--topic", row)]
        moment = _moment(time_ms)
        place = ["--to-earliest"] if moment is None else ["--to-datetime", moment]
        more = (*topics, *place, "--execute")
        return self._line("kafka-share-groups.sh", *option("--group", group), "--reset-offsets", more=more)

    def abort(self, key: TopicPartition, start_offset: int) -> str | None:
        """Return the command that ends a hanging transaction on one partition (KIP-664)."""
        topic, partition = key
        if not can_be_partition(topic, partition):
            return None
        return self._line(
            "kafka-transactions.sh", "abort", *option("--topic", topic), "--partition", str(partition), "--start-offset", str(start_offset)
        )

    def terminate(self, transactional_id: str) -> str | None:
        """Return the command that ends a transaction on all of its partitions, through its coordinator. Needs the tool of Kafka 4.1 or later."""
        return self._line("kafka-transactions.sh", "forceTerminateTransaction", *option("--transactionalId", transactional_id))


def _moment(time_ms: int | None) -> str | None:
    if time_ms is None or time_ms < 0:
        return None
    try:
        return (EPOCH + timedelta(milliseconds=time_ms)).isoformat(timespec="milliseconds")
    except OverflowError:
        return None


def _reset_tool(kind: str) -> tuple[str, str]:
    return ("kafka-streams-groups.sh", "--input-topic") if kind.lower() == STREAMS else ("kafka-consumer-groups.sh", "--topic")
