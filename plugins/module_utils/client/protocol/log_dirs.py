# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build and read DescribeLogDirs (KIP-113): the content of a broker's log directories, and which have failed (KIP-858).

It uses kafka-python's schemas. Pure: no I/O. `log_dir_client.py` chooses the brokers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

with suppress(ImportError):  # optional_imports.py says why
    from kafka.protocol.admin import DescribeLogDirsRequest

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.error_codes import error_name
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.client.protocol.topic_rows import by_topic
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import quoted
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.decision.checks import LONGEST_PATH, MOST_PATHS
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model import kafka_errors
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, only


class LogDirs(NamedTuple):
    """One broker's log directories.

    error         Kafka's name, if the broker refused the request
    sizes         bytes of each replica; for a replica that moves between directories, of its current copy
    usable_bytes  sum of the free bytes of all working directories' volumes, without cordoned directories, which get no new replicas (KIP-1066).
                  None if a directory has no number, as before Kafka 3.3 (KIP-827)
    total_bytes   sum of the sizes of the same volumes, cordoned ones included
    offline       paths of directories that have failed
    """

    error: str | None
    sizes: dict[TopicPartition, int]
    usable_bytes: int | None
    total_bytes: int | None
    offline: tuple[str, ...]


class FailedLogDirs(NamedTuple):
    """One broker's failed log directories (KIP-858).

    error     Kafka's name, if the broker refused the request
    paths     of failed directories: at most MOST_PATHS, printable, cut to LONGEST_PATH
    hosted    the partitions in directories that work
    complete  whether the broker described every directory that has not failed
    """

    error: str | None
    paths: tuple[str, ...]
    hosted: frozenset[TopicPartition]
    complete: bool


def describe_log_dirs(keys: Collection[TopicPartition] | None) -> DescribeLogDirsRequest:
    """Build a request for the log directories of a broker, with its replicas of these partitions (None: all)."""
    kind = DescribeLogDirsRequest.DescribableLogDirTopic
    topics = None if keys is None else [kind(topic=topic, partitions=numbers) for topic, numbers in by_topic(keys).items()]
    return DescribeLogDirsRequest(topics=topics)


def read_log_dirs(answer: Any, wanted: Mapping[TopicPartition, TopicPartition] | None = None) -> LogDirs:
    """Read one broker's log directories, with the sizes of the partitions in `wanted` (see `partitions.keys_of`; None: of all)."""
    refused = _refused(answer)
    good = [row for row in answer.results if not row.error_code]
    rows = _sizes(good)
    sizes = dict(rows) if wanted is None else only(wanted, rows)
    # A field that the version lacks is -1, or false.
    usable = [0 if getattr(row, "is_cordoned", False) else getattr(row, "usable_bytes", -1) for row in good]
    total = [getattr(row, "total_bytes", -1) for row in good]
    return LogDirs(
        refused, sizes, _sum_if_known(usable), _sum_if_known(total), tuple(row.log_dir for row in answer.results if row.error_code)
    )


def read_failed_log_dirs(answer: Any, wanted: Mapping[TopicPartition, TopicPartition]) -> FailedLogDirs:
    """Read one broker's failed log directories, and which of the `wanted` partitions (see `partitions.keys_of`) are in working ones."""
    good = [row for row in answer.results if not row.error_code]
    failed = [row for row in answer.results if error_name(row.error_code) == kafka_errors.KAFKA_STORAGE_ERROR]
    paths = sorted(quoted(row.log_dir, LONGEST_PATH) for row in failed)[:MOST_PATHS]
    return FailedLogDirs(
        _refused(answer), tuple(paths), frozenset(only(wanted, _sizes(good))), len(good) + len(failed) == len(answer.results)
    )


def _refused(answer: Any) -> str | None:
    refused = error_name(answer.error_code) if answer.API_VERSION >= 3 else None
    # Before v3 a client without permission gets an empty answer; every broker has a directory.
    return kafka_errors.CLUSTER_AUTHORIZATION_FAILED if refused is None and not answer.results else refused


def _sizes(directories: Iterable[Any]) -> Iterator[tuple[TopicPartition, int]]:
    """Return the sizes of the replicas in these directories, without the future copies of replicas that move to another directory."""
    return (
        ((topic.name, row.partition_index), row.partition_size)
        for directory in directories
        for topic in directory.topics
        for row in topic.partitions
        if not row.is_future_key
    )


def _sum_if_known(sizes: list[int]) -> int | None:
    return sum(sizes) if sizes and min(sizes) >= 0 else None
