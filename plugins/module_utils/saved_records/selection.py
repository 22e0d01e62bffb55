# Copyright (c) 2026, StreamOps
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which saved records are selected, and the records themselves. Pure, except that batches are read from their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from ansible_collections.streamops.kafka_recovery.plugins.module_utils.common.errors import RecoveryError
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.partitions import TopicPartition, requested
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_batches import BatchError, StoredBatch
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.model.stored_records import Record, has_append_time, records_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.replicas import Contents, Replica, batches_of
from ansible_collections.streamops.kafka_recovery.plugins.module_utils.saved_records.store import Piece

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PAIRS = (("start_offset", "end_offset"), ("start_time", "end_time"))


class SelectedRecord(NamedTuple):
    """A record that is selected. `transaction`: as `Contents.transaction_of` returns it. `append_time`: whether the broker has set its timestamp."""

    replica: Replica
    batch: StoredBatch
    transaction: str | None
    append_time: bool
    record: Record


@dataclass(frozen=True)
class Selection:
    """What the options of a task select. None: all. Offsets and times (ms since 1970): from the start, which is included, to the end, which is not."""

    topics: frozenset[str] | None = None
    partitions: frozenset[TopicPartition] | None = None
    brokers: frozenset[int] | None = None
    start_offset: int | None = None
    end_offset: int | None = None
    start_time: int | None = None
    end_time: int | None = None
    keys: frozenset[bytes] | None = None

    @property
    def is_of_records(self) -> bool:
        """Return whether it selects single records, so that batches must be decoded to count them."""
        return (self.start_offset, self.end_offset, self.start_time, self.end_time, self.keys) != (None,) * 5

    def has_replica(self, replica: Replica) -> bool:
        """Return whether a replica is selected."""
        return (
            (self.topics is None or replica.topic in self.topics)
            and (self.partitions is None or (replica.topic, replica.partition) in self.partitions)
            and (self.brokers is None or replica.broker_id in self.brokers)
        )

    def may_have(self, batch: StoredBatch) -> bool:
        """Return whether records of a batch can be selected."""
        return (
            (self.start_offset is None or batch.last_offset >= self.start_offset)
            and (self.end_offset is None or batch.base_offset < self.end_offset)
            and (self.start_time is None or batch.max_timestamp >= self.start_time)
        )

    def has(self, record: Record) -> bool:
        """Return whether a record is selected."""
        return (
            (self.start_offset is None or record.offset >= self.start_offset)
            and (self.end_offset is None or record.offset < self.end_offset)
            and (self.start_time is None or record.timestamp >= self.start_time)
            and (self.end_time is None or record.timestamp < self.end_time)
            and (self.keys is None or record.key in self.keys)
        )

    def missing(self, replicas: Sequence[Replica]) -> list[str]:
        """Return the names of topics, partitions and brokers that are selected and of which nothing is saved."""
        topics = {replica.topic for replica in replicas}
        keys = {(replica.topic, replica.partition) for replica in replicas}
        brokers = {replica.broker_id for replica in replicas}
        return [
            *(f"topic {topic}" for topic in sorted((self.topics or frozenset()) - topics)),
            *(f"{topic}-{partition}" for topic, partition in sorted((self.partitions or frozenset()) - keys)),
            *(f"broker {broker}" for broker in sorted((self.brokers or frozenset()) - brokers)),
        ]


def selection_of(params: Mapping[str, Any]) -> Selection:
    """Return what the options of the module select. Raises RecoveryError for empty lists, ranges that have nothing, and times that are not in UTC."""
    for option in ("topics", "brokers", "keys"):
        if params[option] is not None and not params[option]:
            # A list that a template made empty must not mean "everything".
            raise RecoveryError(f"{option} is empty: list some, or omit the option to select all")
    partitions = requested(params["partitions"], params["partitions_file"])
    ranges: dict[str, int | None] = {name: params[name] for name in _PAIRS[0]}
    ranges |= {name: None if params[name] is None else _milliseconds(name, params[name]) for name in _PAIRS[1]}
    for first, last in _PAIRS:
        start, end = ranges[first], ranges[last]
        if start is not None and end is not None and start >= end:
            raise RecoveryError(f"{last} {params[last]} must be greater than {first} {params[first]}")
    return Selection(
        topics=_set(params["topics"]),
        partitions=_set(partitions),
        brokers=_set(params["brokers"]),
        keys=None if params["keys"] is None else frozenset(map(_key, params["keys"])),
        **ranges,
    )


def _set(values: Sequence[Any] | None) -> frozenset[Any] | None:
    return None if values is None else frozenset(values)


def _key(text: str) -> bytes:
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        raise RecoveryError(f"keys: {text!r} is not text in UTF-8: correct it") from None


def _milliseconds(option: str, text: str) -> int:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.utcoffset() != timedelta(0):
        raise RecoveryError(f"{option} {text!r} is not a time in UTC: write it as 2026-11-21T18:05:00Z")
    return (time - _EPOCH) // timedelta(milliseconds=1)


def selected_records(contents: Contents, pieces: Sequence[Piece], selection: Selection, most: int) -> Iterator[SelectedRecord]:
    """Yield the selected records of a replica, in the order of their offsets. Batches that cannot be decoded are added to `contents.unreadable`.

    most  bytes that the records of one batch may take once they are decompressed

    Raises SavedRecordsError as `batches_of` does.
    """
    for saved in batches_of(pieces):
        batch = saved.header
        if batch.control or not selection.may_have(batch):
            continue
        transaction, append_time = contents.transaction_of(batch), has_append_time(saved.data)
        try:
            for record in records_of(saved.data, most):
                if record.offset >= saved.start and selection.has(record):
                    yield SelectedRecord(contents.replica, batch, transaction, append_time, record)
        except BatchError as error:
            contents.unreadable.append((batch.base_offset, str(error)))
