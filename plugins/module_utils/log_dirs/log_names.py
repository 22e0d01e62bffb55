# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of partitions' folders and of the files in them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.numbers import MOST_INT64, whole_number
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.log_dirs.disk_files import Entry
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, can_be_partition

# Kinds of logs. Kafka serves a replica; a future log is the unfinished copy of one that moves between log dirs (KIP-113), a log to be deleted
# belonged to a topic or an assignment that is gone, a stray one was found without an assignment when the broker started.
REPLICA, FUTURE, DELETE, STRAY = "replica", "future", "delete", "stray"
_FOLDER = re.compile(r"(?P<topic>.{1,249})-(?P<partition>[0-9]{1,10})(?:\.[0-9a-f]{32}-(?P<kind>future|delete|stray))?")
_FILE = re.compile(r"([0-9]{20})\.(log|index|timeindex|txnindex|snapshot)(?:\.(deleted|cleaned|swap))?")
EPOCHS, IDS = "leader-epoch-checkpoint", "partition.metadata"
# Names that are listed of those that Kafka does not write.
MOST_FOREIGN = 10


class LogName(NamedTuple):
    """What the name of a folder says. `folder`: the name."""

    folder: str
    topic: str
    partition: int
    kind: str

    @property
    def key(self) -> TopicPartition:
        """Return the topic and the number of the partition."""
        return self.topic, self.partition


def log_name(folder: str) -> LogName | None:
    """Return what the name of a folder says, None if Kafka does not name the folder of a log like that."""
    found = _FOLDER.fullmatch(folder)
    number = whole_number(found["partition"]) if found else None
    if found is None or number is None or str(number) != found["partition"] or not can_be_partition(found["topic"], number):
        return None
    return LogName(folder, found["topic"], number, found["kind"] or REPLICA)


def first_foreign(names: Iterable[str]) -> list[str]:
    """Return the first of the names that Kafka does not write. Links in the place of logs and segments come before all others."""
    return sorted(names, key=lambda name: (log_name(name) is None and not name.endswith(".log"), name))[:MOST_FOREIGN]


@dataclass
class LogFiles:
    """The files of a log by what Kafka does with them when it starts.

    segments      base offsets of the segments, in order
    indexed       those of them that have an offset index
    swapped       base offsets of segments that an interrupted swap brings in: they replace others
    foreign       the first names that Kafka does not write, and links
    """

    segments: list[int] = field(default_factory=list)
    indexed: set[int] = field(default_factory=set)
    swapped: list[int] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)


def log_files(entries: Iterable[Entry]) -> LogFiles:
    """Sort the files of a log's folder by their names."""
    files, cleaned, swapped = LogFiles(), set[int](), list[tuple[int, str]]()
    for name, _is_folder, is_file in entries:
        found = _FILE.fullmatch(name)
        offset, kind, state = (int(found[1]), found[2], found[3]) if found else (-1, "", None)
        if not is_file or not 0 <= offset <= MOST_INT64:
            if not is_file or name not in (EPOCHS, IDS):
                files.foreign = first_foreign([*files.foreign, name])
        elif state == "swap":
            swapped.append((offset, name))
        elif state == "cleaned":
            cleaned.add(offset)
        elif state:
            pass  # Kafka deletes it when it starts
        elif kind == "log":
            files.segments.append(offset)
        elif kind == "index":
            files.indexed.add(offset)
    # A swap that begins at or behind a segment that the cleaner had not finished is not completed: Kafka deletes it.
    first_cleaned = min(cleaned, default=MOST_INT64 + 1)
    for offset, name in swapped:
        if offset < first_cleaned and name.endswith(".log.swap"):
            files.swapped.append(offset)
    files.segments.sort()
    return files


def segment_file(base_offset: int, suffix: str = "log") -> str:
    """Return the name of a segment's file."""
    return f"{base_offset:020d}.{suffix}"
