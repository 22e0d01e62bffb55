# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""DescribeLogDirs (KIP-113): what is in the log directories of a broker, and which have failed (KIP-858).

It stands on kafka-python's schemas, like `protocol.py`. Nothing here does I/O; `log_dirs.py` decides which brokers get it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

with suppress(ImportError):  # libraries.py says why
    from kafka.protocol.admin import DescribeLogDirsRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.core import by_topic, error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import printable
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.checks import LONGEST_PATH, MOST_PATHS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, only


class LogDirs(NamedTuple):
    """What one broker says of its log directories.

    error         Kafka's name, where it says nothing else
    sizes         bytes of each replica; of one that is moved between directories those of the current one
    usable_bytes  free bytes of the volumes of all directories that work together, but for cordoned ones, which take no new replicas (KIP-1066).
                  None where one does not tell, as before Kafka 3.3 (KIP-827)
    total_bytes   the same volumes' sizes, cordoned ones too
    offline       paths of directories that have failed
    """

    error: str | None
    sizes: dict[TopicPartition, int]
    usable_bytes: int | None
    total_bytes: int | None
    offline: tuple[str, ...]


class FailedLogDirs(NamedTuple):
    """What one broker says of log directories that have failed (KIP-858).

    error     Kafka's name, where it says nothing else
    paths     of directories that have failed: some of them, printable and of modest length
    hosted    the partitions that are in directories which work
    complete  whether it described every directory that has not failed
    """

    error: str | None
    paths: tuple[str, ...]
    hosted: frozenset[TopicPartition]
    complete: bool


def describe_log_dirs(keys: Collection[TopicPartition] | None) -> DescribeLogDirsRequest:
    """Sizes of the replicas of these partitions (None: of all) that the asked broker has."""
    kind = DescribeLogDirsRequest.DescribableLogDirTopic
    topics = None if keys is None else [kind(topic=topic, partitions=numbers) for topic, numbers in by_topic(keys).items()]
    return DescribeLogDirsRequest(topics=topics)


def read_log_dirs(answer: Any, wanted: Mapping[TopicPartition, TopicPartition] | None = None) -> LogDirs:
    """One broker's log directories, with the sizes of the partitions that are `wanted` (see `partitions.keys_of`; None: of all)."""
    refused = _refused(answer)
    good = [row for row in answer.results if not row.error_code]
    rows = _sizes(good)
    sizes = dict(rows) if wanted is None else only(wanted, rows)
    # What a version does not have is -1, or false.
    usable = [0 if getattr(row, "is_cordoned", False) else getattr(row, "usable_bytes", -1) for row in good]
    total = [getattr(row, "total_bytes", -1) for row in good]
    return LogDirs(refused, sizes, _together(usable), _together(total), tuple(row.log_dir for row in answer.results if row.error_code))


def read_failed_log_dirs(answer: Any, wanted: Mapping[TopicPartition, TopicPartition]) -> FailedLogDirs:
    """One broker's log directories that have failed, and which of the `wanted` partitions (see `partitions.keys_of`) it has in others."""
    good = [row for row in answer.results if not row.error_code]
    failed = [row for row in answer.results if error_name(row.error_code) == "KAFKA_STORAGE_ERROR"]
    paths = sorted(_path(row.log_dir) for row in failed)[:MOST_PATHS]
    return FailedLogDirs(
        _refused(answer), tuple(paths), frozenset(only(wanted, _sizes(good))), len(good) + len(failed) == len(answer.results)
    )


def _path(path: str) -> str:
    """A path from a broker as one line of modest length."""
    text = printable(path[: LONGEST_PATH + 1])
    return text if len(text) <= LONGEST_PATH else text[: LONGEST_PATH - 1] + "…"


def _refused(answer: Any) -> str | None:
    refused = error_name(answer.error_code) if answer.API_VERSION >= 3 else None
    # Before v3 a client that may not ask gets an empty answer; every broker has a directory.
    return "CLUSTER_AUTHORIZATION_FAILED" if refused is None and not answer.results else refused


def _sizes(directories: Iterable[Any]) -> Iterator[tuple[TopicPartition, int]]:
    """Sizes of the replicas in these directories, without those that are on their way to another one."""
    return (
        ((topic.name, row.partition_index), row.partition_size)
        for directory in directories
        for topic in directory.topics
        for row in topic.partitions
        if not row.is_future_key
    )


def _together(told: list[int]) -> int | None:
    return sum(told) if told and min(told) >= 0 else None
